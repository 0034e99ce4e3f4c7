//! What is kept of pools and machine configs, and what pools need to know of Nodes.

use std::collections::BTreeMap;

use berth_labels::{Flavour, LabelSelector};
use berth_pools::{
    MachineConfig, MachineConfigError, MaxUnavailable, MaxUnavailableError, Membership, NodeState, ProtectedLabels,
    annotation,
};
use berth_site::{GeneratingPool, protected_labels};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use serde_json::{Value, json};

use crate::{definitions::Definitions, names, view::NodeView};
use berth_resources::MachineConfigPoolStatus;

/// Which nodes are in which pool.
pub fn membership<'a>(pools: impl IntoIterator<Item = &'a PoolView>) -> Membership {
    let pools = pools.into_iter();
    Membership::new(pools.map(|pool| (pool.name.as_str(), pool.node_selector.as_ref())))
}

/// A pool as the controllers remember it.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolView {
    /// Its name.
    pub name: String,
    /// Which object it is.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// Its generation, which the status repeats.
    pub generation: Option<i64>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Its own labels, by which objects select it.
    pub own_labels: BTreeMap<String, String>,
    /// Which machine configs are merged.
    pub machine_config_selector: Option<LabelSelector>,
    /// Which Nodes belong to it.
    pub node_selector: Option<LabelSelector>,
    /// The labels that no configuration of its machines may lose.
    pub labels: Box<ProtectedLabels>,
    /// Whether somebody has stopped the rollout.
    pub paused: bool,
    /// How many nodes may be out of service.
    pub max_unavailable: Result<MaxUnavailable, MaxUnavailableError>,
    /// The pool's stream of operating system images.
    pub os_image_stream: Option<String>,
    /// `spec.configuration.name`: the rendered config that its nodes shall get.
    pub target: Option<String>,
    /// `spec.configuration.source`, by name.
    pub sources: Vec<String>,
    /// The status as it stands.
    pub status: MachineConfigPoolStatus,
}

impl PoolView {
    /// Reads the object as the API server gives it.
    pub fn read(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let filled = |pointer: &str| Some(text(pointer)).filter(|text| !text.is_empty()).map(str::to_owned);
        let selector = |pointer: &str| {
            let value = object.pointer(pointer).filter(|value| !value.is_null())?;
            serde_json::from_value(value.clone()).ok()
        };
        let sources = object.pointer("/spec/configuration/source").and_then(Value::as_array);
        Self {
            name: text("/metadata/name").to_owned(),
            uid: text("/metadata/uid").to_owned(),
            resource_version: text("/metadata/resourceVersion").to_owned(),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64),
            deleting: filled("/metadata/deletionTimestamp").is_some(),
            own_labels: object
                .pointer("/metadata/labels")
                .and_then(|labels| serde_json::from_value(labels.clone()).ok())
                .unwrap_or_default(),
            machine_config_selector: selector("/spec/machineConfigSelector"),
            node_selector: selector("/spec/nodeSelector"),
            labels: Box::new(labels(object)),
            paused: object
                .pointer("/spec/paused")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            max_unavailable: MaxUnavailable::from_json(object.pointer("/spec/maxUnavailable")),
            os_image_stream: filled("/spec/osImageStream/name"),
            target: filled("/spec/configuration/name"),
            sources: sources
                .into_iter()
                .flatten()
                .filter_map(|source| source.get("name")?.as_str().map(str::to_owned))
                .collect(),
            status: object
                .get("status")
                .and_then(|status| serde_json::from_value(status.clone()).ok())
                .unwrap_or_default(),
        }
    }

    /// The name of the config that all nodes had last.
    pub fn completed(&self) -> Option<&str> {
        let name = self.status.configuration.as_ref()?.name.as_deref()?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// As objects select it.
    pub(super) fn generating(&self) -> GeneratingPool<'_> {
        GeneratingPool {
            name: &self.name,
            labels: &self.own_labels,
            machine_config_selector: self.machine_config_selector.as_ref(),
            node_selector: self.node_selector.as_ref(),
        }
    }

    /// Whether its nodes could be others.
    pub fn selects_as(&self, other: &Self) -> bool {
        self.node_selector == other.node_selector && self.uid == other.uid
    }

    /// Whether its rendered config could be another.
    pub fn renders_as(&self, other: &Self) -> bool {
        self.machine_config_selector == other.machine_config_selector
            && self.os_image_stream == other.os_image_stream
            && self.labels == other.labels
            && self.own_labels == other.own_labels
            && self.node_selector == other.node_selector
            && self.target == other.target
            && self.sources == other.sources
            && self.uid == other.uid
    }
}

/// What `berth lint` protects, read by the same function. What cannot be read has no labels to lose.
fn labels(pool: &Value) -> ProtectedLabels {
    // A watch does not say again what its objects are.
    let pool = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": pool.get("metadata"), "spec": pool.get("spec"),
    });
    let definitions = Definitions::new([&pool], Flavour::default());
    let pool = definitions.site().pools.first();
    pool.map(protected_labels).unwrap_or_default()
}

/// A machine config: an input that is kept whole, or a rendered one of which the name says all.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigView {
    /// Somebody's own, to be merged.
    Input(Box<MachineConfig>),
    /// One that was made from others.
    Rendered(RenderedView),
}

/// A rendered config without its contents, which may be a megabyte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedView {
    /// Its name.
    pub name: String,
    /// Which object it is.
    pub uid: String,
    /// The finalizers that keep it.
    pub finalizers: Vec<String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Since when nobody refers to it.
    pub unused_since: Option<Timestamp>,
}

impl RenderedView {
    /// Whether Berth keeps it, and so may let it go.
    pub fn is_ours(&self) -> bool {
        self.finalizers.iter().any(|finalizer| finalizer == names::IN_USE)
    }
}

impl ConfigView {
    /// Reads the object as the API server gives it.
    pub fn read(object: &Value) -> Result<Self, MachineConfigError> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let name = text("/metadata/name");
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let of_a_pool = owners
            .into_iter()
            .flatten()
            .any(|owner| owner.get("kind").and_then(Value::as_str) == Some("MachineConfigPool"));
        if !(name.starts_with("rendered-") && of_a_pool) {
            return MachineConfig::from_json(object).map(Box::new).map(Self::Input);
        }
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        let annotations = object.pointer("/metadata/annotations");
        Ok(Self::Rendered(RenderedView {
            name: name.to_owned(),
            uid: text("/metadata/uid").to_owned(),
            finalizers: finalizers
                .into_iter()
                .flatten()
                .filter_map(|finalizer| finalizer.as_str().map(str::to_owned))
                .collect(),
            deleting: !text("/metadata/deletionTimestamp").is_empty(),
            unused_since: annotations
                .and_then(|annotations| annotations.get(names::UNUSED_SINCE)?.as_str()?.parse().ok()),
        }))
    }

    /// The name.
    pub fn name(&self) -> &str {
        match self {
            Self::Input(config) => &config.name,
            Self::Rendered(config) => &config.name,
        }
    }
}

/// A Node as far as its pool is concerned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberView {
    /// Which object it is.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// All taints: they are written as one list.
    pub taints: Vec<Taint>,
    /// What the planner looks at. Of the labels it has only those.
    pub state: NodeState,
}

/// The label that the planner reads.
const ZONE: &str = "topology.kubernetes.io/zone";

impl MemberView {
    /// Whether the planner reads this label.
    pub fn reads(label: &str) -> bool {
        label == ZONE
    }
}

impl From<NodeView> for MemberView {
    fn from(node: NodeView) -> Self {
        let zone = node.labels.get_key_value(ZONE);
        let mut annotations = node.annotations;
        annotations.retain(|key, _| key.starts_with(names::MACHINE_CONFIG_PREFIX) || key == annotation::GIVEN_UP);
        Self {
            uid: node.uid,
            resource_version: node.resource_version,
            taints: node.taints,
            state: NodeState {
                name: node.name,
                labels: zone
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .into_iter()
                    .collect(),
                annotations,
                conditions: node.conditions,
                unschedulable: node.unschedulable,
                created: node.created,
                reports: Vec::new(),
            },
        }
    }
}
