//! JSON values between typed configs.
//!
//! The spec versions 3.x differ by added fields and by which fields may be
//! left out, so a config moves between them as JSON: written by the types of
//! one version, read by those of the next.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Finding;

/// Reads a typed config and reports, for each key that the type does not
/// know, its path.
///
/// Where a value is wrong is found out by a second reading: to keep the path of
/// every value takes longer than the reading itself, and most configs are right.
///
/// The callback is a trait object, because every closure type would compile
/// the readers of the whole config again.
pub(crate) fn read<T: DeserializeOwned>(json: &Value, unknown: &mut dyn FnMut(String)) -> Result<T, Finding> {
    let ignored: &mut dyn FnMut(serde_ignored::Path<'_>) = &mut |path| unknown(ignored_path(&path));
    let read: Result<T, serde_json::Error> = serde_ignored::deserialize(json, ignored);
    read.or_else(|_| {
        serde_path_to_error::deserialize(json)
            .map_err(|error| Finding::error(error_path(error.path()), error.inner().to_string()))
    })
}

/// Removes members that say nothing: null, and empty lists and objects.
///
/// Elements of lists stay, because their positions count and an empty element
/// is still an element.
pub(crate) fn prune(json: &mut Value) {
    match json {
        Value::Object(members) => {
            members.values_mut().for_each(prune);
            members.retain(|_, value| !is_empty(value));
        }
        Value::Array(elements) => elements.iter_mut().for_each(prune),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_empty(json: &Value) -> bool {
    match json {
        Value::Null => true,
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The value at a path as [`Finding::path`] writes it.
pub(crate) fn at<'a>(json: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').skip(1).try_fold(json, |json, step| match json {
        Value::Array(elements) => elements.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

fn ignored_path(path: &serde_ignored::Path<'_>) -> String {
    use serde_ignored::Path;
    match path {
        Path::Root => "$".to_owned(),
        Path::Seq { parent, index } => format!("{}.{index}", ignored_path(parent)),
        Path::Map { parent, key } => format!("{}.{key}", ignored_path(parent)),
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
            ignored_path(parent)
        }
    }
}

fn error_path(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut text = "$".to_owned();
    for segment in path {
        let step = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.clone(),
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => continue,
        };
        text.push('.');
        text.push_str(&step);
    }
    text
}
