//! Filling in defaults.

use serde_json::Value;

use super::{Schema, map_of};

/// Fills in the defaults of fields that are absent, and of those that are null where null is not allowed. Such a null
/// without a default is as if the field were not there.
pub(crate) fn fill_defaults(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(_) => {
            let Some(map) = map_of(value) else { return };
            for (name, field) in &schema.properties {
                let wanted = match map.get(name) {
                    None => true,
                    Some(Value::Null) => !field.nullable,
                    Some(_) => false,
                };
                if let (true, Some(default)) = (wanted, &field.default) {
                    map.insert(name.clone(), default.clone());
                }
            }
            map.retain(|name, child| {
                !child.is_null()
                    || schema
                        .field(name)
                        .is_none_or(|field| field.nullable || field.kind.is_none())
            });
            for (name, child) in map.iter_mut() {
                if let Some(field) = schema.field(name) {
                    fill_defaults(field, child);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for item in items {
                    fill_defaults(schema, item);
                }
            }
        }
        _ => {}
    }
}
