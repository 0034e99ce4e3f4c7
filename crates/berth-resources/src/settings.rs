//! `KubeletConfig` and `ContainerRuntimeConfig`, for clusters that do not have OpenShift's own.
//!
//! The schemas accept every object that OpenShift's accept: what Berth does not read is preserved.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{machine_config::PoolCondition, schema};

/// Settings for the kubelets of pools.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    crates(kube_core = "::kube_core"),
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "KubeletConfig",
    plural = "kubeletconfigs",
    status = "SettingStatus",
    derive = "PartialEq",
    doc = "A KubeletConfig has settings for the kubelets of the pools that it selects.",
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct KubeletConfigSpec {
    /// Which pools, by their own labels; an empty selector selects none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_config_pool_selector: Option<LabelSelector>,
    /// Fields of the kubelet's own configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub kubelet_config: Option<Value>,
    /// Size what is reserved for the system by the size of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_sizing_reserved: Option<bool>,
    /// How much kubelets log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10))]
    pub log_level: Option<i32>,
    /// Versions and ciphers of TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub tls_security_profile: Option<Value>,
}

/// Settings for the container runtimes of pools.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    crates(kube_core = "::kube_core"),
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "ContainerRuntimeConfig",
    plural = "containerruntimeconfigs",
    shortname = "ctrcfg",
    status = "SettingStatus",
    derive = "PartialEq",
    doc = "A ContainerRuntimeConfig has settings for the container runtimes of the pools that it selects.",
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ContainerRuntimeConfigSpec {
    /// Which pools, by their own labels; an empty selector selects none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_config_pool_selector: Option<LabelSelector>,
    /// The settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub container_runtime_config: Option<Value>,
}

/// What became of settings.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct SettingStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Success` or `Failure`, with the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<PoolCondition>>,
}
