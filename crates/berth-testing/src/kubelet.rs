//! A real kubelet on this machine, with a containerd of its own.

use std::{
    env, fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;

use crate::{
    bootstrap::BootstrapToken,
    certificates::Identity,
    control_plane::ControlPlane,
    error::TestingError,
    process::{self, Process},
    programs::{Programs, REQUIRE_TOOLS},
    scratch,
};

const CONTAINERD_LIMIT: Duration = Duration::from_mins(1);

/// How a kubelet proves who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// It asks for its certificate with this token.
    Bootstrap(BootstrapToken),
    /// It has its certificate already.
    Certificate,
}

/// What a kubelet is to be like.
#[derive(Debug, Clone)]
pub struct KubeletOptions {
    /// The name of its Node.
    pub node: String,
    /// How it proves who it is.
    pub credentials: Credentials,
    /// The value of `--node-labels`; nothing if empty.
    pub node_labels: String,
    /// Further arguments.
    pub arguments: Vec<String>,
}

/// A kubelet that runs until it is stopped or the value is dropped.
///
/// It needs root, and no pod can run on it: its network is a name without a program, by which its Node gets Ready.
#[derive(Debug)]
pub struct Kubelet {
    // In the order in which they are to end.
    process: Option<Process>,
    _containerd: Process,
    program: PathBuf,
    options: KubeletOptions,
    folder: tempfile::TempDir,
}

impl Kubelet {
    /// Whether kubelets can run here. If not, the reason goes to the error output: the test is then skipped.
    ///
    /// # Panics
    ///
    /// Where `BERTH_REQUIRE_TOOLS` says that nothing may be missing.
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    pub fn possible_for_test() -> bool {
        let reason = if !Path::new("/proc/self").metadata().is_ok_and(|meta| meta.uid() == 0) {
            "a kubelet needs root"
        } else if containerd().is_none() {
            "containerd is missing (Debian package `containerd`)"
        } else {
            return true;
        };
        let required = env::var_os(REQUIRE_TOOLS).is_some();
        assert!(!required, "{reason}, and {REQUIRE_TOOLS} is set");
        eprintln!("skipped: {reason}");
        false
    }

    /// Starts containerd and the kubelet. Whether it registers is for the test to see.
    pub async fn start(
        programs: &Programs,
        plane: &ControlPlane,
        options: KubeletOptions,
    ) -> Result<Self, TestingError> {
        let folder = scratch::scratch()?;
        let here = folder.path();
        let program = containerd().unwrap_or_else(|| "containerd".into());
        let socket = here.join("containerd.sock");
        let (networks, plugins) = (here.join("networks"), here.join("network-plugins"));
        for path in [&networks, &plugins] {
            fs::create_dir_all(path).map_err(|source| TestingError::File {
                path: path.clone(),
                source,
            })?;
        }
        let network = json!({"cniVersion": "0.4.0", "name": "none", "plugins": [{"type": "none"}]});
        scratch::write(networks.join("10-none.conflist"), network.to_string())?;
        let config = format!(
            "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = '{}'\nbin_dir = '{}'\n",
            networks.display(),
            plugins.display()
        );
        scratch::write(here.join("containerd.toml"), config)?;
        let mut containerd = Process::start(&program, here, |command| {
            command
                .arg("--address")
                .arg(&socket)
                .arg("--root")
                .arg(here.join("containerd-root"))
                .arg("--state")
                .arg(here.join("containerd-state"))
                .args(["--config", "containerd.toml"]);
        })?;
        containerd
            .wait_for("the socket of containerd", CONTAINERD_LIMIT, || async {
                tokio::net::UnixStream::connect(&socket).await.is_ok()
            })
            .await?;
        match &options.credentials {
            Credentials::Bootstrap(token) => {
                let kubeconfig = plane.bootstrap_kubeconfig(token, &plane.url());
                scratch::write(here.join("bootstrap.kubeconfig"), kubeconfig.to_string())?;
            }
            Credentials::Certificate => {
                let kubeconfig = plane.kubeconfig(&Identity::kubelet(&options.node))?;
                scratch::write(here.join("kubeconfig"), kubeconfig.to_string())?;
            }
        }
        scratch::write(here.join("ca.pem"), plane.ca_certificate())?;
        let mut kubelet = Self {
            process: None,
            _containerd: containerd,
            program: programs.path("kubelet"),
            options,
            folder,
        };
        kubelet.start_again()?;
        Ok(kubelet)
    }

    /// Starts the kubelet after [`Kubelet::kill`]. Nothing is done if it runs.
    pub fn start_again(&mut self) -> Result<(), TestingError> {
        if self.process.is_some() {
            return Ok(());
        }
        let here = self.folder.path();
        for name in ["pods", "plugins"] {
            let path = here.join(name);
            fs::create_dir_all(&path).map_err(|source| TestingError::File { path, source })?;
        }
        let config = json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "port": process::free_port()?,
            "healthzPort": 0,
            "containerRuntimeEndpoint": format!("unix://{}", here.join("containerd.sock").display()),
            "authentication": {
                "anonymous": {"enabled": false},
                "webhook": {"enabled": false},
                "x509": {"clientCAFile": here.join("ca.pem")},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "rotateCertificates": true,
            "podLogsDir": here.join("pods"),
            "volumePluginDir": here.join("plugins"),
            "makeIPTablesUtilChains": false,
            // What a machine for tests needs: old control groups, swap, a small or shared disk.
            "failCgroupV1": false,
            "failSwapOn": false,
            "cgroupsPerQOS": false,
            "enforceNodeAllocatable": [],
            "localStorageCapacityIsolation": false,
        });
        scratch::write(here.join("kubelet.json"), config.to_string())?;
        let process = Process::start(&self.program, here, |command| {
            command
                .arg("--config")
                .arg(here.join("kubelet.json"))
                .arg("--root-dir")
                .arg(here.join("kubelet"))
                .arg("--cert-dir")
                .arg(here.join("certificates"))
                .arg("--kubeconfig")
                .arg(here.join("kubeconfig"))
                .args(["--hostname-override", &self.options.node]);
            if matches!(self.options.credentials, Credentials::Bootstrap(_)) {
                command
                    .arg("--bootstrap-kubeconfig")
                    .arg(here.join("bootstrap.kubeconfig"));
            }
            if !self.options.node_labels.is_empty() {
                command.args(["--node-labels", &self.options.node_labels]);
            }
            command.args(&self.options.arguments);
        })?;
        self.process = Some(process);
        Ok(())
    }

    /// Ends the kubelet at once. Its certificate and files stay.
    pub fn kill(&mut self) -> Result<(), TestingError> {
        self.process.take().map_or(Ok(()), |mut process| process.kill())
    }

    /// Fails with the kubelet's last words if it has ended by itself.
    pub fn check(&mut self) -> Result<(), TestingError> {
        self.process.as_mut().map_or(Ok(()), Process::check)
    }

    /// The end of the kubelet's output.
    pub fn output(&self) -> String {
        self.process.as_ref().map(Process::tail).unwrap_or_default()
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        let _ = self.kill();
        scratch::unmount(self.folder.path());
    }
}

fn containerd() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join("containerd"))
        .find(|path| path.is_file())
}
