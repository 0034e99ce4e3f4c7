//! What a change of config costs the machines it reaches.
//!
//! | what changes | what it needs |
//! |---|---|
//! | operating system, kernel arguments, FIPS, kernel type, extensions | reboot |
//! | file | the actions of the policy with the longest path that is the file or a directory above it, else reboot |
//! | unit, or a drop-in that the config puts on it | the actions of the policy of that unit, else reboot |
//! | SSH keys and passwords | the actions of the policy for them |
//!
//! A drop-in that is delivered as a file is a file: it can have a policy of its own. That, and the policies that Berth
//! adds for the places where it keeps labels, is why a label change needs nothing.

mod diff;
mod registries;

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

pub use diff::{Change, ChangeKind, ChangedItem, DiffError, SpecDiff, diff_specs, diff_specs_with};

/// The file in which labels are kept on the machine.
pub(crate) use berth_units::LABELS_PATH as LABELS_FILE;

/// OpenShift's file of variables for the kubelet.
pub(crate) const KUBELET_ENV: &str = "/etc/kubernetes/kubelet-env";

/// The variable in which OpenShift's kubelet unit takes further labels.
pub(crate) const LABELS_VARIABLE: &str = "CUSTOM_KUBELET_LABELS";

/// The label drop-ins, delivered as files.
const LABELS_DROP_INS: [&str; 2] = [
    "/etc/systemd/system/kubelet.service.d/50-berth.conf",
    "/etc/systemd/system/kubelet.service.d/zz-berth.conf",
];

/// The generator and what it reads beside the labels.
const GENERATOR: [&str; 2] = ["/etc/berth/flavour", "/etc/systemd/system-generators/berth-generator"];

/// Certificates that every program trusts, on Debian and on Fedora, and the service that adds them to those of the system. It restarts
/// the container runtime itself.
const TRUST_BUNDLES: [&str; 2] = [
    "/usr/local/share/ca-certificates/berth-trust-bundle.crt",
    "/etc/pki/ca-trust/source/anchors/berth-trust-bundle.crt",
];
const TRUST: &str = "berth-trust-bundle.service";

const REGISTRIES: &str = "/etc/containers/registries.conf";
const CRIO: &str = "crio.service";
const KUBELET: &str = "kubelet.service";

/// What has to happen on a machine, mildest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing.
    None,
    /// systemd reads its units again.
    DaemonReload,
    /// A service reads its config again.
    Reload(String),
    /// A service is started again.
    Restart(String),
    /// Pods are moved away first.
    Drain,
    /// The machine is started again, after a drain.
    Reboot,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::DaemonReload => f.write_str("daemon-reload"),
            Self::Reload(service) => write!(f, "reload {service}"),
            Self::Restart(service) => write!(f, "restart {service}"),
            Self::Drain => f.write_str("drain"),
            Self::Reboot => f.write_str("reboot"),
        }
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that is not an action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an action such as `none`, `restart crio.service` or `reboot`")]
pub struct NotAnAction(String);

impl FromStr for Action {
    type Err = NotAnAction;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, NotAnAction> {
        match text.split_once(' ') {
            Some(("reload", service)) if !service.is_empty() => Ok(Self::Reload(service.to_owned())),
            Some(("restart", service)) if !service.is_empty() => Ok(Self::Restart(service.to_owned())),
            _ => match text {
                "none" => Ok(Self::None),
                "daemon-reload" => Ok(Self::DaemonReload),
                "drain" => Ok(Self::Drain),
                "reboot" => Ok(Self::Reboot),
                _ => Err(NotAnAction(text.to_owned())),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// The actions for everything that changed: a reboot includes all else, and nothing beside something is dropped.
pub fn combine(actions: impl IntoIterator<Item = Action>) -> BTreeSet<Action> {
    let mut all: BTreeSet<_> = actions.into_iter().collect();
    if all.contains(&Action::Reboot) {
        return [Action::Reboot].into();
    }
    if all.len() > 1 {
        all.remove(&Action::None);
    }
    if all.is_empty() {
        all.insert(Action::None);
    }
    all
}

/// Which changes need which actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisruptionPolicy {
    /// For files and directories.
    pub files: Vec<FilePolicy>,
    /// For units, by their exact names.
    pub units: Vec<UnitPolicy>,
    /// For SSH keys and passwords.
    pub ssh_keys: Vec<Action>,
}

/// The actions for a file, or for all files below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePolicy {
    /// The file or the directory.
    pub path: String,
    /// What its change needs, in this order.
    pub actions: Vec<Action>,
}

/// The actions for a unit and its drop-ins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitPolicy {
    /// The unit.
    pub name: String,
    /// What its change needs, in this order.
    pub actions: Vec<Action>,
}

impl Default for DisruptionPolicy {
    /// OpenShift's policies, and those for the places where Berth keeps labels.
    fn default() -> Self {
        let reload = || vec![Action::Reload(CRIO.to_owned())];
        let restart = |service: &str| Action::Restart(service.to_owned());
        let files = [
            ("/var/lib/kubelet/config.json", vec![Action::None]),
            ("/etc/machine-config-daemon/no-reboot/containers-gpg.pub", reload()),
            ("/etc/containers/policy.json", reload()),
            ("/etc/containers/registries.d", reload()),
            ("/etc/crio/policies", reload()),
            // Whether a drain comes first depends on what changes in the file; see `registries`.
            (REGISTRIES, reload()),
            ("/etc/nmstate/openshift", vec![Action::None]),
            (
                "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
                vec![restart("coreos-update-ca-trust.service"), restart(CRIO)],
            ),
            ("/etc/kubernetes/credential-providers", vec![restart(KUBELET)]),
            (
                "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf",
                vec![Action::DaemonReload, restart(KUBELET)],
            ),
            // What templates give machines without OpenShift's operator. The kubelet reads this one again when it changes.
            ("/etc/kubernetes/kubelet-ca.crt", vec![Action::None]),
            ("/etc/kubernetes/pki/ca.crt", vec![restart(KUBELET)]),
            // containerd reads them for each pull.
            ("/etc/containerd/certs.d", vec![Action::None]),
            (TRUST_BUNDLES[0], vec![restart(TRUST)]),
            (TRUST_BUNDLES[1], vec![restart(TRUST)]),
            // Labels count when a kubelet registers, and live Nodes get theirs from the controller.
            (LABELS_FILE, vec![Action::None]),
        ];
        // Labels count when a kubelet registers, so it is enough that systemd reads their drop-in at the next boot.
        let drop_ins = LABELS_DROP_INS.map(|path| (path, vec![Action::None]));
        let generator = GENERATOR.map(|path| (path, vec![Action::DaemonReload]));
        let files = files.into_iter().chain(drop_ins).chain(generator);
        Self {
            files: files
                .map(|(path, actions)| FilePolicy {
                    path: path.to_owned(),
                    actions,
                })
                .collect(),
            units: Vec::new(),
            ssh_keys: vec![Action::None],
        }
    }
}

impl DisruptionPolicy {
    /// These policies with an administrator's on top: one for the same path or unit replaces, others add.
    #[must_use]
    pub fn with(mut self, user: &UserPolicy) -> Self {
        for policy in &user.files {
            self.files.retain(|own| trimmed(&own.path) != trimmed(&policy.path));
            self.files.push(policy.clone());
        }
        for policy in &user.units {
            self.units.retain(|own| own.name != policy.name);
            self.units.push(policy.clone());
        }
        if let Some(actions) = &user.ssh_keys {
            self.ssh_keys.clone_from(actions);
        }
        self
    }

    /// What a change of this file needs, by its path alone.
    pub fn of_file(&self, path: &str) -> Vec<Action> {
        self.files
            .iter()
            .filter(|policy| covers(trimmed(&policy.path), path))
            .max_by_key(|policy| trimmed(&policy.path).len())
            .map_or_else(|| vec![Action::Reboot], |policy| or_none(&policy.actions))
    }

    /// Whether a policy speaks of this file or of a directory above it.
    pub(crate) fn speaks_of(&self, path: &str) -> bool {
        self.files.iter().any(|policy| covers(trimmed(&policy.path), path))
    }

    /// What a change of this unit or its drop-ins needs.
    pub fn of_unit(&self, name: &str) -> Vec<Action> {
        self.units
            .iter()
            .find(|policy| policy.name == name)
            .map_or_else(|| vec![Action::Reboot], |policy| or_none(&policy.actions))
    }
}

/// An administrator's policies, as in `MachineConfiguration` `spec.nodeDisruptionPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserPolicy {
    /// For files and directories.
    pub files: Vec<FilePolicy>,
    /// For units.
    pub units: Vec<UnitPolicy>,
    /// For SSH keys and passwords, if they say something.
    pub ssh_keys: Option<Vec<Action>>,
}

/// No action in a list is the same as the action "none".
fn or_none(actions: &[Action]) -> Vec<Action> {
    if actions.is_empty() {
        vec![Action::None]
    } else {
        actions.to_vec()
    }
}

/// A directory may be written with a slash at its end. The root stays what it is.
fn trimmed(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => "/",
        trimmed => trimmed,
    }
}

/// Whether a policy's path is the file or a directory above it. `/etc/crio` is not above `/etc/crio.d/a`.
fn covers(policy: &str, path: &str) -> bool {
    policy == "/"
        || path
            .strip_prefix(policy)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
