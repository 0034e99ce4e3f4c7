//! Texts read back as YAML.

use berth_documents::{Sources, parse};
use serde_json::Value;

/// The one document of a text; anything that is wrong with it is a failure.
pub(crate) fn read(text: &str) -> Value {
    // Cloud-init has no envelope, without which a document is a finding. Comments in front change nothing.
    let text = if text.contains("\napiVersion: ") || text.starts_with("apiVersion: ") {
        text.to_owned()
    } else {
        format!("apiVersion: v1\nkind: CloudConfig\nmetadata: {{name: x}}\n{text}")
    };
    let mut sources = Sources::new();
    let id = sources.add("text", text.as_str());
    let mut parsed = parse(&sources, id);
    assert!(parsed.diagnostics.is_empty(), "{:?}\n{text}", parsed.diagnostics);
    assert_eq!(parsed.documents.len(), 1, "{text}");
    parsed.documents.remove(0).root.to_json()
}
