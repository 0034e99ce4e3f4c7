//! JSON values as expressions see them, by their schemas.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use berth_cel::{Key, List, Type as CelType, Value, is_reserved};
use serde_json::Value as Json;

use crate::schema::{ListKind, Schema, Type};

/// A field's name in expressions; `None` for names that have none.
fn escaped(name: &str) -> Option<String> {
    if is_reserved(name) {
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

/// The type of a value by its schema; `None` for values of which nothing is known, which rules cannot see.
///
/// `root` is for what has `apiVersion`, `kind` and `metadata` whether the schema says so or not.
pub(super) fn type_of(schema: &Schema, root: bool) -> Option<CelType> {
    if schema.int_or_string {
        return Some(CelType::Dyn);
    }
    let format = schema.checks.as_ref().and_then(|checks| checks.format.as_deref());
    Some(match schema.kind? {
        Type::Object => match &schema.additional {
            Some(field) if schema.properties.is_empty() => CelType::map(type_of(field, field.embedded)?),
            _ => {
                let named = schema
                    .properties
                    .iter()
                    .filter(|(name, _)| !root || *name != "metadata");
                let mut fields: Vec<(String, CelType)> = named
                    .filter_map(|(name, field)| Some((escaped(name)?, type_of(field, field.embedded)?)))
                    .collect();
                if root {
                    let metadata = ["name", "generateName"].map(|name| (name.to_owned(), CelType::Text));
                    fields.extend(["apiVersion", "kind"].map(|name| (name.to_owned(), CelType::Text)));
                    fields.push(("metadata".to_owned(), CelType::object("metadata", metadata)));
                }
                CelType::object("selfType", fields)
            }
        },
        Type::Array => match &schema.items {
            Some(item) => CelType::list(type_of(item, item.embedded)?),
            None => return None,
        },
        Type::String => match format {
            Some("date-time" | "date") => CelType::Timestamp,
            Some("duration") => CelType::Duration,
            Some("byte") => CelType::Bytes,
            _ => CelType::Text,
        },
        Type::Integer => CelType::Int,
        Type::Number => CelType::Double,
        Type::Boolean => CelType::Bool,
    })
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
