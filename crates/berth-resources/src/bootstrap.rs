//! Bootstrap tokens that are issued for one machine.
//!
//! A token is a Secret that Kubernetes itself understands. A [`TokenBinding`] says which machine it is for, so that nobody can
//! ask for another machine's certificate with it, and remembers that it was used. The controllers read bindings and no
//! Secrets.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube_core::DynamicObject;

use crate::{TokenBinding, TokenBindingSpec, TokenUse};

/// Where Kubernetes looks for bootstrap tokens.
pub const NAMESPACE: &str = "kube-system";
/// Selects the tokens that Berth issued.
pub const SELECTOR: &str = "berth.dev/bootstrap-token=true";
/// How long a token is good for unless somebody says otherwise.
pub const LIFETIME: Duration = Duration::from_hours(24);

const LABEL: &str = "berth.dev/bootstrap-token";
const TYPE: &str = "bootstrap.kubernetes.io/token";
const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// What the controllers keep of a [`TokenBinding`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// The token's id, which is the part of the user name `system:bootstrap:ID`.
    pub token: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// The node.
    pub node: String,
    /// When the token expires.
    pub expires: Option<Timestamp>,
    /// The machine that joined with it.
    pub used_by: Option<TokenUse>,
}

impl From<DynamicObject> for Binding {
    /// Reads the binding of a token. What cannot be understood makes the token worth less, never more: it is for no node,
    /// expired or used.
    fn from(binding: DynamicObject) -> Self {
        let (spec, status) = (&binding.data["spec"], &binding.data["status"]);
        let expires = spec["expires"]
            .as_str()
            .map(|text| text.parse().unwrap_or(Timestamp::MIN));
        let used_by = Some(&status["usedBy"]).filter(|used| !used.is_null()).map(|used| {
            serde_json::from_value(used.clone()).unwrap_or_else(|_| TokenUse {
                request: String::new(),
                request_uid: String::new(),
                key: String::new(),
                time: Timestamp::MIN,
            })
        });
        Self {
            node: spec["nodeName"].as_str().unwrap_or_default().to_owned(),
            expires,
            used_by,
            token: binding.metadata.name.unwrap_or_default(),
            uid: binding.metadata.uid.unwrap_or_default(),
            resource_version: binding.metadata.resource_version.unwrap_or_default(),
        }
    }
}

/// Whether a text has the form of a token's id.
pub fn is_token_id(text: &str) -> bool {
    text.len() == ID_LENGTH
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// A new token: what the machine gets, and the objects that make it valid.
#[derive(Clone, Debug)]
pub struct BootstrapToken {
    /// `ID.SECRET`, as it stands in a bootstrap kubeconfig.
    pub token: String,
    /// Which machine it is for. It is created first: a token without a binding would be anybody's.
    pub binding: TokenBinding,
    /// The Secret.
    pub secret: Secret,
}

/// When a token expires that is made now, to the second: after this time, or after [`LIFETIME`] where nobody says otherwise.
pub fn expiry(now: Timestamp, lifetime: Option<Duration>) -> Timestamp {
    let lifetime = SignedDuration::try_from(lifetime.unwrap_or(LIFETIME)).unwrap_or(SignedDuration::MAX);
    let end = now.checked_add(lifetime).unwrap_or(Timestamp::MAX);
    Timestamp::from_second(end.as_second()).unwrap_or(end)
}

/// Makes a token for a node from 22 random bytes.
pub fn bootstrap_token(
    node: &str,
    random: &[u8; ID_LENGTH + SECRET_LENGTH],
    expires: Option<Timestamp>,
) -> BootstrapToken {
    let text: String = random
        .iter()
        .map(|byte| char::from(ALPHABET.get(usize::from(byte % 32)).copied().unwrap_or(b'a')))
        .collect();
    let (id, key) = text.split_at(ID_LENGTH);
    let mut data = BTreeMap::from([
        ("token-id", id.to_owned()),
        ("token-secret", key.to_owned()),
        ("usage-bootstrap-authentication", "true".to_owned()),
        ("description", format!("Berth: lets node {node} join")),
    ]);
    if let Some(expires) = expires {
        data.insert("expiration", expires.to_string());
    }
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(format!("bootstrap-token-{id}")),
            namespace: Some(NAMESPACE.to_owned()),
            labels: Some(BTreeMap::from([(LABEL.to_owned(), "true".to_owned())])),
            ..ObjectMeta::default()
        },
        type_: Some(TYPE.to_owned()),
        data: Some(
            data.into_iter()
                .map(|(key, value)| (key.to_owned(), ByteString(value.into_bytes())))
                .collect(),
        ),
        ..Secret::default()
    };
    let spec = TokenBindingSpec {
        node_name: node.to_owned(),
        expires,
    };
    BootstrapToken {
        token: format!("{id}.{key}"),
        binding: TokenBinding::new(id, spec),
        secret,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_is_bound_to_its_node_and_has_the_form_that_kubernetes_wants() {
        let random: [u8; 22] = std::array::from_fn(|index| u8::try_from(index * 11).unwrap());
        let expires = Timestamp::from_second(86_400).unwrap();
        let issued = bootstrap_token("w1", &random, Some(expires));
        let (id, key) = issued.token.split_once('.').unwrap();
        let legal = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        assert!(is_token_id(id) && key.len() == 16 && legal(key), "{}", issued.token);
        assert_eq!(
            issued.secret.metadata.name.as_deref(),
            Some(format!("bootstrap-token-{id}").as_str())
        );
        let data = issued.secret.data.unwrap();
        assert_eq!(data["expiration"].0, b"1970-01-02T00:00:00Z");
        let binding = binding(serde_json::to_value(&issued.binding).unwrap());
        assert_eq!((binding.token.as_str(), binding.node.as_str()), (id, "w1"));
        assert_eq!((binding.expires, binding.used_by), (Some(expires), None));
    }

    fn binding(object: serde_json::Value) -> Binding {
        serde_json::from_value::<DynamicObject>(object).unwrap().into()
    }

    #[test]
    fn a_token_expires_after_a_day_unless_somebody_says_otherwise() {
        let now: Timestamp = "2026-02-28T12:00:00.75Z".parse().unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(expiry(now, None), at("2026-03-01T12:00:00Z"));
        assert_eq!(expiry(now, Some(Duration::from_mins(1))), at("2026-02-28T12:01:00Z"));
        let never = expiry(now, Some(Duration::MAX));
        assert!(never > at("9999-01-01T00:00:00Z"), "{never}");
        let issued = bootstrap_token("w1", &[7; 22], Some(expiry(now, None)));
        assert_eq!(issued.binding.spec.expires, Some(at("2026-03-01T12:00:00Z")));
        let secret = issued.secret.data.unwrap();
        assert_eq!(secret["expiration"].0, b"2026-03-01T12:00:00Z");
    }

    #[test]
    fn a_binding_that_cannot_be_understood_lets_nobody_in() {
        let object = |spec: serde_json::Value, status: serde_json::Value| {
            binding(json!({
                "apiVersion": "berth.dev/v1alpha1", "kind": "TokenBinding", "metadata": {"name": "abcdef"},
                "spec": spec, "status": status,
            }))
        };
        assert_eq!(object(json!({}), json!({})).node, "");
        let good = object(json!({"nodeName": "w1"}), json!({}));
        assert_eq!((good.node.as_str(), good.expires, good.used_by), ("w1", None, None));
        let expired = object(json!({"nodeName": "w1", "expires": "tomorrow"}), json!({}));
        assert_eq!(expired.expires, Some(Timestamp::MIN));
        let used = object(json!({"nodeName": "w1"}), json!({"usedBy": {"key": 7}}));
        assert_eq!(used.used_by.map(|used| used.key), Some(String::new()));
    }
}
