//! `ControllerConfig`, for clusters that do not have OpenShift's own.
//!
//! The schema accepts every object that OpenShift's accepts: what Berth does not read is preserved.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{machine_config::PoolCondition, schema};

/// What the machine configs of all roles are made with.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    crates(kube_core = "::kube_core"),
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "ControllerConfig",
    plural = "controllerconfigs",
    status = "ControllerConfigStatus",
    derive = "PartialEq",
    doc = "The ControllerConfig machine-config-controller says what the machine configs of all roles are made with.",
    printcolumn = r#"{"name": "Completed", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"TemplateControllerCompleted\")].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ControllerConfigSpec {
    /// The address of the cluster's DNS.
    #[serde(default, rename = "clusterDNSIP", skip_serializing_if = "Option::is_none")]
    pub cluster_dns_ip: Option<String>,
    /// What OpenShift's type lacks: without it no machine configs are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub berth: Option<Value>,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ControllerConfigStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `TemplateControllerCompleted`, `TemplateControllerRunning` and `TemplateControllerFailing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<PoolCondition>>,
}
