//! The site: what the documents say, read into types, with the place of every statement kept.
//!
//! Nothing here is resolved yet. References between documents are names; [`crate::Resolver`] follows them.

use std::{collections::BTreeMap, sync::Arc};

use berth_documents::{Diagnostic, Node, Span};
use berth_labels::{Flavour, Inversion, LabelKey, LabelSelector, LabelValue};
use berth_pools::{ControllerConfig, Membership, OsImageStreams, UserPolicy};

use crate::{
    airship::AirshipPlaces,
    generated::Generated,
    network::{Addressing, Cluster, HostNetwork, Network, ObservedNetwork},
    placement::{EgressIpDocument, IngressDocument},
    rule::Rule,
};

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its place in the documents.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Joins a value with its place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

/// A name with its place, as references and documents carry it.
pub type Name = Spanned<Arc<str>>;

/// One label statement of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The label's key.
    pub key: LabelKey,
    /// The value, or `None` for a removal (`!key`), which hides what weaker sources say of the key.
    pub value: Option<LabelValue>,
    /// Where it was written.
    pub span: Span,
}

/// Everything the documents say about a site.
#[derive(Debug, Default)]
pub struct Site {
    /// Machine-config pools, by name order of the documents.
    pub pools: Vec<Pool>,
    /// Machine configs.
    pub machine_configs: Vec<MachineConfig>,
    /// Kubelet configs.
    pub kubelet_configs: Vec<KubeletConfig>,
    /// Container runtime configs.
    pub runtime_configs: Vec<ContainerRuntimeConfig>,
    /// The machine configs that controllers make of these two, and of templates.
    pub generated: Generated,
    /// What machine configs of whole roles are made with.
    pub template_documents: TemplateDocuments,
    /// The cluster's own policies for what a change needs, from a `MachineConfiguration`.
    pub disruption: UserPolicy,
    /// What OpenShift's operator renders and serves with, where its object is among the documents.
    pub controller_config: Option<ControllerConfig>,
    /// The operating system's images by stream, where the cluster has streams.
    pub os_image_streams: Option<OsImageStreams>,
    /// Label rules, weakest first: by priority, then by name.
    pub rules: Vec<Rule>,
    /// Berths.
    pub berths: Vec<Berth>,
    /// Bare-metal nodes.
    pub nodes: Vec<BaremetalNode>,
    /// Host profiles.
    pub profiles: Vec<HostProfile>,
    /// Racks.
    pub racks: Vec<Rack>,
    /// Whose rules hold, where a Region says so.
    pub flavour: Option<Spanned<Flavour>>,
    /// The first document that only an OpenShift cluster has, in words.
    pub openshift: Option<Spanned<String>>,
    /// Whether nodes get labels that say their rack, profiles and tags, where a Region says so.
    pub dynamic_labels: Option<bool>,
    /// Regions.
    pub regions: Vec<Name>,
    /// Hardware profiles.
    pub hardware_profiles: Vec<Name>,
    /// Networks.
    pub networks: Vec<Network>,
    /// Clusters; a site describes one.
    pub clusters: Vec<Cluster>,
    /// Ingress controllers.
    pub ingress_controllers: Vec<IngressDocument>,
    /// Egress addresses.
    pub egress_ips: Vec<EgressIpDocument>,
    /// Seconds after which a node that does not answer loses its egress addresses, where the documents say so.
    pub egress_timeout: Option<u32>,
    /// Node objects as a cluster showed them.
    pub observed: Vec<ObservedNode>,
    /// Where the documents are that follow Airship's rules.
    pub airship: AirshipPlaces,
}

impl Site {
    /// Which nodes are in which pool by the documents' pools.
    pub fn membership(&self) -> Membership {
        Membership::new(self.pools.iter().map(|pool| {
            let selector = pool.node_selector.as_ref().map(|selector| &selector.value);
            (pool.name.value.as_ref(), selector)
        }))
    }

    /// Whose kubelet and API server rules hold: what was asked for, else what the documents say, else upstream's.
    pub fn flavour_for(&self, asked: Option<Flavour>) -> Flavour {
        asked.or_else(|| self.declared_flavour()).unwrap_or_default()
    }

    /// Whose kubelet and API server rules hold by the documents: what a Region says, else OpenShift's where one of them is from
    /// an OpenShift cluster.
    pub fn declared_flavour(&self) -> Option<Flavour> {
        let declared = self.flavour.as_ref().map(|flavour| flavour.value);
        declared.or_else(|| self.openshift.as_ref().map(|_| Flavour::Openshift))
    }

    /// The document that shows whose rules hold, where nobody said it: nothing when somebody did, or no document shows it.
    pub fn flavour_reason(&self, asked: Option<Flavour>) -> Option<&str> {
        let is_said = asked.is_some() || self.flavour.is_some();
        let openshift = self.openshift.as_ref().filter(|_| !is_said)?;
        Some(&openshift.value)
    }

    /// The site as it is declared: without live nodes, and without the state of Berths that were written down from a cluster.
    #[must_use]
    pub fn declared(mut self) -> Self {
        self.observed.clear();
        for berth in &mut self.berths {
            berth.followed = None;
            berth.written = None;
        }
        self
    }
}

/// A `MachineConfigPool`.
#[derive(Debug)]
pub struct Pool {
    /// `metadata.name`.
    pub name: Name,
    /// `metadata.labels` of the pool itself; a `KubeletConfig` selects pools by them.
    pub labels: BTreeMap<String, String>,
    /// Explicit labels, from the annotation `berth.dev/node-labels`.
    pub explicit: Vec<Declared>,
    /// Only machines with a place in the pool may register with its labels: the annotation `berth.dev/reserved-only`.
    pub reserved_only: bool,
    /// `spec.nodeSelector`.
    pub node_selector: Option<Spanned<LabelSelector>>,
    /// The selector is there but cannot be read, which has been reported.
    pub broken_selector: bool,
    /// What the selector demands of a node; `None` when it has no selector or it cannot be inverted.
    pub implicit: Option<Inversion>,
    /// `spec.machineConfigSelector`.
    pub machine_config_selector: Option<Spanned<LabelSelector>>,
    /// `spec.paused`.
    pub paused: bool,
    /// `spec.osImageStream.name`.
    pub os_image_stream: Option<String>,
    /// `spec.maxUnavailable`, as written.
    pub max_unavailable: Option<Spanned<IntOrString>>,
}

/// Kubernetes' integer-or-string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntOrString {
    /// A number.
    Int(i64),
    /// A text, such as `10%`.
    String(String),
}

/// A `MachineConfig`.
#[derive(Debug)]
pub struct MachineConfig {
    /// `metadata.name`.
    pub name: Name,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `spec`, with spans.
    pub spec: Option<Node>,
    /// The same in the types that rendering takes; missing when it cannot be read.
    pub parsed: Option<Box<berth_pools::MachineConfig>>,
}

/// A `KubeletConfig`.
#[derive(Debug)]
pub struct KubeletConfig {
    /// `metadata.name`.
    pub name: Name,
    /// `spec`, with spans.
    pub spec: Option<Node>,
    /// The types that checks take.
    pub parsed: berth_pools::KubeletConfig,
}

/// A `ContainerRuntimeConfig`.
#[derive(Debug)]
pub struct ContainerRuntimeConfig {
    /// `metadata.name`.
    pub name: Name,
    /// `spec`, with spans.
    pub spec: Option<Node>,
    /// The types that checks take.
    pub parsed: berth_pools::ContainerRuntimeConfig,
}

/// The documents that machine configs of whole roles are made with.
#[derive(Debug, Default)]
pub struct TemplateDocuments {
    /// The `ControllerConfig` with `spec.berth`, and its `spec`.
    pub controller: Option<(Name, Option<Node>)>,
    /// The `ConfigMap` that it names, with its `data`.
    pub overrides: Option<(Name, BTreeMap<String, String>)>,
    /// The `Secret` that it names, with the credentials or why it has none.
    pub pull_secret: Option<(Name, Result<String, String>)>,
}

/// A `Berth`: the durable reservation of one machine's place.
#[derive(Debug)]
pub struct Berth {
    /// `metadata.name`.
    pub name: Name,
    /// `spec.nodeName`, which defaults to the name.
    pub node_name: Name,
    /// `spec.pool`, the pin.
    pub pool: Option<Name>,
    /// The pool to which an administrator moved the machine, where the Berth follows that: from `status.followed`.
    pub followed: Option<Name>,
    /// `status.pool`: where the machine is.
    pub given: Option<Name>,
    /// `spec.labels`.
    pub labels: Vec<Declared>,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `spec.preregister`.
    pub preregister: Preregister,
    /// `spec.poolPolicy`.
    pub pool_policy: PoolPolicy,
    /// `spec.release`.
    pub release: bool,
    /// `spec.machine.systemUUID`.
    pub system_uuid: Option<String>,
    /// `spec.machine.macAddresses`.
    pub mac_addresses: Vec<Spanned<String>>,
    /// What the controllers remember to have written to the Node, where the object comes from a cluster.
    pub written: Option<WrittenLabels>,
}

/// The labels that the controllers wrote to a Node, from the status of its Berth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenLabels {
    /// `status.labels`.
    pub last: BTreeMap<String, String>,
    /// `status.earlierLabels`.
    pub earlier: BTreeMap<String, Vec<String>>,
    /// `status.removedLabels`: what an administrator removed on purpose.
    pub removed: BTreeMap<String, String>,
}

/// A node taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Key, with label-key syntax.
    pub key: LabelKey,
    /// Value.
    pub value: LabelValue,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// When Berth creates the Node object of a reserved machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preregister {
    /// When the machine asks to join.
    #[default]
    OnRequest,
    /// At once.
    Now,
}

/// What happens when an administrator relabels a Node into another pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolPolicy {
    /// The Berth follows.
    #[default]
    Follow,
    /// The Berth puts the declared pool back.
    Enforce,
}

/// The part that a host profile and a bare-metal node have in common.
#[derive(Debug, Default)]
pub struct HostData {
    /// `host_profile`: the profile this one builds on.
    pub profile: Option<Name>,
    /// `hardware_profile`.
    pub hardware_profile: Option<Name>,
    /// `metadata.rack`.
    pub rack: Option<Name>,
    /// `metadata.tags`; an item that starts with `!` removes an inherited tag.
    pub tags: Vec<Spanned<String>>,
    /// `metadata.owner_data`: labels.
    pub owner_data: Vec<Declared>,
    /// What `owner_data` says that cannot be a label, in a document that follows Airship's rules.
    pub unusable: Vec<Diagnostic>,
    /// Interfaces, cards and the management controller.
    pub network: HostNetwork,
}

/// A `drydock/HostProfile/v1`.
#[derive(Debug)]
pub struct HostProfile {
    /// `metadata.name`.
    pub name: Name,
    /// What it says of its hosts.
    pub data: HostData,
}

/// A `drydock/BaremetalNode/v1`.
#[derive(Debug)]
pub struct BaremetalNode {
    /// `metadata.name`, the node's name.
    pub name: Name,
    /// The pool the document pins the node to: label or annotation `berth.dev/pool` of the document.
    pub pool: Option<Name>,
    /// `addressing`: its address in each network.
    pub addressing: Vec<Addressing>,
    /// What it says of this host.
    pub data: HostData,
}

/// A `drydock/Rack/v1`.
#[derive(Debug)]
pub struct Rack {
    /// `metadata.name`.
    pub name: Name,
    /// `location.clli`.
    pub clli: Option<Spanned<String>>,
    /// `local_networks`, by name.
    pub local_networks: Vec<Name>,
    /// `metadata.owner_data`: labels of every node in the rack.
    pub owner_data: Vec<Declared>,
    /// What it says that cannot be a label, in a document that follows Airship's rules.
    pub unusable: Vec<Diagnostic>,
}

/// A Node object as a cluster showed it. Its labels are facts, not checked for syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedNode {
    /// `metadata.name`.
    pub name: Name,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// What its annotations and status say of its networks.
    pub network: ObservedNetwork,
    /// `spec.taints`.
    pub taints: Vec<ObservedTaint>,
    /// Its `Ready` condition, where it has one.
    pub ready: Option<bool>,
}

/// A taint as a cluster showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedTaint {
    /// Key.
    pub key: String,
    /// Value.
    pub value: String,
    /// Effect.
    pub effect: String,
}
