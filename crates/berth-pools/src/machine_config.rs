//! Machine configs as OpenShift writes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::pool::WORKER;

/// The label that says for which role a machine config is meant.
pub const ROLE_LABEL: &str = "machineconfiguration.openshift.io/role";

/// The annotation of machine configs that a controller made; people's own do not carry it.
pub const GENERATED_BY: &str = "machineconfiguration.openshift.io/generated-by-controller-version";

/// A MachineConfig of `machineconfiguration.openshift.io/v1`, without the parts of its metadata that say nothing
/// about machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineConfig {
    /// The name. Within a role the later name (by bytes) wins.
    pub name: String,
    /// The labels, by which pools select it.
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
    /// What it asks for.
    pub spec: MachineConfigSpec,
}

/// What a machine shall be. Written, it always has all seven keys, as OpenShift's does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineConfigSpec {
    /// The operating system's image.
    #[serde(rename = "osImageURL", deserialize_with = "null_is_default")]
    pub os_image_url: String,
    /// The image that holds the extensions' packages.
    #[serde(rename = "baseOSExtensionsContainerImage", deserialize_with = "null_is_default")]
    pub base_os_extensions_container_image: String,
    /// The Ignition config, in any supported version.
    pub config: Option<Value>,
    /// Kernel arguments to add.
    #[serde(deserialize_with = "null_is_default")]
    pub kernel_arguments: Vec<String>,
    /// Extensions of the operating system to install.
    #[serde(deserialize_with = "null_is_default")]
    pub extensions: Vec<String>,
    /// Whether FIPS mode is on.
    #[serde(deserialize_with = "null_is_default")]
    pub fips: bool,
    /// `default`, `realtime` or `64k-pages`; empty says nothing.
    #[serde(deserialize_with = "null_is_default")]
    pub kernel_type: String,
}

/// Why a JSON value is not a machine config, or no kubelet config.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineConfigError {
    /// A field has the wrong type.
    #[error("{path}: {message}")]
    Field {
        /// The field, `spec.kernelArguments[0]`.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// Without a name its place in the order is not known.
    #[error("metadata.name: the object needs a name")]
    NoName,
}

impl MachineConfigError {
    #[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
    pub(crate) fn field(error: serde_path_to_error::Error<serde_json::Error>) -> Self {
        Self::Field {
            path: error.path().to_string(),
            message: error.inner().to_string(),
        }
    }
}

/// The outline of the object; everything else in it is of no concern here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire {
    #[serde(deserialize_with = "null_is_default")]
    metadata: WireMetadata,
    #[serde(deserialize_with = "null_is_default")]
    spec: MachineConfigSpec,
}

/// The parts of an object's metadata that count here.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct WireMetadata {
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) name: String,
    #[serde(deserialize_with = "null_is_default")]
    labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(rename = "creationTimestamp")]
    pub(crate) creation_timestamp: Option<String>,
}

/// Kubernetes treats a null member like one that is not there.
pub(crate) fn null_is_default<'de, D: Deserializer<'de>, T: Default + DeserializeOwned>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

impl MachineConfig {
    /// Reads the object as the API server would give it.
    pub fn from_json(json: &Value) -> Result<Self, MachineConfigError> {
        let wire: Wire = serde_path_to_error::deserialize(json).map_err(MachineConfigError::field)?;
        if wire.metadata.name.is_empty() {
            return Err(MachineConfigError::NoName);
        }
        Ok(Self {
            name: wire.metadata.name,
            labels: wire.metadata.labels,
            annotations: wire.metadata.annotations,
            spec: wire.spec,
        })
    }

    /// The object as the API server takes it.
    pub fn to_json(&self) -> Value {
        let mut metadata = json!({ "name": self.name });
        if let Value::Object(members) = &mut metadata {
            for (key, map) in [("labels", &self.labels), ("annotations", &self.annotations)] {
                if !map.is_empty() {
                    members.insert(key.to_owned(), json!(map));
                }
            }
        }
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig",
            "metadata": metadata,
            "spec": self.spec,
        })
    }

    /// The role it is meant for.
    pub fn role(&self) -> Option<&str> {
        self.labels.get(ROLE_LABEL).map(String::as_str)
    }

    /// Whether it belongs to the base that every custom pool inherits, and so is merged first.
    pub fn is_base(&self) -> bool {
        self.role() == Some(WORKER)
    }

    /// The version of the controller that made it; nothing for people's own.
    pub fn generated_by(&self) -> Option<&str> {
        self.annotations
            .get(GENERATED_BY)
            .map(String::as_str)
            .filter(|version| !version.is_empty())
    }
}

/// Puts machine configs in the order in which they are merged, weakest first: those of the role `worker`, then all
/// others, each group by the bytes of the names. So what is meant for a custom pool wins whatever its name.
pub fn merge_order<'a>(configs: impl IntoIterator<Item = &'a MachineConfig>) -> Vec<&'a MachineConfig> {
    let mut ordered: Vec<_> = configs.into_iter().collect();
    ordered.sort_by_key(|config| (!config.is_base(), config.name.as_bytes()));
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_form_is_openshifts() {
        let json = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig",
            "metadata": {
                "name": "99-infra",
                "labels": {ROLE_LABEL: "infra"},
                "annotations": {GENERATED_BY: "abc"},
                "resourceVersion": "7",
            },
            "spec": {
                "osImageURL": "quay.example/os",
                "baseOSExtensionsContainerImage": "quay.example/ext",
                "config": {"ignition": {"version": "3.2.0"}},
                "kernelArguments": ["quiet"],
                "extensions": ["usbguard"],
                "fips": true,
                "kernelType": "realtime",
            },
        });
        let config = MachineConfig::from_json(&json).unwrap();
        assert_eq!(config.spec.os_image_url, "quay.example/os");
        assert_eq!(config.spec.base_os_extensions_container_image, "quay.example/ext");
        assert_eq!(config.spec.kernel_type, "realtime");
        assert_eq!(config.role(), Some("infra"));
        assert_eq!(config.generated_by(), Some("abc"));
        let mut expected = json;
        expected["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        assert_eq!(config.to_json(), expected);
    }

    #[test]
    fn a_written_spec_has_all_seven_keys_and_null_reads_as_nothing() {
        let spec: MachineConfigSpec = serde_json::from_value(json!({
            "osImageURL": null, "kernelArguments": null, "extensions": null, "config": null, "fips": null,
        }))
        .unwrap();
        assert_eq!(spec, MachineConfigSpec::default());
        let written = serde_json::to_value(&spec).unwrap();
        let mut keys: Vec<_> = written.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(
            keys,
            [
                "baseOSExtensionsContainerImage",
                "config",
                "extensions",
                "fips",
                "kernelArguments",
                "kernelType",
                "osImageURL",
            ]
        );
    }

    #[test]
    fn errors_name_the_field() {
        let error =
            MachineConfig::from_json(&json!({"metadata": {"name": "a"}, "spec": {"kernelArguments": ["a", 7]}}));
        assert_eq!(
            error.unwrap_err().to_string(),
            "spec.kernelArguments[1]: invalid type: integer `7`, expected a string"
        );
        let error = MachineConfig::from_json(&json!({"metadata": {}})).unwrap_err();
        assert_eq!(error, MachineConfigError::NoName);
        assert!(MachineConfig::from_json(&json!([1])).is_err());
    }

    #[test]
    fn worker_comes_first_then_names_by_bytes() {
        let config = |name: &str, role: &str| MachineConfig {
            name: name.to_owned(),
            labels: [(ROLE_LABEL.to_owned(), role.to_owned())].into(),
            ..MachineConfig::default()
        };
        let configs = [
            config("00-infra", "infra"),
            config("99-worker", "worker"),
            config("Z-worker", "worker"),
            config("a-worker", "worker"),
            config("100-infra", "infra"),
        ];
        let names: Vec<_> = merge_order(&configs).iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["99-worker", "Z-worker", "a-worker", "00-infra", "100-infra"]);
    }
}
