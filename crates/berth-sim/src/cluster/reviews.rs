//! Questions that are answered and not kept: who has this token and who may do this.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use x509_parser::{certification_request::X509CertificationRequest, pem::parse_x509_pem, prelude::FromDer as _};

use super::{Caller, Cluster};
use crate::{
    access::{Attempt, Identity, NODE_USER_PREFIX, may, refused},
    failure::Failure,
    object::{as_map, at, items, text},
};

/// The node that a certificate request is for.
///
/// A kubelet asks for `CN=system:node:NAME` in the organization `system:nodes`.
pub(crate) fn requested_node(request: &Value) -> Option<String> {
    let user = text(request, &["spec", "username"]);
    if let Some(node) = user.strip_prefix(NODE_USER_PREFIX) {
        return Some(node.to_owned());
    }
    let pem = STANDARD.decode(text(request, &["spec", "request"])).ok()?;
    let (_, pem) = parse_x509_pem(&pem).ok()?;
    let (_, parsed) = X509CertificationRequest::from_der(&pem.contents).ok()?;
    let mut names = parsed.certification_request_info.subject.iter_common_name();
    let node = names.next()?.as_str().ok()?.strip_prefix(NODE_USER_PREFIX)?;
    super::metadata::is_subdomain(node).then(|| node.to_owned())
}

impl Cluster {
    /// A kubelet reads the Secrets and `ConfigMaps` of the Pods on its node, and no others.
    pub(crate) fn check_related(&self, identity: &Identity, attempt: &Attempt<'_>) -> Result<(), Failure> {
        let node = identity.node().unwrap_or_default();
        if attempt.name.is_empty() {
            return Err(refused(identity, attempt, "No Object name found"));
        }
        let related = self
            .storage()
            .iter("pods", Some(attempt.namespace))
            .any(|(_, pod)| text(pod, &["spec", "nodeName"]) == node && mentions(pod, attempt.resource, attempt.name));
        if related {
            return Ok(());
        }
        let why = format!("no relationship found between node '{node}' and this object");
        Err(refused(identity, attempt, &why))
    }

    /// Answers a review. Nothing if the resource is none.
    pub(crate) fn review(&self, group: &str, resource: &str, body: &Value, caller: &Caller) -> Option<Value> {
        let mut answer = body.clone();
        let status = match (group, resource) {
            ("authentication.k8s.io", "tokenreviews") => match self.identity(text(body, &["spec", "token"])) {
                Some(identity) => json!({
                    "authenticated": true,
                    "user": {"username": identity.user, "groups": identity.all_groups()},
                }),
                None => json!({"authenticated": false, "error": "the token is not known"}),
            },
            ("authentication.k8s.io", "selfsubjectreviews") => json!({
                "userInfo": {"username": caller.identity.user, "groups": caller.identity.all_groups()},
            }),
            ("authorization.k8s.io", "selfsubjectaccessreviews") => allowed(&caller.identity, body),
            ("authorization.k8s.io", "subjectaccessreviews" | "localsubjectaccessreviews") => {
                let identity = Identity {
                    user: text(body, &["spec", "user"]).to_owned(),
                    groups: items(body, &["spec", "groups"])
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect(),
                };
                allowed(&identity, body)
            }
            _ => return None,
        };
        as_map(&mut answer).insert("status".to_owned(), status);
        Some(answer)
    }
}

/// Whether a Pod uses a Secret or a `ConfigMap`: below a field that says so, by its name.
fn mentions(value: &Value, resource: &str, name: &str) -> bool {
    let kind = resource.trim_end_matches('s');
    match value {
        Value::Object(map) => map.iter().any(|(key, child)| {
            let key = key.to_ascii_lowercase();
            let about = key.contains(kind);
            let named = child.as_str() == Some(name) || text(child, &["name"]) == name;
            let listed = items(child, &[]).any(|item| text(item, &["name"]) == name);
            about && (named || listed) || mentions(child, resource, name)
        }),
        Value::Array(items) => items.iter().any(|item| mentions(item, resource, name)),
        _ => false,
    }
}

fn allowed(identity: &Identity, body: &Value) -> Value {
    let Some(asked) = at(body, &["spec", "resourceAttributes"]) else {
        return json!({"allowed": identity.is_in(crate::access::MASTERS)});
    };
    let attempt = Attempt {
        verb: text(asked, &["verb"]),
        group: text(asked, &["group"]),
        resource: text(asked, &["resource"]),
        subresource: text(asked, &["subresource"]),
        namespace: text(asked, &["namespace"]),
        name: text(asked, &["name"]),
    };
    json!({"allowed": may(identity, &attempt)})
}
