//! `MachineConfigPool` and `MachineConfig`, for clusters that do not have OpenShift's own.
//!
//! The schemas accept every object that OpenShift's accept: what Berth does not read is preserved.

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::ObjectReference,
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema;

/// What a pool selects and how its machines are updated.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    crates(kube_core = "::kube_core"),
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "MachineConfigPool",
    plural = "machineconfigpools",
    shortname = "mcp",
    status = "MachineConfigPoolStatus",
    derive = "PartialEq",
    doc = "A MachineConfigPool is a set of nodes that run the same configuration.",
    printcolumn = r#"{"name": "Config", "type": "string", "jsonPath": ".status.configuration.name"}"#,
    printcolumn = r#"{"name": "Updated", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Updated\")].status"}"#,
    printcolumn = r#"{"name": "Updating", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Updating\")].status"}"#,
    printcolumn = r#"{"name": "Degraded", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Degraded\")].status"}"#,
    printcolumn = r#"{"name": "MachineCount", "type": "number", "jsonPath": ".status.machineCount"}"#,
    printcolumn = r#"{"name": "ReadyMachineCount", "type": "number", "jsonPath": ".status.readyMachineCount"}"#,
    printcolumn = r#"{"name": "UpdatedMachineCount", "type": "number", "jsonPath": ".status.updatedMachineCount"}"#,
    printcolumn = r#"{"name": "DegradedMachineCount", "type": "number", "jsonPath": ".status.degradedMachineCount"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct MachineConfigPoolSpec {
    /// Which machine configs are merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_config_selector: Option<LabelSelector>,
    /// Which Nodes belong to the pool; an empty selector selects none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// Holds the rollout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// How many machines may be unavailable at once: a number or a percentage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// The rendered config that the pool's machines are to run, and its inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<PoolConfiguration>,
}

/// A rendered config and what it was made from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PoolConfiguration {
    /// The name of the rendered config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Vec<ObjectReference>>,
}

/// How far a pool is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct MachineConfigPoolStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The last rendered config that all machines run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<PoolConfiguration>,
    /// Machines in the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_count: Option<i32>,
    /// Machines that run the target config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_machine_count: Option<i32>,
    /// Machines that run the target config and are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_machine_count: Option<i32>,
    /// Machines that cannot take work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable_machine_count: Option<i32>,
    /// Machines that report an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded_machine_count: Option<i32>,
    /// What is known about the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<PoolCondition>>,
}

/// One condition of a pool. Unlike Kubernetes' own conditions a reason may be empty.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PoolCondition {
    /// Which condition.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// `True`, `False` or `Unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// When the status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::nullable_time")]
    pub last_transition_time: Option<Timestamp>,
    /// One word, or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A sentence, or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A part of what machines run.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    crates(kube_core = "::kube_core"),
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "MachineConfig",
    plural = "machineconfigs",
    shortname = "mc",
    derive = "PartialEq",
    doc = "A MachineConfig is a part of what the machines of a pool run.",
    printcolumn = r#"{"name": "GeneratedByController", "type": "string", "jsonPath": ".metadata.annotations.machineconfiguration\\.openshift\\.io/generated-by-controller-version"}"#,
    printcolumn = r#"{"name": "IgnitionVersion", "type": "string", "jsonPath": ".spec.config.ignition.version"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct MachineConfigSpec {
    /// The operating system image.
    #[serde(default, rename = "osImageURL", skip_serializing_if = "Option::is_none")]
    pub os_image_url: Option<String>,
    /// The image with the operating system's extensions.
    #[serde(
        default,
        rename = "baseOSExtensionsContainerImage",
        skip_serializing_if = "Option::is_none"
    )]
    pub base_os_extensions_container_image: Option<String>,
    /// An Ignition config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub config: Option<Value>,
    /// Kernel arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_arguments: Option<Vec<String>>,
    /// Extensions of the operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<String>>,
    /// Whether FIPS mode is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fips: Option<bool>,
    /// `default` or `realtime`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_type: Option<String>,
}
