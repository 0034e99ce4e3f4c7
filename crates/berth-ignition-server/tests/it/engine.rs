//! A machine's first boot, as far as Ignition is concerned: the real engine reads the pointer, fetches its config over TLS
//! with a token, and writes it to an empty root.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    process::{Command, Output},
    sync::Arc,
};

use berth_ignition_server::{Access, Pointer, pointer};
use berth_tokens::{NewToken, Secret, TokenScope, TokenState, TokenStore};
use serde_json::Value;

use crate::support::{Identity, NOW, Running, is_here, service};

/// Where Debian's package has the engine; it is on no PATH because it belongs into an initramfs.
const ENGINE: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";

/// Runs one stage as dracut would.
fn stage(name: &str, folder: &Path) -> Output {
    Command::new(ENGINE)
        .arg(format!("-stage={name}"))
        .arg("-platform=file")
        .arg("-log-to-stdout")
        .arg("-fetch-timeout=20s")
        .arg(format!("-root={}", folder.join("root").display()))
        .arg(format!("-config-cache={}", folder.join("cache.json").display()))
        .arg(format!("-state-file={}", folder.join("state").display()))
        .arg(format!("-neednet={}", folder.join("neednet").display()))
        .env("IGNITION_CONFIG_FILE", folder.join("pointer.ign"))
        .env("PATH", folder)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    let bytes = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A server with one single-use token for the node, and a machine's folder with the pointer to it.
struct Scene {
    folder: tempfile::TempDir,
    server: Running,
    store: Arc<TokenStore>,
}

impl Scene {
    async fn new(shown: impl FnOnce(&Secret) -> Secret) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let identity = Identity::new(folder.path());
        let store = Arc::new(TokenStore::open(folder.path().join("tokens.json")).unwrap());
        let token = NewToken {
            scope: TokenScope::Node("n1".to_owned()),
            expires: None,
            single_use: true,
            comment: String::new(),
        };
        let secret = store.create(token, NOW).unwrap().secret;
        let server = Running::start(identity.listen(), service(Access::Tokens(Arc::clone(&store)))).await;
        let config = pointer(&Pointer {
            url: &format!("https://{}/node/n1", server.tls.unwrap()),
            ca_pem: Some(&fs::read(&identity.certificate).unwrap()),
            token: Some(&shown(&secret)),
            headers: &[],
        })
        .unwrap();
        fs::write(folder.path().join("pointer.ign"), config.to_string()).unwrap();
        // The engine labels what it writes for SELinux with a program of the initramfs. There is no policy here, so a
        // stand-in takes its place.
        let selinux = folder.path().join("root/etc/selinux");
        fs::create_dir_all(&selinux).unwrap();
        fs::write(selinux.join("config"), "SELINUX=disabled\nSELINUXTYPE=none\n").unwrap();
        let setfiles = folder.path().join("setfiles");
        fs::write(&setfiles, "#!/bin/sh\nexec /bin/cat\n").unwrap();
        fs::set_permissions(&setfiles, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, server, store }
    }

    async fn stage(&self, name: &'static str) -> Output {
        let folder = self.folder.path().to_owned();
        tokio::task::spawn_blocking(move || stage(name, &folder)).await.unwrap()
    }

    fn token_state(&self) -> TokenState {
        self.store.list().unwrap().remove(0).state(NOW)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_fetches_its_config_over_tls_with_a_token_and_writes_it() {
    if !is_here(ENGINE, "-version") {
        return;
    }
    let scene = Scene::new(Clone::clone).await;
    let fetched = scene.stage("fetch").await;
    assert!(fetched.status.success(), "{}", said(&fetched));
    assert_eq!(scene.token_state(), TokenState::Used);
    scene.server.stop().await;

    let root = scene.folder.path().join("root");
    if root.metadata().unwrap().uid() != 0 {
        // Only root may give files to root, which the engine does with every one.
        return;
    }
    let written = stage("files", scene.folder.path());
    assert!(written.status.success(), "{}", said(&written));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    assert_eq!(read("etc/motd"), "ahoy\n");
    assert_eq!(read("etc/own"), "own é\n");
    assert_eq!(read("etc/kubernetes/kubelet-env"), "CUSTOM_KUBELET_LABELS=rack=r1\n");
    assert_eq!(read("etc/kubernetes/kubeconfig"), "apiVersion: v1\nkind: Config\n");
    assert!(read("etc/berth/labels").ends_with("\nrack=r1\n"));
    assert!(read("etc/systemd/system/hello.service").contains("ExecStart=/bin/true"));
    let annotations: Value = serde_json::from_str(&read("etc/machine-config-daemon/node-annotations.json")).unwrap();
    let name = annotations["machineconfiguration.openshift.io/currentConfig"]
        .as_str()
        .unwrap();
    assert!(name.starts_with("rendered-worker-"), "{name}");
    for path in [
        "etc/mcs-machine-config-content.json",
        "etc/ignition-machine-config-encapsulated.json",
    ] {
        let content: Value = serde_json::from_str(&read(path)).unwrap();
        assert_eq!(content["metadata"]["name"], name, "{path}");
        assert_eq!(content["spec"]["kernelArguments"][0], "quiet", "{path}");
    }
    for (path, mode) in [("etc/secret", 0o600), ("etc/berth/labels", 0o644), ("etc/motd", 0o644)] {
        let permissions = root.join(path).metadata().unwrap().permissions();
        assert_eq!(permissions.mode() & 0o7777, mode, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_gives_up_at_once_on_a_wrong_token() {
    if !is_here(ENGINE, "-version") {
        return;
    }
    let wrong = |good: &Secret| {
        let (start, _) = good.reveal().rsplit_once('.').unwrap();
        Secret::parse(&format!("{start}.{}", "A".repeat(43))).unwrap()
    };
    let scene = Scene::new(wrong).await;
    let fetched = scene.stage("fetch").await;
    assert!(!fetched.status.success());
    let said = said(&fetched);
    assert!(said.contains("401") || said.contains("Unauthorized"), "{said}");
    assert_eq!(scene.token_state(), TokenState::Valid);
    scene.server.stop().await;
}
