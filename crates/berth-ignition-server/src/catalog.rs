//! Everything that can be asked for, as one immutable snapshot.

use std::{collections::BTreeMap, fmt, sync::Arc};

use arc_swap::{ArcSwap, ArcSwapOption};
use berth_ignition::{Config, SpecVersion, types::File};
use berth_labels::LabelSet;
use berth_pools::MachineConfig;

use crate::{
    answer::{Answer, Answers, Built},
    assemble::assemble,
    node_answers::NodeAnswers,
};

/// What pools and nodes are served, at one moment.
///
/// Nothing in it changes. A new state of the source is a new catalog; the answers built for the old one go with it.
#[derive(Debug)]
pub struct Catalog {
    revision: String,
    state: State,
    common: CommonFiles,
    pools: BTreeMap<String, Pool>,
    nodes: BTreeMap<Arc<str>, Node>,
    node_answers: NodeAnswers,
}

#[derive(Debug)]
enum State {
    Loaded,
    /// The source could not be read yet; the text says why.
    Loading(String),
}

/// Files that every machine gets, whatever its pool.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CommonFiles {
    /// The kubeconfig with which a kubelet asks for its certificate.
    pub kubeconfig: Option<Vec<u8>>,
    /// The certificates by which the kubelet knows the API server, in PEM. Without them those of the cluster's `ControllerConfig`.
    pub kubelet_ca: Option<Vec<u8>>,
    /// The certificates by which it knows the cloud, in PEM. Without them those of the cluster's `ControllerConfig`.
    pub cloud_ca_bundle: Option<Vec<u8>>,
}

impl fmt::Debug for CommonFiles {
    /// Says only what is there: a kubeconfig holds a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommonFiles")
            .field("kubeconfig", &self.kubeconfig.is_some())
            .field("kubelet_ca", &self.kubelet_ca.is_some())
            .field("cloud_ca_bundle", &self.cloud_ca_bundle.is_some())
            .finish()
    }
}

/// What one machine, or every machine of a pool, gets on top of the pool's config.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeConfig {
    /// The pool whose config it gets.
    pub pool: String,
    /// The labels that the kubelet registers with: those of the route `boot` and no other.
    pub labels: LabelSet,
    /// Further files, such as the one that hands the labels to the kubelet. A file takes the place of one that has its
    /// path in the pool's config.
    pub files: Vec<File>,
}

/// A rendered config that is ready to be served.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) machine_config: MachineConfig,
    /// The Ignition config of the machine config, read.
    pub(crate) ignition: Config,
    /// The operating system's image, in pools that build their own.
    pub(crate) image: Option<String>,
}

#[derive(Debug)]
struct Ready {
    served: Served,
    /// What every machine of the pool gets beside it.
    boot: Option<NodeConfig>,
    answers: Answers,
}

#[derive(Debug)]
enum Pool {
    Ready(Box<Ready>),
    NotYet(String),
}

#[derive(Debug)]
enum Node {
    Known(NodeConfig),
    NotYet(String),
}

/// What the catalog says to a question.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    Config(Question<'a>),
    /// It is known, but has no config yet; the text says why.
    NotYet(&'a str),
    Unknown,
    /// Nothing is known yet; the text says why.
    Loading(&'a str),
}

/// A config that exists, before the version is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) pool: &'a str,
    served: &'a Served,
    boot: Option<&'a NodeConfig>,
    answers: &'a Answers,
    node: Option<(&'a Arc<str>, &'a NodeConfig)>,
    catalog: &'a Catalog,
}

impl Catalog {
    /// Begins a catalog. The revision is the source's name for its state; it is logged with every config served.
    pub fn builder(revision: impl Into<String>) -> CatalogBuilder {
        CatalogBuilder {
            revision: revision.into(),
            common: CommonFiles::default(),
            pools: BTreeMap::new(),
            boot: BTreeMap::new(),
            nodes: BTreeMap::new(),
            twice: None,
        }
    }

    /// A catalog for the time before the source was read for the first time: every question is answered with "try
    /// again", and this reason, rather than with "unknown", upon which machines give up.
    pub fn loading(reason: impl Into<String>) -> Self {
        Self {
            revision: String::new(),
            state: State::Loading(reason.into()),
            common: CommonFiles::default(),
            pools: BTreeMap::new(),
            nodes: BTreeMap::new(),
            node_answers: NodeAnswers::default(),
        }
    }

    /// The source's name for this state.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Why nothing can be served yet, if so.
    pub fn loading_reason(&self) -> Option<&str> {
        match &self.state {
            State::Loaded => None,
            State::Loading(reason) => Some(reason),
        }
    }

    /// The pools, by name.
    pub fn pools(&self) -> impl Iterator<Item = &str> {
        self.pools.keys().map(String::as_str)
    }

    /// The pools that have no config yet, by name.
    pub fn pools_without_config(&self) -> impl Iterator<Item = &str> {
        let waiting = self.pools.iter().filter(|(_, pool)| matches!(pool, Pool::NotYet(_)));
        waiting.map(|(name, _)| name.as_str())
    }

    /// The nodes, by name.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(AsRef::as_ref)
    }

    /// The pool of a node, if both are known.
    pub fn pool_of(&self, node: &str) -> Option<&str> {
        match self.nodes.get(node)? {
            Node::Known(config) => Some(&config.pool),
            Node::NotYet(_) => None,
        }
    }

    pub(crate) fn find_pool(&self, name: &str) -> Found<'_> {
        match self.pools.get_key_value(name) {
            Some((pool, entry)) => self.pool_config(pool, entry, None),
            None => self.not_found(),
        }
    }

    pub(crate) fn find_node(&self, name: &str) -> Found<'_> {
        match self.nodes.get_key_value(name) {
            Some((node, Node::Known(config))) => match self.pools.get_key_value(&config.pool) {
                Some((pool, entry)) => self.pool_config(pool, entry, Some((node, config))),
                // The builder has made sure that the pool is there.
                None => Found::Unknown,
            },
            Some((_, Node::NotYet(reason))) => Found::NotYet(reason),
            None => self.not_found(),
        }
    }

    fn pool_config<'a>(
        &'a self,
        pool: &'a str,
        entry: &'a Pool,
        node: Option<(&'a Arc<str>, &'a NodeConfig)>,
    ) -> Found<'a> {
        match entry {
            Pool::NotYet(reason) => Found::NotYet(reason),
            Pool::Ready(ready) => Found::Config(Question {
                pool,
                served: &ready.served,
                boot: ready.boot.as_ref(),
                answers: &ready.answers,
                node,
                catalog: self,
            }),
        }
    }

    fn not_found(&self) -> Found<'_> {
        self.loading_reason().map_or(Found::Unknown, Found::Loading)
    }
}

impl Question<'_> {
    /// The name of the rendered config.
    pub(crate) fn rendered(&self) -> &str {
        &self.served.machine_config.name
    }

    /// The answer, if it was built before.
    pub(crate) fn ready(&self, version: SpecVersion) -> Option<Built> {
        match self.node {
            None => self.answers.ready(version),
            Some((node, _)) => self.catalog.node_answers.ready(node, version),
        }
    }

    /// The answer, built if need be. That is work for the processor; do not do it where others wait.
    pub(crate) fn answer(&self, version: SpecVersion) -> Built {
        let build = || {
            let config = self.node.map(|(_, config)| config).or(self.boot);
            assemble(self.served, &self.catalog.common, config, version).map(|body| Arc::new(Answer::new(body)))
        };
        match self.node {
            None => self.answers.get_or_build(version, build),
            Some((node, _)) => self.catalog.node_answers.keep(node, version, build()),
        }
    }
}

/// Collects what a catalog holds.
#[derive(Debug)]
pub struct CatalogBuilder {
    revision: String,
    common: CommonFiles,
    pools: BTreeMap<String, PoolSource>,
    boot: BTreeMap<String, NodeConfig>,
    nodes: BTreeMap<Arc<str>, Node>,
    twice: Option<CatalogError>,
}

#[derive(Debug)]
enum PoolSource {
    Config(Box<MachineConfig>, Option<String>),
    NotYet(String),
}

/// Why a catalog cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// A pool was added twice.
    #[error("pool {0} is there twice")]
    PoolTwice(String),
    /// A node was added twice.
    #[error("node {0} is there twice")]
    NodeTwice(String),
    /// A node is in a pool that was not added.
    #[error("node {node} is in pool {pool}, which does not exist")]
    NoSuchPool {
        /// The node.
        node: String,
        /// The pool it names.
        pool: String,
    },
    /// The Ignition config of a machine config is none that Ignition would use.
    #[error("pool {pool}: MachineConfig {machine_config}: {finding}")]
    Ignition {
        /// The pool.
        pool: String,
        /// The machine config.
        machine_config: String,
        /// The first thing that is wrong.
        finding: String,
    },
}

impl CatalogBuilder {
    /// Sets the files that every machine gets.
    pub fn common(&mut self, files: CommonFiles) -> &mut Self {
        self.common = files;
        self
    }

    /// Adds a pool with the rendered config that its new machines get.
    pub fn pool(&mut self, name: impl Into<String>, rendered: MachineConfig) -> &mut Self {
        self.add_pool(name.into(), PoolSource::Config(Box::new(rendered), None))
    }

    /// Adds a pool that builds its own operating system image.
    pub fn layered_pool(
        &mut self,
        name: impl Into<String>,
        rendered: MachineConfig,
        image: impl Into<String>,
    ) -> &mut Self {
        self.add_pool(name.into(), PoolSource::Config(Box::new(rendered), Some(image.into())))
    }

    /// Adds a pool that exists but has nothing to serve yet. Machines are told the reason and try again.
    pub fn pool_without_config(&mut self, name: impl Into<String>, reason: impl Into<String>) -> &mut Self {
        self.add_pool(name.into(), PoolSource::NotYet(reason.into()))
    }

    /// Says what every machine of a pool gets beside the pool's config, unless it asks by its own name.
    pub fn boot(&mut self, config: NodeConfig) -> &mut Self {
        self.boot.insert(config.pool.clone(), config);
        self
    }

    /// Adds a node.
    pub fn node(&mut self, name: impl Into<String>, config: NodeConfig) -> &mut Self {
        self.add_node(name.into(), Node::Known(config))
    }

    /// Adds a node that is known but whose place is not, such as one with a conflict in its documents. The machine is
    /// told the reason and tries again.
    pub fn node_without_config(&mut self, name: impl Into<String>, reason: impl Into<String>) -> &mut Self {
        self.add_node(name.into(), Node::NotYet(reason.into()))
    }

    fn add_pool(&mut self, name: String, pool: PoolSource) -> &mut Self {
        if self.pools.insert(name.clone(), pool).is_some() {
            self.twice.get_or_insert(CatalogError::PoolTwice(name));
        }
        self
    }

    fn add_node(&mut self, name: String, node: Node) -> &mut Self {
        if self.nodes.insert(name.as_str().into(), node).is_some() {
            self.twice.get_or_insert(CatalogError::NodeTwice(name));
        }
        self
    }

    /// Checks everything and makes the snapshot.
    pub fn build(self) -> Result<Catalog, CatalogError> {
        if let Some(error) = self.twice {
            return Err(error);
        }
        let mut boot = self.boot;
        let pools = self
            .pools
            .into_iter()
            .map(|(name, source)| {
                let boot = boot.remove(&name);
                Ok((name.clone(), read_pool(name, source, boot)?))
            })
            .collect::<Result<BTreeMap<_, _>, CatalogError>>()?;
        for (name, node) in &self.nodes {
            if let Node::Known(config) = node
                && !pools.contains_key(&config.pool)
            {
                return Err(CatalogError::NoSuchPool {
                    node: name.to_string(),
                    pool: config.pool.clone(),
                });
            }
        }
        Ok(Catalog {
            revision: self.revision,
            state: State::Loaded,
            common: self.common,
            pools,
            nodes: self.nodes,
            node_answers: NodeAnswers::default(),
        })
    }
}

fn read_pool(pool: String, source: PoolSource, boot: Option<NodeConfig>) -> Result<Pool, CatalogError> {
    let (machine_config, image) = match source {
        PoolSource::NotYet(reason) => return Ok(Pool::NotYet(reason)),
        PoolSource::Config(machine_config, image) => (*machine_config, image),
    };
    let ignition = match &machine_config.spec.config {
        None => Config::new(),
        Some(json) => berth_ignition::parse(json).usable().map_err(|findings| {
            let error = findings.into_iter().find(berth_ignition::Finding::is_error);
            CatalogError::Ignition {
                pool,
                machine_config: machine_config.name.clone(),
                finding: error.map_or_else(String::new, |found| format!("{}: {}", found.path, found.message)),
            }
        })?,
    };
    Ok(Pool::Ready(Box::new(Ready {
        served: Served {
            machine_config,
            ignition,
            image,
        },
        boot,
        answers: Answers::default(),
    })))
}

/// The catalog that is served now. Clones share it; whoever follows the source replaces it.
#[derive(Clone, Debug)]
pub struct CatalogHandle {
    current: Arc<ArcSwap<Catalog>>,
    stale: Arc<ArcSwapOption<String>>,
}

impl CatalogHandle {
    /// Starts with this catalog.
    pub fn new(catalog: Catalog) -> Self {
        Self {
            current: Arc::new(ArcSwap::from_pointee(catalog)),
            stale: Arc::default(),
        }
    }

    /// Serves this one from now on. Requests that have begun end with the one they began with.
    pub fn replace(&self, catalog: Catalog) {
        self.current.store(Arc::new(catalog));
        self.set_fresh();
    }

    /// The catalog that is served now.
    pub fn current(&self) -> Arc<Catalog> {
        self.current.load_full()
    }

    /// The source has something newer that cannot be served; what is served stays as it is. `/healthz` says so.
    pub fn set_stale(&self, reason: impl Into<String>) {
        self.stale.store(Some(Arc::new(reason.into())));
    }

    /// What is served is what the source has.
    pub fn set_fresh(&self) {
        self.stale.store(None);
    }

    /// Why what is served is not what the source has.
    pub fn stale_reason(&self) -> Option<Arc<String>> {
        self.stale.load_full()
    }
}

#[cfg(test)]
mod tests;
