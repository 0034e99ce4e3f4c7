//! What an operating system calls itself, by the word of machines that registered from the same image.
//!
//! OpenShift's kubelets register with `node.openshift.io/os_id=${ID}`, from the `/etc/os-release` of their image, and only when
//! they create their Node themselves. A Node that did so while its machine ran an image says what every machine with that image
//! would say.

use std::collections::BTreeMap;

use berth_pools::annotation;
use berth_site::name_problem;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::names;

/// Annotations of a Node whose operating system is an image that the cluster built.
const BUILT_IMAGES: [&str; 2] = [annotation::CURRENT_IMAGE, annotation::DESIRED_IMAGE];

/// A Node that carries the label, and the config that its machine booted with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The rendered config that the machine booted with: before its kubelet started, it had that config's operating system.
    pub config: String,
    /// What the Node says.
    pub os_id: String,
    /// When the Node was created.
    pub created: Option<Timestamp>,
}

/// A rendered config that machines booted with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootConfig {
    /// The image whose own file says what the kubelet registers with; see [`berth_pools::KubeletLabels`].
    pub image: Option<String>,
    /// When the config was created.
    pub created: Option<Timestamp>,
}

impl Witness {
    /// What a Node can say. Nothing where its image was built in the cluster, as such a machine may have booted with another one
    /// than its config names, and where the label is that of an earlier installation.
    pub fn of(metadata: &ObjectMeta) -> Option<Self> {
        let annotations = metadata.annotations.as_ref()?;
        let mut others = BUILT_IMAGES.iter().chain([&names::INSTALLED_ANEW]);
        if others.any(|key| annotations.contains_key(*key)) {
            return None;
        }
        let os_id = metadata.labels.as_ref()?.get(names::OS_ID)?;
        let config = annotations.get(names::FIRST_PIVOT_CONFIG)?;
        Some(Self {
            // The kubelet can write it, and it will be asked for.
            config: name_problem(config).is_none().then(|| config.clone())?,
            os_id: os_id.clone(),
            created: metadata.creation_timestamp.as_ref().map(|time| time.0),
        })
    }

    /// Whether it speaks of an image. A Node that was there before its config has the label from another installation.
    fn knows(&self, image: &str, configs: &BTreeMap<String, BootConfig>) -> bool {
        let Some(config) = configs.get(&self.config) else {
            return false;
        };
        let booted = config
            .created
            .zip(self.created)
            .is_some_and(|(config, node)| config <= node);
        booted && config.image.as_deref() == Some(image)
    }
}

/// The config of a Node whose image was built in the cluster: a new machine with that config may not boot with the image that the
/// config names.
pub fn config_with_built_image(metadata: &ObjectMeta) -> Option<&str> {
    let annotations = metadata.annotations.as_ref()?;
    let built = BUILT_IMAGES.iter().any(|key| annotations.contains_key(*key));
    let config = annotations.get(annotation::DESIRED_CONFIG).filter(|_| built)?;
    Some(config)
}

/// What kubelets register with that run on an image. `None` where nobody knows it, and where two machines do not agree.
pub fn os_id_of_image<'a>(
    image: &str,
    witnesses: &'a [Witness],
    configs: &BTreeMap<String, BootConfig>,
) -> Option<&'a str> {
    let mut known = witnesses.iter().filter(|witness| witness.knows(image, configs));
    let first = known.next()?;
    known
        .all(|other| other.os_id == first.os_id)
        .then_some(first.os_id.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn witness(annotations: &[(&str, &str)], labels: &Value, created: &str) -> Option<Witness> {
        let annotations: serde_json::Map<String, Value> = annotations
            .iter()
            .map(|(key, value)| (format!("machineconfiguration.openshift.io/{key}"), json!(value)))
            .collect();
        let metadata =
            json!({"name": "w1", "labels": labels, "annotations": annotations, "creationTimestamp": created});
        Witness::of(&serde_json::from_value(metadata).unwrap())
    }

    fn configs() -> BTreeMap<String, BootConfig> {
        let config = |image: &str, created: &str| BootConfig {
            image: Some(image.to_owned()).filter(|image| !image.is_empty()),
            created: created.parse().ok(),
        };
        BTreeMap::from([
            ("rendered-worker-1".to_owned(), config("one", "2026-01-01T00:00:00Z")),
            ("rendered-infra-1".to_owned(), config("one", "2026-01-01T00:00:00Z")),
            ("rendered-worker-2".to_owned(), config("two", "2026-03-01T00:00:00Z")),
            ("rendered-odd".to_owned(), config("", "2026-01-01T00:00:00Z")),
            ("rendered-undated".to_owned(), config("one", "")),
        ])
    }

    #[test]
    fn only_machines_that_registered_from_the_image_know_what_it_says() {
        let february = "2026-02-01T00:00:00Z";
        let node = |config: &str, os_id: &str, created: &str| {
            witness(&[("firstPivotConfig", config)], &json!({names::OS_ID: os_id}), created).unwrap()
        };
        for (what, witnesses, expected) in [
            ("nobody", vec![], None),
            (
                "one machine",
                vec![node("rendered-worker-1", "rhcos", february)],
                Some("rhcos"),
            ),
            (
                "machines of two pools with one image",
                vec![
                    node("rendered-worker-1", "rhcos", february),
                    node("rendered-infra-1", "rhcos", february),
                ],
                Some("rhcos"),
            ),
            (
                "they do not agree",
                vec![
                    node("rendered-worker-1", "rhcos", february),
                    node("rendered-infra-1", "rhel", february),
                ],
                None,
            ),
            (
                "another image's machine says nothing",
                vec![
                    node("rendered-worker-1", "rhcos", february),
                    node("rendered-worker-2", "rhel", "2026-04-01T00:00:00Z"),
                ],
                Some("rhcos"),
            ),
            (
                "the Node is older than the config that its machine booted with",
                vec![node("rendered-worker-1", "rhcos", "2025-12-01T00:00:00Z")],
                None,
            ),
            (
                "the config is gone",
                vec![node("rendered-worker-0", "rhcos", february)],
                None,
            ),
            (
                "the config has no image of which it is known",
                vec![node("rendered-odd", "rhcos", february)],
                None,
            ),
            (
                "it is not known when the config came",
                vec![node("rendered-undated", "rhcos", february)],
                None,
            ),
        ] {
            assert_eq!(os_id_of_image("one", &witnesses, &configs()), expected, "{what}");
        }
    }

    #[test]
    fn a_config_whose_machines_have_a_built_image_is_named() {
        let metadata = |annotations: Value| -> ObjectMeta {
            serde_json::from_value(json!({"name": "w1", "annotations": annotations})).unwrap()
        };
        let [current, desired] = BUILT_IMAGES;
        let config = "rendered-infra-1";
        for (annotations, expected) in [
            (json!({annotation::DESIRED_CONFIG: config, desired: "a"}), Some(config)),
            (json!({annotation::DESIRED_CONFIG: config, current: "a"}), Some(config)),
            (json!({annotation::DESIRED_CONFIG: config}), None),
            (json!({desired: "a"}), None),
        ] {
            assert_eq!(config_with_built_image(&metadata(annotations)), expected);
        }
    }

    #[test]
    fn a_node_without_its_first_config_or_with_a_built_image_knows_nothing() {
        let (label, created) = (json!({names::OS_ID: "rhcos"}), "2026-02-01T00:00:00Z");
        let pivot = ("firstPivotConfig", "rendered-worker-1");
        assert!(witness(&[pivot], &label, created).is_some());
        assert_eq!(
            witness(&[("currentConfig", "rendered-worker-1")], &label, created),
            None
        );
        assert_eq!(witness(&[pivot], &json!({}), created), None);
        assert_eq!(witness(&[("firstPivotConfig", "../nodes/w1")], &label, created), None);
        assert_eq!(witness(&[pivot, ("currentImage", "a")], &label, created), None);
        assert_eq!(witness(&[pivot, ("desiredImage", "a")], &label, created), None);
        let anew = json!({"labels": label, "annotations": {names::FIRST_PIVOT_CONFIG: "a", names::INSTALLED_ANEW: ""}});
        assert_eq!(Witness::of(&serde_json::from_value(anew).unwrap()), None);
    }
}
