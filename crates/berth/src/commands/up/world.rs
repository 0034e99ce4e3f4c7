//! The embedded cluster with everything that runs on it.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use berth_cluster::{
    api::{CrdSet, crds},
    bootstrap::{BootstrapToken, bootstrap_token},
    controller::{self, Options},
};
use berth_documents::Sources;
use berth_labels::Flavour;
use berth_pools::Timestamp as Seconds;
use berth_server::{Access, CatalogHandle, IgnitionService, ListenOptions, NewToken, Server, TokenScope, TokenStore};
use berth_sim::{
    ApiServer, Cluster, ClusterOptions, Disk, Fleet, Habits, Identity, IgnitionSource, Phase, SimulatedTime, kubeconfig,
};
use berth_site::Resolver;
use kube::{Client, Config};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::comparison::{Placed, without_berth};
use crate::{
    args::UpArgs,
    commands::ignition_server,
    exit::Exit,
    failure::Failure,
    output::{Printer, counted},
    site::Loaded,
};

const TOKEN: &str = "administrator";
const ADMIN: &str = "the embedded cluster";
/// How often machines go on.
const TICK: Duration = Duration::from_millis(50);
/// Machines that were added beyond those of the site belong here.
const EXTRA_POOL: &str = "worker";

/// The names of the machines that boot. Machines beyond those of the site get a Berth document.
pub(super) fn machine_names(loaded: &Loaded, wanted: Option<usize>, texts: &mut Vec<(String, String)>) -> Vec<String> {
    let resolver = Resolver::new(&loaded.site, Flavour::Upstream);
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
        texts.push((format!("{name}.json"), berth.to_string()));
        names.push(name);
    }
    names
}

/// Everything that runs.
pub(super) struct World {
    server: ApiServer,
    fleet: Fleet,
    machines: Vec<Placed>,
    kubeconfig: PathBuf,
    controllers: JoinHandle<Result<(), controller::RunError>>,
    ignition: JoinHandle<()>,
    stop: CancellationToken,
    _documents: watch::Sender<Arc<Vec<Value>>>,
    _folder: TempDir,
}

fn unusable(error: impl std::fmt::Display) -> Failure {
    Failure::Unusable(error.to_string())
}

impl World {
    pub(super) async fn start(
        args: &UpArgs,
        texts: Vec<(String, String)>,
        names: Vec<String>,
    ) -> Result<Self, Failure> {
        let loaded = Loaded::from_texts(texts.clone());
        let flavour = loaded
            .site
            .flavour
            .as_ref()
            .map_or(Flavour::Upstream, |flavour| flavour.value);
        let machines = placed(&loaded, flavour, &names);
        let time = SimulatedTime::starting_at(jiff::Timestamp::now());
        let mut options = ClusterOptions::new(time.clock(), 1);
        options.flavour = flavour;
        let cluster = match &args.data_dir {
            Some(folder) => Cluster::open(options, folder).await.map_err(unusable)?,
            None => Cluster::new(options),
        };
        cluster.add_token(TOKEN, Identity::administrator());
        let objects = objects(&texts);
        prepare(&cluster, &objects).await?;
        let address = SocketAddr::from(([127, 0, 0, 1], args.port));
        let server = ApiServer::start(cluster.clone(), address).await.map_err(unusable)?;
        let folder = TempDir::new().map_err(unusable)?;
        let kubeconfig_path = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig_path, kubeconfig(&server.url(), TOKEN)).map_err(unusable)?;

        let url = server.url().parse().map_err(unusable)?;
        let client = Client::try_from(Config::new(url)).map_err(unusable)?;
        let (sender, documents) = watch::channel(Arc::new(objects));
        let mut options = Options::new(time.clock());
        options.approve = true;
        options.flavour = flavour;
        options.documents = Some(documents);
        let stop = CancellationToken::new();
        let controllers = tokio::spawn(controller::run(client, options, stop.clone()));

        let (ignition, source) = ignition(&texts, &names, folder.path()).await?;
        let mut fleet = Fleet::new(cluster, time, flavour, 1);
        fleet.fetch_from(source);
        for name in &names {
            let habits = Habits {
                boot_jitter: 60,
                ..Habits::default()
            };
            fleet.add(name, Disk::image(), habits);
            let token = machine_token(name)?;
            let mut secret = serde_json::to_value(&token.secret).map_err(unusable)?;
            secret["apiVersion"] = json!("v1");
            secret["kind"] = json!("Secret");
            fleet.cluster().apply(&secret).await.map_err(unusable)?;
            fleet.bootstrap_with(name, token.token.split('.').next().unwrap_or_default());
        }
        Ok(Self {
            server,
            fleet,
            machines,
            kubeconfig: kubeconfig_path,
            controllers,
            ignition,
            stop,
            _documents: sender,
            _folder: folder,
        })
    }

    pub(super) async fn run(mut self, args: &UpArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        printer.data(&format!(
            "{} boot on an embedded Kubernetes API at {}; time passes {} times as fast. Ctrl-C ends it.\n",
            counted(self.machines.len(), "machine"),
            self.server.url(),
            args.speed
        ))?;
        for machine in &self.machines {
            self.fleet.power_on(&machine.name).map_err(unusable)?;
        }
        let ended = self.boot(args, printer).await?;
        if ended && args.without_berth {
            let cost = without_berth(&self.machines).await;
            let boots = self.boots();
            let minutes = self.fleet.elapsed() / 60;
            printer.data(&format!(
                "With Berth:    {boots} boots, all in their pools after {minutes} minutes.\n\
                 Without Berth: {} boots, all in their pools after {} minutes: {} reboots more.\n",
                cost.boots,
                cost.minutes,
                cost.boots.saturating_sub(boots)
            ))?;
        }
        if ended && !args.once {
            self.next_commands(printer)?;
            printer.flush()?;
            self.serve_until_told(args, printer).await?;
        }
        self.stop.cancel();
        self.ignition.abort();
        let _ = tokio::time::timeout(Duration::from_secs(3), self.controllers).await;
        self.server.stop().await;
        Ok(Exit::Done)
    }

    /// Lets machines boot until all are in their places. The answer is no if somebody ended it before.
    async fn boot(&mut self, args: &UpArgs, printer: &mut Printer<'_>) -> Result<bool, Failure> {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let step = seconds_of_a_tick(args);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = tokio::signal::ctrl_c() => return Ok(false),
            }
            self.fleet.run(step).await;
            self.tell(printer)?;
            if self.is_settled() {
                break;
            }
        }
        let mut pools: BTreeMap<&str, usize> = BTreeMap::new();
        for machine in &self.machines {
            *pools.entry(&machine.pool).or_default() += 1;
        }
        let pools: Vec<String> = pools.iter().map(|(pool, count)| format!("{pool}: {count}")).collect();
        printer.data(&format!(
            "All {} are in their places with all their labels, after {} ({}).\n",
            counted(self.machines.len(), "machine"),
            counted(usize::try_from(self.boots()).unwrap_or(0), "boot"),
            pools.join(", ")
        ))?;
        Ok(true)
    }

    async fn serve_until_told(&mut self, args: &UpArgs, printer: &mut Printer<'_>) -> Result<(), Failure> {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let step = seconds_of_a_tick(args);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
            self.fleet.run(step).await;
            self.tell(printer)?;
        }
    }

    fn tell(&mut self, printer: &mut Printer<'_>) -> Result<(), Failure> {
        let lines = self.fleet.take_transcript();
        if !lines.is_empty() {
            printer.data(&format!("{}\n", lines.join("\n")))?;
            printer.flush()?;
        }
        Ok(())
    }

    /// Every machine runs, its Berth says so, and its Node has every label that the site gives it.
    fn is_settled(&self) -> bool {
        let runs = self
            .machines
            .iter()
            .all(|machine| self.fleet.phase(&machine.name) == Some(Phase::Running));
        runs && {
            let berths = self.fleet.cluster().objects("berth.dev", "v1alpha1", "berths");
            let occupied = berths
                .iter()
                .filter(|berth| berth["status"]["phase"] == "Occupied")
                .count();
            occupied >= self.machines.len() && self.is_labelled()
        }
    }

    fn is_labelled(&self) -> bool {
        let nodes = self.fleet.cluster().objects("", "v1", "nodes");
        let nodes: BTreeMap<&str, &Value> = nodes
            .iter()
            .filter_map(|node| Some((node["metadata"]["name"].as_str()?, &node["metadata"]["labels"])))
            .collect();
        self.machines.iter().all(|machine| {
            let labels = nodes.get(machine.name.as_str());
            labels.is_some_and(|labels| machine.labels.iter().all(|(key, value)| labels[key] == value.as_str()))
        })
    }

    fn boots(&self) -> u32 {
        let boots = self
            .machines
            .iter()
            .filter_map(|machine| self.fleet.boots(&machine.name));
        boots.sum()
    }

    fn next_commands(&self, printer: &mut Printer<'_>) -> Result<(), Failure> {
        let kubectl = format!("kubectl --kubeconfig {}", self.kubeconfig.display());
        let one = self.machines.first().map_or("NAME", |machine| machine.name.as_str());
        printer.data(&format!(
            "\nTry next, in another terminal:\n  {kubectl} get nodes,berths\n  {kubectl} delete node {one}    # and watch it \
             come back with its labels\n  {kubectl} label node {one} example.com/mine=yes\n\n"
        ))
    }
}

/// A bootstrap token that is bound to one machine, so that nobody can ask for another's certificate with it.
fn machine_token(name: &str) -> Result<BootstrapToken, Failure> {
    let mut random = [0; 22];
    getrandom::fill(&mut random).map_err(unusable)?;
    Ok(bootstrap_token(name, &random, None))
}

fn seconds_of_a_tick(args: &UpArgs) -> i64 {
    let per_second = 1_000 / i64::try_from(TICK.as_millis()).unwrap_or(50).max(1);
    (i64::from(args.speed) / per_second).max(1)
}

fn placed(loaded: &Loaded, flavour: Flavour, names: &[String]) -> Vec<Placed> {
    Resolver::new(&loaded.site, flavour)
        .resolve_all()
        .iter()
        .filter(|resolution| names.iter().any(|name| *name == *resolution.node))
        .filter_map(|resolution| {
            Some(Placed {
                name: resolution.node.to_string(),
                pool: resolution.pool_name()?.to_owned(),
                labels: resolution
                    .labels
                    .iter()
                    .map(|label| (label.key.as_str().to_owned(), label.value.as_str().to_owned()))
                    .collect(),
            })
        })
        .collect()
}

/// The documents as JSON.
fn objects(texts: &[(String, String)]) -> Vec<Value> {
    let mut sources = Sources::new();
    let mut objects = Vec::new();
    for (name, text) in texts {
        let id = sources.add(name.clone(), text.as_str());
        let parsed = berth_documents::parse(&sources, id);
        objects.extend(parsed.documents.iter().map(|document| document.root.to_json()));
    }
    objects
}

/// Puts the definitions and the pools, rules and machine configs of the site into the cluster.
async fn prepare(cluster: &Cluster, objects: &[Value]) -> Result<(), Failure> {
    for set in [CrdSet::Berth, CrdSet::MachineConfig] {
        for definition in crds(set) {
            let mut definition = serde_json::to_value(definition).map_err(unusable)?;
            definition["apiVersion"] = json!("apiextensions.k8s.io/v1");
            definition["kind"] = json!("CustomResourceDefinition");
            cluster.apply(&definition).await.map_err(unusable)?;
        }
    }
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or_default();
        if ["MachineConfigPool", "MachineConfig", "LabelRule"].contains(&kind) {
            cluster.apply(object).await.map_err(|error| {
                Failure::Unusable(format!(
                    "{ADMIN} refuses {kind} {}: {error}",
                    object["metadata"]["name"]
                ))
            })?;
        }
    }
    Ok(())
}

/// Serves Ignition on a free port, with a token for each machine.
async fn ignition(
    texts: &[(String, String)],
    names: &[String],
    folder: &std::path::Path,
) -> Result<(JoinHandle<()>, IgnitionSource), Failure> {
    let catalog = ignition_server::catalog(texts.to_vec())?;
    let tokens = TokenStore::open(folder.join("tokens.json"))?;
    let now = Seconds(jiff::Timestamp::now().as_second());
    let mut known = BTreeMap::new();
    for name in names {
        let new = NewToken {
            scope: TokenScope::Node(name.clone()),
            expires: None,
            single_use: false,
            comment: String::new(),
        };
        known.insert(name.clone(), tokens.create(new, now)?.secret.reveal().to_owned());
    }
    let service = IgnitionService::new(
        CatalogHandle::new(catalog),
        Access::Tokens(Arc::new(tokens)),
        Arc::new(move || now),
    );
    let listen = ListenOptions {
        plain: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        ..ListenOptions::default()
    };
    let server = Server::bind(listen, service).await?;
    let address = server
        .plain_address()
        .ok_or_else(|| Failure::Unusable("the Ignition server has no address".to_owned()))?;
    let task = tokio::spawn(server.run(std::future::pending()));
    Ok((task, IgnitionSource::new(address, known)))
}
