//! Kubelet configs that would keep a node from registering.

use std::collections::BTreeMap;

use berth_labels::LabelSelector;
use serde::Deserialize;
use serde_json::Value;

use super::{ProtectFinding, ProtectKind};
use crate::machine_config::{MachineConfigError, WireMetadata, null_is_default};

/// A `KubeletConfig` of `machineconfiguration.openshift.io/v1`, as far as it concerns registration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KubeletConfig {
    /// Its name.
    pub name: String,
    /// Which pools it is for, over the labels of the pools. An empty one selects none.
    pub pool_selector: LabelSelector,
    /// `spec.kubeletConfig` as it is written.
    pub kubelet_config: Value,
}

/// The outline of the object; everything else in it is of no concern here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire {
    #[serde(deserialize_with = "null_is_default")]
    metadata: WireMetadata,
    #[serde(deserialize_with = "null_is_default")]
    spec: WireSpec,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireSpec {
    #[serde(deserialize_with = "null_is_default")]
    machine_config_pool_selector: LabelSelector,
    kubelet_config: Value,
}

impl KubeletConfig {
    /// Reads the object as the API server would give it.
    pub fn from_json(json: &Value) -> Result<Self, MachineConfigError> {
        let wire: Wire = serde_path_to_error::deserialize(json).map_err(MachineConfigError::field)?;
        if wire.metadata.name.is_empty() {
            return Err(MachineConfigError::NoName);
        }
        Ok(Self {
            name: wire.metadata.name,
            pool_selector: wire.spec.machine_config_pool_selector,
            kubelet_config: wire.spec.kubelet_config,
        })
    }

    /// Whether it is for a pool with these labels. A selector that Kubernetes refuses selects nothing.
    pub fn selects(&self, pool_labels: &BTreeMap<String, String>) -> bool {
        match self.pool_selector.compile() {
            Ok(selector) if !selector.is_empty() => {
                selector.matches_with(|key| pool_labels.get(key).map(String::as_str))
            }
            Ok(_) | Err(_) => false,
        }
    }
}

/// Fields that the kubelet reads as a mapping. It does not start when one is something else.
const MAPPINGS: [&str; 16] = [
    "authentication",
    "authorization",
    "cpuManagerPolicyOptions",
    "evictionHard",
    "evictionMinimumReclaim",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "featureGates",
    "kubeReserved",
    "logging",
    "memorySwap",
    "qosReserved",
    "staticPodURLHeader",
    "systemReserved",
    "topologyManagerPolicyOptions",
    "tracing",
];

/// Judges the kubelet configs that are for a pool with these labels.
pub fn protect_kubelet_configs<'a>(
    configs: impl IntoIterator<Item = &'a KubeletConfig>,
    pool_labels: &BTreeMap<String, String>,
) -> Vec<ProtectFinding> {
    let selected = configs.into_iter().filter(|config| config.selects(pool_labels));
    selected.flat_map(judge).collect()
}

fn judge(config: &KubeletConfig) -> Vec<ProtectFinding> {
    let finding = |path: &str, kind, message: String, help: &str| ProtectFinding {
        machine_config: config.name.clone(),
        path: format!("spec.kubeletConfig{path}"),
        line: None,
        kind,
        message,
        help: help.to_owned(),
    };
    let fields = match &config.kubelet_config {
        Value::Null => return Vec::new(),
        Value::Object(fields) => fields,
        other => {
            let message = format!(
                "kubeletConfig is {}, not a mapping: the kubelet does not start",
                named(other)
            );
            let help = "write the fields of a KubeletConfiguration";
            return vec![finding("", ProtectKind::StopsKubelet, message, help)];
        }
    };
    let mut findings = Vec::new();
    match fields.get("registerNode") {
        None | Some(Value::Null | Value::Bool(true)) => {}
        Some(Value::Bool(false)) => findings.push(finding(
            ".registerNode",
            ProtectKind::StopsRegistration,
            "registerNode: false keeps the node from registering, so it gets no labels and no pool".to_owned(),
            "remove the field",
        )),
        Some(other) => findings.push(finding(
            ".registerNode",
            ProtectKind::StopsKubelet,
            format!(
                "registerNode is {}, not true or false: the kubelet does not start",
                named(other)
            ),
            "remove the field",
        )),
    }
    for field in MAPPINGS {
        if let Some(value) = fields.get(field).filter(|value| !value.is_object() && !value.is_null()) {
            findings.push(finding(
                &format!(".{field}"),
                ProtectKind::StopsKubelet,
                format!("{field} is {}, not a mapping: the kubelet does not start", named(value)),
                "write it as a mapping",
            ));
        }
    }
    findings
}

fn named(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
