//! No configuration can lose the labels that identify a pool.
//!
//! A pool's labels reach the kubelet at boot through one of a few places: the labels file that the generator reads,
//! OpenShift's `kubelet-env`, kubeadm's `/etc/default/kubelet`, a drop-in, or the unit itself. A machine config can
//! write to any of them, and the last one wins. What is judged here is therefore what a machine would have after the
//! merge; a finding names the machine config, the file or unit, and the line that did it.

mod content;
mod judge;
mod registered;
mod unit;

use berth_labels::{Flavour, LabelSet, Route, choose_route};

use crate::machine_config::{MachineConfig, merge_order};

pub use registered::{KubeletLabels, OS_ID, registered_labels};

/// The labels of a pool that no configuration may lose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedLabels {
    /// The pool, for messages.
    pub pool: String,
    /// The labels that make a node a member of the pool.
    pub identifying: LabelSet,
    /// The further labels that the pool gives.
    pub explicit: LabelSet,
}

impl ProtectedLabels {
    /// All labels; those that identify the pool win.
    fn all(&self) -> LabelSet {
        let mut all = self.explicit.clone();
        all.extend(self.identifying.clone());
        all
    }

    /// The labels that come with the kubelet's flags. Others are put on the Node by the controller, and no file on
    /// the machine can lose them.
    fn at_boot(&self, flavour: Flavour) -> LabelSet {
        let all = self.all().into_iter();
        all.filter(|(key, _)| choose_route(flavour, key) == Route::Boot)
            .collect()
    }
}

/// What is wrong with a machine config or a kubelet config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectFinding {
    /// The machine config (or the `KubeletConfig` or `ContainerRuntimeConfig`) that has to change.
    pub machine_config: String,
    /// The path of the file, `kubelet.service`, `kubelet.service.d/<name>` for a drop-in that the config puts on the
    /// unit, or the field of another object.
    pub path: String,
    /// The line inside that text, from 1, if it is one line.
    pub line: Option<u32>,
    /// What it would do.
    pub kind: ProtectKind,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

/// What a configuration would do to a node's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtectKind {
    /// Labels of the pool would not reach the kubelet.
    DropsLabels,
    /// A label of the pool would get another value.
    OverridesLabel,
    /// A label would be left out, because the kubelet would not start with it.
    RefusedLabel,
    /// The kubelet would not start.
    StopsKubelet,
    /// The kubelet would start, but the node would not register.
    StopsRegistration,
    /// The controllers make no machine config of the object with this field.
    RefusedField,
    /// The contents are not in the config, so nothing can be proved about them.
    Unreadable,
}

impl ProtectKind {
    /// The name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DropsLabels => "drops-labels",
            Self::OverridesLabel => "overrides-label",
            Self::RefusedLabel => "refused-label",
            Self::StopsKubelet => "stops-kubelet",
            Self::StopsRegistration => "stops-registration",
            Self::RefusedField => "refused-field",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Judges what the machine configs of a pool, merged, would do to its labels and its kubelet.
pub fn protect<'a>(
    configs: impl IntoIterator<Item = &'a MachineConfig>,
    labels: &ProtectedLabels,
    flavour: Flavour,
) -> Vec<ProtectFinding> {
    let contents = content::Contents::gather(merge_order(configs));
    let mut judge = judge::Judge::new(&contents, labels, flavour);
    judge.labels_file();
    judge.env_files();
    unit::judge(&mut judge);
    judge.replaced();
    judge.finish()
}

#[cfg(test)]
mod tests;
