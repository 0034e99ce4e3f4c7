//! What an apply by kubectl itself leaves behind, and what an apply on the server makes of it.
//!
//! kubectl notes what it applied in an annotation. When it applies on the server later, what it noted is its own already:
//! the fields that still have the noted value are not a conflict.

use serde_json::{Value, json};

use super::{
    compare::{compare, fields_of},
    entries::manageable,
    set::FieldSet,
};
use crate::{
    object::{as_map, entry_map, meta_mut, text},
    schema::Schema,
};

/// Where kubectl notes what it applied.
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The manager for whom this is done, and nobody else.
pub(super) const KUBECTL: &str = "kubectl";

fn noted(live: &Value) -> &str {
    text(live, &["metadata", "annotations", ANNOTATION])
}

/// The fields that are as kubectl noted them.
pub(super) fn unchanged_since(schema: &Schema, live: &Value) -> FieldSet {
    let Ok(config) = serde_json::from_str::<Value>(noted(live)) else {
        return FieldSet::default();
    };
    let config = manageable(&config);
    let difference = compare(Some(schema), &config, &manageable(live));
    let mut fields = fields_of(Some(schema), &config);
    fields.subtract(&difference.modified);
    fields.subtract_deep(&difference.removed);
    fields
}

/// Keeps the note true, where there is one: the next apply of either way begins from it.
pub(super) fn note(object: &mut Value, config: &Value) {
    if noted(object).is_empty() {
        return;
    }
    let mut config = config.clone();
    if let Some(Value::Object(annotations)) = as_map(&mut config)
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
    {
        annotations.remove(ANNOTATION);
    }
    let annotations = entry_map(meta_mut(object), "annotations");
    annotations.insert(ANNOTATION.to_owned(), json!(format!("{config}\n")));
}
