//! What OpenShift's operator knows of its cluster beside machine configs: the objects that it renders and serves with.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    machine_config::{MachineConfigError, null_is_default},
    render::RELEASE_IMAGE_VERSION,
    templates::has_templates,
};

/// A `ControllerConfig` of `machineconfiguration.openshift.io/v1`, as far as rendered configs and served files depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerConfig {
    /// `spec.baseOSContainerImage`: the operating system's image, unless a machine config names another.
    pub os_image: String,
    /// `spec.baseOSExtensionsContainerImage`: the image of the extensions, unless a machine config names another.
    pub extensions_image: String,
    /// The release that the cluster runs.
    pub release_image_version: Option<String>,
    /// `spec.kubeAPIServerServingCAData`: the certificates by which a kubelet knows the API server, in PEM.
    pub kubelet_ca: Vec<u8>,
    /// `spec.cloudProviderCAData`: the certificates by which it knows the cloud, in PEM.
    pub cloud_ca: Vec<u8>,
    /// `spec`, where machine configs are made of templates with it.
    pub for_templates: Option<Value>,
}

/// The `OSImageStream` of a cluster: images of the operating system by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsImageStreams {
    /// The stream of pools that name none.
    pub default: String,
    /// Image of the operating system and image of its extensions, by stream.
    pub streams: BTreeMap<String, (String, String)>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireController {
    #[serde(deserialize_with = "null_is_default")]
    metadata: WireMetadata,
    #[serde(deserialize_with = "null_is_default")]
    spec: WireControllerSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireMetadata {
    #[serde(deserialize_with = "null_is_default")]
    annotations: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireControllerSpec {
    #[serde(rename = "baseOSContainerImage", deserialize_with = "null_is_default")]
    os_image: String,
    #[serde(rename = "baseOSExtensionsContainerImage", deserialize_with = "null_is_default")]
    extensions_image: String,
    #[serde(rename = "kubeAPIServerServingCAData", deserialize_with = "null_is_default")]
    kubelet_ca: String,
    #[serde(rename = "cloudProviderCAData", deserialize_with = "null_is_default")]
    cloud_ca: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireStreams {
    #[serde(deserialize_with = "null_is_default")]
    status: WireStreamsStatus,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireStreamsStatus {
    #[serde(deserialize_with = "null_is_default")]
    default_stream: String,
    #[serde(deserialize_with = "null_is_default")]
    available_streams: Vec<WireStream>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireStream {
    name: String,
    os_image: String,
    os_extensions_image: String,
}

impl ControllerConfig {
    /// Reads the object as the API server would give it. Fields that nothing here depends on are ignored.
    pub fn from_json(json: &Value) -> Result<Self, MachineConfigError> {
        let WireController { mut metadata, spec } =
            serde_path_to_error::deserialize(json).map_err(MachineConfigError::field)?;
        let bytes = |field: &str, text: &str| {
            let decoded = STANDARD.decode(text);
            decoded.map_err(|error| MachineConfigError::Field {
                path: format!("spec.{field}"),
                message: format!("it is not base64: {error}"),
            })
        };
        Ok(Self {
            kubelet_ca: bytes("kubeAPIServerServingCAData", &spec.kubelet_ca)?,
            cloud_ca: bytes("cloudProviderCAData", &spec.cloud_ca)?,
            os_image: spec.os_image,
            extensions_image: spec.extensions_image,
            release_image_version: metadata.annotations.remove(RELEASE_IMAGE_VERSION),
            for_templates: json.get("spec").filter(|spec| has_templates(spec)).cloned(),
        })
    }
}

impl OsImageStreams {
    /// Reads the object as the API server would give it.
    pub fn from_json(json: &Value) -> Result<Self, MachineConfigError> {
        let WireStreams { status } = serde_path_to_error::deserialize(json).map_err(MachineConfigError::field)?;
        let streams = status.available_streams.into_iter();
        Ok(Self {
            default: status.default_stream,
            streams: streams
                .map(|stream| (stream.name, (stream.os_image, stream.os_extensions_image)))
                .collect(),
        })
    }

    /// The images of a pool that names this stream, or none.
    pub fn images(&self, stream: Option<&str>) -> Option<&(String, String)> {
        self.streams.get(stream.unwrap_or(&self.default))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_matters_is_read_and_everything_else_is_left() {
        let config = ControllerConfig::from_json(&json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "ControllerConfig",
            "metadata": {"name": "machine-config-controller", "annotations": {RELEASE_IMAGE_VERSION: "4.21.0"}},
            "spec": {
                "baseOSContainerImage": "quay.example/os",
                "baseOSExtensionsContainerImage": "quay.example/ext",
                "osImageURL": "quay.example/old",
                "kubeAPIServerServingCAData": "Q0E=",
                "cloudProviderCAData": null,
                "infra": {"any": "thing"},
            },
        }))
        .unwrap();
        let expected = ControllerConfig {
            os_image: "quay.example/os".to_owned(),
            extensions_image: "quay.example/ext".to_owned(),
            release_image_version: Some("4.21.0".to_owned()),
            kubelet_ca: b"CA".to_vec(),
            cloud_ca: Vec::new(),
            for_templates: None,
        };
        assert_eq!(config, expected);
        let error = ControllerConfig::from_json(&json!({"spec": {"kubeAPIServerServingCAData": "-"}})).unwrap_err();
        assert!(
            error.to_string().starts_with("spec.kubeAPIServerServingCAData: "),
            "{error}"
        );
    }

    #[test]
    fn a_pool_that_names_no_stream_has_the_default() {
        let streams = OsImageStreams::from_json(&json!({"status": {
            "defaultStream": "rhel-9",
            "availableStreams": [
                {"name": "rhel-9", "osImage": "a", "osExtensionsImage": "b"},
                {"name": "rhel-10", "osImage": "c", "osExtensionsImage": "d"},
            ],
        }}))
        .unwrap();
        assert_eq!(streams.images(None), Some(&("a".to_owned(), "b".to_owned())));
        assert_eq!(streams.images(Some("rhel-10")), Some(&("c".to_owned(), "d".to_owned())));
        assert_eq!(streams.images(Some("rhel-11")), None);
    }
}
