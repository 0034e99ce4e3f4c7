//! A server to talk to, and programs to talk with.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use berth_clock::Clock;
use berth_ignition::file;
use berth_ignition_server::{Access, Catalog, CatalogHandle, CommonFiles, IgnitionService, NodeConfig};
use berth_labels::LabelSet;
use berth_listen::{ListenOptions, Server, TlsOptions};
use berth_pools::{MachineConfig, RenderOptions, render};
use jiff::Timestamp;
use serde_json::json;
use tokio::{sync::oneshot, task::JoinHandle};

/// The time at which all tests take place.
pub(crate) const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

pub(crate) fn clock() -> Clock {
    Clock::stopped(NOW)
}

/// A site of one pool, `worker`, with one node, `n1`.
pub(crate) fn catalog() -> Catalog {
    let machine_config = |name: &str, config| {
        MachineConfig::from_json(&json!({
            "metadata": {"name": name, "labels": {"machineconfiguration.openshift.io/role": "worker"}},
            "spec": {"config": config, "kernelArguments": ["quiet"]},
        }))
        .unwrap()
    };
    let configs = [
        machine_config(
            "00-base",
            json!({
                "ignition": {"version": "3.2.0"},
                "storage": {"files": [
                    {"path": "/etc/motd", "mode": 420, "contents": {"source": "data:,ahoy%0A"}},
                    {"path": "/etc/secret", "mode": 384, "contents": {"source": "data:,s%0A"}},
                ]},
                "systemd": {"units": [{
                    "name": "hello.service",
                    "enabled": true,
                    "contents": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
                }]},
            }),
        ),
        machine_config(
            "99-own",
            json!({
                "ignition": {"version": "2.2.0"},
                "storage": {"files": [{
                    "filesystem": "root",
                    "path": "/etc/own",
                    "mode": 420,
                    "contents": {"source": "data:,own%20%C3%A9%0A"},
                }]},
            }),
        ),
    ];
    let rendered = render("worker", &configs, &RenderOptions::default()).unwrap();
    let labels = [("rack".to_owned(), "r1".to_owned())];
    let mut builder = Catalog::builder("r1");
    builder
        .common(CommonFiles {
            kubeconfig: Some(b"apiVersion: v1\nkind: Config\n".to_vec()),
            ..CommonFiles::default()
        })
        .pool("worker", rendered.to_machine_config())
        .node(
            "n1",
            NodeConfig {
                pool: "worker".to_owned(),
                labels: LabelSet::try_from_map(labels.iter().map(|(key, value)| (key, value))).unwrap(),
                files: vec![file(
                    "/etc/kubernetes/kubelet-env",
                    0o644,
                    "CUSTOM_KUBELET_LABELS=rack=r1\n",
                )],
            },
        );
    builder.build().unwrap()
}

pub(crate) fn service(access: Access) -> IgnitionService {
    IgnitionService::new(CatalogHandle::new(catalog()), access, clock())
}

/// A certificate for this machine and its key, in a folder.
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Identity {
    pub(crate) fn new(folder: &Path) -> Self {
        let identity = Self {
            certificate: folder.join("tls.crt"),
            key: folder.join("tls.key"),
        };
        identity.renew();
        identity
    }

    /// Puts a new pair in the place of the old one. Gives its certificate in PEM.
    pub(crate) fn renew(&self) -> String {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let pem = made.cert.pem();
        std::fs::write(&self.key, made.signing_key.serialize_pem()).unwrap();
        std::fs::write(&self.certificate, &pem).unwrap();
        pem
    }

    pub(crate) fn listen(&self) -> ListenOptions {
        ListenOptions {
            tls: Some(TlsOptions {
                reload_every: Duration::from_millis(5),
                ..TlsOptions::new(local(), &self.certificate, &self.key)
            }),
            plain: Some(local()),
            ..ListenOptions::default()
        }
    }
}

pub(crate) fn local() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A server that runs until it is stopped.
pub(crate) struct Running {
    pub(crate) tls: Option<SocketAddr>,
    pub(crate) plain: Option<SocketAddr>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn start(options: ListenOptions, service: IgnitionService) -> Self {
        let server = Server::bind(options, service).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        Self {
            tls: server.tls_address(),
            plain: server.plain_address(),
            stop,
            task: tokio::spawn(server.run(async {
                let _ = stopped.await;
            })),
        }
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }
}

/// Whether a program is there. If not, the test says so and passes, unless all programs are required.
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
#[expect(clippy::disallowed_methods, reason = "the one setting that tests have")]
pub(crate) fn is_here(program: &str, argument: &str) -> bool {
    let here = Command::new(program).arg(argument).output().is_ok();
    let required = std::env::var("BERTH_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
    assert!(here || !required, "{program} is not installed");
    if !here {
        eprintln!("skipped: {program} is not installed");
    }
    here
}
