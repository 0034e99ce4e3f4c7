//! JSON values as expressions see them, by their schemas.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use berth_cel::{Key, List, Value};
use serde_json::Value as Json;

use crate::schema::{ListKind, Schema, Type};

/// Words of the language that no field can be named by.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A field's name in expressions; `None` for names that have none.
fn escaped(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let legal = |character: char| character.is_ascii_alphanumeric() || "_.-/".contains(character);
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) || !name.chars().all(legal) {
        return None;
    }
    Some(
        name.replace("__", "__underscores__")
            .replace('.', "__dot__")
            .replace('-', "__dash__")
            .replace('/', "__slash__"),
    )
}

/// A value by its schema.
pub(super) fn value(schema: &Schema, json: &Json) -> Value {
    match json {
        Json::Object(map) if !schema.properties.is_empty() => Value::map(map.iter().filter_map(|(name, child)| {
            let field = schema.properties.get(name)?;
            Some((Key::Text(escaped(name)?.into()), value(field, child)))
        })),
        Json::Object(map) => match &schema.additional {
            Some(field) => Value::map(
                map.iter()
                    .map(|(key, child)| (Key::Text(key.as_str().into()), value(field, child))),
            ),
            None => Value::of_json(json),
        },
        Json::Array(items) => match &schema.items {
            Some(item) => Value::List(Arc::new(List {
                items: items.iter().map(|child| value(item, child)).collect(),
                kind: match &schema.list {
                    ListKind::Atomic => berth_cel::ListKind::Ordered,
                    ListKind::Set => berth_cel::ListKind::Set,
                    ListKind::Map(keys) => {
                        berth_cel::ListKind::Map(keys.iter().filter_map(|key| escaped(key)).collect())
                    }
                },
            })),
            None => Value::of_json(json),
        },
        Json::Number(number) if schema.kind == Some(Type::Number) => Value::Double(number.as_f64().unwrap_or_default()),
        Json::String(text) => {
            let format = schema.checks.as_ref().and_then(|checks| checks.format.as_deref());
            formatted(format.unwrap_or_default(), text).unwrap_or_else(|| Value::text(text))
        }
        other => Value::of_json(other),
    }
}

fn formatted(format: &str, text: &str) -> Option<Value> {
    match format {
        "date-time" => text.parse().ok().map(Value::Timestamp),
        "date" => format!("{text}T00:00:00Z").parse().ok().map(Value::Timestamp),
        "duration" => text.parse().ok().map(Value::Duration),
        "byte" => STANDARD.decode(text).ok().map(|bytes| Value::Bytes(bytes.into())),
        _ => None,
    }
}
