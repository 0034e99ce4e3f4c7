//! `MachineConfigNode`, for clusters that do not have OpenShift's own.
//!
//! The schema accepts every object that OpenShift's accepts: what Berth does not write is preserved.

use jiff::Timestamp;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// What a node is told to run.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[kube(
    crates(kube_core = "::kube_core"),
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "MachineConfigNode",
    plural = "machineconfignodes",
    status = "MachineConfigNodeStatus",
    derive = "PartialEq",
    doc = "A MachineConfigNode says how far the update of one node is.",
    printcolumn = r#"{"name": "PoolName", "type": "string", "jsonPath": ".spec.pool.name"}"#,
    printcolumn = r#"{"name": "DesiredConfig", "type": "string", "jsonPath": ".spec.configVersion.desired"}"#,
    printcolumn = r#"{"name": "CurrentConfig", "type": "string", "jsonPath": ".status.configVersion.current"}"#,
    printcolumn = r#"{"name": "Updated", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Updated\")].status"}"#,
    printcolumn = r#"{"name": "Degraded", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"NodeDegraded\")].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct MachineConfigNodeSpec {
    /// The Node, whose name the object has too.
    pub node: NameReference,
    /// The pool of the node, or `not-yet-set`.
    pub pool: NameReference,
    /// The rendered config that the node is told to run.
    pub config_version: DesiredVersion,
}

/// The name of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct NameReference {
    /// Its name.
    pub name: String,
}

/// A rendered config.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DesiredVersion {
    /// Its name, or `not-yet-set`.
    pub desired: String,
}

/// How far the update of a node is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct MachineConfigNodeStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What the node runs and is told to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_version: Option<ConfigVersion>,
    /// One condition for each step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<NodeCondition>,
}

/// What a node runs and is told to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ConfigVersion {
    /// What it runs.
    #[serde(default)]
    pub current: String,
    /// What it is told to run.
    #[serde(default)]
    pub desired: String,
}

/// One step of an update: `Unknown` while it is under way, `True` when it is done, `False` otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct NodeCondition {
    /// The step.
    #[serde(rename = "type")]
    pub type_: String,
    /// How far it is.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    #[serde(default)]
    pub message: String,
    /// Since when.
    #[schemars(schema_with = "schema::time")]
    pub last_transition_time: Timestamp,
    /// The generation that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
