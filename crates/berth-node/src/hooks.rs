//! The environment files of other people's units: one variable is merged, everything else stays.

use std::process::ExitCode;

use berth_labels::LabelSet;
use berth_units::{
    DEFAULT_KUBELET_PATH, EXTRA_ARGS_VARIABLE, EffectiveUnit, ExecCommand, KUBELET_ENV_PATH, KUBELET_ENV_STATE_PATH,
    KUBELET_ENV_VARIABLE, LabelChange, LabelsFile, LoadState, MergedFile, Setting, merge_default_kubelet,
    merge_kubelet_env,
};

use crate::{
    log::{chain, say},
    node::{Node, labels_file},
    root::Root,
};

/// kubeadm's environment file on Red Hat systems.
const SYSCONFIG_KUBELET_PATH: &str = "/etc/sysconfig/kubelet";

/// Where a run keeps what it put into kubeadm's file, so that a later one can take it out again.
const DEFAULT_KUBELET_STATE_PATH: &str = "/var/lib/berth/default-kubelet.labels";

/// Which file is merged.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hook<'a> {
    /// OpenShift's.
    KubeletEnv,
    /// kubeadm's; without a path, the one that the unit reads.
    DefaultKubelet { path: Option<&'a str> },
}

/// Merges the node's labels into the file and says what it did.
pub(crate) fn run(root: &Root, hook: Hook<'_>) -> ExitCode {
    let mut node = Node::read(root);
    for problem in node.problems.drain(..) {
        say(&problem);
    }
    match merge(root, &node, hook) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&message);
            ExitCode::FAILURE
        }
    }
}

fn merge(root: &Root, node: &Node, hook: Hook<'_>) -> Result<(), String> {
    let (path, variable, state) = match hook {
        Hook::KubeletEnv => (KUBELET_ENV_PATH, KUBELET_ENV_VARIABLE, KUBELET_ENV_STATE_PATH),
        Hook::DefaultKubelet { path } => (
            path.unwrap_or_else(|| default_path(&node.unit)),
            EXTRA_ARGS_VARIABLE,
            DEFAULT_KUBELET_STATE_PATH,
        ),
    };
    node.must_be_known()
        .map_err(|message| format!("{path}: nothing is written: {message}"))?;
    must_be_used(&node.unit, path, variable)?;
    let cannot = |error: std::io::Error| format!("{path}: cannot be read or written: {error}");
    let existing = root.read_optional(path).map_err(cannot)?.unwrap_or_default();

    let mut problems = Vec::new();
    let previous = labels_file(root, state, &mut problems)?.unwrap_or_default();
    let change = LabelChange {
        labels: &node.labels,
        previous: &previous,
        flavour: node.flavour,
    };
    let merged = match hook {
        Hook::KubeletEnv => {
            let unit = (node.unit.state() == LoadState::Loaded).then_some(&node.unit);
            merge_kubelet_env(&existing, unit, change)
        }
        Hook::DefaultKubelet { .. } => merge_default_kubelet(&existing, change),
    }
    .map_err(|error| format!("{path}: nothing is written: {}", chain(&error)))?;

    let mut put = node.labels.clone();
    for left in &merged.left_out {
        put.remove(left.label.key.as_str());
    }
    // A crash between the two files must not leave a label that no later run knows as ours.
    let mut either = previous.clone();
    either.extend(put.iter().map(|(key, value)| (key.clone(), value.clone())));
    remember(root, state, &previous, &either)?;
    if merged.changed {
        root.write(path, &merged.text).map_err(cannot)?;
    }
    remember(root, state, &either, &put)?;
    report(path, &merged);
    Ok(())
}

fn remember(root: &Root, path: &str, before: &LabelSet, now: &LabelSet) -> Result<(), String> {
    if before == now {
        return Ok(());
    }
    root.write(path, LabelsFile::print(now).as_bytes())
        .map_err(|error| format!("{path}: cannot be written: {error}"))
}

fn report(path: &str, merged: &MergedFile) {
    for left in &merged.left_out {
        say(&format!("{} is left out: {}", left.label, left.reason));
    }
    for label in &merged.carried {
        say(&format!("{label} is carried along from the unit, which the file hides"));
    }
    say(&format!(
        "{path}: {}",
        if merged.changed {
            "changed"
        } else {
            "is as it should be"
        }
    ));
}

/// kubeadm's file is named by the unit; where that does not say, Debian's.
fn default_path(unit: &EffectiveUnit) -> &'static str {
    if environment_files(unit).any(|path| path == SYSCONFIG_KUBELET_PATH) {
        SYSCONFIG_KUBELET_PATH
    } else {
        DEFAULT_KUBELET_PATH
    }
}

/// A label in a file that nobody reads is lost without a word, so that is refused. Where the unit is not installed yet,
/// nothing can be said.
fn must_be_used(unit: &EffectiveUnit, path: &str, variable: &str) -> Result<(), String> {
    if unit.state() != LoadState::Loaded {
        return Ok(());
    }
    if !environment_files(unit).any(|file| file == path) {
        return Err(format!(
            "{path}: {} has no EnvironmentFile= for it, so labels there would be lost; use the generator",
            unit.name()
        ));
    }
    let used = unit
        .list("Service", "ExecStart")
        .iter()
        .flat_map(|setting| setting.commands())
        .flat_map(ExecCommand::argv)
        .any(|word| word.contains(&format!("${{{variable}}}")) || *word == format!("${variable}"));
    if used {
        Ok(())
    } else {
        Err(format!(
            "{path}: ExecStart= of {} does not use ${variable}, so labels there would be lost; use the generator",
            unit.name()
        ))
    }
}

fn environment_files(unit: &EffectiveUnit) -> impl Iterator<Item = String> {
    unit.list("Service", "EnvironmentFile")
        .into_iter()
        .map(Setting::value)
        .map(|value| value.strip_prefix('-').unwrap_or(value).to_owned())
        .collect::<Vec<_>>()
        .into_iter()
}
