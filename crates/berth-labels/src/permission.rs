//! Who may set which label key on a Node.
//!
//! Two gates hold a kubelet back, and both apply the same list of keys: the kubelet itself checks `--node-labels` and
//! does not start with a forbidden key, and the API server's NodeRestriction admission refuses a Node that a kubelet
//! creates or updates with one. OpenShift lets some role keys through, at the first registration only.

use std::{borrow::Cow, fmt, str::FromStr};

use thiserror::Error;

use crate::key::LabelKey;

/// The domains whose keys Kubernetes reserves for itself.
const RESERVED_DOMAINS: [&str; 2] = ["kubernetes.io", "k8s.io"];

/// The reserved domains in which a kubelet may set any key.
const KUBELET_DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/// The domain that isolates nodes from each other: a kubelet may never set a key there.
const RESTRICTED_DOMAIN: &str = "node-restriction.kubernetes.io";

/// The prefix of role keys.
pub(crate) const ROLE_PREFIX: &str = "node-role.kubernetes.io";

/// The single reserved keys that a kubelet may set.
const KUBELET_KEYS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// The roles that OpenShift's kubelet may give itself when it registers.
const OPENSHIFT_ROLES: [&str; 5] = ["arbiter", "control-plane", "etcd", "master", "worker"];

/// Whose kubelet and NodeRestriction rules hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Flavour {
    /// Kubernetes as its project releases it.
    #[default]
    Upstream,
    /// OpenShift, whose kubelet may take some roles at registration.
    Openshift,
}

impl Flavour {
    /// Both flavours.
    pub const ALL: [Self; 2] = [Self::Upstream, Self::Openshift];

    /// The name on the command line and in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Openshift => "openshift",
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Flavour {
    type Err = UnknownFlavour;

    fn from_str(text: &str) -> Result<Self, UnknownFlavour> {
        Self::ALL
            .into_iter()
            .find(|flavour| flavour.as_str() == text)
            .ok_or_else(|| UnknownFlavour(text.to_owned()))
    }
}

/// No flavour of this name exists.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown flavour \"{0}\": use upstream or openshift")]
pub struct UnknownFlavour(pub String);

/// Who writes a label, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Writer {
    /// The kubelet's `--node-labels` flag.
    Flag,
    /// A kubelet that creates its Node.
    Create,
    /// A kubelet that updates its Node.
    Update,
    /// A controller with its own credentials.
    Controller,
}

impl Writer {
    /// All writers.
    pub const ALL: [Self; 4] = [Self::Flag, Self::Create, Self::Update, Self::Controller];

    /// The name on the command line and in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Create => "create",
            Self::Update => "update",
            Self::Controller => "controller",
        }
    }
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Writer {
    type Err = UnknownWriter;

    fn from_str(text: &str) -> Result<Self, UnknownWriter> {
        Self::ALL
            .into_iter()
            .find(|writer| writer.as_str() == text)
            .ok_or_else(|| UnknownWriter(text.to_owned()))
    }
}

/// No writer of this name exists.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown writer \"{0}\": use flag, create, update or controller")]
pub struct UnknownWriter(pub String);

/// Whether a writer may set a key, and by which rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Permission {
    /// The answer.
    pub allowed: bool,
    /// The rule as one sentence: who accepts or refuses the key, and what a refusal leads to.
    pub reason: Cow<'static, str>,
}

impl Permission {
    fn yes(reason: &'static str) -> Self {
        Self {
            allowed: true,
            reason: Cow::Borrowed(reason),
        }
    }

    fn no(reason: &'static str) -> Self {
        Self {
            allowed: false,
            reason: Cow::Borrowed(reason),
        }
    }
}

/// What the rules know about a key, before the writer comes into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Outside the reserved domains.
    Free,
    /// One of the single keys a kubelet may set.
    KubeletKey,
    /// In a domain where a kubelet may set any key.
    KubeletDomain,
    /// In the domain that no kubelet may touch.
    Restricted,
    /// A role that OpenShift lets a kubelet take at registration.
    OpenshiftRole,
    /// Any other role.
    Role,
    /// Any other reserved key.
    Reserved,
}

fn classify(key: &LabelKey) -> Class {
    if !RESERVED_DOMAINS.iter().any(|domain| key.in_domain(domain)) {
        Class::Free
    } else if key.in_domain(RESTRICTED_DOMAIN) {
        Class::Restricted
    } else if KUBELET_KEYS.contains(&key.as_str()) {
        Class::KubeletKey
    } else if KUBELET_DOMAINS.iter().any(|domain| key.in_domain(domain)) {
        Class::KubeletDomain
    } else if key.prefix() == Some(ROLE_PREFIX) {
        if OPENSHIFT_ROLES.contains(&key.name()) {
            Class::OpenshiftRole
        } else {
            Class::Role
        }
    } else {
        Class::Reserved
    }
}

/// Whether a writer may set a key, by the rules of a flavour.
///
/// ```
/// use berth_labels::{Flavour, LabelKey, Writer, permission};
///
/// let role = LabelKey::try_from("node-role.kubernetes.io/worker")?;
/// assert!(!permission(Flavour::Upstream, Writer::Flag, &role).allowed);
/// assert!(permission(Flavour::Openshift, Writer::Flag, &role).allowed);
/// # Ok::<(), berth_labels::LabelError>(())
/// ```
pub fn permission(flavour: Flavour, writer: Writer, key: &LabelKey) -> Permission {
    let class = classify(key);
    match (writer, class) {
        (Writer::Controller, _) => Permission::yes(
            "A controller is bound neither by the kubelet's rules nor by NodeRestriction and may set any key.",
        ),
        (_, Class::Free) => Permission::yes(
            "Keys outside kubernetes.io, k8s.io and their sub-domains are free: kubelet and NodeRestriction let a node \
             set them.",
        ),
        (_, Class::KubeletKey) => Permission::yes(
            "The key is one of the 11 kubernetes.io keys that kubelet and NodeRestriction let a node set.",
        ),
        (_, Class::KubeletDomain) => Permission::yes(
            "Kubelet and NodeRestriction let a node set any key in kubelet.kubernetes.io, node.kubernetes.io and their \
             sub-domains.",
        ),
        (Writer::Flag, Class::OpenshiftRole) if flavour == Flavour::Openshift => {
            Permission::yes("OpenShift's kubelet accepts this role in --node-labels.")
        }
        (Writer::Create, Class::OpenshiftRole) if flavour == Flavour::Openshift => {
            Permission::yes("OpenShift's NodeRestriction lets a kubelet set this role when it creates its Node.")
        }
        (Writer::Update, Class::OpenshiftRole) if flavour == Flavour::Openshift => Permission::no(
            "OpenShift's NodeRestriction lets a kubelet set this role only when it creates its Node; an update that \
             changes it is answered with 403.",
        ),
        (Writer::Flag, Class::Restricted) => Permission::no(
            "The kubelet refuses node-restriction.kubernetes.io, as every kubernetes.io key it does not know, in \
             --node-labels and does not start.",
        ),
        (Writer::Create, Class::Restricted) => Permission::no(
            "NodeRestriction keeps node-restriction.kubernetes.io and its sub-domains for administrators; a kubelet \
             that creates its Node with such a key is answered with 403 and never registers.",
        ),
        (Writer::Update, Class::Restricted) => Permission::no(
            "NodeRestriction keeps node-restriction.kubernetes.io and its sub-domains for administrators; a kubelet's \
             update that changes such a key is answered with 403.",
        ),
        (Writer::Flag, Class::Role | Class::OpenshiftRole) => {
            Permission::no("The kubelet refuses this node-role.kubernetes.io key in --node-labels and does not start.")
        }
        (Writer::Create, Class::Role | Class::OpenshiftRole) => Permission::no(
            "NodeRestriction refuses this node-role.kubernetes.io key from a kubelet; creating the Node with it is \
             answered with 403 and the node never registers.",
        ),
        (Writer::Update, Class::Role | Class::OpenshiftRole) => Permission::no(
            "NodeRestriction refuses this node-role.kubernetes.io key from a kubelet; an update that changes it is \
             answered with 403.",
        ),
        (Writer::Flag, Class::Reserved) => Permission::no(
            "The kubelet refuses kubernetes.io and k8s.io keys it does not know in --node-labels and does not start.",
        ),
        (Writer::Create, Class::Reserved) => Permission::no(
            "NodeRestriction refuses kubernetes.io and k8s.io keys it does not know from a kubelet; creating the Node \
             with one is answered with 403 and the node never registers.",
        ),
        (Writer::Update, Class::Reserved) => Permission::no(
            "NodeRestriction refuses kubernetes.io and k8s.io keys it does not know from a kubelet; an update that \
             changes one is answered with 403.",
        ),
    }
}
