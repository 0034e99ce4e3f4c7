//! Certificate requests of kubelets: the moment at which a machine shows that it is about to join.

use std::collections::BTreeSet;

use x509_parser::{
    certification_request::X509CertificationRequest, der_parser::asn1_rs::FromDer as _, extensions::ParsedExtension,
    pem::parse_x509_pem,
};

/// The signer of kubelets' client certificates.
pub const KUBELET_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";

const NODE_USER: &str = "system:node:";
const NODES_GROUP: &str = "system:nodes";
const BOOTSTRAP_USER: &str = "system:bootstrap:";
const REQUIRED_USAGES: [&str; 2] = ["digital signature", "client auth"];
const ALLOWED_USAGES: [&str; 3] = ["digital signature", "client auth", "key encipherment"];

/// A certificate request, as far as the decision needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateRequest {
    /// `metadata.name`.
    pub name: String,
    /// `spec.signerName`.
    pub signer: String,
    /// `spec.username`: who asks. The API server sets it.
    pub username: String,
    /// `spec.groups`.
    pub groups: Vec<String>,
    /// `spec.usages`.
    pub usages: Vec<String>,
    /// `spec.request`: PKCS#10 in PEM.
    pub request: Vec<u8>,
    /// Whether somebody has approved or denied it.
    pub decided: bool,
    /// Whether somebody has denied it, or it failed.
    pub denied: bool,
}

/// What to do about a certificate request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateDecision {
    /// Create the Node, and only then approve.
    Approve {
        /// The Node.
        node: String,
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

impl CertificateDecision {
    fn leave(why: &'static str) -> Self {
        Self::Leave { node: None, why }
    }
}

impl CertificateRequest {
    /// The node that the request is for, by its subject; `None` when it is not a kubelet's.
    pub fn node(&self) -> Option<String> {
        if self.signer != KUBELET_SIGNER {
            return None;
        }
        Subject::read(&self.request)?
            .common_names
            .first()
            .and_then(|name| Some(name.strip_prefix(NODE_USER)?.to_owned()))
    }
}

/// Decides about a request. `is_reserved` says whether a Berth that is not released has the name; `machine_of` gives the
/// node that a bootstrap token was issued for.
pub fn decide_certificate(
    request: &CertificateRequest,
    is_reserved: impl Fn(&str) -> bool,
    machine_of: impl Fn(&str) -> Option<String>,
) -> CertificateDecision {
    if request.signer != KUBELET_SIGNER {
        return CertificateDecision::leave("it is for another signer");
    }
    if request.decided {
        return CertificateDecision::leave("it is decided");
    }
    let Some(subject) = Subject::read(&request.request) else {
        return CertificateDecision::leave("it is no PKCS#10 request");
    };
    let Some(node) = subject
        .common_names
        .first()
        .and_then(|name| name.strip_prefix(NODE_USER))
    else {
        return CertificateDecision::leave("its subject is no node");
    };
    if !is_reserved(node) {
        return CertificateDecision::leave("no Berth reserves the name");
    }
    let deny = |message: String| CertificateDecision::Deny { message };
    if let Some(problem) = subject.problem() {
        return deny(format!("the request for node {node} {problem}"));
    }
    let usages: BTreeSet<&str> = request.usages.iter().map(String::as_str).collect();
    if !REQUIRED_USAGES.iter().all(|usage| usages.contains(usage))
        || !usages.iter().all(|usage| ALLOWED_USAGES.contains(usage))
    {
        return deny(format!(
            "the request for node {node} must have the usages \"digital signature\" and \"client auth\", and may have \
             \"key encipherment\""
        ));
    }
    let node = node.to_owned();
    if let Some(name) = request.username.strip_prefix(NODE_USER) {
        return if name == node && request.groups.iter().any(|group| group == NODES_GROUP) {
            CertificateDecision::Approve { node }
        } else {
            deny(format!("node {name} may not ask for the certificate of node {node}"))
        };
    }
    let Some(token) = request.username.strip_prefix(BOOTSTRAP_USER) else {
        // A platform's own bootstrapper, such as OpenShift's node-bootstrapper: its approver decides, and the Node is
        // there before that.
        return CertificateDecision::Leave {
            node: Some(node),
            why: "the requester has no bootstrap token",
        };
    };
    match machine_of(token) {
        Some(machine) if machine == node => CertificateDecision::Approve { node },
        Some(machine) => deny(format!(
            "bootstrap token {token} was issued for node {machine}, not for node {node}"
        )),
        None => CertificateDecision::Leave {
            node: Some(node),
            why: "the bootstrap token is bound to no machine",
        },
    }
}

/// The subject of a request, and what else it asks to be named.
#[derive(Debug, Default)]
struct Subject {
    common_names: Vec<String>,
    organizations: Vec<String>,
    alternative_names: bool,
}

impl Subject {
    fn read(pem: &[u8]) -> Option<Self> {
        let (_, pem) = parse_x509_pem(pem).ok()?;
        let (_, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
        let info = &request.certification_request_info;
        let text =
            |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| attribute.as_str().ok().map(str::to_owned);
        Some(Self {
            common_names: info.subject.iter_common_name().filter_map(text).collect(),
            organizations: info.subject.iter_organization().filter_map(text).collect(),
            alternative_names: request.requested_extensions().is_some_and(|mut extensions| {
                extensions.any(|extension| matches!(extension, ParsedExtension::SubjectAlternativeName(_)))
            }),
        })
    }

    fn problem(&self) -> Option<&'static str> {
        if self.organizations != [NODES_GROUP] {
            Some("must have the organization system:nodes and no other")
        } else if self.common_names.len() != 1 {
            Some("must have one common name")
        } else if self.alternative_names {
            Some("must have no subject alternative names")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests;
