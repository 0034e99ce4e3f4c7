//! Ten thousand Nodes and Berths on one controller, on a real API server.
//!
//! `cargo bench -p berth-cluster --bench scale` prints each figure next to its limit and fails when a limit is passed.
//! `-- --nodes 1000` takes another number of Nodes, for a quick look. The controller runs in a process of its own, so
//! that its memory is its own. `-- --beside` measures labels mode alone, beside somebody who writes to the same Nodes all the
//! time, as OpenShift's operator and its daemons do.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench prints, and fails as a test does"
)]

use std::{
    env,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use berth_clock::Clock;
use berth_cluster::{
    connect,
    controller::{Mode, Options, run},
};
use berth_resources::{Berth, CrdSet, MachineConfigPool, crds};
use berth_testing::{ControlPlane, Identity, Options as PlaneOptions, Programs};
use futures::{StreamExt as _, stream};
use k8s_openapi::{
    api::core::v1::Node, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResourceExt as _, ResourceExt as _,
    api::{DynamicObject, ListParams, Patch, PatchParams, PostParams},
    runtime::{
        WatchStreamExt as _,
        wait::{await_condition, conditions},
        watcher::{self, watcher},
    },
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const CHILD: &str = "--controller";
const LISTEN: &str = "--listen";
const NODES: &str = "--nodes";
const LABELS: &str = "--labels";
const BESIDE: &str = "--beside";
/// Nodes of a cluster with an operator, and how many of them somebody moves.
const NODES_BESIDE: usize = 160;
const MOVED_BESIDE: usize = 100;
/// The label that each pool gives.
const TIER: &str = "example.com/tier";
/// How many writers keep the API server busy.
const NOISE: usize = 4;
/// Writers of the controller, and of the bare client that it is compared with.
const WRITERS: usize = 32;
const MEMORY_LIMIT_MB: u64 = 150;
const RATE_LIMIT: f64 = 0.8;
const STATUS_LIMIT: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_mins(30);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    if let Some(kubeconfig) = argument(CHILD) {
        runtime.block_on(controller(kubeconfig.into()));
        return;
    }
    // `cargo test --benches` asks for a look, not for a measurement.
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let Some(programs) = Programs::for_test() else {
        return;
    };
    if env::args().any(|argument| argument == BESIDE) {
        runtime.block_on(beside(programs));
    } else {
        runtime.block_on(measure(programs));
    }
}

/// The value after a flag.
fn argument(flag: &str) -> Option<String> {
    env::args().skip_while(|argument| argument != flag).nth(1)
}

/// The process that is measured.
async fn controller(kubeconfig: PathBuf) {
    let client = connect(Some(&kubeconfig), None).await.expect("a client");
    let mut options = Options::new(Clock::system());
    if !env::args().any(|argument| argument == LABELS) {
        options.mode = Mode::Full;
    }
    options.writers = WRITERS;
    options.listen = argument(LISTEN).and_then(|address| address.parse().ok());
    Box::pin(run(client, options, CancellationToken::new()))
        .await
        .expect("it runs");
}

struct Controller {
    child: Child,
    address: String,
}

impl Controller {
    fn start(plane: &ControlPlane, mode: &[&str]) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address").to_string();
        drop(free);
        let kubeconfig = plane.write_kubeconfig(&Identity::admin()).expect("a kubeconfig");
        let child = Command::new(env::current_exe().expect("a path"))
            .arg(CHILD)
            .arg(kubeconfig)
            .args([LISTEN, &address])
            .args(mode)
            .stdin(Stdio::null())
            .spawn()
            .expect("the controller starts");
        Self { child, address }
    }

    /// Resident memory now and at most, in megabytes.
    fn memory(&self) -> (u64, u64) {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let kilobytes = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).expect("a line");
            line.split_whitespace()
                .nth(1)
                .and_then(|number| number.parse::<u64>().ok())
                .expect("a number")
        };
        (kilobytes("VmRSS") / 1024, kilobytes("VmHWM") / 1024)
    }

    async fn metric(&self, name: &str) -> Option<f64> {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut stream = tokio::net::TcpStream::connect(&self.address).await.ok()?;
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.ok()?;
        let values = text
            .lines()
            .filter(|line| line.starts_with(name) && !line.starts_with('#'));
        let values = values.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        // The sum of nothing would be minus nought.
        Some(values.fold(0.0, |sum, value| sum + value))
    }

    /// Waits until nothing waits to be looked at.
    async fn settled(&self, nodes: usize) {
        let mut quiet = 0;
        while quiet < 10 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let known = self.metric("berth_nodes").await.unwrap_or_default();
            let waiting = self.metric("berth_waiting_nodes").await.unwrap_or(f64::MAX);
            #[expect(clippy::cast_precision_loss, reason = "a number of nodes")]
            let all = known >= nodes as f64;
            quiet = if all && waiting == 0.0 { quiet + 1 } else { 0 };
        }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn node(index: usize, pool: &str) -> Node {
    let name = format!("node-{index:05}");
    let images: Vec<Value> = (0..20)
        .map(|image| json!({"names": [format!("registry.example/team/image-{image}@sha256:{:064x}", image)], "sizeBytes": 104_857_600}))
        .collect();
    let condition = |kind: &str, status: &str| {
        json!({
            "type": kind, "status": status, "reason": "KubeletReports", "message": "kubelet reports its state",
            "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    serde_json::from_value(json!({
        "metadata": {
            "name": name,
            "labels": {
                format!("node-role.kubernetes.io/{pool}"): "",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "beta.kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": "bare-metal",
                "topology.kubernetes.io/zone": format!("rack-{}", index % 40),
                "topology.kubernetes.io/region": "georgia",
            },
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "status": {
            "nodeInfo": {
                "machineID": format!("{index:032x}"), "systemUUID": format!("{index:032x}"), "bootID": format!("{index:032x}"),
                "kernelVersion": "6.12.0", "osImage": "Example Linux 10", "containerRuntimeVersion": "cri-o://1.36.0",
                "kubeletVersion": "v1.36.4", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
            },
            "conditions": [
                condition("MemoryPressure", "False"), condition("DiskPressure", "False"),
                condition("PIDPressure", "False"), condition("Ready", "True"),
            ],
            "images": images,
        },
    }))
    .expect("a Node")
}

struct Bench {
    client: Client,
    nodes: usize,
    failed: bool,
}

impl Bench {
    fn api<K: kube::Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    fn report(&mut self, what: &str, figure: &str, limit: &str, holds: bool) {
        println!(
            "{what:<58} {figure:>14}   limit {limit:<10} {}",
            if holds { "ok" } else { "MISSED" }
        );
        self.failed |= !holds;
    }

    async fn install(&self) {
        let api: Api<CustomResourceDefinition> = self.api();
        for crd in [CrdSet::Berth, CrdSet::MachineConfig].into_iter().flat_map(crds) {
            let name = crd.name_any();
            api.create(&PostParams::default(), &crd).await.expect("a CRD");
            await_condition(api.clone(), &name, conditions::is_crd_established())
                .await
                .expect("established");
        }
        let configs: Api<DynamicObject> =
            Api::all_with(self.client.clone(), &berth_resources::MachineConfig::api_resource());
        let config = serde_json::from_value(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": "00-worker", "labels": {"machineconfiguration.openshift.io/role": "worker"}},
            "spec": {"config": {"ignition": {"version": "3.2.0"}}},
        }))
        .expect("a machine config");
        configs
            .create(&PostParams::default(), &config)
            .await
            .expect("a machine config");
        let pools: Api<DynamicObject> = Api::all_with(self.client.clone(), &MachineConfigPool::api_resource());
        for name in ["worker", "infra", "storage"] {
            let pool = serde_json::from_value(json!({
                "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
                "metadata": {"name": name, "annotations": {"berth.dev/node-labels": format!("{TIER}={name}")}},
                "spec": {
                    "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}},
                    "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": "worker"}},
                },
            }))
            .expect("a pool");
            pools.create(&PostParams::default(), &pool).await.expect("a pool");
        }
    }

    async fn boot(&self) {
        let api: Api<Node> = self.api();
        stream::iter(0..self.nodes)
            .for_each_concurrent(WRITERS, |index| {
                let api = api.clone();
                async move {
                    // A fifth is in storage, the rest are workers.
                    let pool = if index % 5 == 0 { "storage" } else { "worker" };
                    api.create(&PostParams::default(), &node(index, pool))
                        .await
                        .expect("a Node");
                }
            })
            .await;
    }

    async fn patch_all(&self, names: &[String], labels: &Value) -> Duration {
        let api: Api<Node> = self.api();
        let patch = json!({"metadata": {"labels": labels}});
        let start = Instant::now();
        stream::iter(names)
            .for_each_concurrent(WRITERS, |name| {
                let (api, patch) = (api.clone(), Patch::Merge(patch.clone()));
                async move {
                    api.patch(name, &PatchParams::default(), &patch).await.expect("a patch");
                }
            })
            .await;
        start.elapsed()
    }

    /// Waits for the counts of two pools.
    async fn counts(&self, wanted: [(&str, usize); 2]) {
        let api: Api<MachineConfigPool> = self.api();
        let mut versions = watcher(api, watcher::Config::default())
            .default_backoff()
            .applied_objects()
            .boxed();
        let mut right = [false; 2];
        while right != [true; 2] {
            let Some(Ok(pool)) = versions.next().await else {
                continue;
            };
            let count = pool
                .status
                .as_ref()
                .and_then(|status| status.machine_count)
                .unwrap_or(-1);
            for (right, (name, wanted)) in right.iter_mut().zip(wanted) {
                if pool.name_any() == name {
                    *right = usize::try_from(count) == Ok(wanted);
                }
            }
        }
    }

    async fn count(&self, pool: &str) -> usize {
        let pool = self.api::<MachineConfigPool>().get(pool).await.expect("a pool");
        let count = pool.status.and_then(|status| status.machine_count).unwrap_or_default();
        usize::try_from(count).unwrap_or_default()
    }

    async fn names(&self, selector: &str) -> Vec<String> {
        let parameters = ListParams::default().labels(selector);
        let nodes = self.api::<Node>().list_metadata(&parameters).await.expect("a list");
        nodes.items.iter().map(kube::ResourceExt::name_any).collect()
    }

    /// Moves workers to infra and back, and measures how long the counts take to be right after the last patch.
    async fn relabel(&mut self, moved: usize, paused: bool) {
        let pools: Api<MachineConfigPool> = self.api();
        for pool in ["worker", "infra"] {
            let patch = Patch::Merge(json!({"spec": {"paused": paused}}));
            pools
                .patch(pool, &PatchParams::default(), &patch)
                .await
                .expect("a pool");
        }
        let (workers, infras) = (self.count("worker").await, self.count("infra").await);
        let mut names = self
            .names("node-role.kubernetes.io/worker,!node-role.kubernetes.io/infra")
            .await;
        names.truncate(moved);
        let client = self.client.clone();
        let watching = Self {
            client,
            nodes: 0,
            failed: false,
        };
        let wanted = [("worker", workers - names.len()), ("infra", infras + names.len())];
        let counted = tokio::spawn(async move {
            watching.counts(wanted).await;
            Instant::now()
        });
        let labels = json!({"node-role.kubernetes.io/worker": null, "node-role.kubernetes.io/infra": ""});
        self.patch_all(&names, &labels).await;
        let last = Instant::now();
        let right = tokio::time::timeout(PATIENCE, counted)
            .await
            .expect("in time")
            .expect("no panic");
        let took = right.saturating_duration_since(last);
        let state = if paused { "paused" } else { "unpaused" };
        let what = format!("pool counts after a relabel of {moved} nodes, {state}");
        self.report(&what, &format!("{} ms", took.as_millis()), "1 s", took <= STATUS_LIMIT);
    }

    /// A change of a pool's labels, against a bare client that patches the same Nodes.
    ///
    /// The controller watches in both parts, and each begins when the controller has nothing left to do. What the bench
    /// needs for looking on is set up before.
    async fn rate(&mut self, controller: &Controller) {
        let names = self.names("node-role.kubernetes.io/storage").await;
        let bare = self.patch_all(&names, &json!({"bench.example/bare": "1"})).await;
        controller.settled(self.nodes).await;
        let api: Api<Node> = self.api();
        let config = watcher::Config::default().labels(&format!("{TIER}=cold"));
        let mut versions = watcher(api, config).default_backoff().boxed();
        while !matches!(versions.next().await, Some(Ok(watcher::Event::InitDone))) {}
        let pools: Api<MachineConfigPool> = self.api();
        let patch = json!({"metadata": {"annotations": {"berth.dev/node-labels": format!("{TIER}=cold")}}});
        let start = Instant::now();
        pools
            .patch("storage", &PatchParams::default(), &Patch::Merge(patch))
            .await
            .expect("a pool");
        let mut done = std::collections::BTreeSet::new();
        while done.len() < names.len() {
            match versions.next().await {
                Some(Ok(watcher::Event::Apply(node) | watcher::Event::InitApply(node))) => {
                    done.insert(node.name_any());
                }
                Some(_) => {}
                None => panic!("a watch does not end"),
            }
        }
        let berth = start.elapsed();
        #[expect(clippy::cast_precision_loss, reason = "a number of nodes")]
        let rate = |took: Duration| names.len() as f64 / took.as_secs_f64();
        println!(
            "{} nodes: bare client {:.0} patches/s, controller {:.0} nodes/s",
            names.len(),
            rate(bare),
            rate(berth)
        );
        let share = rate(berth) / rate(bare);
        self.report(
            "share of a bare client's patch rate",
            &format!("{share:.2}"),
            "0.80",
            share >= RATE_LIMIT,
        );
    }
}

impl Bench {
    /// Waits until all of these names have been shown by an object that is as it should be, and says when that was.
    async fn shown<K>(client: Client, names: Vec<String>, name: fn(&K) -> String, right: impl Fn(&K) -> bool) -> Instant
    where
        K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
    {
        let mut versions = watcher(Api::<K>::all(client), watcher::Config::default())
            .default_backoff()
            .applied_objects()
            .boxed();
        let mut waiting: std::collections::BTreeSet<String> = names.into_iter().collect();
        while !waiting.is_empty() {
            if let Some(Ok(object)) = versions.next().await
                && right(&object)
            {
                waiting.remove(&name(&object));
            }
        }
        Instant::now()
    }

    /// Waits until the Berths of these Nodes have the pool and its label. What `berth status` counts are their pools.
    async fn followed(client: Client, names: Vec<String>, pool: &'static str) -> Instant {
        let right = |berth: &Berth| {
            berth.status.as_ref().is_some_and(|status| {
                status.pool.as_deref() == Some(pool) && status.labels.get(TIER).is_some_and(|tier| tier == pool)
            })
        };
        Self::shown(client, names, Berth::node_name, right).await
    }

    /// Waits until these Nodes have the label that the pool gives.
    async fn labelled(client: Client, names: Vec<String>, pool: &'static str) -> Instant {
        let right = |node: &Node| node.labels().get(TIER).is_some_and(|tier| tier == pool);
        Self::shown(client, names, kube::ResourceExt::name_any, right).await
    }

    /// Writes annotations to all Nodes over and over, until it is dropped.
    fn noise(&self) -> tokio::task::JoinSet<()> {
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..NOISE {
            let (api, nodes): (Api<Node>, _) = (self.api(), self.nodes);
            writers.spawn(async move {
                for round in 0_u64.. {
                    for index in (writer..nodes).step_by(NOISE) {
                        let note = json!({"metadata": {"annotations": {"bench.example/state": format!("{round}")}}});
                        let name = format!("node-{index:05}");
                        let _ = api.patch(&name, &PatchParams::default(), &Patch::Merge(note)).await;
                    }
                }
            });
        }
        writers
    }

    /// Moves Nodes from one pool to another, as a person does, and measures how long the Berths take to follow.
    async fn follow(&mut self, from: &str, to: &'static str, state: &str) {
        let role = |pool: &str| format!("node-role.kubernetes.io/{pool}");
        let mut names = self.names(&role(from)).await;
        names.truncate(MOVED_BESIDE);
        let following = tokio::spawn(Self::followed(self.client.clone(), names.clone(), to));
        let labelling = tokio::spawn(Self::labelled(self.client.clone(), names.clone(), to));
        let start = Instant::now();
        self.patch_all(&names, &json!({role(from): null, role(to): ""})).await;
        let last = Instant::now();
        let right = tokio::time::timeout(PATIENCE, following)
            .await
            .expect("in time")
            .expect("no panic");
        let took = right.saturating_duration_since(last);
        let labelled = labelling.await.expect("no panic");
        println!(
            "{MOVED_BESIDE} nodes patched in {} ms, followed after {} ms and labelled after {} ms in all",
            last.duration_since(start).as_millis(),
            right.duration_since(start).as_millis(),
            labelled.duration_since(start).as_millis()
        );
        let what = format!("Berths and pool counts after the last patch, {state}");
        self.report(&what, &format!("{} ms", took.as_millis()), "1 s", took <= STATUS_LIMIT);
    }
}

async fn beside(programs: Programs) {
    let plane = ControlPlane::start(&programs, PlaneOptions::default())
        .await
        .expect("a control plane");
    let client = plane.client(&Identity::admin()).await.expect("a client");
    let mut bench = Bench {
        client,
        nodes: NODES_BESIDE,
        failed: false,
    };
    bench.install().await;
    bench.boot().await;
    let controller = Controller::start(&plane, &[LABELS]);
    controller.settled(NODES_BESIDE).await;
    for _ in 0..3 {
        bench.follow("worker", "infra", "quiet").await;
        controller.settled(NODES_BESIDE).await;
        bench.follow("infra", "worker", "quiet").await;
        controller.settled(NODES_BESIDE).await;
    }
    let mut noise = bench.noise();
    for _ in 0..3 {
        bench.follow("worker", "infra", "busy").await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        bench.follow("infra", "worker", "busy").await;
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    noise.abort_all();
    drop(controller);
    assert!(!bench.failed, "a limit was missed");
}

async fn measure(programs: Programs) {
    let nodes = argument(NODES).and_then(|nodes| nodes.parse().ok()).unwrap_or(10_000);
    let plane = ControlPlane::start(&programs, PlaneOptions::default())
        .await
        .expect("a control plane");
    let client = plane.client(&Identity::admin()).await.expect("a client");
    let mut bench = Bench {
        client,
        nodes,
        failed: false,
    };
    bench.install().await;
    let start = Instant::now();
    bench.boot().await;
    println!("{nodes} Nodes created in {:.0} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let controller = Controller::start(&plane, &[]);
    controller.settled(nodes).await;
    let berths = bench
        .api::<Berth>()
        .list_metadata(&ListParams::default())
        .await
        .expect("a list");
    assert_eq!(berths.items.len(), nodes, "every Node has its Berth");
    println!(
        "{nodes} Nodes adopted and labelled in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    let (now, most) = controller.memory();
    bench.report(
        "resident memory while adopting, now and at most",
        &format!("{now} / {most} MB"),
        &format!("{MEMORY_LIMIT_MB} MB"),
        most < MEMORY_LIMIT_MB,
    );
    drop(controller);

    let controller = Controller::start(&plane, &[]);
    controller.settled(nodes).await;
    let writes = controller.metric("berth_writes_total").await.expect("a metric");
    bench.report("writes after a restart", &format!("{writes}"), "0", writes == 0.0);
    let (now, most) = controller.memory();
    bench.report(
        "resident memory after a restart, now and at most",
        &format!("{now} / {most} MB"),
        &format!("{MEMORY_LIMIT_MB} MB"),
        most < MEMORY_LIMIT_MB,
    );
    for paused in [false, true] {
        for moved in [1, 500.min(nodes / 4)] {
            bench.relabel(moved, paused).await;
            controller.settled(nodes).await;
        }
    }
    bench.rate(&controller).await;
    drop(controller);
    assert!(!bench.failed, "a limit was missed");
}
