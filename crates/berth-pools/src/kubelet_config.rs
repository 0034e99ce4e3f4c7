//! `KubeletConfig`: settings that people want for the kubelets of whole pools, and the machine configs that they become.

mod fields;
mod judge;
mod merge;
mod tls;

use std::collections::BTreeMap;

use berth_labels::LabelSelector;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    generated::Selecting,
    machine_config::{MachineConfigError, WireMetadata, null_is_default},
};

pub use fields::kubelet_fields;
pub(crate) use merge::machine_config;
pub use merge::{KUBELET_CONFIGURATION, KubeletBase, NODE_SIZING};
pub use tls::TlsProfile;

/// A `KubeletConfig` of `machineconfiguration.openshift.io/v1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KubeletConfig {
    /// Its name, the pools it is for, and its place among others.
    pub selecting: Selecting,
    /// `spec.kubeletConfig` as it is written.
    pub kubelet_config: Value,
    /// `spec.autoSizingReserved`.
    pub auto_sizing_reserved: Option<bool>,
    /// `spec.logLevel`.
    pub log_level: Option<i64>,
    /// `spec.tlsSecurityProfile`.
    pub tls: Option<TlsProfile>,
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
    auto_sizing_reserved: Option<bool>,
    log_level: Option<i64>,
    tls_security_profile: Option<TlsProfile>,
}

impl KubeletConfig {
    /// Reads the object as the API server would give it.
    pub fn from_json(json: &Value) -> Result<Self, MachineConfigError> {
        let wire: Wire = serde_path_to_error::deserialize(json).map_err(MachineConfigError::field)?;
        let WireSpec {
            machine_config_pool_selector,
            kubelet_config,
            auto_sizing_reserved,
            log_level,
            tls_security_profile,
        } = wire.spec;
        Ok(Self {
            selecting: Selecting::new(wire.metadata, machine_config_pool_selector)?,
            kubelet_config,
            auto_sizing_reserved,
            log_level,
            tls: tls_security_profile,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.selecting.name
    }

    /// Whether it is for a pool with these labels.
    pub fn selects(&self, pool_labels: &BTreeMap<String, String>) -> bool {
        self.selecting.selects(pool_labels)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_read_as_openshift_writes_them() {
        let read = KubeletConfig::from_json(&json!({
            "metadata": {
                "name": "tuned",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {"machineconfiguration.openshift.io/mc-name-suffix": "1", "other": "x"},
            },
            "spec": {
                "machineConfigPoolSelector": {"matchLabels": {"size": "large"}},
                "kubeletConfig": {"maxPods": 500},
                "logLevel": 4,
                "autoSizingReserved": true,
                "tlsSecurityProfile": {"type": "Modern", "modern": {}},
            },
        }))
        .unwrap();
        assert_eq!(
            (read.name(), read.log_level, read.auto_sizing_reserved),
            ("tuned", Some(4), Some(true))
        );
        assert_eq!(read.kubelet_config, json!({"maxPods": 500}));
        assert_eq!(read.selecting.created.as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(read.selecting.suffix.as_deref(), Some("1"));
        assert_eq!(read.tls.map(|tls| tls.min_version).as_deref(), Some("VersionTLS13"));
    }

    #[test]
    fn an_object_is_for_the_pools_that_it_selects() {
        let large: BTreeMap<_, _> = [("size".to_owned(), "large".to_owned())].into();
        let small: BTreeMap<_, _> = [("size".to_owned(), "small".to_owned())].into();
        for (selector, expected) in [
            (json!({"matchLabels": {"size": "large"}}), (true, false)),
            (json!({}), (false, false)),
            (json!(null), (false, false)),
            (
                json!({"matchExpressions": [{"key": "size", "operator": "Like"}]}),
                (false, false),
            ),
        ] {
            let json = json!({"metadata": {"name": "x"}, "spec": {"machineConfigPoolSelector": selector}});
            let read = KubeletConfig::from_json(&json).unwrap();
            assert_eq!((read.selects(&large), read.selects(&small)), expected, "{selector}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (json, message) in [
            (
                json!({"metadata": {"name": "x"}, "spec": {"machineConfigPoolSelector": {"matchLabels": 7}}}),
                "spec.machineConfigPoolSelector.matchLabels: ",
            ),
            (
                json!({"metadata": {"name": "x"}, "spec": {"logLevel": "4"}}),
                "spec.logLevel: ",
            ),
            (
                json!({"metadata": {"name": "x"}, "spec": {"tlsSecurityProfile": {"type": "Strict"}}}),
                "spec.tlsSecurityProfile.type: ",
            ),
            (json!({}), "metadata.name: "),
        ] {
            let error = KubeletConfig::from_json(&json).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
