//! Names that Berth reads and writes in objects: one place, so that they are spelled once.

/// Annotation of a pool: its explicit labels, as a comma- or line-separated list of `key=value`.
pub const NODE_LABELS: &str = "berth.dev/node-labels";

/// Annotation of a pool: the value to use for each selector key that allows several, as `key=value` list.
pub const IMPLICIT_VALUES: &str = "berth.dev/implicit-values";

/// Annotation of a pool: whether only machines with a place in it may register with its labels, `true` or `false`.
pub const RESERVED_ONLY: &str = "berth.dev/reserved-only";

/// Label or annotation of a node document: the pool the machine is pinned to.
pub const POOL: &str = "berth.dev/pool";

/// Annotation of a Node: the labels Berth applied last, as a JSON object.
pub const OWNED_LABELS: &str = "berth.dev/owned-labels";

/// Label or annotation of a Region: whose kubelet and API server the site runs, `upstream` or `openshift`.
pub const FLAVOUR: &str = "berth.dev/flavour";

/// Label or annotation of a Region: whether nodes get labels that say their rack, profiles and tags, `enabled` or `disabled`.
pub const DYNAMIC_LABELS: &str = "berth.dev/dynamic-labels";

/// Label of a machine config: the role, and so the pools, it is for.
pub const ROLE: &str = "machineconfiguration.openshift.io/role";

/// Annotation of a Node by OVN-Kubernetes: the node's own addresses with their prefixes.
pub const OVN_PRIMARY: &str = "k8s.ovn.org/node-primary-ifaddr";

/// Annotation of a Node by OVN-Kubernetes: every address of the host with its prefix.
pub const OVN_HOST_CIDRS: &str = "k8s.ovn.org/host-cidrs";

/// Annotation of a Node in a cloud: the networks and capacity of its interface.
pub const CLOUD_EGRESS: &str = "cloud.network.openshift.io/egress-ipconfig";

/// Label with which a node calls itself remote; the platform sets it with an empty value.
pub const REMOTE_WORKER: &str = "node.openshift.io/remote-worker";

/// Label of the nodes that may host egress addresses; its value does not matter.
pub const EGRESS_ASSIGNABLE: &str = "k8s.ovn.org/egress-assignable";

/// Label of the pools that OpenShift's operator makes.
pub(crate) const BUILT_IN: &str = "machineconfiguration.openshift.io/mco-built-in";

pub(crate) use berth_pools::OS_ID;
