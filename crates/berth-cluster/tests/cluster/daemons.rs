//! Simulated node daemons: they answer the annotation contract of the Machine Config Operator.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use berth_pools::{NodeState, annotation};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams, WatchEvent, WatchParams},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watcher},
    },
};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};

pub(crate) fn state(node: &Node) -> NodeState {
    let mut value = serde_json::to_value(node).expect("a Node");
    value["kind"] = json!("Node");
    NodeState::from_json(&value).expect("a Node")
}

/// One daemon for each node.
pub(crate) struct Daemons {
    failing: Arc<Mutex<BTreeSet<String>>>,
    task: JoinHandle<()>,
}

impl Daemons {
    pub(crate) fn start(client: &Client) -> Self {
        let failing: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let task = tokio::spawn(work(client.clone(), failing.clone()));
        Self { failing, task }
    }

    /// From now on the daemon of this node cannot take what it is told to.
    pub(crate) fn fail(&self, node: &str) {
        self.failing.lock().expect("two tasks").insert(node.to_owned());
    }

    /// The next time something about the node changes, its daemon tries again.
    pub(crate) fn heal(&self, node: &str) {
        self.failing.lock().expect("two tasks").remove(node);
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn work(client: Client, failing: Arc<Mutex<BTreeSet<String>>>) {
    let nodes: Api<Node> = Api::all(client);
    let mut versions = watcher(nodes.clone(), watcher::Config::default())
        .default_backoff()
        .applied_objects()
        .boxed();
    let mut writes = JoinSet::new();
    while let Some(version) = versions.next().await {
        let Ok(node) = version else { continue };
        let fails = failing.lock().expect("two tasks").contains(&node.name_any());
        let Some(annotations) = next(&state(&node), fails) else {
            continue;
        };
        let (nodes, name) = (nodes.clone(), node.name_any());
        // For this very version: what was decided on an old one is not written.
        let version = node.resource_version();
        writes.spawn(async move {
            let patch = Patch::Merge(json!({"metadata": {"resourceVersion": version, "annotations": annotations}}));
            // A conflict means that another version is on its way here. An API server that is too busy to answer is asked
            // again, as a real daemon does: nothing else would make the node go on.
            while let Err(error) = nodes.patch(&name, &PatchParams::default(), &patch).await {
                if matches!(&error, kube::Error::Api(status) if status.is_conflict() || status.is_not_found()) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        while writes.try_join_next().is_some() {}
    }
}

/// What the daemon of a node writes next.
fn next(node: &NodeState, fails: bool) -> Option<Value> {
    let text = |key: &str| node.annotations.get(key).map(String::as_str).unwrap_or_default();
    let (desired, state) = (node.desired_config()?, text(annotation::STATE));
    let current = node.current_config()?;
    let applied = |request: &str| text(annotation::LAST_APPLIED_DRAIN) == request;
    let drain = format!("drain-{desired}");
    let uncordon = format!("uncordon-{desired}");
    if desired == current {
        let over = state == "Working" && applied(&uncordon);
        return over.then(|| json!({annotation::STATE: "Done", annotation::REASON: ""}));
    }
    match state {
        "Done" | "Degraded" if !fails => Some(json!({
            annotation::STATE: "Working", annotation::REASON: "", annotation::DESIRED_DRAIN: drain,
        })),
        "Done" => Some(json!({
            annotation::STATE: "Degraded", annotation::REASON: "content mismatch for file \"/etc/motd\"",
        })),
        // Here a real machine writes its disk and reboots.
        "Working" if applied(&drain) => {
            Some(json!({annotation::CURRENT_CONFIG: desired, annotation::DESIRED_DRAIN: uncordon}))
        }
        _ => None,
    }
}

/// Looks at every version of every Node, in their order, and counts how many of a pool are out of service at once.
pub(crate) struct Witness {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    nodes: BTreeMap<String, (NodeState, BTreeMap<String, String>)>,
    /// The most nodes out of service or on the move at once, by the label of their pool.
    most: BTreeMap<&'static str, usize>,
    versions: usize,
}

impl Witness {
    pub(crate) async fn start(client: &Client, pools: &'static [&'static str]) -> Self {
        let api: Api<Node> = Api::all(client.clone());
        let start = api.list(&ListParams::default()).await.expect("a list");
        let version = start.metadata.resource_version.expect("a version");
        let seen: Arc<Mutex<Seen>> = Arc::default();
        for node in start.items {
            take(&mut seen.lock().expect("one task"), &node, pools);
        }
        let kept = seen.clone();
        let task = tokio::spawn(async move {
            let parameters = WatchParams::default().timeout(290);
            let mut version = version;
            // A watch ends after a while; the next one goes on where it ended.
            loop {
                let mut stream = api.watch(&parameters, &version).await.expect("a watch").boxed();
                while let Ok(Some(event)) = stream.try_next().await {
                    match event {
                        WatchEvent::Added(node) | WatchEvent::Modified(node) => {
                            version = node.resource_version().expect("a version");
                            take(&mut kept.lock().expect("two tasks"), &node, pools);
                        }
                        WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
                        WatchEvent::Deleted(node) => version = node.resource_version().expect("a version"),
                        WatchEvent::Error(error) => panic!("versions were overlooked: {error:?}"),
                    }
                }
            }
        });
        Self { seen, task }
    }

    /// The most nodes of a pool that were out of service at once.
    pub(crate) fn most(&self, pool: &str) -> usize {
        let seen = self.seen.lock().expect("two tasks");
        assert!(!self.task.is_finished(), "nothing was overlooked");
        seen.most.get(pool).copied().unwrap_or_default()
    }

    pub(crate) fn versions(&self) -> usize {
        self.seen.lock().expect("two tasks").versions
    }

    /// Nodes that have been told to get this config.
    pub(crate) fn targeted(&self, config: &str) -> usize {
        let seen = self.seen.lock().expect("two tasks");
        let nodes = seen.nodes.values();
        nodes.filter(|(node, _)| node.desired_config() == Some(config)).count()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn take(seen: &mut Seen, node: &Node, pools: &'static [&'static str]) {
    seen.versions += 1;
    seen.nodes.insert(node.name_any(), (state(node), node.labels().clone()));
    for pool in pools {
        let out = seen.nodes.values().filter(|(node, labels)| {
            let moves = node.desired_config() != node.current_config() && !node.degraded();
            labels.contains_key(*pool) && (!node.ready() || moves)
        });
        let out = out.count();
        let most = seen.most.entry(pool).or_default();
        *most = (*most).max(out);
    }
}
