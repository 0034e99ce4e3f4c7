//! A cluster: its objects, its resources, and what every request does with them. Nothing here knows HTTP.

mod create;
mod delete;
mod events;
mod list;
mod metadata;
mod options;
mod pods;
mod policies;
mod react;
mod reviews;
mod update;
mod watch;
mod webhooks;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use berth_clock::Clock;
use berth_labels::Flavour;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch as channel;

use crate::{
    access::{self, Identity, Tokens},
    failure::Failure,
    ids::Ids,
    journal::Journal,
    resources::{Hit, Registry, Resource},
    storage::{CommitError, Expect, Place, Storage, WriteRecord},
};

pub(crate) use delete::Deleted;
pub(crate) use list::ListOptions;
pub(crate) use options::{Caller, DeleteOptions, FieldValidation, WriteOptions, Written};
pub(crate) use react::token_of;
#[cfg(test)]
pub(crate) use reviews::requested_node;
pub(crate) use update::Target;
pub(crate) use watch::{WatchEvent, WatchOptions, Watcher};

/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// What a cluster is made with.
#[derive(Clone)]
pub struct ClusterOptions {
    /// Where the time comes from.
    pub clock: Clock,
    /// Decides uids and generated names: the same seed gives the same ones.
    pub seed: u64,
    /// Whose NodeRestriction rules hold.
    pub flavour: Flavour,
    /// How many changes of each resource watches can go back.
    pub remembered_changes: usize,
    /// Who comes without a token. `kubectl` sends none over plain HTTP, so a cluster on loopback that people are to use
    /// has the administrator here. Requests that a web page could have made are never taken for this one.
    pub without_token: Option<Identity>,
}

impl ClusterOptions {
    /// The rules of upstream, the administrator for all who bring no token, and memory for ten thousand changes of each resource.
    pub fn new(clock: Clock, seed: u64) -> Self {
        Self {
            clock,
            seed,
            flavour: Flavour::Upstream,
            remembered_changes: 10_000,
            without_token: Some(Identity::administrator()),
        }
    }
}

impl fmt::Debug for ClusterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterOptions")
            .field("seed", &self.seed)
            .field("flavour", &self.flavour)
            .field("remembered_changes", &self.remembered_changes)
            .finish_non_exhaustive()
    }
}

/// A cluster that many can use at once.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    clock: Clock,
    flavour: Flavour,
    storage: Mutex<Storage>,
    registry: RwLock<Arc<Registry>>,
    policies: RwLock<Arc<policies::PoliciesOfCluster>>,
    feeds: Mutex<HashMap<Arc<str>, channel::Sender<u64>>>,
    ids: Mutex<Ids>,
    tokens: Tokens,
    without_token: Option<Identity>,
    journal: Option<Journal>,
    /// Held while a Pod is evicted: of two evictions at once, the second sees what the first left of the budget.
    evictions: tokio::sync::Mutex<()>,
    /// Watches end when this says so.
    closing: channel::Sender<bool>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("revision", &self.storage().revision())
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// A cluster in memory.
    pub fn new(options: ClusterOptions) -> Self {
        let storage = Storage::new(options.remembered_changes);
        Self::with(options, storage, None)
    }

    /// A cluster whose objects are in a folder. What was there before is there again.
    pub async fn open(options: ClusterOptions, folder: &std::path::Path) -> Result<Self, crate::journal::JournalError> {
        let (journal, storage) = Journal::open(folder, options.remembered_changes).await?;
        Ok(Self::with(options, storage, Some(journal)))
    }

    fn with(options: ClusterOptions, storage: Storage, journal: Option<Journal>) -> Self {
        let (closing, _) = channel::channel(false);
        let seed = options.seed ^ storage.revision().rotate_left(32);
        let cluster = Self(Arc::new(Inner {
            clock: options.clock,
            flavour: options.flavour,
            storage: Mutex::new(storage),
            registry: RwLock::new(Arc::new(Registry::builtin())),
            policies: RwLock::default(),
            feeds: Mutex::new(HashMap::new()),
            evictions: tokio::sync::Mutex::new(()),
            ids: Mutex::new(Ids::new(seed)),
            tokens: Tokens::default(),
            without_token: options.without_token,
            journal,
            closing,
        }));
        cluster.read_definitions();
        cluster.read_policies();
        cluster.read_certificates();
        cluster.make_namespaces();
        cluster
    }

    fn make_namespaces(&self) {
        for name in NAMESPACES {
            let place = Place::new("", name);
            if self.storage().get("namespaces", &place).is_some() {
                continue;
            }
            let namespace = json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": name,
                    "uid": self.next_uid(),
                    "creationTimestamp": self.now_text(),
                    "labels": {"kubernetes.io/metadata.name": name},
                },
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            });
            // It was not there a moment ago and nobody else uses the cluster yet.
            let _ = self.put("namespaces", place, Expect::Absent, namespace);
        }
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// The time as objects carry it, in whole seconds.
    pub(crate) fn now_text(&self) -> String {
        seconds(self.now())
    }

    /// Makes a bearer token known.
    pub fn add_token(&self, token: impl Into<String>, identity: Identity) {
        self.0.tokens.insert(token.into(), identity);
    }

    /// Whose token it is: one that was made known, or a bootstrap token whose Secret is there.
    pub(crate) fn identity(&self, token: &str) -> Option<Identity> {
        self.0.tokens.find(token).or_else(|| {
            let (id, _) = token.split_once('.')?;
            let place = Place::new("kube-system", format!("bootstrap-token-{id}"));
            let secret = self.storage().get("secrets", &place).cloned()?;
            access::bootstrap_identity(&secret, token, self.now())
        })
    }

    pub(crate) fn without_token(&self) -> Option<Identity> {
        self.0.without_token.clone()
    }

    /// Ends all watches, for a server that shuts down.
    pub fn close(&self) {
        self.0.closing.send_replace(true);
    }

    /// Lets watches begin again, for a server that starts on a cluster which another one served before.
    pub(crate) fn reopen(&self) {
        self.0.closing.send_replace(false);
    }

    pub(crate) fn closing(&self) -> channel::Receiver<bool> {
        self.0.closing.subscribe()
    }

    /// Forgets the changes up to now, so that older watches have to begin anew. For tests of those who watch.
    pub fn compact(&self) {
        self.storage().compact();
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.storage().revision()
    }

    /// Waits until every write so far is on disk. At once for a cluster in memory.
    pub(crate) async fn flushed(&self) -> Result<(), Failure> {
        match &self.0.journal {
            None => Ok(()),
            Some(journal) => {
                let revision = self.revision();
                journal
                    .flushed(revision)
                    .await
                    .map_err(|error| Failure::internal(error.to_string()))
            }
        }
    }

    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.0.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The resource of a path.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Result<Hit, Failure> {
        self.registry()
            .find(group, version, plural)
            .ok_or_else(|| self.nothing_there(group, version))
    }

    fn nothing_there(&self, group: &str, version: &str) -> Failure {
        let registry = self.registry();
        let known = registry.iter().any(|resource| {
            let mut versions = resource.versions.iter();
            resource.group == group && versions.any(|known| known.name == version)
        });
        if known {
            Failure::no_such_path()
        } else {
            Failure::no_such_group()
        }
    }

    fn storage(&self) -> MutexGuard<'_, Storage> {
        // Storage is whole after every method, so a panic elsewhere leaves it usable.
        self.0.storage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_uid(&self) -> String {
        self.0.ids.lock().unwrap_or_else(PoisonError::into_inner).uid()
    }

    fn next_suffix(&self) -> String {
        self.0.ids.lock().unwrap_or_else(PoisonError::into_inner).suffix()
    }

    /// Writes an object and tells everyone.
    fn put(&self, resource: &str, place: Place, expect: Expect, object: Value) -> Result<Arc<Value>, CommitError> {
        let change = {
            let mut storage = self.storage();
            let change = storage.put(resource, place, expect, object)?;
            self.journal(&change);
            change
        };
        self.publish(&change);
        self.react(&change);
        Ok(Arc::clone(&change.shown))
    }

    /// Removes an object and tells everyone.
    fn remove(&self, resource: &str, place: Place, expected: u64, last: Value) -> Result<Arc<Value>, CommitError> {
        let change = {
            let mut storage = self.storage();
            let change = storage.remove(resource, place, expected, last)?;
            self.journal(&change);
            change
        };
        self.publish(&change);
        self.react(&change);
        Ok(Arc::clone(&change.shown))
    }

    /// Called with the storage locked, so that the journal has the order of revisions.
    fn journal(&self, change: &Arc<WriteRecord>) {
        if let Some(journal) = &self.0.journal {
            journal.record(Arc::clone(change));
        }
    }

    fn publish(&self, change: &WriteRecord) {
        let feeds = self.0.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = feeds.get(&change.resource) {
            feed.send_if_modified(|revision| {
                let newer = change.revision > *revision;
                *revision = change.revision.max(*revision);
                newer
            });
        }
    }

    fn feed(&self, resource: &Arc<str>) -> channel::Receiver<u64> {
        let mut feeds = self.0.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds
            .entry(Arc::clone(resource))
            .or_insert_with(|| channel::channel(0).0)
            .subscribe()
    }

    /// Reads all definitions anew.
    fn read_definitions(&self) {
        let definitions: Vec<Arc<Value>> = self
            .storage()
            .iter("customresourcedefinitions.apiextensions.k8s.io", None)
            .map(|(_, object)| Arc::clone(object))
            .collect();
        let registry = self.registry().with_definitions(definitions.iter().map(AsRef::as_ref));
        *self.0.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
    }

    /// Applies an object as the administrator, by force.
    pub async fn apply(&self, object: &Value) -> Result<(), Failure> {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("apiVersion")
            .split_once('/')
            .unwrap_or_else(|| ("", text("apiVersion")));
        let registry = self.registry();
        let resource = registry
            .iter()
            .find(|resource| resource.group == group && resource.kind == text("kind"))
            .ok_or_else(Failure::no_such_path)?;
        let hit = self.find(group, version, &resource.plural)?;
        let namespace = match (resource.namespaced, crate::object::namespace(object)) {
            (false, _) => "",
            (true, "") => "default",
            (true, namespace) => namespace,
        };
        let place = Place::new(namespace, crate::object::name(object));
        let target = Target {
            hit: &hit,
            place: &place,
            subresource: "",
        };
        let options = WriteOptions {
            manager: Some("berth-up".to_owned()),
            force: true,
            validation: FieldValidation::Ignore,
            dry_run: false,
        };
        let caller = Caller {
            identity: Identity::administrator(),
            agent: "berth-up".to_owned(),
        };
        self.patch(target, crate::patch::PatchKind::Apply, object, &options, &caller)
            .await?;
        self.flushed().await
    }

    /// All objects of a resource; none if there is no such resource.
    pub fn objects(&self, group: &str, version: &str, plural: &str) -> Vec<Arc<Value>> {
        self.find(group, version, plural)
            .and_then(|hit| self.list(&hit, None, &ListOptions::default()))
            .map(|list| list.items)
            .unwrap_or_default()
    }

    /// One object.
    pub(crate) fn get(&self, hit: &Hit, place: &Place) -> Result<Arc<Value>, Failure> {
        self.stored(&hit.resource, place)
            .map(|object| events::shown(hit, &object))
            .ok_or_else(|| Failure::not_found(&hit.resource.full_name(), &place.name))
    }

    fn stored(&self, resource: &Resource, place: &Place) -> Option<Arc<Value>> {
        self.storage().get(&resource.stored_as, place).cloned()
    }
}

/// A moment in whole seconds, as Kubernetes writes it.
pub(crate) fn seconds(moment: Timestamp) -> String {
    format!("{moment:.0}")
}
