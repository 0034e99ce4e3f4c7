//! The entries of `metadata.managedFields`, and how an ordinary write changes them.

use serde_json::{Map, Value, json};

use super::{compare::compare, path::PathElement, set::FieldSet};
use crate::{
    object::{as_map, meta_mut},
    schema::Schema,
};

/// How a manager wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

impl Operation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manager {
    pub(crate) name: String,
    pub(crate) operation: Operation,
    pub(crate) api_version: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) manager: Manager,
    pub(crate) time: String,
    pub(crate) fields: FieldSet,
}

/// The entries of an object.
pub(crate) fn read_entries(object: &Value) -> Vec<Entry> {
    crate::object::items(object, &["metadata", "managedFields"])
        .filter_map(|entry| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let operation = match entry.get("operation").and_then(Value::as_str)? {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            Some(Entry {
                manager: Manager {
                    name: text("manager"),
                    operation,
                    api_version: text("apiVersion"),
                    subresource: text("subresource"),
                },
                time: text("time"),
                fields: FieldSet::from_wire(entry.get("fieldsV1")?),
            })
        })
        .collect()
}

/// Writes the entries into an object, applied ones first as Kubernetes sorts them.
pub(crate) fn write_entries(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort_by(|a, b| {
        (a.manager.operation, &a.time, &a.manager.name, &a.manager.subresource).cmp(&(
            b.manager.operation,
            &b.time,
            &b.manager.name,
            &b.manager.subresource,
        ))
    });
    let list: Vec<Value> = entries
        .into_iter()
        .map(|entry| {
            let mut wire = json!({
                "manager": entry.manager.name,
                "operation": entry.manager.operation.as_str(),
                "apiVersion": entry.manager.api_version,
                "time": entry.time,
                "fieldsType": "FieldsV1",
                "fieldsV1": entry.fields.to_wire(),
            });
            if !entry.manager.subresource.is_empty() {
                wire["subresource"] = json!(entry.manager.subresource);
            }
            wire
        })
        .collect();
    let metadata = meta_mut(object);
    if list.is_empty() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".to_owned(), Value::Array(list));
    }
}

/// The object without what nobody manages: identity and what the server keeps.
pub(crate) fn manageable(object: &Value) -> Value {
    const OF_THE_SERVER: [&str; 9] = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "generation",
        "managedFields",
        "resourceVersion",
        "deletionTimestamp",
    ];
    let Some(map) = object.as_object() else {
        return Value::Object(Map::new());
    };
    let mut kept = Map::new();
    for (key, value) in map {
        match key.as_str() {
            "apiVersion" | "kind" => {}
            // The server's word for a time that nobody has set.
            _ if value.is_null() => {}
            "metadata" => {
                let metadata: Map<String, Value> = value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .filter(|(key, _)| !OF_THE_SERVER.contains(&key.as_str()))
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                if !metadata.is_empty() {
                    kept.insert(key.clone(), Value::Object(metadata));
                }
            }
            _ => {
                kept.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(kept)
}

/// Paths that one subresource does not write: `status` for the object itself, everything else for `status`.
pub(crate) fn reset(fields: &mut FieldSet, subresource: &str, has_status: bool) {
    let status = PathElement::Field("status".to_owned());
    if subresource == "status" {
        fields
            .below
            .retain(|step, _| *step == status || *step == PathElement::Field("metadata".to_owned()));
    } else if has_status && subresource.is_empty() {
        fields.below.remove(&status);
    }
}

/// Notes an ordinary write: the manager gets what changed, and others lose it.
///
/// `parts` are those that every object of the kind has: they are not somebody's doing. The entries so far are those of
/// the new object: a client may have changed them, as `kubectl` does when it begins to apply on the server.
pub(crate) fn record_update(
    schema: &Schema,
    parts: &[&str],
    old: Option<&Value>,
    new: &mut Value,
    manager: &Manager,
    now: &str,
) {
    let with_parts = |mut object: Value| {
        let map = as_map(&mut object);
        for part in parts.iter().copied() {
            map.entry(part).or_insert_with(|| json!({}));
        }
        object
    };
    let before = with_parts(old.map_or_else(|| json!({}), manageable));
    let after = with_parts(manageable(new));
    let difference = compare(Some(schema), &before, &after);
    let mut entries = read_entries(new);
    if difference.is_empty() {
        write_entries(new, entries);
        return;
    }
    let changed = difference.changed();
    for entry in &mut entries {
        if entry.manager != *manager {
            entry.fields.subtract(&changed);
        }
        entry.fields.subtract_deep(&difference.removed);
    }
    match entries.iter_mut().find(|entry| entry.manager == *manager) {
        Some(entry) => {
            entry.fields.union(&changed);
            now.clone_into(&mut entry.time);
        }
        None => entries.push(Entry {
            manager: manager.clone(),
            time: now.to_owned(),
            fields: changed,
        }),
    }
    write_entries(new, entries);
}
