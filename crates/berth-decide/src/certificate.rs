//! Certificate requests of kubelets: the moment at which a machine shows that it is about to join.
//!
//! Of a request only what the decision needs is kept: who asks, and for which name with which key.

mod pkcs10;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use sha2::{Digest as _, Sha256};

use self::pkcs10::{NODE_USER, NODES_GROUP};
use berth_resources::bootstrap::{Binding, is_token_id};

/// The signer of kubelets' client certificates.
pub const KUBELET_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";

const BOOTSTRAP_USER: &str = "system:bootstrap:";
const BOOTSTRAPPERS: &str = "system:bootstrappers";
/// With this account OpenShift's machines ask for their first certificate.
const OPENSHIFT_BOOTSTRAPPER: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
/// What kube-controller-manager asks for: both of these, with or without the third.
const REQUIRED_USAGES: [&str; 2] = ["digital signature", "client auth"];
const OPTIONAL_USAGE: &str = "key encipherment";

/// A certificate request, as far as the decision needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRequest {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`: one that is made anew under the same name is another one.
    pub uid: String,
    /// `metadata.resourceVersion` of what was judged.
    pub resource_version: String,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// Who asks. The API server says it.
    pub requester: Requester,
    /// What for, or what is wrong with the request.
    pub wanted: Result<Wanted, &'static str>,
    /// Whether somebody has decided.
    pub state: RequestState,
}

/// Who asks for a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requester {
    /// A node that has a certificate.
    Node(String),
    /// A machine with the bootstrap token of this id.
    Token(String),
    /// A platform's own bootstrapper, such as OpenShift's, whose requests the platform approves.
    Platform,
    /// Somebody who does not bring up nodes.
    Other,
}

impl Requester {
    fn new(username: &str, groups: &[String]) -> Self {
        let is_in = |group: &str| groups.iter().any(|name| name == group);
        let node = username.strip_prefix(NODE_USER).filter(|node| is_node_name(node));
        let token = username.strip_prefix(BOOTSTRAP_USER).filter(|id| is_token_id(id));
        match (node, token) {
            (Some(node), _) if is_in(NODES_GROUP) => Self::Node(node.to_owned()),
            (_, Some(token)) if is_in(BOOTSTRAPPERS) => Self::Token(token.to_owned()),
            _ if is_in(BOOTSTRAPPERS) || username == OPENSHIFT_BOOTSTRAPPER => Self::Platform,
            _ => Self::Other,
        }
    }
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The node whose certificate it is to be.
    pub node: String,
    /// The SHA-256 of the public key, in base64.
    pub key: String,
}

/// Whether somebody has decided about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// Nobody has.
    Open,
    /// It is approved.
    Approved,
    /// It is denied, or it failed.
    Denied,
}

impl CertificateRequest {
    /// What is to be kept of a request; `None` where it is not about a kubelet's client certificate.
    pub fn read(request: &CertificateSigningRequest) -> Option<Self> {
        let spec = &request.spec;
        if spec.signer_name != KUBELET_SIGNER {
            return None;
        }
        let conditions = request.status.as_ref().and_then(|status| status.conditions.as_ref());
        let has = |type_: &str| {
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|condition| condition.type_ == type_)
        };
        let metadata = request.metadata.clone();
        Some(Self {
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            created: metadata.creation_timestamp.map(|time| time.0),
            requester: Requester::new(
                spec.username.as_deref().unwrap_or_default(),
                spec.groups.as_deref().unwrap_or_default(),
            ),
            wanted: wanted(&spec.request.0, spec.usages.as_deref().unwrap_or_default()),
            state: if has("Denied") || has("Failed") {
                RequestState::Denied
            } else if has("Approved") {
                RequestState::Approved
            } else {
                RequestState::Open
            },
        })
    }

    /// The node that the request is for; `None` where it cannot be read.
    pub fn node(&self) -> Option<&str> {
        self.wanted.as_ref().ok().map(|wanted| wanted.node.as_str())
    }

    /// The bootstrap token that it was made with.
    pub fn token(&self) -> Option<&str> {
        match &self.requester {
            Requester::Token(token) => Some(token),
            _ => None,
        }
    }
}

/// Whether a Node can have this name.
pub fn is_node_name(name: &str) -> bool {
    pkcs10::is_node_name(name)
}

fn wanted(pem: &[u8], usages: &[String]) -> Result<Wanted, &'static str> {
    let request = pkcs10::read(pem)?;
    let mut usages: BTreeSet<&str> = usages.iter().map(String::as_str).collect();
    usages.remove(OPTIONAL_USAGE);
    if usages != BTreeSet::from(REQUIRED_USAGES) {
        return Err(
            "must have the usages \"digital signature\" and \"client auth\", and may have \"key encipherment\"",
        );
    }
    Ok(Wanted {
        node: request.node,
        key: STANDARD.encode(Sha256::digest(&request.key)),
    })
}

/// What to do about a certificate request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateDecision {
    /// Create the Node, and only then approve.
    Approve {
        /// The Node.
        node: String,
        /// The bootstrap token that is used up by it.
        token: Option<Box<SpentToken>>,
    },
    /// Refuse it.
    Deny {
        /// Why.
        message: String,
    },
    /// It is somebody else's to decide.
    Leave {
        /// The Node to create all the same: the name is reserved and the requester is one that may bring up nodes.
        node: Option<String>,
        /// Why.
        why: &'static str,
    },
}

/// A bootstrap token that an approval uses up. That is written first, and only if nobody has changed the binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpentToken {
    /// The binding as it was judged.
    pub binding: Binding,
    /// The SHA-256 of the public key that it is used with.
    pub key: String,
}

impl CertificateDecision {
    fn leave(why: &'static str) -> Self {
        Self::Leave { node: None, why }
    }
}

/// What is known about names and tokens.
pub trait Places {
    /// Whether a Berth that is not released has the name.
    fn is_reserved(&self, node: &str) -> bool;
    /// Whether the kubelet of the Node with this name is alive.
    fn is_alive(&self, node: &str) -> bool;
    /// What a bootstrap token is bound to.
    fn binding(&self, token: &str) -> Option<&Binding>;
}

/// Decides about a request.
pub fn decide_certificate(request: &CertificateRequest, places: &impl Places, now: Timestamp) -> CertificateDecision {
    if request.state != RequestState::Open {
        return CertificateDecision::leave("it is decided");
    }
    judge_certificate(request, places, now)
}

/// Decides about a request as if nobody had.
pub fn judge_certificate(request: &CertificateRequest, places: &impl Places, now: Timestamp) -> CertificateDecision {
    match &request.requester {
        Requester::Other => CertificateDecision::leave("the requester does not bring up nodes"),
        Requester::Node(name) => of_node(request, name, places),
        Requester::Platform => of_platform(
            request,
            places,
            "the platform decides about its bootstrapper's requests",
        ),
        Requester::Token(token) => match places.binding(token) {
            Some(binding) => of_machine(request, binding, places, now),
            None => of_platform(request, places, "the bootstrap token is bound to no machine"),
        },
    }
}

/// A node that renews its certificate. What cannot be read is left to others: this may be a kubelet of the future, and it would
/// lose its place.
fn of_node(request: &CertificateRequest, name: &str, places: &impl Places) -> CertificateDecision {
    match &request.wanted {
        Err(problem) => CertificateDecision::leave(problem),
        Ok(wanted) if !places.is_reserved(&wanted.node) => CertificateDecision::leave("no Berth reserves the name"),
        Ok(wanted) if wanted.node == name => CertificateDecision::Approve {
            node: wanted.node.clone(),
            token: None,
        },
        Ok(wanted) => CertificateDecision::Deny {
            message: format!("node {name} may not ask for the certificate of node {}", wanted.node),
        },
    }
}

/// Somebody else approves; the Node is there before that.
fn of_platform(request: &CertificateRequest, places: &impl Places, why: &'static str) -> CertificateDecision {
    match &request.wanted {
        Err(problem) => CertificateDecision::leave(problem),
        Ok(wanted) => CertificateDecision::Leave {
            node: Some(wanted.node.clone()).filter(|node| places.is_reserved(node)),
            why,
        },
    }
}

/// A machine with a token of its own: it gets the one certificate that the token is for, once.
fn of_machine(
    request: &CertificateRequest,
    binding: &Binding,
    places: &impl Places,
    now: Timestamp,
) -> CertificateDecision {
    let Binding { token, node, .. } = binding;
    let deny = |message: String| CertificateDecision::Deny { message };
    let wanted = match &request.wanted {
        Ok(wanted) => wanted,
        Err(problem) => {
            return deny(format!(
                "the request with bootstrap token {token} for node {node} {problem}"
            ));
        }
    };
    if wanted.node != *node {
        return deny(format!(
            "bootstrap token {token} was issued for node {node}, not for node {}",
            wanted.node
        ));
    }
    if binding.expires.is_some_and(|expires| expires <= now) {
        return deny(format!(
            "bootstrap token {token} has expired; create another one with `berth token create --bootstrap {node}`"
        ));
    }
    if let Some(used) = &binding.used_by
        && used.key != wanted.key
    {
        return deny(format!(
            "bootstrap token {token} was used at {} by certificate request {}; create another one with `berth token \
             create --bootstrap {node}`",
            used.time, used.request
        ));
    }
    if !places.is_reserved(node) {
        return CertificateDecision::leave("no Berth reserves the name");
    }
    if places.is_alive(node) {
        return deny(format!(
            "the kubelet of node {node} is alive, so another machine has its place; shut it down before another one joins \
             as {node}"
        ));
    }
    CertificateDecision::Approve {
        node: node.clone(),
        token: Some(Box::new(SpentToken {
            binding: binding.clone(),
            key: wanted.key.clone(),
        })),
    }
}
