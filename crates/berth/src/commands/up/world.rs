//! The embedded cluster with everything that runs on it.

use std::{
    collections::HashMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use berth_clock::Clock;
use berth_cluster::controller::{self, Mode, Options};
use berth_decide::{Costs, Serving};
use berth_documents::{DocumentSet, Severity, object_name};
use berth_labels::Flavour;
use berth_pools::{RenderOptions, WORKER};
use berth_resources::{
    CrdSet,
    bootstrap::{BootstrapToken, bootstrap_token},
    crds,
};
use berth_sim::{ApiServer, Cluster, ClusterOptions, Disk, Fleet, Habits, Identity, SimulatedTime, kubeconfig};
use berth_site::{Resolver, Site};
use kube::{Client, Config};
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    comparison::{BOOT_JITTER, Placed},
    daemons::Daemons,
    following,
    services::{self, Services},
};
use crate::{
    args::{FlavourArg, UpArgs},
    commands::controller::{documents, mode},
    failure::Failure,
    site::Loaded,
    vital,
};

/// Machines that were added beyond those of the site belong here.
const EXTRA_POOL: &str = "worker";
/// How long the controllers wait for further changes before they render.
const SETTLE: Duration = Duration::from_millis(100);
/// So long controllers may take to end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Gives a site without pools the one that every cluster has, and puts its machines there: Airship's documents know no pools,
/// and a machine is served the config of one. Says whether it did.
pub(super) fn add_pool_if_none(loaded: &Loaded, set: &mut DocumentSet) -> bool {
    let site = &loaded.site;
    if !site.pools.is_empty() || (site.nodes.is_empty() && site.berths.is_empty()) {
        return false;
    }
    let role = json!({"matchLabels": {"node-role.kubernetes.io/worker": ""}});
    let of_worker = json!({"matchLabels": {"machineconfiguration.openshift.io/role": WORKER}});
    let objects = [
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfigPool",
            "metadata": {"name": WORKER},
            "spec": {"nodeSelector": role, "machineConfigSelector": of_worker},
        }),
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig",
            "metadata": {"name": "00-worker", "labels": {"machineconfiguration.openshift.io/role": WORKER}},
            "spec": {"config": {"ignition": {"version": "3.4.0"}}},
        }),
        json!({
            "apiVersion": "berth.dev/v1alpha1",
            "kind": "LabelRule",
            "metadata": {"name": "machines-without-a-pool"},
            "spec": {"match": {"namePatterns": [".*"]}, "pool": WORKER},
        }),
    ];
    for object in objects {
        set.add_object(object_name(&object), &object);
    }
    true
}

/// The names of the machines that boot. Machines beyond those of the site get a Berth document.
pub(super) fn machine_names(loaded: &Loaded, wanted: Option<usize>, set: &mut DocumentSet) -> Vec<String> {
    let resolver = Resolver::new(&loaded.site, loaded.site.flavour_for(None));
    let mut names: Vec<String> = resolver
        .resolve_all()
        .iter()
        .filter(|resolution| resolution.pool_name().is_some())
        .map(|resolution| resolution.node.to_string())
        .collect();
    let Some(wanted) = wanted else { return names };
    names.truncate(wanted);
    for index in names.len()..wanted {
        let name = format!("extra-{index:05}");
        let berth = json!({
            "apiVersion": "berth.dev/v1alpha1",
            "kind": "Berth",
            "metadata": {"name": name},
            "spec": {"pool": EXTRA_POOL},
        });
        set.add_object(object_name(&berth), &berth);
        names.push(name);
    }
    names
}

/// How far a machine is on its way to its place: those where something happens come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Stopped,
    Rebooting,
    Draining,
    Requesting,
    /// Its kubelet runs; labels or its Berth are not there yet.
    Running,
    Booting,
    Off,
    /// Its Berth is occupied and its Node has every label.
    InPlace,
}

impl Stage {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "kubelet stopped",
            Self::Rebooting => "rebooting",
            Self::Draining => "draining",
            Self::Requesting => "wants certificate",
            Self::Running => "registered",
            Self::Booting => "booting",
            Self::Off => "off",
            Self::InPlace => "Occupied",
        }
    }
}

/// Everything that runs.
pub(super) struct World {
    pub(super) server: ApiServer,
    pub(super) fleet: Fleet,
    pub(super) machines: Vec<Placed>,
    pub(super) kubeconfig: PathBuf,
    pub(super) client: Client,
    pub(super) services: Services,
    /// The node daemons, in full mode.
    pub(super) daemons: Option<Daemons>,
    controllers: Controllers,
    _folder: TempDir,
}

/// A task of the controllers; nothing comes of one that was cancelled.
type Running = JoinHandle<Option<Result<(), controller::RunError>>>;

/// The controllers, which may be stopped and started again, and what they need for that.
struct Controllers {
    time: SimulatedTime,
    flavour: Flavour,
    mode: Mode,
    /// What the documents say.
    site: Arc<Site>,
    running: Option<(Running, CancellationToken)>,
}

pub(super) fn unusable(error: impl std::fmt::Display) -> Failure {
    Failure::Unusable(error.to_string())
}

impl World {
    pub(super) async fn start(
        args: &UpArgs,
        set: DocumentSet,
        names: Vec<String>,
        clock: &Clock,
    ) -> Result<Self, Failure> {
        let loaded = Loaded::new(set.clone());
        let flavour = loaded.site.flavour_for(None);
        let machines = placed(&loaded, flavour, &names);
        let time = SimulatedTime::starting_at(clock.now());
        let mut options = ClusterOptions::new(time.clock(), 1);
        options.flavour = flavour;
        let cluster = match &args.data_dir {
            Some(folder) => Cluster::open(options, folder)
                .await
                .map_err(|error| Failure::Argument {
                    message: format!(
                        "cannot keep the cluster in `{}`: {}",
                        folder.display(),
                        crate::failure::Chain(&error)
                    ),
                    hint: Some("name a folder that you may write to, or leave `--data-dir` out".to_owned()),
                })?,
            None => Cluster::new(options),
        };
        let token = administrator_token()?;
        cluster.add_token(token.clone(), Identity::administrator());
        define(&cluster).await?;
        let objects = following::apply(&cluster, &set.documents).await?;
        let address = SocketAddr::from(([127, 0, 0, 1], args.port));
        let server = ApiServer::start(cluster.clone(), address)
            .await
            .map_err(|error| Failure::Argument {
                message: crate::failure::Chain(&error).to_string(),
                hint: Some("leave `--port` out to take any free port".to_owned()),
            })?;
        let folder = TempDir::with_prefix("berth-up-").map_err(|error| no_folder(&std::env::temp_dir(), &error))?;
        let kubeconfig_path = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig_path, kubeconfig(&server.url(), &token))
            .map_err(|error| no_folder(folder.path(), &error))?;

        let url = server.url().parse().map_err(unusable)?;
        let client = Client::try_from(Config::new(url)).map_err(unusable)?;
        let site = services::Site {
            serving: serving(&loaded, flavour)?,
            documents: set,
            objects,
        };
        let data_dir = args.data_dir.as_deref();
        let api = (cluster.clone(), client.clone());
        let mode = mode(args.mode);
        let (services, source) = services::start(data_dir, site, &names, folder.path(), api, mode, clock).await?;
        let mut fleet = Fleet::new(cluster, time.clone(), flavour, 1);
        fleet.fetch_from(source);
        for name in &names {
            let habits = Habits {
                boot_jitter: BOOT_JITTER,
                ..Habits::default()
            };
            fleet.add(name, Disk::image(), habits);
            give_token(&mut fleet, name).await?;
        }
        let daemons = (mode == Mode::Full).then(|| {
            fleet.leave_configs_to_daemons();
            Daemons::new(client.clone(), time.clock())
        });
        let mut world = Self {
            server,
            fleet,
            machines,
            kubeconfig: kubeconfig_path,
            client,
            services,
            daemons,
            controllers: Controllers {
                time,
                flavour,
                mode,
                site: Arc::new(loaded.site.declared()),
                running: None,
            },
            _folder: folder,
        };
        world.start_controllers();
        if mode == Mode::Full {
            world.services.wait_for_configs().await;
        }
        Ok(world)
    }

    /// Starts the controllers, unless they run.
    pub(super) fn start_controllers(&mut self) {
        let controllers = &mut self.controllers;
        if controllers.running.is_some() {
            return;
        }
        let mut options = Options::new(controllers.time.clock());
        options.mode = controllers.mode;
        options.approve = true;
        // Nobody edits several objects one after the other before the machines boot.
        options.pools.settle = SETTLE;
        options.flavour = Some(controllers.flavour);
        options.documents = Some(documents::of_repository(
            Arc::clone(&controllers.site),
            Arc::clone(&self.services.repository),
            FlavourArg::default(),
        ));
        let stop = CancellationToken::new();
        let task = vital::spawn(
            "controllers",
            controller::run(self.client.clone(), options, stop.clone()),
        );
        controllers.running = Some((task, stop));
    }

    /// Stops the controllers, and waits for them as long as people would.
    pub(super) async fn stop_controllers(&mut self) {
        if let Some((task, stop)) = self.controllers.running.take() {
            stop.cancel();
            let _ = tokio::time::timeout(PATIENCE, task).await;
        }
    }

    /// Lets time pass for the machines, and for their daemons.
    pub(super) async fn pass(&mut self, seconds: i64) -> Result<(), Failure> {
        self.fleet.run(seconds).await;
        match &mut self.daemons {
            Some(daemons) => daemons.follow(&mut self.fleet).await,
            None => Ok(()),
        }
    }

    /// Ends everything in order: controllers first, then what they talk to.
    pub(super) async fn end(mut self) {
        self.daemons = None;
        self.services.stop();
        self.stop_controllers().await;
        self.server.stop().await;
    }
}

/// Gives a machine a bootstrap token that nobody else can use.
pub(super) async fn give_token(fleet: &mut Fleet, name: &str) -> Result<(), Failure> {
    let token = machine_token(name)?;
    let binding = serde_json::to_value(&token.binding).map_err(unusable)?;
    fleet.cluster().apply(&binding).await.map_err(unusable)?;
    let mut secret = serde_json::to_value(&token.secret).map_err(unusable)?;
    secret["apiVersion"] = json!("v1");
    secret["kind"] = json!("Secret");
    fleet.cluster().apply(&secret).await.map_err(unusable)?;
    fleet.bootstrap_with(name, token.token.split('.').next().unwrap_or_default());
    Ok(())
}

fn no_folder(folder: &Path, error: &std::io::Error) -> Failure {
    Failure::Argument {
        message: format!("cannot write to `{}`: {error}", folder.display()),
        hint: Some("set TMPDIR to a folder that you may write to".to_owned()),
    }
}

/// Another one in each run: a page that knew it could ask with it.
fn administrator_token() -> Result<String, Failure> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(unusable)?;
    Ok(format!("{:032x}", u128::from_be_bytes(random)))
}

/// A bootstrap token that is bound to one machine, so that nobody can ask for another's certificate with it.
fn machine_token(name: &str) -> Result<BootstrapToken, Failure> {
    let mut random = [0; 22];
    getrandom::fill(&mut random).map_err(unusable)?;
    Ok(bootstrap_token(name, &random, None))
}

fn placed(loaded: &Loaded, flavour: Flavour, names: &[String]) -> Vec<Placed> {
    let costs = Costs::new(&loaded.site);
    let mut reboots: HashMap<String, bool> = HashMap::new();
    // By how many reboots a machine is cheaper that has its labels when it joins.
    let mut reboots = |pool: &str| {
        let of = |pool: &str| costs.of_joining(pool);
        *reboots
            .entry(pool.to_owned())
            .or_insert_with(|| of(pool).without > of(pool).with)
    };
    Resolver::new(&loaded.site, flavour)
        .resolve_all()
        .iter()
        .filter(|resolution| names.iter().any(|name| *name == *resolution.node))
        .filter_map(|resolution| {
            let pool = resolution.pool_name()?;
            Some(Placed {
                name: resolution.node.to_string(),
                pool: pool.to_owned(),
                reboots: reboots(pool),
                labels: resolution
                    .labels
                    .iter()
                    .map(|label| (label.key.as_str().to_owned(), label.value.as_str().to_owned()))
                    .collect(),
            })
        })
        .collect()
}

/// What the documents say that machines are served.
fn serving(loaded: &Loaded, flavour: Flavour) -> Result<Serving, Failure> {
    let resolver = Resolver::new(&loaded.site, flavour);
    let mut findings = loaded.findings_without_nodes(&resolver).into_iter();
    if findings.any(|finding| finding.severity() == Severity::Error) {
        let message = "the site has errors: `berth lint` shows them".to_owned();
        return Err(Failure::Unusable(message));
    }
    Ok(Serving::of_site(&resolver, &RenderOptions::default()))
}

/// Puts the definitions of Berth's and OpenShift's resources into the cluster.
pub(super) async fn define(cluster: &Cluster) -> Result<(), Failure> {
    for set in [CrdSet::Berth, CrdSet::MachineConfig] {
        for definition in crds(set) {
            let mut definition = serde_json::to_value(definition).map_err(unusable)?;
            definition["apiVersion"] = json!("apiextensions.k8s.io/v1");
            definition["kind"] = json!("CustomResourceDefinition");
            cluster.apply(&definition).await.map_err(unusable)?;
        }
    }
    Ok(())
}
