//! Redaction: what a document with secrets shows to those who may not see them.

use std::{
    fmt::{self, Write as _},
    sync::Arc,
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use crate::deckhand::{
    canonical::canonical_json,
    document::{DeckhandDocument, assemble},
    path::{Path, PathPart},
    secrets::SecretPaths,
};

/// The key of the hashes that stand for secrets.
///
/// A bare hash of a short secret is the secret: whoever sees it tries all of them. With a key, only the server can try. The
/// document and the place are hashed in, so equal secrets of two documents do not look equal, and a guess put into another
/// document tells nothing.
#[derive(Clone)]
pub struct RedactionKey {
    key: Arc<Hmac<Sha256>>,
}

impl RedactionKey {
    /// The key made of these bytes, which must be random.
    pub fn new(secret: &[u8; 32]) -> Self {
        // A key that is shorter than a block is filled up with zeros; that is what the standard says.
        let mut block = [0; 64];
        for (to, from) in block.iter_mut().zip(secret) {
            *to = *from;
        }
        Self {
            key: Arc::new(Hmac::new(&block.into())),
        }
    }

    /// The text that stands for a secret: 64 hexadecimal digits, the same as long as key, place and secret are.
    fn hash(&self, document: &DeckhandDocument, place: &str, value: &Value) -> Value {
        let mut mac = Hmac::clone(&self.key);
        let identity = document.identity();
        let layer = identity.layer.as_deref();
        for part in [
            identity.schema.as_str(),
            if layer.is_some() { "layer" } else { "" },
            layer.unwrap_or_default(),
            &identity.name,
            place,
            &canonical_json(value),
        ] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        let mut digits = String::with_capacity(64);
        for byte in mac.finalize().into_bytes() {
            // Writing into a text cannot fail.
            let _ = write!(digits, "{byte:02x}");
        }
        Value::from(digits)
    }
}

impl fmt::Debug for RedactionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RedactionKey")
    }
}

/// The text that stands for a part of a secret, whatever the part is. It looks like a hash, because clients expect one.
const PART: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The document with the given data, raw or rendered, as it may be shown to anybody.
///
/// Keyed hashes stand for the secrets in the data: enough to see that a secret changed, and nothing of the secret. In
/// encrypted documents the paths of substitutions are hashed too.
pub fn redact(document: &DeckhandDocument, data: &Value, secrets: &SecretPaths, key: &RedactionKey) -> Value {
    assemble(
        document.schema(),
        redacted_metadata(document, key),
        redacted_data(document, data, secrets, key),
    )
}

pub(crate) fn redacted_data(
    document: &DeckhandDocument,
    data: &Value,
    secrets: &SecretPaths,
    key: &RedactionKey,
) -> Value {
    let all = secrets.all();
    let secrets = if document.is_encrypted() { &all } else { secrets };
    secrets.replaced(data, &mut |way: &[PathPart], value: &Value, secret: &SecretPaths| {
        if secret.has_part() {
            return Value::from(PART);
        }
        key.hash(document, &format!(".data{}", Path::from(way)), value)
    })
}

pub(crate) fn redacted_metadata(document: &DeckhandDocument, key: &RedactionKey) -> Value {
    let mut metadata = Value::clone(document.metadata());
    if !document.is_encrypted() {
        return metadata;
    }
    let redact_path = |holder: &mut Value, place: &str| {
        if let Some(path) = holder.get_mut("path") {
            *path = key.hash(document, place, path);
        }
    };
    let substitutions = metadata.get_mut("substitutions").and_then(Value::as_array_mut);
    for substitution in substitutions.into_iter().flatten() {
        if let Some(source) = substitution.get_mut("src") {
            redact_path(source, "src");
        }
        match substitution.get_mut("dest") {
            Some(Value::Array(destinations)) => destinations.iter_mut().for_each(|it| redact_path(it, "dest")),
            Some(destination) => redact_path(destination, "dest"),
            None => {}
        }
    }
    metadata
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::deckhand::canonical::ContentHash;

    fn document(policy: &str, name: &str) -> DeckhandDocument {
        DeckhandDocument::from_json(json!({
            "schema": "example/Kind/v1",
            "metadata": {
                "schema": "metadata/Document/v1",
                "name": name,
                "storagePolicy": policy,
                "layeringDefinition": {"layer": "site"},
                "substitutions": [
                    {"src": {"schema": "example/Kind/v1", "name": "b", "path": "."}, "dest": {"path": ".x"}},
                    {"src": {"schema": "example/Kind/v1", "name": "b", "path": "."}, "dest": [{"path": ".x"}]},
                ],
            },
            "data": {"a": "secret", "b": "secret"},
        }))
        .unwrap()
    }

    fn shown(document: &DeckhandDocument, secrets: &SecretPaths, key: u8) -> Value {
        redact(document, document.data(), secrets, &RedactionKey::new(&[key; 32]))
    }

    #[test]
    fn encrypted_documents_show_hashes() {
        let document = document("encrypted", "a");
        let all = shown(&document, &SecretPaths::none(), 1);
        let bare = Value::from(ContentHash::of(document.data()).to_string());
        assert!(all["data"].as_str().is_some_and(|hash| hash.len() == 64));
        assert_ne!(all["data"], bare);
        let substitutions = &all["metadata"]["substitutions"];
        for path in ["/0/src/path", "/0/dest/path", "/1/dest/0/path"] {
            let hash = substitutions.pointer(path).and_then(Value::as_str).unwrap();
            assert_eq!(hash.len(), 64, "{path}");
        }
        assert_eq!(all["metadata"]["name"], "a");
        assert_eq!(all, shown(&document, &SecretPaths::none(), 1));
        assert_ne!(all["data"], shown(&document, &SecretPaths::none(), 2)["data"]);
    }

    #[test]
    fn equal_secrets_do_not_look_equal() {
        let mut secrets = SecretPaths::none();
        for key in ["a", "b"] {
            secrets.put(&[PathPart::Key(key.to_owned())], SecretPaths::whole());
        }
        let (one, other) = (document("cleartext", "one"), document("cleartext", "other"));
        let (one, other) = (shown(&one, &secrets, 1), shown(&other, &secrets, 1));
        assert_ne!(one["data"]["a"], one["data"]["b"]);
        assert_ne!(one["data"]["a"], other["data"]["a"]);
        assert_eq!(one["metadata"]["substitutions"][0]["dest"]["path"], ".x");
    }

    #[test]
    fn other_documents_stay() {
        let document = document("cleartext", "a");
        assert_eq!(shown(&document, &SecretPaths::none(), 1), document.to_json());
    }
}
