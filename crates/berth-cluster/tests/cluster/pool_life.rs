//! The pool life of `examples/telco-site` in full mode, with nodes whose daemons are simulated: sixty on the embedded
//! API, and two hundred on a real API server with two replicas whose leader is killed half-way.

use std::{collections::BTreeMap, path::Path, time::Duration};

use berth_clock::Clock;
use berth_cluster::{
    controller::{Mode, Options, PoolOptions},
    lease::LeaseOptions,
};
use berth_decide::pools::UPDATE_IN_PROGRESS;
use berth_documents::{Sources, parse};
use berth_labels::Flavour;
use berth_pools::annotation;
use berth_resources::{Berth, MachineConfig, MachineConfigPool};
use berth_testing::Identity;
use futures::{StreamExt as _, stream};
use jiff::SignedDuration;
use k8s_openapi::api::{
    core::v1::{Node, Pod, ServiceAccount},
    events::v1::Event,
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::ApiResource,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    daemons::{Daemons, Witness, state},
    support::{Cluster, Controllers, Needs, On, from_json, seen, start_controllers},
};

const WORKER: &str = "worker";
const INFRA: &str = "infra";
const REMOTE: &str = "worker-rwn";
const INFRAS: usize = 14;
const REMOTES: usize = 8;
/// What only the nodes of a pool carry here.
const MARKS: &[&str] = &["test.example/worker", "test.example/infra", "test.example/worker-rwn"];
const BROKEN: &str = "worker-007";
const BUSY: &str = "worker-rwn-001";

fn full(options: &mut Options) {
    options.mode = Mode::Full;
    // The site's kubelet unit is OpenShift's.
    options.flavour = Some(Flavour::Openshift);
    options.pools = PoolOptions {
        settle: Duration::from_millis(300),
        keep_unused: Duration::ZERO,
        first_drain_retry: Duration::from_millis(100),
        longest_drain_retry: Duration::from_secs(1),
    };
}

/// A cluster in which the pools of the site live.
struct Life {
    client: Client,
    workers: usize,
}

impl Life {
    fn api<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    async fn create<K>(&self, object: Value)
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
    {
        let object: K = from_json(object);
        let created = self.api::<K>().create(&PostParams::default(), &object).await;
        created.expect("created");
    }

    /// The machine configs and pools of the site. Whoever renders a pool finds all that it selects, however slowly they are
    /// made.
    async fn declare(&self) {
        let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/telco-site");
        for folder in ["machine-configs", "pools"] {
            for entry in std::fs::read_dir(site.join(folder)).expect("the example") {
                let path = entry.expect("an entry").path();
                let mut sources = Sources::new();
                let text = std::fs::read_to_string(&path).expect("a file");
                let id = sources.add(path.display().to_string(), text);
                for document in parse(&sources, id).documents {
                    let mut object = document.root.to_json();
                    if object["metadata"]["name"] == WORKER && folder == "pools" {
                        object["spec"]["maxUnavailable"] = json!("10%");
                    }
                    match folder {
                        "pools" => self.create::<MachineConfigPool>(object).await,
                        _ => self.create::<MachineConfig>(object).await,
                    }
                }
            }
        }
    }

    async fn pool_with(&self, name: &str, what: &str, fits: impl Fn(&MachineConfigPool) -> bool) -> MachineConfigPool {
        seen(&self.client, name, what, fits).await
    }

    async fn node_with(&self, name: &str, what: &str, fits: impl Fn(&Node) -> bool) -> Node {
        seen(&self.client, name, what, fits).await
    }

    /// Nodes that have booted with the config that the Ignition server gave them.
    async fn boot(&self) {
        let mut nodes = Vec::new();
        for (pool, role, count) in [
            (WORKER, "node-role.kubernetes.io/worker", self.workers),
            (INFRA, "node-role.kubernetes.io/infra", INFRAS),
            (REMOTE, "node.kubernetes.io/worker-rwn", REMOTES),
        ] {
            let config = self.target(pool).await;
            for index in 0..count {
                nodes.push(json!({
                    "metadata": {
                        "name": format!("{pool}-{index:03}"),
                        "labels": {role: "", format!("test.example/{pool}"): ""},
                        "annotations": {
                            annotation::CURRENT_CONFIG: config,
                            annotation::DESIRED_CONFIG: config,
                            annotation::STATE: "Done",
                        },
                    },
                }));
            }
        }
        stream::iter(nodes)
            .for_each_concurrent(8, |node| self.create::<Node>(node))
            .await;
    }

    /// The config of a pool, when it has one.
    async fn target(&self, pool: &str) -> String {
        let pool = self
            .pool_with(pool, "was rendered", |pool| target(pool).is_some())
            .await;
        target(&pool).expect("rendered")
    }

    async fn machine_config(&self, name: &str, path: &str, role: &str) {
        self.create::<MachineConfig>(json!({
            "metadata": {"name": name, "labels": {"machineconfiguration.openshift.io/role": role}},
            "spec": {"config": {
                "ignition": {"version": "3.2.0"},
                "storage": {"files": [{"path": path, "mode": 420, "contents": {"source": "data:,hello"}}]},
            }},
        }))
        .await;
    }

    async fn edit_pool(&self, pool: &str, spec: Value) {
        let patch = Patch::Merge(json!({"spec": spec}));
        let edited = self.api::<MachineConfigPool>();
        edited
            .patch(pool, &PatchParams::default(), &patch)
            .await
            .expect("edited");
    }

    async fn edit_node(&self, node: &str, patch: Value) {
        let patched = self.api::<Node>();
        let patch = Patch::Merge(patch);
        patched
            .patch(node, &PatchParams::default(), &patch)
            .await
            .expect("edited");
    }

    async fn rendered(&self, pool: &str) -> Vec<String> {
        let all = self.api::<MachineConfig>().list(&ListParams::default()).await;
        let prefix = format!("rendered-{pool}-");
        let names = all.expect("a list").items.into_iter().map(|config| config.name_any());
        // `worker-` begins `worker-rwn-` as well; a hash has no dash.
        names
            .filter(|name| name.strip_prefix(&prefix).is_some_and(|hash| !hash.contains('-')))
            .collect()
    }

    async fn all_updated(&self, pool: &str, config: &str) {
        let count = match pool {
            WORKER => self.workers,
            INFRA => INFRAS,
            _ => REMOTES,
        };
        self.pool_with(pool, "was updated", |pool| {
            holds(pool, "Updated") && completed(pool).as_deref() == Some(config) && machines(pool) == count
        })
        .await;
    }

    async fn has_event(&self, name: &str, reason: &str, text: &str) -> bool {
        let events = Api::<Event>::all(self.client.clone());
        let events = events.list(&ListParams::default()).await.expect("events").items;
        let has_text = |event: &Event| event.note.as_deref().is_some_and(|note| note.contains(text));
        events.iter().any(|event| {
            event.regarding.as_ref().and_then(|about| about.name.as_deref()) == Some(name)
                && event.reason.as_deref() == Some(reason)
                && has_text(event)
        })
    }
}

fn target(pool: &MachineConfigPool) -> Option<String> {
    pool.spec.configuration.as_ref()?.name.clone()
}

fn sources(pool: &MachineConfigPool) -> Vec<&str> {
    let sources = pool
        .spec
        .configuration
        .iter()
        .flat_map(|configuration| configuration.source.iter().flatten());
    sources.filter_map(|source| source.name.as_deref()).collect()
}

fn completed(pool: &MachineConfigPool) -> Option<String> {
    pool.status.as_ref()?.configuration.as_ref()?.name.clone()
}

fn machines(pool: &MachineConfigPool) -> usize {
    let count = pool.status.as_ref().and_then(|status| status.machine_count);
    usize::try_from(count.unwrap_or_default()).expect("a count")
}

fn counted(
    pool: &MachineConfigPool,
    count: impl Fn(&berth_resources::MachineConfigPoolStatus) -> Option<i32>,
) -> usize {
    let count = pool.status.as_ref().and_then(count);
    usize::try_from(count.unwrap_or_default()).expect("a count")
}

fn condition(pool: &MachineConfigPool, kind: &str) -> (bool, String) {
    let conditions = pool.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut found = conditions.filter(|condition| condition.type_.as_deref() == Some(kind));
    found.next().map_or_else(Default::default, |condition| {
        let message = condition.message.clone().unwrap_or_default();
        (condition.status.as_deref() == Some("True"), message)
    })
}

fn holds(pool: &MachineConfigPool, kind: &str) -> bool {
    condition(pool, kind).0
}

/// The whole life, with so many workers beside the nodes of other pools. `half_way` is called in the middle of the first rollout.
async fn live(client: Client, workers: usize, half_way: impl AsyncFnOnce()) {
    let life = Life { client, workers };
    life.declare().await;
    life.boot().await;
    let daemons = Daemons::start(&life.client);
    let first = life.target(WORKER).await;
    for pool in [WORKER, INFRA, REMOTE] {
        let config = life.target(pool).await;
        life.all_updated(pool, &config).await;
        assert_eq!(life.rendered(pool).await, [config], "several machine configs gave one");
    }
    let witness = Witness::start(&life.client, MARKS).await;

    // Two changes together, in all pools that inherit from worker.
    daemons.fail(BROKEN);
    life.machine_config("60-motd", "/etc/motd", WORKER).await;
    life.machine_config("61-issue", "/etc/issue", WORKER).await;
    let worker = life
        .pool_with(WORKER, "got both changes", |pool| {
            let sources = sources(pool);
            ["60-motd", "61-issue"].iter().all(|name| sources.contains(name))
        })
        .await;
    let second = target(&worker).expect("rendered");
    life.pool_with(WORKER, "moved", |pool| {
        counted(pool, |status| status.updated_machine_count) >= workers / 5
    })
    .await;
    half_way().await;

    pause(&life, &witness, &second).await;

    // One node cannot take it. It is reported, and the rest go on.
    let rest = workers - 1;
    let worker = life
        .pool_with(WORKER, "was updated but for one", |pool| {
            counted(pool, |status| status.updated_machine_count) == rest
                && counted(pool, |status| status.degraded_machine_count) == 1
        })
        .await;
    let (degraded, message) = condition(&worker, "NodeDegraded");
    let expected = format!(r#"Node {BROKEN} is reporting: "content mismatch for file \"/etc/motd\"""#);
    assert!(degraded && message == expected, "{message}");
    assert!(holds(&worker, "Degraded") && !holds(&worker, "Updated"));
    for pool in [INFRA, REMOTE] {
        let config = life.target(pool).await;
        life.all_updated(pool, &config).await;
    }
    assert!(
        life.rendered(WORKER).await.contains(&first),
        "what a node still runs is kept"
    );
    daemons.heal(BROKEN);
    life.edit_node(BROKEN, json!({"metadata": {"labels": {"test.example/healed": ""}}}))
        .await;
    life.all_updated(WORKER, &second).await;
    gone(&life, &first).await;
    assert_eq!(life.rendered(WORKER).await, [second], "what nobody refers to is let go");

    blocked_drain(&life).await;

    inspect(&life, &witness).await;
}

/// Pausing holds a rollout. What has begun is finished, and membership is still counted.
async fn pause(life: &Life, witness: &Witness, second: &str) {
    life.edit_pool(WORKER, json!({"paused": true})).await;
    let paused = format!("Pool is paused; will not update to MachineConfig {second}");
    life.pool_with(WORKER, "said that it is paused", |pool| {
        condition(pool, "Updating") == (false, paused.clone())
            && counted(pool, |status| status.unavailable_machine_count) == 0
    })
    .await;
    let targeted = witness.targeted(second);
    assert!(targeted < life.workers, "it was held in the middle");
    let away = &format!("worker-{:03}", life.workers - 1);
    life.edit_node(
        away,
        json!({"metadata": {"labels": {"node-role.kubernetes.io/worker": null}}}),
    )
    .await;
    life.pool_with(WORKER, "counted one less", |pool| machines(pool) == life.workers - 1)
        .await;
    life.edit_node(
        away,
        json!({"metadata": {"labels": {"node-role.kubernetes.io/worker": ""}}}),
    )
    .await;
    life.pool_with(WORKER, "counted it again", |pool| machines(pool) == life.workers)
        .await;
    assert_eq!(witness.targeted(second), targeted, "a paused pool tells nobody to move");
    life.edit_pool(WORKER, json!({"paused": null})).await;
}

/// What the rollouts looked like, and what they left behind.
async fn inspect(life: &Life, witness: &Witness) {
    // Checked at every version of every Node.
    assert!(witness.versions() > (life.workers + INFRAS + REMOTES) * 8);
    // A tenth of the workers.
    let limit = life.workers / 10;
    for (mark, limit) in MARKS.iter().zip([limit, 1, 1]) {
        assert!(
            (1..=limit).contains(&witness.most(mark)),
            "{mark}: {} of {limit}",
            witness.most(mark)
        );
    }
    for (name, reason) in [
        (WORKER, "RenderedConfigGenerated"),
        (WORKER, "Updating"),
        (WORKER, "Completed"),
        (WORKER, "SetDesiredConfig"),
    ] {
        assert!(life.has_event(name, reason, "rendered-worker-").await, "{reason}");
    }
    let nodes = life.api::<Node>().list(&ListParams::default()).await.expect("a list");
    for node in nodes {
        let spec = node.spec.clone().unwrap_or_default();
        assert!(
            state(&node).done() && !state(&node).unschedulable,
            "{}",
            node.name_any()
        );
        let tainted = spec
            .taints
            .into_iter()
            .flatten()
            .any(|taint| taint.key == UPDATE_IN_PROGRESS);
        assert!(!tainted, "{} is tainted", node.name_any());
    }
}

/// A Pod that may not go holds its node, and says so; when its budget is gone the node moves.
async fn blocked_drain(life: &Life) {
    let pods: Api<Pod> = Api::namespaced(life.client.clone(), "default");
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(life.client.clone(), "default");
    let accounts: Api<ServiceAccount> = Api::namespaced(life.client.clone(), "default");
    let account = from_json(json!({"metadata": {"name": "default"}}));
    // A cluster with more controllers has it already.
    let _ = accounts.create(&PostParams::default(), &account).await;
    let pod = |name: &str, labels: Value, owners: Value| {
        from_json::<Pod>(json!({
            "metadata": {"name": name, "labels": labels, "ownerReferences": owners},
            "spec": {
                "nodeName": BUSY,
                "terminationGracePeriodSeconds": 0,
                "automountServiceAccountToken": false,
                "containers": [{"name": "main", "image": "registry.example/main"}],
            },
        }))
    };
    let daemon_set = json!([{
        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "00000000-0000-4000-8000-000000000001",
        "controller": true,
    }]);
    let budget = from_json(json!({
        "metadata": {"name": "database"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "database"}}},
    }));
    let create = PostParams::default();
    pods.create(&create, &pod("database", json!({"app": "database"}), json!([])))
        .await
        .expect("a Pod");
    pods.create(&create, &pod("web", json!({"app": "web"}), json!([])))
        .await
        .expect("a Pod");
    pods.create(&create, &pod("agent", json!({"app": "agent"}), daemon_set))
        .await
        .expect("a Pod");
    budgets.create(&create, &budget).await.expect("a budget");
    // A Pod that does not run yet is not a loss to a budget.
    let runs =
        Patch::Merge(json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}));
    let patched = pods.patch_status("database", &PatchParams::default(), &runs).await;
    patched.expect("it runs");

    life.machine_config("62-database", "/etc/database", REMOTE).await;
    let asks = |node: &Node| {
        let state = state(node);
        let asked = state.annotations.get(annotation::DESIRED_DRAIN);
        state.unschedulable && asked.is_some_and(|asked| asked.starts_with("drain-"))
    };
    life.node_with(BUSY, "was cordoned", asks).await;
    let told = async {
        while !life.has_event(BUSY, "Drain", "default/database").await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(3), told)
        .await
        .expect("an event says what is in the way");
    assert!(
        pods.get_opt("database").await.expect("an answer").is_some(),
        "it may not go"
    );
    assert!(
        pods.get_opt("web").await.expect("an answer").is_none(),
        "the others need not wait for it"
    );
    let node = life.api::<Node>().get(BUSY).await.expect("a Node");
    assert_ne!(
        state(&node).annotations.get(annotation::LAST_APPLIED_DRAIN),
        state(&node).annotations.get(annotation::DESIRED_DRAIN)
    );
    budgets
        .delete("database", &DeleteParams::default())
        .await
        .expect("deleted");
    let third = life.target(REMOTE).await;
    life.all_updated(REMOTE, &third).await;
    assert!(pods.get_opt("database").await.expect("an answer").is_none());
    assert!(
        pods.get_opt("agent").await.expect("an answer").is_some(),
        "Pods of DaemonSets stay"
    );
}

/// Waits until a rendered config has been let go.
async fn gone(life: &Life, config: &str) {
    let configs: Api<MachineConfig> = life.api();
    let gone = async {
        while configs.get_opt(config).await.expect("an answer").is_some() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(3), gone)
        .await
        .expect("it is let go");
}

/// The version of every object that the controllers write to, by kind and name.
async fn versions(client: &Client) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    for (kind, resource) in [
        ("Node", ApiResource::erase::<Node>(&())),
        ("Berth", ApiResource::erase::<Berth>(&())),
        ("MachineConfig", ApiResource::erase::<MachineConfig>(&())),
        ("MachineConfigPool", ApiResource::erase::<MachineConfigPool>(&())),
    ] {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let list = api.list(&ListParams::default()).await.expect("a list");
        for object in list {
            versions.insert(
                format!("{kind}/{}", object.name_any()),
                object.resource_version().unwrap_or_default(),
            );
        }
    }
    versions
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_writes_nothing_where_nothing_changed() {
    let cluster = Cluster::without_pools(On::Embedded, Needs::NOTHING).await;
    let cluster = cluster.expect("it needs no programs");
    let client = cluster.client.clone();
    let life = Life { client, workers: 20 };
    let controllers = start_controllers(life.client.clone(), full);
    life.declare().await;
    life.boot().await;
    for pool in [WORKER, INFRA, REMOTE] {
        let config = life.target(pool).await;
        life.all_updated(pool, &config).await;
    }
    for pool in [WORKER, INFRA, REMOTE] {
        let name = format!("{pool}-000");
        seen::<Berth>(&life.client, &name, "was settled", |berth| {
            berth
                .status
                .as_ref()
                .is_some_and(|status| !status.labels.is_empty() || status.node_uid.is_some())
        })
        .await;
    }
    // What has begun is finished.
    controllers.stop().await;
    let quiet = start_controllers(life.client.clone(), full);
    touch(&life, "worker-000", "1").await;
    // The last that is written to a Node which is told its config: no daemon answers here.
    let config = life.target(INFRA).await;
    seen::<Node>(&life.client, "worker-000", "was told", |node| {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let waits = taints
            .into_iter()
            .flatten()
            .any(|taint| taint.key == UPDATE_IN_PROGRESS);
        let given = node.annotations().get(berth_decide::names::POOL).map(String::as_str);
        node.annotations().get(annotation::DESIRED_CONFIG) == Some(&config) && given == Some(INFRA) && !waits
    })
    .await;
    quiet.stop().await;
    let before = versions(&life.client).await;
    let controllers = start_controllers(life.client.clone(), full);
    // When the controllers have dealt with this change they have looked at everything else before.
    touch(&life, "worker-001", "2").await;
    controllers.stop().await;
    let after = versions(&life.client).await;
    let written: Vec<&String> = after
        .iter()
        .filter(|(name, version)| before.get(*name) != Some(*version))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        written,
        [
            "Berth/worker-001",
            "MachineConfigPool/infra",
            "MachineConfigPool/worker",
            "Node/worker-001"
        ]
    );
}

/// Moves a worker to infra, and waits until that is known everywhere.
async fn touch(life: &Life, node: &str, count: &str) {
    let infras = life.pool_with(INFRA, "was counted", |pool| machines(pool) > 0).await;
    let infras = machines(&infras);
    let labels = json!({
        "node-role.kubernetes.io/worker": null, "node-role.kubernetes.io/infra": "", "test.example/count": count,
    });
    life.edit_node(node, json!({"metadata": {"labels": labels}})).await;
    life.pool_with(INFRA, "counted it", |pool| machines(pool) == infras + 1)
        .await;
    seen::<Berth>(&life.client, node, "followed", |berth| {
        berth
            .status
            .as_ref()
            .is_some_and(|status| status.pool.as_deref() == Some(INFRA))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_life_of_pools_on_the_embedded_api() {
    let cluster = Cluster::without_pools(On::Embedded, Needs::NOTHING).await;
    let cluster = cluster.expect("it needs no programs");
    let controllers = cluster.controllers(full);
    live(cluster.client.clone(), 38, async || {}).await;
    controllers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_life_of_pools_on_a_real_api_server_with_the_leader_killed() {
    let Some(cluster) = Cluster::without_pools(On::Real, Needs::NOTHING).await else {
        return;
    };
    // A client's connections belong to the runtime that opened them, and go with it when it is killed.
    let admin = Identity::admin();
    let one = cluster.client_of(&admin).await;
    let other = cluster.client_of(&admin).await;
    let replica = |client: Client, identity: &str, skew: SignedDuration| -> Controllers {
        cluster.controllers_with(client, |options| {
            full(options);
            options.clock = Clock::new(move || Clock::system().now() + skew);
            options.lease = Some(LeaseOptions {
                namespace: "kube-system".to_owned(),
                identity: identity.to_owned(),
                duration: Duration::from_secs(4),
                period: Duration::from_millis(200),
                ..LeaseOptions::default()
            });
        })
    };
    let mut first = replica(one, "first", SignedDuration::ZERO);
    // Its clock is ten minutes behind; nothing depends on it.
    let second = replica(other, "second", SignedDuration::from_mins(-10));
    live(cluster.client.clone(), 178, async || first.kill()).await;
    second.stop().await;
}
