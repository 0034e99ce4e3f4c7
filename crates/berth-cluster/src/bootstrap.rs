//! Bootstrap tokens that are issued for one machine.
//!
//! A token is a Secret that Kubernetes itself understands; an annotation binds it to a node name, so that nobody can
//! ask for another machine's certificate with it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};

/// Where Kubernetes looks for bootstrap tokens.
pub const NAMESPACE: &str = "kube-system";
/// Selects the tokens that Berth issued.
pub const SELECTOR: &str = "berth.dev/bootstrap-token=true";

const LABEL: &str = "berth.dev/bootstrap-token";
/// Annotation of a token: the node it is for.
const NODE: &str = "berth.dev/node-name";
const TYPE: &str = "bootstrap.kubernetes.io/token";
const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Which node a token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The token's id, which is the part of the user name `system:bootstrap:ID`.
    pub token: String,
    /// The node.
    pub node: String,
}

impl Binding {
    /// Reads the binding of a token's Secret.
    pub fn read(secret: &Secret) -> Option<Self> {
        let node = secret.metadata.annotations.as_ref()?.get(NODE)?.clone();
        let id = secret.data.as_ref()?.get("token-id")?;
        Some(Self {
            token: String::from_utf8(id.0.clone()).ok()?,
            node,
        })
    }
}

/// A new token: what the machine gets, and the Secret that makes it valid.
#[derive(Clone, Debug)]
pub struct BootstrapToken {
    /// `ID.SECRET`, as it stands in a bootstrap kubeconfig.
    pub token: String,
    /// The Secret.
    pub secret: Secret,
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
            annotations: Some(BTreeMap::from([(NODE.to_owned(), node.to_owned())])),
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
    BootstrapToken {
        token: format!("{id}.{key}"),
        secret,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_bound_to_its_node_and_has_the_form_that_kubernetes_wants() {
        let random: [u8; 22] = std::array::from_fn(|index| u8::try_from(index * 11).unwrap());
        let issued = bootstrap_token("w1", &random, None);
        let (id, key) = issued.token.split_once('.').unwrap();
        let legal = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        assert!(
            id.len() == 6 && key.len() == 16 && legal(id) && legal(key),
            "{}",
            issued.token
        );
        assert_eq!(
            issued.secret.metadata.name.as_deref(),
            Some(format!("bootstrap-token-{id}").as_str())
        );
        let binding = Binding::read(&issued.secret).unwrap();
        assert_eq!((binding.token.as_str(), binding.node.as_str()), (id, "w1"));
    }
}
