//! Names that Berth writes into a cluster: one place, so that they are spelled once.

pub use berth_pools::OS_ID;
pub use berth_site::{OWNED_LABELS, POOL};

/// Prefix of Berth's own labels and annotations.
pub const PREFIX: &str = "berth.dev/";

/// Who writes, as the API server records it.
pub const FIELD_MANAGER: &str = "berth";

/// Finalizer of a Berth: its end is noted before it is gone.
pub const FINALIZER: &str = "berth.dev/release";

/// Label of a Berth: who made it. `documents` Berths follow the committed documents, `adoption` ones an existing Node.
pub const RESERVED_BY: &str = "berth.dev/reserved-by";

/// Value of [`RESERVED_BY`]: made for a node document.
pub const BY_DOCUMENTS: &str = "documents";

/// Value of [`RESERVED_BY`]: made for a Node that existed without a Berth.
pub const BY_ADOPTION: &str = "adoption";

/// Annotation of a Berth: when its machine last showed that it is about to join, for example by fetching its Ignition.
pub const REQUESTED: &str = "berth.dev/requested";

/// Labels that the kubelet sets when it registers, and not again on a Node that somebody else creates while it runs.
pub const KUBELET_LABELS: [&str; 7] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
];

/// Further labels that kubelets give themselves when they register, by flags of their units. On a Node that somebody else
/// creates they are missing.
pub const REGISTERED_LABELS: [&str; 9] = [
    "node-role.kubernetes.io/arbiter",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
    OS_ID,
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
];

/// Label of objects that the controllers write over and over.
pub const MANAGED: &str = "berth.dev/managed";

/// Annotation of a Node whose Berth was deleted: it is not adopted again.
pub const RELEASED: &str = "berth.dev/released";

/// Annotation of a Node whose machine was installed anew since it has its [`OS_ID`]: the label is that of the old disk.
pub const INSTALLED_ANEW: &str = "berth.dev/installed-anew";

/// Finalizer of a rendered config: it stays as long as a pool, a Node or a Berth refers to it.
pub const IN_USE: &str = "berth.dev/in-use";

/// Annotation of a machine config: the object that it is made of, `KubeletConfig/NAME`.
pub use berth_pools::GENERATED_FROM;

/// Annotation of a rendered config: since when nobody refers to it.
pub const UNUSED_SINCE: &str = "berth.dev/unused-since";

/// Prefix of the Machine Config Operator's annotations.
pub const MACHINE_CONFIG_PREFIX: &str = "machineconfiguration.openshift.io/";

/// Annotation of a Node: the rendered config that its machine booted with.
pub const FIRST_PIVOT_CONFIG: &str = "machineconfiguration.openshift.io/firstPivotConfig";

/// Annotation of a Node: it has the labels of the pool that its machine booted in. Without it the Machine Config Operator
/// gives them to a Node that [`FIRST_PIVOT_CONFIG`] names a custom pool for, whatever pool the Node has been moved to.
pub const CUSTOM_POOL_LABELS_APPLIED: &str = "machineconfiguration.openshift.io/customPoolLabelsApplied";

/// Types of a Berth's conditions.
pub mod condition {
    /// The place is as declared; its reason is the first that is not.
    pub const READY: &str = "Ready";
    /// The Node carries its labels.
    pub const LABELS_IN_SYNC: &str = "LabelsInSync";
    /// The pool is known and the labels agree with it.
    pub const POOL_ASSIGNED: &str = "PoolAssigned";
    /// The machine is the one that was reserved for.
    pub const IDENTITY_MATCHED: &str = "IdentityMatched";
}

/// Reasons of conditions and events, in `CamelCase` as Kubernetes wants them.
pub mod reason {
    /// Everything is as declared.
    pub const IN_SYNC: &str = "InSync";
    /// No kubelet has come yet.
    pub const AWAITING_MACHINE: &str = "AwaitingMachine";
    /// The Node was created before its kubelet.
    pub const PREREGISTERED: &str = "Preregistered";
    /// The Node is gone and is not created again yet.
    pub const NODE_GONE: &str = "NodeGone";
    /// The Node was not Ready when it went, so its machine is not known to be alive.
    pub const NODE_NOT_READY: &str = "NodeNotReady";
    /// The kubelet's heartbeat had stopped when the Node went.
    pub const NO_HEARTBEAT: &str = "NoHeartbeat";
    /// The Machine or `BareMetalHost` of the Node is being deleted or gone.
    pub const MACHINE_DELETED: &str = "MachineDeleted";
    /// The Node went while no controller ran, so that nobody knows whether its machine is alive.
    pub const NODE_GONE_UNSEEN: &str = "NodeGoneUnseen";
    /// A machine that nobody reserved is installed anew: its kubelet creates its Node, in the role that it is installed for.
    pub const AWAITING_REGISTRATION: &str = "AwaitingRegistration";
    /// The Node keeps being deleted, so Berth waits longer and longer.
    pub const NODE_KEEPS_BEING_DELETED: &str = "NodeKeepsBeingDeleted";
    /// An administrator took away the labels that identify the pool.
    pub const REMOVED_ON_PURPOSE: &str = "RemovedOnPurpose";
    /// The Node was created again.
    pub const RECREATED: &str = "Recreated";
    /// The place was given up.
    pub const RELEASED: &str = "Released";
    /// Another Berth reserves the same Node name.
    pub const DUPLICATE: &str = "DuplicateBerth";
    /// Somebody else set a declared key to another value.
    pub const CONFLICT: &str = "LabelConflict";
    /// Too many labels would go at once.
    pub const MASS_REMOVAL: &str = "MassRemovalHeld";
    /// What is declared is wrong.
    pub const INVALID: &str = "InvalidDeclaration";
    /// The labels put the node into two pools.
    pub const SEVERAL_POOLS: &str = "SeveralPools";
    /// No pool wants the node.
    pub const NO_POOL: &str = "NoPool";
    /// The pool is as declared.
    pub const ASSIGNED: &str = "Assigned";
    /// An administrator moved the Node and the Berth followed.
    pub const FOLLOWED: &str = "Followed";
    /// An administrator moved the Node and Berth put it back.
    pub const ENFORCED: &str = "Enforced";
    /// The machine is the reserved one.
    pub const MATCHED: &str = "Matched";
    /// Another machine came.
    pub const MISMATCH: &str = "IdentityMismatch";
    /// Nothing to compare was declared or reported.
    pub const NOT_CHECKED: &str = "NotChecked";
    /// A certificate request was approved.
    pub const APPROVED: &str = "CertificateApproved";
    /// A certificate request was denied.
    pub const DENIED: &str = "CertificateDenied";
    /// A kubelet claimed the labels of a pool that is not its place.
    pub const CLAIM_REFUSED: &str = "PoolClaimRefused";
}
