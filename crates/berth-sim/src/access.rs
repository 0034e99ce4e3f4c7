//! Who asks, and what they may do.
//!
//! The rules are those that matter for nodes: an administrator may do everything, a kubelet what the Node authorizer
//! lets it, a machine with bootstrap credentials may ask for a certificate. There are no roles to bind.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::Value;

use crate::{
    failure::Failure,
    object::text,
    resources::{Hit, Resource},
};

/// The group that may do everything.
pub(crate) const MASTERS: &str = "system:masters";
/// The group of kubelets.
pub(crate) const NODES: &str = "system:nodes";
/// The group of machines that have no certificate yet.
pub(crate) const BOOTSTRAPPERS: &str = "system:bootstrappers";
/// How the name of a kubelet's user begins.
pub(crate) const NODE_USER_PREFIX: &str = "system:node:";

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name of the user.
    pub user: String,
    /// The groups that the user is in.
    pub groups: Vec<String>,
}

impl Identity {
    /// One who may do everything.
    pub fn administrator() -> Self {
        Self {
            user: "kubernetes-admin".to_owned(),
            groups: vec![MASTERS.to_owned()],
        }
    }

    /// The kubelet of a node.
    pub fn kubelet(node: &str) -> Self {
        Self {
            user: format!("{NODE_USER_PREFIX}{node}"),
            groups: vec![NODES.to_owned()],
        }
    }

    /// A machine that has a bootstrap token of this id and no certificate.
    pub fn bootstrap(token_id: &str) -> Self {
        Self {
            user: format!("system:bootstrap:{token_id}"),
            groups: vec![BOOTSTRAPPERS.to_owned()],
        }
    }

    /// One whom nobody knows.
    pub(crate) fn anonymous() -> Self {
        Self {
            user: "system:anonymous".to_owned(),
            groups: Vec::new(),
        }
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// The node whose kubelet this is.
    pub(crate) fn node(&self) -> Option<&str> {
        self.user.strip_prefix(NODE_USER_PREFIX).filter(|_| self.is_in(NODES))
    }

    /// The groups, with the one that everybody is in who is known.
    pub(crate) fn all_groups(&self) -> Vec<String> {
        let mut groups = self.groups.clone();
        let everybody = if self.user == "system:anonymous" {
            "system:unauthenticated"
        } else {
            "system:authenticated"
        };
        if !groups.iter().any(|group| group == everybody) {
            groups.push(everybody.to_owned());
        }
        groups
    }
}

/// Who comes with a bootstrap token, if this Secret lets them in.
pub(crate) fn bootstrap_identity(secret: &Value, token: &str, now: Timestamp) -> Option<Identity> {
    let field = |key: &str| {
        let coded = text(secret, &["data", key]);
        let bytes = STANDARD.decode(coded).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    };
    let expired = field("expiration")
        .parse::<Timestamp>()
        .is_ok_and(|expiration| expiration <= now);
    let (id, key) = token.split_once('.')?;
    let fits = text(secret, &["type"]) == "bootstrap.kubernetes.io/token"
        && field("token-id") == id
        && field("token-secret") == key
        && field("usage-bootstrap-authentication") == "true"
        && !expired;
    fits.then(|| {
        let mut identity = Identity::bootstrap(id);
        let further = field("auth-extra-groups");
        let further = further.split(',').filter(|group| !group.is_empty());
        identity.groups.extend(further.map(str::to_owned));
        identity
    })
}

/// The bearer tokens that are known.
#[derive(Debug, Default)]
pub(crate) struct Tokens(RwLock<HashMap<String, Identity>>);

impl Tokens {
    pub(crate) fn insert(&self, token: String, identity: Identity) {
        let mut tokens = self.0.write().unwrap_or_else(PoisonError::into_inner);
        tokens.insert(token, identity);
    }

    pub(crate) fn find(&self, token: &str) -> Option<Identity> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(token)
            .cloned()
    }
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> Attempt<'a> {
    pub(crate) fn new(verb: &'a str, resource: &'a Resource, namespace: &'a str, name: &'a str) -> Self {
        Self {
            verb,
            group: &resource.group,
            resource: &resource.plural,
            subresource: "",
            namespace,
            name,
        }
    }
}

/// Whether somebody may do something.
pub(crate) fn may(identity: &Identity, attempt: &Attempt<'_>) -> bool {
    if identity.is_in(MASTERS) {
        return true;
    }
    let reads = ["get", "list", "watch"].contains(&attempt.verb);
    let writes = ["create", "update", "patch"].contains(&attempt.verb);
    let requests = attempt.group == "certificates.k8s.io"
        && attempt.resource == "certificatesigningrequests"
        && attempt.subresource.is_empty()
        && (reads || attempt.verb == "create");
    if identity.is_in(BOOTSTRAPPERS) {
        return requests;
    }
    let Some(node) = identity.node() else {
        return identity.user != "system:anonymous" && attempt.verb == "create" && attempt.resource.starts_with("self");
    };
    match (attempt.group, attempt.resource) {
        _ if requests => true,
        ("", "nodes") => reads || writes,
        ("", "pods") => match attempt.subresource {
            "" => reads || ["create", "delete"].contains(&attempt.verb),
            "status" => ["update", "patch"].contains(&attempt.verb),
            "eviction" => attempt.verb == "create",
            _ => false,
        },
        ("coordination.k8s.io", "leases") => {
            attempt.namespace == "kube-node-lease"
                && (reads || writes || attempt.verb == "delete")
                && (attempt.name == node || attempt.name.is_empty())
        }
        ("" | "events.k8s.io", "events") => writes,
        ("", "configmaps" | "secrets" | "services") => reads,
        ("authentication.k8s.io", "tokenreviews")
        | ("authorization.k8s.io", "subjectaccessreviews" | "localsubjectaccessreviews") => attempt.verb == "create",
        ("authorization.k8s.io", resource) => attempt.verb == "create" && resource.starts_with("self"),
        _ => false,
    }
}

/// Refuses what may not be done, in the words of Kubernetes.
pub(crate) fn authorize(identity: &Identity, attempt: &Attempt<'_>) -> Result<(), Failure> {
    if may(identity, attempt) {
        return Ok(());
    }
    Err(refused(identity, attempt, why_not(identity, attempt)))
}

/// What the Node authorizer adds to its refusals.
fn why_not(identity: &Identity, attempt: &Attempt<'_>) -> &'static str {
    match (attempt.group, attempt.resource) {
        _ if identity.node().is_none() => "",
        ("coordination.k8s.io", "leases") if attempt.namespace != "kube-node-lease" => {
            "can only access leases in the \"kube-node-lease\" system namespace"
        }
        ("coordination.k8s.io", "leases") => "can only access node lease with the same name as the requesting node",
        _ => "",
    }
}

/// A refusal in the words of Kubernetes, with a reason if there is one.
pub(crate) fn refused(identity: &Identity, attempt: &Attempt<'_>, reason: &str) -> Failure {
    let full = if attempt.group.is_empty() {
        attempt.resource.to_owned()
    } else {
        format!("{}.{}", attempt.resource, attempt.group)
    };
    let target = if attempt.subresource.is_empty() {
        attempt.resource.to_owned()
    } else {
        format!("{}/{}", attempt.resource, attempt.subresource)
    };
    let place = if attempt.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{}\"", attempt.namespace)
    };
    let reason = if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    };
    let why = format!(
        "User \"{}\" cannot {} resource \"{target}\" in API group \"{}\" {place}{reason}",
        identity.user, attempt.verb, attempt.group
    );
    Failure::forbidden(&full, attempt.name, &why)
}

/// Whether the kubelet may see or touch this one object, where that does not follow from the resource alone.
pub(crate) fn may_touch(identity: &Identity, hit: &Hit, name: &str) -> bool {
    identity
        .node()
        .is_none_or(|node| hit.resource.plural != "nodes" || name == node)
}
