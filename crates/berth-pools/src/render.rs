//! One config out of many: what a pool's machines run.
//!
//! ```text
//! machine configs ──select──► those of the pool ──validate, merge──► Rendered (rendered-<pool>-<hash>)
//! ```
//!
//! The rules are OpenShift's, with these differences, each of which keeps a machine from failing:
//! - extensions are checked in every machine config, not only in those with an Ignition config;
//! - all problems are reported at once, each with the machine config it is in;
//! - a file that only changes the mode of one below it keeps that one's contents and their compression, and is not
//!   given `overwrite`, which Ignition refuses for a file without contents;
//! - new contents do not inherit the hash of the contents they replace.

mod canonical;
mod error;
mod files;
mod inputs;
mod name;
mod operator_yaml;

use std::collections::BTreeMap;

use berth_ignition::{Config, Finding, SpecVersion, merge_all};
use berth_labels::LabelSelector;
use serde_json::json;

use crate::machine_config::{GENERATED_BY, MachineConfig, MachineConfigSpec, merge_order};

pub use error::{RenderError, RenderProblem, SelectError};
pub use inputs::{EXTENSIONS, validate};

/// The annotation that marks a rendered config whose operating system comes from a machine config.
pub const OS_IMAGE_OVERRIDDEN: &str = "machineconfiguration.openshift.io/os-image-url-overridden";

/// The annotation with the release that a rendered config was made for.
pub const RELEASE_IMAGE_VERSION: &str = "machineconfiguration.openshift.io/release-image-version";

/// The largest rendered config, in bytes of JSON: what etcd takes in one request.
pub const SIZE_LIMIT: usize = 1_572_864;

/// What rendering takes from the cluster rather than from machine configs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderOptions {
    /// The operating system's image, unless a machine config names another.
    pub os_image_url: String,
    /// The image of the extensions, unless a machine config names another.
    pub base_os_extensions_container_image: String,
    /// The pool's OS image stream. With one set, no machine config may name another image.
    pub os_image_stream: Option<String>,
    /// The version of the controller that renders. If given, generated machine configs must be of that version, so
    /// that a half-finished upgrade is not rendered.
    pub controller_version: Option<String>,
    /// The release that the cluster runs.
    pub release_image_version: Option<String>,
}

/// A rendered config.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// `rendered-<pool>-<hash>`, with the hash that the Machine Config Operator gives this spec: equal specs have equal hashes
    /// in all pools, whatever the order of the inputs.
    pub name: String,
    /// The pool it was rendered for.
    pub pool: String,
    /// Everything merged.
    pub spec: MachineConfigSpec,
    /// The machine configs it is made of, in merge order.
    pub sources: Vec<String>,
    /// The annotations of the object.
    pub annotations: BTreeMap<String, String>,
    /// The size of the object in bytes of JSON.
    pub size: usize,
    /// What does not stop it but should be known.
    pub warnings: Vec<RenderWarning>,
}

/// What does not stop a rendered config but should be known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderWarning {
    /// More than 80 % of the largest size is used.
    #[error("rendered MachineConfig {name} has {size} bytes, {}% of the {limit} bytes allowed", .size * 100 / .limit)]
    NearlyTooLarge {
        /// The rendered config.
        name: String,
        /// Its size in bytes.
        size: usize,
        /// The largest size.
        limit: usize,
    },
    /// The Machine Config Operator makes of these machine configs something that Ignition refuses or that no machine could read.
    #[error(
        "the Machine Config Operator renders {} of pool {pool} differently, so that machines refuse it, and names the config {name}",
        .paths.join(", ")
    )]
    OtherThanOperator {
        /// The pool.
        pool: String,
        /// The operator's name for the config.
        name: String,
        /// The files.
        paths: Vec<String>,
    },
    /// Ignition would use the config, but probably not as its author meant.
    #[error("MachineConfig {machine_config}: {}: {}", .finding.path, .finding.message)]
    Ignition {
        /// The machine config.
        machine_config: String,
        /// What is odd, and where.
        finding: Finding,
    },
}

impl Rendered {
    /// The object to store.
    pub fn to_machine_config(&self) -> MachineConfig {
        MachineConfig {
            name: self.name.clone(),
            labels: BTreeMap::new(),
            annotations: self.annotations.clone(),
            spec: self.spec.clone(),
        }
    }
}

/// A value as the operator writes it into files.
pub(crate) fn yaml(value: &serde_json::Value) -> String {
    operator_yaml::write(value)
}

/// The machine configs that a pool's `machineConfigSelector` selects, in the order given.
pub fn select<'a>(
    configs: impl IntoIterator<Item = &'a MachineConfig>,
    selector: &LabelSelector,
) -> Result<Vec<&'a MachineConfig>, SelectError> {
    let compiled = selector.compile()?;
    if compiled.is_empty() {
        return Err(SelectError::SelectingAll);
    }
    let selected: Vec<_> = configs
        .into_iter()
        .filter(|config| compiled.matches_with(|key| config.labels.get(key).map(String::as_str)))
        .collect();
    if selected.is_empty() {
        return Err(SelectError::NoneFound {
            selector: compiled.to_string(),
        });
    }
    Ok(selected)
}

/// Whether the API server takes an object of this size, and soon may not any more.
fn judge_size(name: &str, size: usize) -> Result<Option<RenderWarning>, RenderProblem> {
    let (name, limit) = (name.to_owned(), SIZE_LIMIT);
    if size > limit {
        return Err(RenderProblem::TooLarge { name, size, limit });
    }
    Ok((size > limit / 5 * 4).then_some(RenderWarning::NearlyTooLarge { name, size, limit }))
}

/// Merges the machine configs of a pool into one.
pub fn render<'a>(
    pool: &str,
    configs: impl IntoIterator<Item = &'a MachineConfig>,
    options: &RenderOptions,
) -> Result<Rendered, RenderError> {
    let configs = merge_order(configs);
    let mut problems = inputs::judge_together(&configs, options);
    let mut warnings = Vec::new();
    let mut ignition = Vec::with_capacity(configs.len());
    for config in &configs {
        let mut read = inputs::read(config);
        problems.append(&mut read.problems);
        ignition.extend(read.ignition);
        warnings.extend(read.warnings.into_iter().map(|finding| RenderWarning::Ignition {
            machine_config: config.name.clone(),
            finding,
        }));
    }
    let kernel_type = kernel_type(&configs);
    if kernel_type != DEFAULT_KERNEL {
        problems.extend(
            configs
                .iter()
                .filter(|config| config.spec.extensions.iter().any(|name| name == "kernel-devel"))
                .map(|config| RenderProblem::KernelDevel {
                    machine_config: config.name.clone(),
                    kernel_type: kernel_type.to_owned(),
                }),
        );
    }
    let refuse = |problems| RenderError {
        pool: pool.to_owned(),
        problems,
    };
    if !problems.is_empty() {
        return Err(refuse(problems));
    }
    let write = |config: &Config| {
        config
            .to_version(SpecVersion::LATEST)
            .map_err(|error| refuse(vec![RenderProblem::NotWritable(error)]))
    };
    let of_operator = ignition
        .iter()
        .flat_map(Config::files)
        .any(files::may_differ)
        .then(|| merge_as_operator(ignition.clone()));
    let merged = merge_ignition(ignition);
    let config = write(&merged)?;

    let os_image = last_own(&configs, |spec| &spec.os_image_url);
    let extensions_image = last_own(&configs, |spec| &spec.base_os_extensions_container_image);
    let spec = MachineConfigSpec {
        os_image_url: os_image.unwrap_or(&options.os_image_url).to_owned(),
        base_os_extensions_container_image: extensions_image
            .unwrap_or(&options.base_os_extensions_container_image)
            .to_owned(),
        config: Some(config),
        kernel_arguments: joined(&configs, |spec| &spec.kernel_arguments),
        extensions: joined(&configs, |spec| &spec.extensions),
        fips: configs.iter().any(|config| config.spec.fips),
        kernel_type: kernel_type.to_owned(),
    };
    let mut annotations = BTreeMap::new();
    let mut annotate = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            annotations.insert(key.to_owned(), value.to_owned());
        }
    };
    annotate(GENERATED_BY, options.controller_version.as_deref());
    annotate(RELEASE_IMAGE_VERSION, options.release_image_version.as_deref());
    let is_overridden = os_image.is_some_and(|image| image != options.os_image_url);
    annotate(OS_IMAGE_OVERRIDDEN, is_overridden.then_some("true"));

    let as_json = json!(spec);
    let written = canonical::write(&as_json);
    let name = name::rendered(pool, &as_json);
    if let Some(theirs) = of_operator {
        let mut theirs = write(&theirs)?;
        files::overwrite_all(&mut theirs);
        let mut as_json = as_json;
        let paths = files::differing(&as_json["config"], &theirs);
        if !paths.is_empty() {
            as_json["config"] = theirs;
            warnings.push(RenderWarning::OtherThanOperator {
                pool: pool.to_owned(),
                name: name::rendered(pool, &as_json),
                paths,
            });
        }
    }
    let size = written.len() + envelope_size(&name, &annotations);
    warnings.extend(judge_size(&name, size).map_err(|problem| refuse(vec![problem]))?);
    Ok(Rendered {
        name,
        pool: pool.to_owned(),
        spec,
        sources: configs.iter().map(|config| config.name.clone()).collect(),
        annotations,
        size,
        warnings,
    })
}

/// The kernel that is installed when nobody asks for another.
const DEFAULT_KERNEL: &str = "default";

/// The last that asks for a special kernel wins; a later `default` does not take it back.
fn kernel_type<'a>(configs: &[&'a MachineConfig]) -> &'a str {
    configs
        .iter()
        .rev()
        .map(|config| config.spec.kernel_type.as_str())
        .find(|kernel| inputs::is_special_kernel(kernel))
        .unwrap_or(DEFAULT_KERNEL)
}

/// The last value that people gave. What controllers wrote into their machine configs is the cluster's own value of
/// some other time.
fn last_own<'a>(configs: &[&'a MachineConfig], field: impl Fn(&'a MachineConfigSpec) -> &'a String) -> Option<&'a str> {
    configs
        .iter()
        .rev()
        .filter(|config| config.generated_by().is_none())
        .map(|config| field(&config.spec).as_str())
        .find(|value| !value.is_empty())
}

fn joined(configs: &[&MachineConfig], field: impl Fn(&MachineConfigSpec) -> &Vec<String>) -> Vec<String> {
    configs.iter().flat_map(|config| field(&config.spec)).cloned().collect()
}

fn merge_ignition(mut configs: Vec<Config>) -> Config {
    for config in &mut configs {
        files::each(config, files::say_what_is_not_inherited);
    }
    let mut merged = merge_all(configs);
    files::each(&mut merged, files::finish);
    merged
}

/// The same as the operator does it.
fn merge_as_operator(mut configs: Vec<Config>) -> Config {
    for config in configs.iter_mut().skip(1) {
        files::each(config, files::say_as_operator);
    }
    let mut merged = merge_all(configs);
    files::each(&mut merged, files::finish_as_operator);
    merged
}

/// The bytes of the object around its spec.
fn envelope_size(name: &str, annotations: &BTreeMap<String, String>) -> usize {
    let envelope = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"name": name, "annotations": annotations},
        "spec": 0,
    });
    canonical::write(&envelope).len() - 1
}

#[cfg(test)]
mod tests;
