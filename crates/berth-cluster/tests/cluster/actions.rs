//! Actions beside controllers: who writes what, and that nobody undoes what the other did.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use berth_clock::Clock;
use berth_decide::{Declaration, UnitLabels};
use berth_labels::Flavour;
use berth_resources::{Berth, LabelRule};
use berth_site::{Resolver, Site};
use berth_store::{ActionId, ActionStore, MemoryStore, NewAction, Origin, SubtaskPage};
use berth_workflow::{Engine, EngineOptions, Event};
use http::{Method, Request};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt as _, api::PostParams, client::Body};
use serde_json::{Value, json};
use tokio::{
    sync::{broadcast, watch},
    task::JoinHandle,
};

use crate::support::{Cluster, History, INFRA, Needs, STORAGE, WORKER, from_json, has, lacks, on_both, site};

on_both! {
    Needs::NOTHING;
    an_action_leaves_what_documents_declare_to_the_controllers,
    controllers_with_other_documents_are_not_fought,
    what_actions_do_beside_what_controllers_keep_stays,
}

/// Long, because the machine may be busy; nothing is concluded from how long something took.
const PATIENCE: Duration = Duration::from_mins(3);

/// The documents of a site: its pools, and one machine.
fn revision(pool: &str, labels: &Value) -> Arc<Site> {
    let pools = [("infra", INFRA, "tier=infra"), ("storage", STORAGE, "tier=storage")];
    let pools = pools.iter().map(|(name, selector, explicit)| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name, "annotations": {"berth.dev/node-labels": explicit}},
            "spec": {"nodeSelector": {"matchLabels": {*selector: ""}}},
        })
    });
    let machine = json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": "w1"},
        "spec": {"pool": pool, "preregister": "Now", "labels": labels},
    });
    site(&pools.chain([machine]).collect::<Vec<_>>())
}

/// What an action keeps for the node of a site.
fn work(site: &Site) -> Value {
    let resolver = Resolver::new(site, Flavour::Upstream);
    let subject = resolver.subject("w1").expect("it is declared");
    let mut units = UnitLabels::new(site, Flavour::Upstream);
    let Declaration { labels, berth, .. } = Declaration::new(&resolver, &resolver.resolve(subject), &mut units);
    json!({"labels": labels, "berth": berth})
}

/// What is asked of the API server.
#[derive(Default)]
struct Asked {
    patches: AtomicU32,
    berths: watch::Sender<u32>,
}

fn counting(client: Client) -> (Client, Arc<Asked>) {
    let asked: Arc<Asked> = Arc::default();
    let counted = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, path) = (client.clone(), request.uri().path());
        if request.method() == Method::PATCH {
            assert!(path.contains("/nodes/"), "an action writes nothing but Nodes: {path}");
            counted.patches.fetch_add(1, Ordering::Relaxed);
        }
        if path.contains("/berths/") {
            counted.berths.send_modify(|count| *count += 1);
        }
        async move { client.send(request).await.map_err(tower::BoxError::from) }
    });
    (Client::new(service, "default"), asked)
}

/// An engine for actions, on the same cluster as the controllers.
struct Actions {
    store: Arc<dyn ActionStore>,
    engine: Arc<Engine>,
    asked: Arc<Asked>,
    task: JoinHandle<()>,
}

impl Actions {
    async fn start(cluster: &Cluster, for_controllers: Duration) -> Self {
        let (client, asked) = counting(cluster.fresh_client().await);
        let store: Arc<dyn ActionStore> = Arc::new(MemoryStore::new());
        let mut options = EngineOptions::new("one", Clock::system());
        options.patience.controllers = for_controllers;
        let engine = Arc::new(Engine::new(Arc::clone(&store), client, options));
        let task = tokio::spawn(Arc::clone(&engine).run(tokio_util::sync::CancellationToken::new()));
        Self {
            store,
            engine,
            asked,
            task,
        }
    }

    fn patches(&self) -> u32 {
        self.asked.patches.load(Ordering::Relaxed)
    }

    async fn begin(&self, strategy: &str, work: Value) -> (ActionId, broadcast::Receiver<Event>) {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let now = i64::from(NUMBER.fetch_add(1, Ordering::Relaxed));
        let new = NewAction {
            id: ActionId::new(now * 1000, [0; 10]),
            task_id: format!("task {now}"),
            origin: Origin::Action,
            name: "update_labels".to_owned(),
            parameters: json!({}),
            user: "tester".to_owned(),
            context_marker: String::new(),
            revision: Some(1),
            allow_intermediate_commits: None,
            options: json!({"strategy": strategy, "allow_mass_removal": true}),
            exclusive: None,
            nodes: vec![("w1".to_owned(), work)],
            now,
        };
        let events = self.engine.events();
        self.store.create_action(&new).await.expect("an action");
        self.engine.wake();
        (new.id, events)
    }

    /// The outcome of the node.
    async fn end(&self, (id, mut events): (ActionId, broadcast::Receiver<Event>)) -> Value {
        let end = async {
            while !self.store.action(&id).await.expect("an action").state.is_final() {
                let _: Result<Event, _> = events.recv().await;
            }
            let subtasks = self.store.subtasks(&id, SubtaskPage::ALL).await.expect("its nodes");
            subtasks[0].outcome.clone().expect("an outcome")
        };
        tokio::time::timeout(PATIENCE, end).await.expect("an end")
    }

    async fn relabel(&self, strategy: &str, work: Value) -> Value {
        self.end(self.begin(strategy, work).await).await
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How often the Node was written, when nobody has anything to do any more.
async fn writes(cluster: &Cluster, history: &History) -> usize {
    cluster.label("w1", json!({"marker": "1"})).await;
    let marked = |node: &Node| node.labels().contains_key("marker");
    let seen = async {
        loop {
            let versions = history.of("w1");
            if let Some(count) = versions.iter().position(marked) {
                return count;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.expect("the marker")
}

fn as_first(node: &Node) -> bool {
    has(node, INFRA, "")
        && has(node, "tier", "infra")
        && has(node, "example.com/kept", "1")
        && has(node, "example.com/taken", "1")
        && lacks(node, STORAGE)
        && lacks(node, "example.com/given")
}

/// Documents move a machine. The action comes before the controllers know of it: it waits, they write once, and what it tells
/// is what they did. Nothing of it is taken for an administrator's deed.
async fn an_action_leaves_what_documents_declare_to_the_controllers(cluster: &mut Cluster) {
    let first = revision("infra", &json!({"example.com/kept": "1", "example.com/taken": "1"}));
    let second = revision("storage", &json!({"example.com/kept": "2", "example.com/given": "2"}));
    let (commit, documents) = watch::channel(first.clone());
    let controllers = cluster.controllers(|options| {
        options.documents = Some(documents);
        options.allow_mass_removal = true;
    });
    cluster
        .node_with("w1", "had what the first revision says", as_first)
        .await;
    let settled = |berth: &Berth| {
        let status = berth.status.as_ref();
        status.is_some_and(|status| status.observed_generation == berth.metadata.generation)
    };
    cluster.berth_with("w1", "settled", settled).await;
    let history = cluster.history().await;
    let actions = Actions::start(cluster, PATIENCE).await;
    let action = actions.begin("owned", work(&second)).await;
    // It looks at the Berth again and again, and writes nothing.
    let mut looks = actions.asked.berths.subscribe();
    looks.wait_for(|count| *count > 3).await.expect("looks");
    assert_eq!((history.of("w1").len(), actions.patches()), (0, 0));
    commit.send_replace(second.clone());
    let outcome = actions.end(action).await;
    assert_eq!(outcome["success"], true, "{outcome}");
    assert_eq!(
        outcome["set"],
        json!({STORAGE: "", "example.com/given": "2"}),
        "{outcome}"
    );
    assert_eq!(
        outcome["removed"],
        json!({INFRA: "", "example.com/taken": "1"}),
        "{outcome}"
    );
    let changed: Vec<&String> = outcome["changed"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(changed, ["example.com/kept", "tier"], "{outcome}");
    // The second time there is nothing to do, for anybody.
    for strategy in ["owned", "mirror"] {
        let outcome = actions.relabel(strategy, work(&second)).await;
        assert_eq!(outcome["message"], "nothing to change", "{strategy}");
    }
    assert_eq!(actions.patches(), 0);
    assert_eq!(writes(cluster, &history).await, 1, "by the controllers");
    let berth = cluster.berth_with("w1", "settled", settled).await;
    let status = berth.status.expect("a status");
    assert!(status.removed_labels.is_empty(), "{:?}", status.removed_labels);
    assert_eq!(status.labels.get(STORAGE).map(String::as_str), Some(""));

    // What went comes back when it is declared again.
    commit.send_replace(first.clone());
    cluster.node_with("w1", "was as before", as_first).await;

    // What an administrator removes stays away for both, and says so, unless every declared label is asked for.
    let kept = "example.com/kept";
    cluster.label("w1", json!({kept: null})).await;
    cluster
        .berth_with("w1", "remembered the removal", |berth| {
            let status = berth.status.as_ref();
            status.is_some_and(|status| status.removed_labels.contains_key(kept))
        })
        .await;
    let outcome = actions.relabel("owned", work(&first)).await;
    assert_eq!(
        (&outcome["success"], actions.patches()),
        (&json!(false), 0),
        "{outcome}"
    );
    let told = outcome["message"].as_str().expect("a message");
    assert!(told.contains("an administrator removed it"), "{told}");
    let outcome = actions.relabel("mirror", work(&first)).await;
    assert_eq!(outcome["set"], json!({kept: "1"}), "{outcome}");
    cluster.node_with("w1", "had it again", as_first).await;
    controllers.stop().await;
}

/// The controllers have other documents and keep them. The action says so, and changes nothing that they would undo.
async fn controllers_with_other_documents_are_not_fought(cluster: &mut Cluster) {
    let (_commit, documents) = watch::channel(revision(
        "infra",
        &json!({"example.com/kept": "1", "example.com/taken": "1"}),
    ));
    let controllers = cluster.controllers(|options| options.documents = Some(documents));
    cluster.node_with("w1", "had its labels", as_first).await;
    let history = cluster.history().await;
    let actions = Actions::start(cluster, Duration::from_millis(100)).await;
    for strategy in ["owned", "mirror"] {
        let other = revision("storage", &json!({"example.com/given": "2"}));
        let outcome = actions.relabel(strategy, work(&other)).await;
        assert_eq!(outcome["success"], false, "{outcome}");
        let message = outcome["message"].as_str().expect("a message");
        assert!(message.contains("Berth w1 does not declare"), "{message}");
    }
    assert_eq!(actions.patches(), 0);
    assert_eq!(writes(cluster, &history).await, 0);
    cluster
        .node_with("w1", "was as the controllers want it", as_first)
        .await;
    controllers.stop().await;
}

/// Controllers without documents keep what the objects of the cluster declare. Labels of actions are somebody else's to them,
/// and what they keep is somebody else's to actions.
async fn what_actions_do_beside_what_controllers_keep_stays(cluster: &mut Cluster) {
    let rules: Api<LabelRule> = cluster.api();
    let rule = from_json(json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": "site"},
        "spec": {"match": {"namePatterns": ["w.*"]}, "labels": {"example.com/zone": "a"}},
    }));
    rules.create(&PostParams::default(), &rule).await.expect("a rule");
    cluster.node("w1", json!({WORKER: "", "stale": "yes"})).await;
    let controllers = cluster.controllers(|_| {});
    cluster
        .berth_with("w1", "said what it wrote", |berth| {
            let status = berth.status.as_ref();
            status.is_some_and(|status| {
                status.labels.contains_key("example.com/zone")
                    && status.observed_generation == berth.metadata.generation
            })
        })
        .await;
    let zone = |node: &Node| has(node, "example.com/zone", "a");
    cluster.node_with("w1", "had its zone", zone).await;
    let history = cluster.history().await;
    let actions = Actions::start(cluster, PATIENCE).await;
    let asks = |labels: Value| json!({"labels": labels, "berth": {"pool": null, "labels": labels}});
    let outcome = actions
        .relabel("owned", asks(json!({"rack": "r1", "example.com/zone": "b"})))
        .await;
    assert_eq!(outcome["set"], json!({"rack": "r1"}), "{outcome}");
    assert_eq!(outcome["success"], false, "the zone is the controllers': {outcome}");
    let outcome = actions.relabel("owned", asks(json!({"rack": "r2"}))).await;
    assert_eq!(outcome["changed"]["rack"]["to"], "r2", "{outcome}");
    let outcome = actions.relabel("mirror", asks(json!({}))).await;
    assert_eq!(outcome["removed"], json!({"rack": "r2", "stale": "yes"}), "{outcome}");
    assert_eq!(actions.patches(), 3);
    assert_eq!(writes(cluster, &history).await, 3, "all of them the actions'");
    let node = cluster.node_with("w1", "kept its zone", zone).await;
    assert!(has(&node, WORKER, "") && lacks(&node, "rack"), "{:?}", node.labels());
    let berth = cluster.berth_with("w1", "was there", |_| true).await;
    assert!(berth.status.expect("a status").removed_labels.is_empty());
    controllers.stop().await;
}
