//! The two kinds of clusters that scenarios run on.
//!
//! What a scenario needs of a cluster is the same on both: clients for any identity, machines that join, an API server
//! that can be killed and made to forget.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use berth_clock::Clock;
use berth_labels::Flavour;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Disk, Fleet, Habits, SimulatedTime};
use berth_testing::{
    BootstrapToken, ControlPlane, Credentials, Identity, Kubelet, KubeletOptions, Options as PlaneOptions, Programs,
};
use kube::{Client, Config, config::KubeConfigOptions};
use serde_json::Value;
use tokio::{sync::Mutex, task::JoinHandle};

use super::{Needs, from_json};

/// How fast time passes for simulated machines: they boot in 90 s, and nobody wants to wait that long.
const TICK: Duration = Duration::from_millis(10);
const SECONDS_PER_TICK: i64 = 2;

/// Where a scenario runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Embedded,
    Real,
}

pub(crate) enum Plane {
    Embedded(Embedded),
    Real(Programs, Box<ControlPlane>),
}

pub(crate) struct Embedded {
    cluster: Cluster,
    server: Option<ApiServer>,
    address: SocketAddr,
    clock: Clock,
    /// Where machines are needed: they live in simulated time, and so does the cluster then.
    fleet: Option<Arc<Mutex<Fleet>>>,
    ticks: Option<JoinHandle<()>>,
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if let Some(ticks) = &self.ticks {
            ticks.abort();
        }
    }
}

impl Embedded {
    async fn start(needs: Needs) -> Self {
        let time = needs
            .machines
            .then(|| SimulatedTime::starting_at(Clock::system().now()));
        let clock: Clock = time.as_ref().map_or_else(Clock::system, SimulatedTime::clock);
        let mut options = ClusterOptions::new(clock.clone(), 7);
        options.remembered_changes = 100_000;
        let cluster = Cluster::new(options);
        let loopback: SocketAddr = ([127, 0, 0, 1], 0).into();
        let server = ApiServer::start(cluster.clone(), loopback).await.expect("it listens");
        let fleet = time.map(|time| {
            let fleet = Fleet::new(cluster.clone(), time, Flavour::Upstream, 7);
            Arc::new(Mutex::new(fleet))
        });
        let ticks = fleet.clone().map(|fleet| {
            tokio::spawn(async move {
                loop {
                    fleet.lock().await.run(SECONDS_PER_TICK).await;
                    tokio::time::sleep(TICK).await;
                }
            })
        });
        Self {
            address: server.address(),
            server: Some(server),
            cluster,
            clock,
            fleet,
            ticks,
        }
    }

    fn token(&self, identity: &Identity) -> String {
        let token = format!("token-of-{}", identity.user());
        let known = berth_sim::Identity {
            user: identity.user().to_owned(),
            groups: identity.group().map(str::to_owned).into_iter().collect(),
        };
        self.cluster.add_token(token.clone(), known);
        token
    }

    fn kubeconfig(&self, token: &str) -> Value {
        let text = berth_sim::kubeconfig(&format!("http://{}", self.address), token);
        serde_json::from_str(&text).expect("JSON")
    }
}

impl Plane {
    pub(crate) async fn start(on: On, needs: Needs) -> Option<Self> {
        match on {
            On::Embedded => Some(Self::Embedded(Embedded::start(needs).await)),
            On::Real => {
                let programs = Programs::for_test()?;
                let mut options = PlaneOptions {
                    controllers: needs.machines,
                    ..PlaneOptions::default()
                };
                if needs.forgets {
                    options.api_server_arguments = vec!["--etcd-compaction-interval=1s".to_owned()];
                }
                let plane = ControlPlane::start(&programs, options).await;
                Some(Self::Real(programs, Box::new(plane.expect("the control plane starts"))))
            }
        }
    }

    pub(crate) fn real(&self) -> Option<(&Programs, &ControlPlane)> {
        match self {
            Self::Real(programs, plane) => Some((programs, plane)),
            Self::Embedded(_) => None,
        }
    }

    /// The time in which the cluster lives.
    pub(crate) fn clock(&self) -> Clock {
        match self {
            Self::Real(..) => Clock::system(),
            Self::Embedded(embedded) => embedded.clock.clone(),
        }
    }

    pub(crate) fn kubeconfig(&self, identity: &Identity) -> Value {
        match self {
            Self::Real(_, plane) => plane.kubeconfig(identity).expect("a kubeconfig"),
            Self::Embedded(embedded) => embedded.kubeconfig(&embedded.token(identity)),
        }
    }

    pub(crate) async fn client(&self, identity: &Identity) -> Client {
        client(self.kubeconfig(identity)).await
    }

    pub(crate) async fn bootstrap_client(&self, token: &BootstrapToken) -> Client {
        let kubeconfig = match self {
            Self::Real(_, plane) => plane.bootstrap_kubeconfig(token, &plane.url()),
            Self::Embedded(embedded) => embedded.kubeconfig(&token.bearer()),
        };
        client(kubeconfig).await
    }

    pub(crate) fn port(&self) -> u16 {
        match self {
            Self::Real(_, plane) => plane.port(),
            Self::Embedded(embedded) => embedded.address.port(),
        }
    }

    /// The embedded API has no roles to bind: machines with a bootstrap token may always ask.
    pub(crate) async fn allow_bootstrap(&self) {
        if let Self::Real(_, plane) = self {
            // A scenario before this one may have done it.
            let _ = plane.allow_bootstrap(false).await;
        }
    }

    pub(crate) async fn restart_api_server(&mut self) {
        match self {
            Self::Real(_, plane) => {
                plane.kill_api_server().expect("killed");
                plane.start_api_server().await.expect("back");
            }
            Self::Embedded(embedded) => {
                drop(embedded.server.take());
                let mut server = ApiServer::start(embedded.cluster.clone(), embedded.address).await;
                // Connections that were open hold the port for a moment.
                while server.is_err() {
                    tokio::time::sleep(TICK).await;
                    server = ApiServer::start(embedded.cluster.clone(), embedded.address).await;
                }
                embedded.server = server.ok();
            }
        }
    }

    /// One step towards forgetting: etcd forgets by itself, and its API server when it is restarted after that.
    pub(crate) async fn compact(&mut self) {
        if let Self::Embedded(embedded) = self {
            embedded.cluster.compact();
        }
        self.restart_api_server().await;
    }

    pub(crate) async fn machine(&self, node: &str, token: BootstrapToken, labels: &str) -> Option<Machine> {
        match self {
            Self::Real(programs, plane) => {
                if !Kubelet::possible_for_test() {
                    return None;
                }
                let options = KubeletOptions {
                    node: node.to_owned(),
                    credentials: Credentials::Bootstrap(token),
                    node_labels: labels.to_owned(),
                    arguments: Vec::new(),
                };
                let kubelet = Kubelet::start(programs, plane, options).await.expect("a kubelet");
                Some(Machine::Real(Box::new(kubelet)))
            }
            Self::Embedded(embedded) => {
                let fleet = embedded
                    .fleet
                    .clone()
                    .expect("the scenario said that it needs machines");
                let mut disk = Disk::image();
                let flag = format!("KUBELET_EXTRA_ARGS=--node-labels={labels}\n");
                disk.write("/etc/default/kubelet", flag);
                let mut machines = fleet.lock().await;
                machines.add(node, disk, Habits::default());
                machines.bootstrap_with(node, token.id());
                machines.power_on(node).expect("a machine");
                drop(machines);
                Some(Machine::Simulated(node.to_owned(), fleet))
            }
        }
    }
}

async fn client(kubeconfig: Value) -> Client {
    let config = Config::from_custom_kubeconfig(from_json(kubeconfig), &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a config")).expect("a client")
}

/// A machine whose kubelet joins: a real kubelet, or a simulated machine.
pub(crate) enum Machine {
    Real(Box<Kubelet>),
    Simulated(String, Arc<Mutex<Fleet>>),
}

impl Machine {
    /// Its kubelet ends at once.
    pub(crate) async fn kill(&mut self) {
        match self {
            Self::Real(kubelet) => kubelet.kill().expect("killed"),
            Self::Simulated(node, fleet) => fleet.lock().await.power_off(node).expect("a machine"),
        }
    }

    /// Its kubelet starts again, with the flags of before.
    pub(crate) async fn start_again(&mut self) {
        match self {
            Self::Real(kubelet) => kubelet.start_again().expect("started again"),
            Self::Simulated(node, fleet) => fleet.lock().await.power_on(node).expect("a machine"),
        }
    }
}
