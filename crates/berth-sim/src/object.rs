//! Reading and changing objects in their JSON form.

use serde_json::{Map, Value};

/// The object's metadata; nothing if it has none.
pub(crate) fn meta(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.as_object()
}

/// The object's metadata, made if it is not there. An object that is not a map becomes one.
pub(crate) fn meta_mut(object: &mut Value) -> &mut Map<String, Value> {
    entry_map(as_map(object), "metadata")
}

/// The value as a map, replaced by an empty one if it is something else.
pub(crate) fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("the value was made a map above"),
    }
}

/// The map below a key, made if it is not there.
pub(crate) fn entry_map<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    as_map(map.entry(key).or_insert_with(|| Value::Object(Map::new())))
}

/// The text at a path of keys; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The value at a path of keys.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(key))
}

/// The items of the list at a path; none if there is no list.
pub(crate) fn items<'a>(object: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a Value> {
    at(object, path).and_then(Value::as_array).into_iter().flatten()
}

/// `metadata.name`.
pub(crate) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

/// `metadata.namespace`.
pub(crate) fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}

/// `metadata.uid`.
pub(crate) fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"])
}

/// `metadata.resourceVersion` as a number; zero if it is none.
pub(crate) fn revision(object: &Value) -> u64 {
    text(object, &["metadata", "resourceVersion"]).parse().unwrap_or(0)
}

/// Whether deletion has been asked for.
pub(crate) fn is_terminating(object: &Value) -> bool {
    at(object, &["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}

/// Whether somebody still has to finish before the object may go.
pub(crate) fn has_finalizers(object: &Value) -> bool {
    items(object, &["metadata", "finalizers"]).next().is_some()
}

/// One label.
pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    meta(object)?.get("labels")?.get(key)?.as_str()
}

/// The status of the condition of this type; empty if there is none.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    items(object, &["status", "conditions"])
        .find(|condition| text(condition, &["type"]) == kind)
        .map_or("", |condition| text(condition, &["status"]))
}

/// Sets or removes the value below a key.
pub(crate) fn set_or_remove(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => map.insert(key.to_owned(), value),
        None => map.remove(key),
    };
}
