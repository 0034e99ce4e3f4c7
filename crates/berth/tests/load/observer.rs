//! Watches all Nodes, straight from the API server, and checks every version.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, WatchEvent, WatchParams},
};

use crate::{
    figures::{Count, Figures},
    ledger::Ledger,
    site::{Group, lasting},
};

/// The domain of the labels that only people set.
pub(crate) const BY_HAND: &str = "people.example.org/";

/// While the API server is away.
const RETRY: Duration = Duration::from_millis(100);

/// What is known of a Node that is there.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) uid: String,
    pub(crate) labels: BTreeMap<String, String>,
}

/// What was seen, and what was wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Seeing {
    pub(crate) nodes: BTreeMap<String, Seen>,
    pub(crate) ledger: Ledger,
    /// By uid, the labels that are declared at all times and that the Node has had.
    kept: HashMap<String, HashSet<&'static str>>,
    pub(crate) problems: Vec<String>,
}

impl Seeing {
    fn look(&mut self, node: &Node) {
        let (name, uid) = (node.name_any(), node.uid().unwrap());
        let version = version(node);
        let labels = node.labels().clone();
        if let Some(before) = self.nodes.get(&name)
            && before.uid != uid
        {
            let gone = before.uid.clone();
            self.forget(&gone);
        }
        if let Some(problem) = self.problem(&name, &uid, version, &labels) {
            self.problems.push(format!("{name} ({uid}) at {version}: {problem}"));
        }
        self.nodes.insert(name, Seen { uid, labels });
    }

    fn problem(&mut self, name: &str, uid: &str, version: u64, labels: &BTreeMap<String, String>) -> Option<String> {
        let is_new = !self.kept.contains_key(uid);
        let kept = self.kept.entry(uid.to_owned()).or_default();
        for (key, value) in lasting(name) {
            let has = labels.get(key) == Some(&value);
            if has {
                kept.insert(key);
            } else if kept.contains(key) {
                return Some(format!(
                    "{key} is declared at all times, and is not there any more: {labels:?}"
                ));
            } else if is_new && Group::of(name) == Group::Kept {
                return Some(format!("it came without {key}: {labels:?}"));
            }
        }
        self.ledger
            .problem(uid, version, labels, |key| key.starts_with(BY_HAND))
    }

    fn forget(&mut self, uid: &str) {
        self.kept.remove(uid);
        self.ledger.forget(uid);
    }

    fn gone(&mut self, name: &str) {
        if let Some(seen) = self.nodes.remove(name) {
            self.forget(&seen.uid);
        }
    }
}

/// The version of an object. Those of one API server are numbers that grow.
pub(crate) fn version(node: &Node) -> u64 {
    node.resource_version().unwrap().parse().unwrap()
}

/// Looks at everything from its start on.
#[derive(Clone)]
pub(crate) struct Observer(Arc<Mutex<Seeing>>);

impl Observer {
    pub(crate) fn start(client: Client, figures: Arc<Figures>) -> Self {
        let observer = Self(Arc::default());
        let looking = observer.clone();
        tokio::spawn(async move {
            loop {
                // An API server that goes away is waited for; then everything is listed anew.
                let _ = looking.follow(&client, &figures).await;
                tokio::time::sleep(RETRY).await;
            }
        });
        observer
    }

    pub(crate) fn see(&self) -> MutexGuard<'_, Seeing> {
        self.0.lock().unwrap()
    }

    async fn follow(&self, client: &Client, figures: &Figures) -> kube::Result<()> {
        let nodes: Api<Node> = Api::all(client.clone());
        let list = nodes.list(&ListParams::default()).await?;
        let mut version = list.metadata.resource_version.unwrap();
        {
            let mut seeing = self.see();
            let there: HashSet<String> = list.items.iter().map(kube::ResourceExt::name_any).collect();
            let gone: Vec<String> = seeing
                .nodes
                .keys()
                .filter(|name| !there.contains(*name))
                .cloned()
                .collect();
            for name in gone {
                seeing.gone(&name);
            }
            for node in &list.items {
                seeing.look(node);
            }
            figures.add(Count::Versions, list.items.len());
        }
        loop {
            let parameters = WatchParams::default().timeout(200);
            let mut events = std::pin::pin!(nodes.watch(&parameters, &version).await?);
            while let Some(event) = events.try_next().await? {
                match event {
                    WatchEvent::Added(node) | WatchEvent::Modified(node) => {
                        version = node.resource_version().unwrap();
                        self.see().look(&node);
                        figures.add(Count::Versions, 1);
                    }
                    WatchEvent::Deleted(node) => {
                        version = node.resource_version().unwrap();
                        self.see().gone(&node.name_any());
                    }
                    WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
                    WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
                }
            }
        }
    }
}
