//! How the labels of a Node follow those that are requested.

use std::{fmt, str::FromStr};

use berth_labels::{ConflictPolicy, LabelKey};
use serde::{Deserialize, Serialize};

/// Which labels of a Node are removed, and which are only set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// What is not requested is removed, apart from protected keys.
    #[default]
    Mirror,
    /// Only what Berth itself set is removed, and what somebody else set is not changed.
    Owned,
    /// What Promenade does, to the letter.
    Promenade,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mirror, Self::Owned, Self::Promenade];

    /// The word in requests and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Owned => "owned",
            Self::Promenade => "promenade",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// No strategy of this name exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown strategy \"{0}\": use mirror, owned or promenade")]
pub struct UnknownStrategy(pub String);

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Self, UnknownStrategy> {
        let found = Self::ALL.into_iter().find(|strategy| strategy.as_str() == text);
        found.ok_or_else(|| UnknownStrategy(text.to_owned()))
    }
}

/// Domains whose keys Kubernetes itself, kubelets and cloud controllers set.
const KUBERNETES: [&str; 2] = ["kubernetes.io", "k8s.io"];

/// Domains whose keys other controllers keep on Nodes, where an operator expects them to stay.
const FOREIGN: [&str; 10] = [
    "cilium.io",
    "k8s.ovn.org",
    "kubevirt.io",
    "machine.openshift.io",
    "machineconfiguration.openshift.io",
    "metal3.io",
    "network.openshift.io",
    "node.openshift.io",
    "nvidia.com",
    "projectcalico.org",
];

/// What holds for all nodes alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelPolicy {
    /// Domains whose keys [`Strategy::Mirror`] leaves alone unless Berth set them, beside those of Kubernetes.
    pub foreign: Vec<String>,
    /// What [`Strategy::Owned`] does with a requested key that somebody else gave another value.
    pub conflicts: ConflictPolicy,
}

impl Default for LabelPolicy {
    fn default() -> Self {
        Self {
            foreign: FOREIGN.map(str::to_owned).to_vec(),
            conflicts: ConflictPolicy::default(),
        }
    }
}

impl LabelPolicy {
    /// Whether a key belongs to somebody else by its domain. Domains end at dots.
    pub fn is_protected(&self, key: &str) -> bool {
        // A key on a Node is legal, or the API server would not have taken it.
        let Ok(key) = key.parse::<LabelKey>() else {
            return true;
        };
        KUBERNETES.iter().any(|domain| key.in_domain(domain)) || self.foreign.iter().any(|domain| key.in_domain(domain))
    }
}
