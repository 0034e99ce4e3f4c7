//! The rules for each machine config, before anything is merged.

use std::collections::BTreeMap;

use berth_ignition::{Config, Finding, parse};

use super::{RenderOptions, error::RenderProblem};
use crate::machine_config::MachineConfig;

/// The extensions that OpenShift's operating system has.
pub const EXTENSIONS: [&str; 7] = [
    "ipsec",
    "kerberos",
    "kernel-devel",
    "sandboxed-containers",
    "sysstat",
    "two-node-ha",
    "usbguard",
];

/// The largest mode a file may have.
const LARGEST_MODE: i64 = 0o777;

/// A machine config as far as it could be read.
pub(super) struct Input {
    pub(super) ignition: Option<Config>,
    pub(super) problems: Vec<RenderProblem>,
    pub(super) warnings: Vec<Finding>,
}

/// Everything that is wrong with one machine config on its own.
pub fn validate(config: &MachineConfig) -> Vec<RenderProblem> {
    read(config).problems
}

pub(super) fn is_special_kernel(kernel: &str) -> bool {
    matches!(kernel, "realtime" | "64k-pages")
}

/// Reads the Ignition config and judges everything in the machine config.
pub(super) fn read(config: &MachineConfig) -> Input {
    let name = || config.name.clone();
    let mut problems = Vec::new();
    let kernel = config.spec.kernel_type.as_str();
    if !matches!(kernel, "" | "default") && !is_special_kernel(kernel) {
        problems.push(RenderProblem::KernelType {
            machine_config: name(),
            kernel_type: kernel.to_owned(),
        });
    }
    let unknown: Vec<_> = config
        .spec
        .extensions
        .iter()
        .filter(|extension| !EXTENSIONS.contains(&extension.as_str()))
        .cloned()
        .collect();
    if !unknown.is_empty() {
        problems.push(RenderProblem::Extensions {
            machine_config: name(),
            extensions: unknown,
        });
    }
    let (ignition, warnings) = match &config.spec.config {
        None => (None, Vec::new()),
        Some(json) => {
            let parsed = parse(json);
            let (errors, warnings): (Vec<_>, Vec<_>) = parsed.findings.into_iter().partition(Finding::is_error);
            if !errors.is_empty() {
                problems.push(RenderProblem::Ignition {
                    machine_config: name(),
                    findings: errors,
                });
            }
            (parsed.config, warnings)
        }
    };
    for file in ignition.iter().flat_map(Config::files) {
        if let Some(mode) = file.mode.filter(|mode| *mode > LARGEST_MODE) {
            problems.push(RenderProblem::FileMode {
                machine_config: name(),
                path: file.path.clone(),
                mode,
            });
        }
    }
    Input {
        ignition,
        problems,
        warnings,
    }
}

/// What is wrong with the machine configs beside each other, and beside what the cluster says.
pub(super) fn judge_together(configs: &[&MachineConfig], options: &RenderOptions) -> Vec<RenderProblem> {
    if configs.is_empty() {
        return vec![RenderProblem::Nothing];
    }
    let mut problems = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for config in configs {
        *counts.entry(&config.name).or_default() += 1;
        let machine_config = || config.name.clone();
        if config.labels.is_empty() {
            problems.push(RenderProblem::NoLabels {
                machine_config: machine_config(),
            });
        }
        match (config.generated_by(), options.controller_version.as_deref()) {
            (Some(theirs), Some(ours)) if theirs != ours => problems.push(RenderProblem::OtherController {
                machine_config: machine_config(),
                theirs: theirs.to_owned(),
                ours: ours.to_owned(),
            }),
            (None, _) if !config.spec.os_image_url.is_empty() => {
                if let Some(stream) = &options.os_image_stream {
                    problems.push(RenderProblem::ImageAndStream {
                        machine_config: machine_config(),
                        stream: stream.clone(),
                    });
                }
            }
            _ => {}
        }
    }
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 1) {
        problems.push(RenderProblem::DuplicateName {
            machine_config: name.to_owned(),
            count,
        });
    }
    problems
}
