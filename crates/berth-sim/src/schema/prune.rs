//! Cutting off what a schema does not know.

use serde_json::Value;

use super::{Schema, is_envelope_field, joined};

/// Removes the fields that the schema does not know, and gives their paths.
pub(crate) fn drop_unknown(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    walk(schema, value, "", &mut unknown);
    unknown
}

fn walk(schema: &Schema, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let known = |name: &str| schema.open || is_envelope_field(schema, name) || schema.field(name).is_some();
            let strangers: Vec<String> = map.keys().filter(|name| !known(name)).cloned().collect();
            for name in strangers {
                unknown.push(joined(path, &name));
                map.remove(&name);
            }
            for (name, child) in map.iter_mut() {
                if let Some(field) = schema.field(name) {
                    walk(field, child, &joined(path, name), unknown);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter_mut().enumerate() {
                    walk(schema, item, &format!("{path}[{index}]"), unknown);
                }
            }
        }
        _ => {}
    }
}
