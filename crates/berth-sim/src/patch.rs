//! The patches that replace parts of an object: JSON patch, merge patch and strategic merge patch.

mod strategic;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::failure::Failure;

pub(crate) use strategic::strategic_merge;

/// How the body of a PATCH request is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Merge by what the schema says of lists.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchKind {
    /// From the content type of the request.
    pub(crate) fn from_content_type(content_type: &str) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        Some(match essence {
            "application/json-patch+json" => Self::Json,
            "application/merge-patch+json" => Self::Merge,
            "application/strategic-merge-patch+json" => Self::Strategic,
            "application/apply-patch+yaml" | "application/apply-patch+json" => Self::Apply,
            _ => return None,
        })
    }
}

/// Applies a JSON patch. A step that cannot be done is an error, and a failed test too.
pub(crate) fn json_patch(object: &Value, patch: &Value) -> Result<Value, Failure> {
    let steps: json_patch::Patch = serde_json::from_value(patch.clone())
        .map_err(|error| Failure::bad_request(format!("error decoding patch: {error}")))?;
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &steps).map_err(|_| {
        let mut failure = Failure::invalid("", "", "", &[]);
        "the server rejected our request due to an error in our request".clone_into(&mut failure.message);
        failure.details = None;
        failure
    })?;
    Ok(patched)
}

/// Applies a merge patch: null removes, maps go deep, everything else replaces.
pub(crate) fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    let map = crate::object::as_map(target);
    for (key, value) in patch {
        if value.is_null() {
            map.remove(key);
        } else {
            merge_patch(map.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Removes nulls, which mean absence to the kinds that are built in.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, child| !child.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The value as a map, if it is one.
fn map_of(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object()
}
