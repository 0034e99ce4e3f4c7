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

/// Domains whose keys Kubernetes itself, kubelets and cloud controllers set. Node Feature Discovery is below the first.
const KUBERNETES: [&str; 3] = ["kubernetes.io", "k8s.io", "x-k8s.io"];

/// Domains whose keys other controllers keep on Nodes, where an operator expects them to stay.
const FOREIGN: [&str; 36] = [
    // Platforms: OpenShift with its storage, SR-IOV and node operators; Rancher; Harvester.
    "cattle.io",
    "harvesterhci.io",
    "k3s.io",
    "openshift.io",
    "rke2.io",
    // Machines.
    "karpenter.sh",
    "medik8s.io",
    "metal3.io",
    // Networks.
    "cilium.io",
    "istio.io",
    "k8s.ovn.org",
    "metallb.io",
    "projectcalico.org",
    "submariner.io",
    "tigera.io",
    // Storage; topology keys of CSI drivers are found by their form.
    "linbit.com",
    "longhorn.io",
    "openebs.io",
    "portworx.io",
    "rook.io",
    "topolvm.io",
    // Devices and virtual machines.
    "amd.com",
    "intel.com",
    "katacontainers.io",
    "kubevirt.io",
    "mellanox.com",
    "nvidia.com",
    // Cloud providers; those of Azure and IBM are below kubernetes.io.
    "alibabacloud.com",
    "amazonaws.com",
    "azure.com",
    "cloud.google.com",
    "digitalocean.com",
    "gke.io",
    "hetzner.cloud",
    "k8s.aws",
    "oraclecloud.com",
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
        let foreign = self.foreign.iter().map(String::as_str);
        is_driver_topology(&key)
            || KUBERNETES
                .into_iter()
                .chain(foreign)
                .any(|domain| key.in_domain(domain))
    }
}

/// Keys that a CSI driver reports as topology, such as `topology.ebs.csi.aws.com/zone`: by its own convention each driver
/// uses a domain with `csi` in it or one that begins with `topology`.
fn is_driver_topology(key: &LabelKey) -> bool {
    let Some(domain) = key.prefix() else {
        return false;
    };
    domain.starts_with("topology.") || domain.split('.').any(|part| part == "csi")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_known_operators_are_protected() {
        let policy = LabelPolicy::default();
        for key in [
            "feature.node.kubernetes.io/cpu-model.id",
            "nvidia.com/gpu.present",
            "cluster.ocs.openshift.io/openshift-storage",
            "topology.rook.io/rack",
            "sriovnetwork.openshift.io/state",
            "topology.ebs.csi.aws.com/zone",
            "topology.topolvm.io/node",
            "csi.hetzner.cloud/location",
            "topology.disk.csi.azure.com/zone",
            "submariner.io/gateway",
            "projectcalico.org/RouteReflectorClusterID",
            "cilium.io/node",
            "kubevirt.io/schedulable",
            "eks.amazonaws.com/nodegroup",
            "cloud.google.com/gke-nodepool",
            "kubernetes.azure.com/cluster",
            "cluster.x-k8s.io/owner-name",
        ] {
            assert!(policy.is_protected(key), "{key}");
        }
        for key in [
            "by-hand",
            "example.com/zone",
            "notnvidia.com/x",
            "csinode.example.com/x",
            "berth.dev/rack",
        ] {
            assert!(!policy.is_protected(key), "{key}");
        }
    }
}
