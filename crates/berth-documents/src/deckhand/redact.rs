//! Redaction: what a document with a secret shows to those who may not see it.

use serde_json::Value;

use crate::deckhand::{
    canonical::ContentHash,
    document::{DeckhandDocument, assemble},
};

/// The document with the given data, raw or rendered, as it may be shown to anybody.
///
/// In encrypted documents the data and the paths of substitutions are replaced by their SHA-256 hashes: enough to see
/// that a secret changed, and nothing of the secret. Other documents stay as they are.
pub fn redact(document: &DeckhandDocument, data: &Value) -> Value {
    let mut metadata = Value::clone(document.metadata());
    if !document.is_encrypted() {
        return assemble(document.schema(), metadata, data.clone());
    }
    let substitutions = metadata.get_mut("substitutions").and_then(Value::as_array_mut);
    for substitution in substitutions.into_iter().flatten() {
        if let Some(source) = substitution.get_mut("src") {
            redact_path(source);
        }
        match substitution.get_mut("dest") {
            Some(Value::Array(destinations)) => destinations.iter_mut().for_each(redact_path),
            Some(destination) => redact_path(destination),
            None => {}
        }
    }
    assemble(document.schema(), metadata, redacted(data))
}

fn redact_path(holder: &mut Value) {
    if let Some(path) = holder.get_mut("path") {
        *path = redacted(path);
    }
}

fn redacted(value: &Value) -> Value {
    Value::from(ContentHash::of(value).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(policy: &str) -> DeckhandDocument {
        DeckhandDocument::from_json(json!({
            "schema": "example/Kind/v1",
            "metadata": {
                "schema": "metadata/Document/v1",
                "name": "a",
                "storagePolicy": policy,
                "layeringDefinition": {"layer": "site"},
                "substitutions": [
                    {"src": {"schema": "example/Kind/v1", "name": "b", "path": "."}, "dest": {"path": ".x"}},
                    {"src": {"schema": "example/Kind/v1", "name": "b", "path": "."}, "dest": [{"path": ".x"}]},
                ],
            },
            "data": "secret",
        }))
        .unwrap()
    }

    #[test]
    fn secrets_are_hashed() {
        let document = document("encrypted");
        let shown = redact(&document, document.data());
        // printf '"secret"' | sha256sum
        assert_eq!(
            shown["data"],
            "c1980264fc223a890afae83c91bd2d438ef2ad0dae751fdea3660c3e556b1396"
        );
        let path = |text: &str| Value::from(ContentHash::of(&Value::from(text)).to_string());
        let substitutions = &shown["metadata"]["substitutions"];
        assert_eq!(substitutions[0]["src"]["path"], path("."));
        assert_eq!(substitutions[0]["dest"]["path"], path(".x"));
        assert_eq!(substitutions[1]["dest"][0]["path"], path(".x"));
        assert_eq!(shown["metadata"]["name"], "a");
    }

    #[test]
    fn other_documents_stay() {
        let document = document("cleartext");
        assert_eq!(redact(&document, document.data()), document.to_json());
    }
}
