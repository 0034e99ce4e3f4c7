//! The promise of the product, on a real machine: its Node has every label in its first version, after one boot.
//!
//! Each machine is the Debian image with a kubelet unit of somebody else, and gets its Ignition from `berth ignition`.
//! Ignition writes Berth's generator and labels before the root file system is switched to; systemd runs the generator;
//! the kubelet asks for its certificate with a bootstrap token and registers. A watch from before the boots sees every
//! version of the Nodes.

mod shapes;
mod units;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{ListParams, WatchEvent, WatchParams},
};
use serde_json::{Value, json};

use self::units::{Boot, boots};
use crate::{
    bootstrap::BootstrapToken,
    certificates::Identity,
    control_plane::{ControlPlane, Options},
    error::TestingError,
    machine::{HOST_ADDRESS, Image, Machine},
    process,
    programs::Programs,
    scratch,
};

/// Software emulation on a machine under load is slow.
const BOOT_LIMIT: Duration = Duration::from_mins(20);

/// Each machine keeps one processor busy.
const AT_ONCE: usize = 2;

/// Shorter than a watch lives on the server.
const WATCH_SECONDS: u32 = 240;

/// The documents of the example that a plain Kubernetes can use. The rest is OpenShift's unit.
const SITE: &[&str] = &["nodes", "pools", "profiles", "racks", "region.yaml", "rules"];

const GUEST: &str = include_str!("first_boot/guest.sh");

const GUEST_UNIT: &str = "[Service]\nType=oneshot\nExecStart=/usr/local/libexec/e2e\n";

/// What a run is made from.
#[derive(Debug, Clone, Copy)]
pub struct FirstBoot<'a> {
    /// The Kubernetes programs.
    pub programs: &'a Programs,
    /// The machine's disk.
    pub image: &'a Image,
    /// The executable `berth`.
    pub berth: &'a Path,
    /// The static executable for nodes.
    pub berth_node: &'a Path,
    /// The folder of the example `telco-site`.
    pub site: &'a Path,
    /// A folder with a folder for each shape of unit, whose files are `kubelet.service` and drop-ins.
    pub shapes: &'a Path,
}

/// What was proved for one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The machine.
    pub node: String,
    /// The shape of its kubelet's unit.
    pub shape: &'static str,
    /// How many labels its Node had in its first version, and ever after.
    pub labels: usize,
    /// How many versions of the Node were seen.
    pub versions: usize,
    /// The machine's uptime when its kubelet had registered, in seconds, and so since its only boot.
    pub uptime: String,
    /// How many shapes of units its systemd ran as Berth says.
    pub shapes: usize,
}

type Versions = Arc<Mutex<Vec<WatchEvent<Node>>>>;

impl FirstBoot<'_> {
    /// Boots all machines and checks everything, or says what is wrong.
    pub fn run(&self) -> Result<Vec<Outcome>, TestingError> {
        let runtime = tokio::runtime::Runtime::new().map_err(|source| TestingError::Start {
            program: "the runtime".to_owned(),
            source,
        })?;
        runtime.block_on(self.boot_all())
    }

    async fn boot_all(&self) -> Result<Vec<Outcome>, TestingError> {
        let options = Options {
            controllers: true,
            names: vec![HOST_ADDRESS.to_owned()],
            ..Options::default()
        };
        let plane = ControlPlane::start(self.programs, options).await?;
        let token = BootstrapToken::new("aaaaaa", "0123456789abcdef");
        plane.create_bootstrap_token(&token, &[]).await?;
        plane.allow_bootstrap(true).await?;
        let url = format!("https://{HOST_ADDRESS}:{}", plane.port());
        let kubeconfig = plane.bootstrap_kubeconfig(&token, &url);

        let versions = Versions::default();
        let watch = tokio::spawn(watch(nodes(&plane).await?, Arc::clone(&versions)).await?);
        let kubeconfig = &kubeconfig;
        let versions = &versions;
        let outcomes: Result<Vec<Outcome>, TestingError> = stream::iter(boots())
            .map(|boot| async move {
                let overlay = self.overlay(&boot, kubeconfig)?;
                let ignition = self.ignition(boot.node)?;
                let machine = Machine::boot(self.image, overlay.path(), ignition.as_bytes())?;
                let report = machine.report(BOOT_LIMIT).await?;
                let seen = versions.lock().unwrap_or_else(PoisonError::into_inner).clone();
                self.check(&boot, report.path(), &seen)
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await;
        watch.abort();
        let mut outcomes = outcomes?;
        outcomes.sort_by(|one, other| one.node.cmp(&other.node));
        Ok(outcomes)
    }

    fn berth(&self, verb: &[&str]) -> Command {
        let mut command = Command::new(self.berth);
        command.args(verb);
        command
    }

    /// A question about the site.
    fn ask(&self, verb: &str, node: &str, further: &[&str]) -> Result<String, TestingError> {
        // One machine more than the example has.
        let extra = scratch::scratch()?;
        scratch::write(extra.path().join("node.json"), units::extra_node().to_string())?;
        let mut command = self.berth(&[verb, "--node", node, "--flavour", "upstream"]);
        for path in SITE {
            command.arg("-f").arg(self.site.join(path));
        }
        process::run(command.arg("-f").arg(extra.path()).args(further))
    }

    fn ignition(&self, node: &str) -> Result<String, TestingError> {
        let binary = self.berth_node.display().to_string();
        // Debian's Ignition knows no later version of the format.
        let further = ["--way", "generator", "--node-binary", &binary, "--spec", "3.3.0"];
        self.ask("ignition", node, &further)
    }

    fn labels(&self, node: &str) -> Result<BTreeMap<String, String>, TestingError> {
        let answer = self.ask("resolve", node, &["-o", "json"])?;
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        let labels = answer[0]["labels"].as_object().into_iter().flatten();
        let labels: BTreeMap<String, String> = labels
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        if !labels.contains_key("node.kubernetes.io/worker-rwn") {
            return Err(wrong(node, "the resolution does not have the label of its pool"));
        }
        Ok(labels)
    }

    /// What the maker of the image put there, and what this test needs in the machine.
    fn overlay(&self, boot: &Boot, kubeconfig: &Value) -> Result<tempfile::TempDir, TestingError> {
        let overlay = scratch::scratch()?;
        let kubelet_config = json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "rotateCertificates": true,
            "failSwapOn": false,
            "cgroupsPerQOS": false,
            "enforceNodeAllocatable": [],
            "localStorageCapacityIsolation": false,
        });
        let mut files = vec![
            ("etc/hostname".to_owned(), format!("{}\n", boot.node)),
            ("etc/kubernetes/kubelet.json".to_owned(), kubelet_config.to_string()),
            ("etc/kubernetes/bootstrap.kubeconfig".to_owned(), kubeconfig.to_string()),
            ("etc/systemd/system/kubelet.service".to_owned(), boot.unit.to_owned()),
            ("etc/systemd/system/e2e.service".to_owned(), GUEST_UNIT.to_owned()),
            ("usr/local/libexec/e2e".to_owned(), GUEST.to_owned()),
        ];
        if let Some(drop_in) = boot.drop_in {
            let path = "etc/systemd/system/kubelet.service.d/10-other.conf";
            files.push((path.to_owned(), drop_in.to_owned()));
        }
        if boot.tries_shapes {
            files.extend(shapes::staged(self.shapes)?);
        }
        for (path, contents) in files {
            write(&overlay.path().join(path), &contents)?;
        }
        process::run(
            Command::new("chmod")
                .arg("755")
                .arg(overlay.path().join("usr/local/libexec/e2e"))
                .arg(overlay.path()),
        )?;
        let wants = overlay.path().join("etc/systemd/system/multi-user.target.wants");
        for name in ["kubelet.service", "e2e.service"] {
            let made = fs::create_dir_all(&wants)
                .and_then(|()| std::os::unix::fs::symlink(format!("../{name}"), wants.join(name)));
            made.map_err(|source| TestingError::File {
                path: wants.join(name),
                source,
            })?;
        }
        Ok(overlay)
    }

    fn check(&self, boot: &Boot, report: &Path, seen: &[WatchEvent<Node>]) -> Result<Outcome, TestingError> {
        let node = boot.node;
        let read = |name: &str| read(&report.join(name));
        read("done")?;
        let mut expected = self.labels(node)?;
        expected.extend(
            boot.own_labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned())),
        );
        let versions = versions_of(node, seen);
        check_versions(node, &versions, &expected)?;

        let boot_id = read("boot-id")?.trim().to_owned();
        let registered = versions.iter().find_map(|(_, version)| {
            let info = version.status.as_ref()?.node_info.as_ref()?;
            Some(info.boot_id.clone())
        });
        if registered.as_ref() != Some(&boot_id) {
            return Err(wrong(
                node,
                &format!("its Node names boot {registered:?}, the machine runs in {boot_id}"),
            ));
        }
        let boots = read("boots")?;
        if boots.lines().count() != 1 || !boots.contains(&boot_id.replace('-', "")) {
            return Err(wrong(node, &format!("there was not one boot:\n{boots}")));
        }
        if read("restarts")?.trim() != "0" {
            return Err(wrong(node, "its kubelet was started more than once"));
        }
        if !read("drop-in")?.starts_with("# Written by Berth") {
            return Err(wrong(node, "the generator wrote no drop-in"));
        }
        let uptime = read("uptime")?;
        Ok(Outcome {
            node: node.to_owned(),
            shape: boot.shape,
            labels: expected.len(),
            versions: versions.len(),
            uptime: uptime.split_whitespace().next().unwrap_or_default().to_owned(),
            shapes: if boot.tries_shapes {
                shapes::compare(self, self.shapes, &report.join("shapes"))?
            } else {
                0
            },
        })
    }
}

async fn nodes(plane: &ControlPlane) -> Result<Api<Node>, TestingError> {
    Ok(Api::all(plane.client(&Identity::admin()).await?))
}

/// Keeps every event about Nodes from now on. The first connection is made before the answer.
async fn watch(
    nodes: Api<Node>,
    versions: Versions,
) -> Result<impl Future<Output = ()> + Send + 'static, TestingError> {
    let refused = |source| TestingError::Api {
        what: "watch Nodes".to_owned(),
        source: Box::new(source),
    };
    let list = nodes.list(&ListParams::default()).await.map_err(refused)?;
    let mut from = list.metadata.resource_version.unwrap_or_default();
    let parameters = WatchParams::default().timeout(WATCH_SECONDS);
    let mut stream = Box::pin(nodes.watch(&parameters, &from).await.map_err(refused)?);
    Ok(async move {
        loop {
            while let Ok(Some(event)) = stream.try_next().await {
                if let WatchEvent::Added(node) | WatchEvent::Modified(node) | WatchEvent::Deleted(node) = &event {
                    from = node.metadata.resource_version.clone().unwrap_or(from);
                }
                versions.lock().unwrap_or_else(PoisonError::into_inner).push(event);
            }
            // The server ends a watch after its time; it goes on where it ended.
            loop {
                match nodes.watch(&parameters, &from).await {
                    Ok(again) => break stream = Box::pin(again),
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        }
    })
}

/// What happened to one Node, in order.
fn versions_of<'a>(node: &str, seen: &'a [WatchEvent<Node>]) -> Vec<(&'static str, &'a Node)> {
    seen.iter()
        .filter_map(|event| match event {
            WatchEvent::Added(version) => Some(("added", version)),
            WatchEvent::Modified(version) => Some(("modified", version)),
            WatchEvent::Deleted(version) => Some(("deleted", version)),
            _ => None,
        })
        .filter(|(_, version)| version.metadata.name.as_deref() == Some(node))
        .collect()
}

fn check_versions(
    node: &str,
    versions: &[(&'static str, &Node)],
    expected: &BTreeMap<String, String>,
) -> Result<(), TestingError> {
    if versions.first().is_none_or(|(event, _)| *event != "added") {
        return Err(wrong(node, "the watch did not see its Node being added"));
    }
    for (event, version) in versions {
        let labels = version.metadata.labels.clone().unwrap_or_default();
        let missing: Vec<&String> = expected
            .iter()
            .filter(|(key, value)| labels.get(*key) != Some(value))
            .map(|(key, _)| key)
            .collect();
        if !missing.is_empty() || *event == "deleted" {
            let version = version.metadata.resource_version.as_deref().unwrap_or_default();
            return Err(wrong(
                node,
                &format!("version {version} ({event}) of its Node lacks {missing:?}"),
            ));
        }
    }
    Ok(())
}

fn wrong(node: &str, what: &str) -> TestingError {
    TestingError::Wrong(format!("{node}: {what}"))
}

fn read(path: &Path) -> Result<String, TestingError> {
    fs::read_to_string(path).map_err(|source| TestingError::File {
        path: path.to_owned(),
        source,
    })
}

fn write(path: &PathBuf, contents: &str) -> Result<(), TestingError> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, contents))
        .map_err(|source| TestingError::File {
            path: path.clone(),
            source,
        })
}
