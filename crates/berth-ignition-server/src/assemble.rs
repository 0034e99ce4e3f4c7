//! Putting together what a machine is served.
//!
//! The files that the Machine Config Server appends are appended here, in its order. Everything works on copies: the
//! original changes its cached objects with every request, so that kernel arguments grow and answers differ.

use std::collections::BTreeMap;

use berth_ignition::{Config, Encoding, SpecVersion, TranslateError, file_as, types::File, validate};
use berth_pools::MachineConfig;
use berth_units::{LABELS_PATH, LabelsFile};
use serde::Serialize as _;
use serde_json::{
    Value, json,
    ser::{PrettyFormatter, Serializer},
};

use crate::catalog::{CommonFiles, NodeConfig, Served};

/// The annotation prefix of the Machine Config Operator.
const PREFIX: &str = "machineconfiguration.openshift.io/";

/// The certificates by which a kubelet knows who may ask it.
pub(crate) const KUBELET_CA: &str = "/etc/kubernetes/kubelet-ca.crt";
const CLOUD_CA: &str = "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem";
const ANNOTATIONS: &str = "/etc/machine-config-daemon/node-annotations.json";
const KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";
const CONTENT: &str = "/etc/mcs-machine-config-content.json";
const ENCAPSULATED: &str = "/etc/ignition-machine-config-encapsulated.json";

/// The mode of every file that is added here.
const MODE: u32 = 0o644;

/// The first version in which Ignition itself sets kernel arguments.
const KERNEL_ARGUMENTS_SINCE: SpecVersion = SpecVersion::V3_3;

/// Why a config cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// The config says something that the version has no words for.
    #[error("the config cannot be written in Ignition spec {version}")]
    Version {
        /// The version that the machine asked for.
        version: SpecVersion,
        /// What stands in the way.
        #[source]
        source: TranslateError,
    },
    /// Kernel arguments are to be removed, which old machines cannot do.
    #[error(
        "$.kernelArguments.shouldNotExist needs Ignition spec {KERNEL_ARGUMENTS_SINCE} and would be lost in {version}"
    )]
    ArgumentsToRemove {
        /// The version that the machine asked for.
        version: SpecVersion,
    },
    /// With the added files the config is one that Ignition refuses.
    #[error("{path}: {message}")]
    Refused {
        /// The field.
        path: String,
        /// What is wrong with it.
        message: String,
    },
}

/// The answer to one question, as bytes of JSON.
pub(crate) fn assemble(
    served: &Served,
    common: &CommonFiles,
    node: Option<&NodeConfig>,
    version: SpecVersion,
) -> Result<Vec<u8>, AssembleError> {
    let mut config = served.ignition.clone();
    let mut machine_config = served.machine_config.clone();
    move_kernel_arguments(&mut config, &mut machine_config, version)?;
    if let Some(image) = &served.image {
        machine_config.spec.os_image_url.clone_from(image);
    }

    for (path, contents) in [(KUBELET_CA, &common.kubelet_ca), (CLOUD_CA, &common.cloud_ca_bundle)] {
        if let Some(contents) = contents.as_ref().filter(|contents| !contents.is_empty()) {
            replace_or_append(&mut config, path, contents);
        }
    }
    if let Some(node) = node {
        // Without labels there is nothing to hand over, unless the pool's file has others.
        if !node.labels.is_empty() || config.find_file(LABELS_PATH).is_some() {
            put_last(&mut config, text_file(LABELS_PATH, LabelsFile::print(&node.labels)));
        }
        for file in &node.files {
            config.set_file(file.clone());
        }
    }
    put_last(&mut config, text_file(ANNOTATIONS, annotations(served).to_string()));
    if let Some(kubeconfig) = &common.kubeconfig {
        put_last(&mut config, text_file(KUBECONFIG, kubeconfig));
    }
    put_last(&mut config, text_file(CONTENT, indented(&machine_config.to_json())));
    machine_config.spec.config = Some(json!({"ignition": {"version": version.as_str()}}));
    put_last(
        &mut config,
        text_file(ENCAPSULATED, machine_config.to_json().to_string()),
    );

    if let Some(finding) = validate(&config).into_iter().find(berth_ignition::Finding::is_error) {
        return Err(AssembleError::Refused {
            path: finding.path,
            message: finding.message,
        });
    }
    let json = config
        .to_version(version)
        .map_err(|source| AssembleError::Version { version, source })?;
    Ok(json.to_string().into_bytes())
}

/// For machines whose Ignition does not set kernel arguments, the first-boot service does it from the machine config.
fn move_kernel_arguments(
    config: &mut Config,
    machine_config: &mut MachineConfig,
    version: SpecVersion,
) -> Result<(), AssembleError> {
    if version >= KERNEL_ARGUMENTS_SINCE {
        return Ok(());
    }
    let Some(arguments) = config.as_v3_5_mut().kernel_arguments.take() else {
        return Ok(());
    };
    if arguments.should_not_exist.is_some_and(|list| !list.is_empty()) {
        return Err(AssembleError::ArgumentsToRemove { version });
    }
    let moved = arguments.should_exist.unwrap_or_default();
    machine_config.spec.kernel_arguments.extend(moved);
    Ok(())
}

/// What the machine daemon copies to its Node when it first runs.
fn annotations(served: &Served) -> Value {
    let name = &served.machine_config.name;
    let mut annotations = BTreeMap::new();
    let mut add = |key: &str, value: &str| annotations.insert(format!("{PREFIX}{key}"), value.to_owned());
    for key in ["currentConfig", "desiredConfig", "firstPivotConfig"] {
        add(key, name);
    }
    add("state", "Done");
    if let Some(image) = &served.image {
        add("currentImage", image);
        add("desiredImage", image);
    }
    json!(annotations)
}

/// JSON as people read it, indented as the original does.
fn indented(json: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    let formatter = PrettyFormatter::with_indent(b"    ");
    // Writing to memory cannot fail.
    let _ = json.serialize(&mut Serializer::with_formatter(&mut text, formatter));
    text
}

/// Gives a file new contents and leaves its place and mode, or appends it. The original leaves the compression and the hash of
/// the old contents too, with which no machine could read the new ones.
fn replace_or_append(config: &mut Config, path: &str, contents: &[u8]) {
    let new = text_file(path, contents);
    let storage = config.as_v3_5_mut().storage.get_or_insert_default();
    let files = storage.files.get_or_insert_default();
    match files.iter_mut().find(|file| file.path == path) {
        Some(file) => file.contents = new.contents,
        None => files.push(new),
    }
}

fn text_file(path: &str, contents: impl AsRef<[u8]>) -> File {
    file_as(path, MODE, contents, Encoding::Percent)
}

/// Adds a file at the end. One with that path is taken out first: the original leaves it, and Ignition then refuses
/// the config because of the double path.
fn put_last(config: &mut Config, file: File) {
    let files = config
        .as_v3_5_mut()
        .storage
        .get_or_insert_default()
        .files
        .get_or_insert_default();
    files.retain(|old| old.path != file.path);
    files.push(file);
}

#[cfg(test)]
mod tests;
