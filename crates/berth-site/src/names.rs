//! Names that Berth reads and writes in objects: one place, so that they are spelled once.

/// Annotation of a pool: its explicit labels, as a comma- or line-separated list of `key=value`.
pub const NODE_LABELS: &str = "berth.dev/node-labels";

/// Annotation of a pool: the value to use for each selector key that allows several, as `key=value` list.
pub const IMPLICIT_VALUES: &str = "berth.dev/implicit-values";

/// Label or annotation of a node document: the pool the machine is pinned to.
pub const POOL: &str = "berth.dev/pool";

/// Annotation of a Node: the labels Berth applied last, as a JSON object.
pub const OWNED_LABELS: &str = "berth.dev/owned-labels";

/// Label or annotation of a Region: whose kubelet and API server the site runs, `upstream` or `openshift`.
pub const FLAVOUR: &str = "berth.dev/flavour";

/// Label of a machine config: the role, and so the pools, it is for.
pub const ROLE: &str = "machineconfiguration.openshift.io/role";
