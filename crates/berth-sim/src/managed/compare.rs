//! The fields of a value, and the fields in which two values differ.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{path::PathElement, set::FieldSet};
use crate::schema::{ListKind, Schema};

/// Whether a list or map is one value when it is applied.
pub(super) fn is_atomic(schema: Option<&Schema>, value: &Value) -> bool {
    match (schema, value) {
        (Some(schema), Value::Object(_)) => schema.atomic_map,
        (Some(schema), Value::Array(_)) => schema.list == ListKind::Atomic,
        // Without a schema maps are merged and lists are not, as Kubernetes deduces it.
        (None, Value::Array(_)) => true,
        _ => false,
    }
}

/// The steps to the items of a list that is merged. Of items with the same step the first counts.
pub(super) fn list_steps<'a>(schema: Option<&Schema>, items: &'a [Value]) -> Vec<(PathElement, &'a Value)> {
    let mut steps: Vec<(PathElement, &Value)> = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let step = item_step(schema, index, item);
        if !steps.iter().any(|(seen, _)| *seen == step) {
            steps.push((step, item));
        }
    }
    steps
}

/// The step to one item of a list.
pub(super) fn item_step(schema: Option<&Schema>, index: usize, item: &Value) -> PathElement {
    match schema.map(|schema| &schema.list) {
        Some(ListKind::Map(keys)) => {
            let item_schema = schema.and_then(|schema| schema.items.as_deref());
            PathElement::key(keys, item, |key| item_schema?.field(key)?.default.clone())
        }
        Some(ListKind::Set) => PathElement::value(item),
        _ => PathElement::Index(index),
    }
}

/// The schema below a step.
pub(super) fn below<'a>(schema: Option<&'a Schema>, step: &PathElement) -> Option<&'a Schema> {
    let schema = schema?;
    match step {
        PathElement::Field(name) => schema.field(name),
        _ => schema.items.as_deref(),
    }
}

/// Whether the schema names the field itself, and is not a map of any keys.
fn is_named(schema: Option<&Schema>, step: &PathElement) -> bool {
    match (schema, step) {
        (Some(schema), PathElement::Field(name)) => schema.properties.contains_key(name),
        _ => false,
    }
}

/// The values directly below a value that is merged.
fn children<'a>(schema: Option<&Schema>, value: Option<&'a Value>) -> Vec<(PathElement, &'a Value)> {
    match value {
        Some(Value::Object(map)) => map
            .iter()
            .map(|(name, value)| (PathElement::Field(name.clone()), value))
            .collect(),
        Some(Value::Array(items)) => list_steps(schema, items),
        _ => Vec::new(),
    }
}

/// All fields that a configuration sets.
pub(crate) fn fields_of(schema: Option<&Schema>, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    if is_atomic(schema, value) || !(value.is_object() || value.is_array()) {
        set.here = true;
        return set;
    }
    for (step, child) in children(schema, Some(value)) {
        let mut child_set = fields_of(below(schema, &step), child);
        let empty = child.is_null() || child.as_object().is_some_and(serde_json::Map::is_empty);
        let item = value.is_array();
        if empty || item || !is_named(schema, &step) {
            child_set.here = true;
        }
        if !child_set.is_empty() {
            set.below.insert(step, child_set);
        }
    }
    set
}

/// In what two values differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) removed: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) added: FieldSet,
}

impl Difference {
    pub(crate) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// What is new or other than before.
    pub(crate) fn changed(&self) -> FieldSet {
        let mut changed = self.modified.clone();
        changed.union(&self.added);
        changed
    }
}

/// Compares two objects.
pub(crate) fn compare(schema: Option<&Schema>, old: &Value, new: &Value) -> Difference {
    let mut difference = Difference::default();
    walk(schema, Some(old), Some(new), &mut Vec::new(), &mut difference);
    difference
}

fn walk(
    schema: Option<&Schema>,
    old: Option<&Value>,
    new: Option<&Value>,
    path: &mut Vec<PathElement>,
    difference: &mut Difference,
) {
    match (old, new) {
        (None, Some(_)) => difference.added.insert(path),
        (Some(_), None) => difference.removed.insert(path),
        _ => {}
    }
    let both_deep = |test: fn(&Value) -> bool| old.is_none_or(test) && new.is_none_or(test);
    let atomic = [old, new].into_iter().flatten().any(|value| is_atomic(schema, value));
    if atomic || !(both_deep(Value::is_object) || both_deep(Value::is_array)) {
        if let (Some(old), Some(new)) = (old, new)
            && old != new
        {
            difference.modified.insert(path);
        }
        return;
    }
    let new_children: BTreeMap<PathElement, &Value> = children(schema, new).into_iter().collect();
    let old_children: BTreeMap<PathElement, &Value> = children(schema, old).into_iter().collect();
    for (step, old_child) in &old_children {
        path.push(step.clone());
        walk(
            below(schema, step),
            Some(old_child),
            new_children.get(step).copied(),
            path,
            difference,
        );
        path.pop();
    }
    for (step, new_child) in &new_children {
        if !old_children.contains_key(step) {
            path.push(step.clone());
            walk(below(schema, step), None, Some(new_child), path, difference);
            path.pop();
        }
    }
}
