//! Merging an applied configuration into an object, and taking fields out of it.

use serde_json::{Map, Value};

use super::{
    compare::{below, is_atomic, item_step},
    path::PathElement,
    set::FieldSet,
};
use crate::schema::Schema;

/// The object with the configuration merged into it.
pub(crate) fn merged(schema: Option<&Schema>, live: &Value, config: &Value) -> Value {
    if is_atomic(schema, config) {
        return config.clone();
    }
    match (live, config) {
        (Value::Object(live), Value::Object(config)) => {
            let mut map = live.clone();
            for (name, value) in config {
                let step = PathElement::Field(name.clone());
                let value = match live.get(name) {
                    Some(old) => merged(below(schema, &step), old, value),
                    None => value.clone(),
                };
                map.insert(name.clone(), value);
            }
            Value::Object(map)
        }
        (Value::Array(live), Value::Array(config)) => Value::Array(merged_list(schema, live, config)),
        _ => config.clone(),
    }
}

/// Items that both have stand in the order of the configuration. Items that only the object has come as early as that
/// allows, before new ones of the configuration.
fn merged_list(schema: Option<&Schema>, live: &[Value], config: &[Value]) -> Vec<Value> {
    let steps = |items: &[Value]| -> Vec<PathElement> {
        items
            .iter()
            .enumerate()
            .map(|(index, item)| item_step(schema, index, item))
            .collect()
    };
    let (live_steps, config_steps) = (steps(live), steps(config));
    let mut result = Vec::with_capacity(live.len().saturating_add(config.len()));
    let mut old = live.iter().zip(&live_steps).peekable();
    let mut new = config.iter().zip(&config_steps).enumerate().peekable();
    loop {
        let next_shared = new
            .peek()
            .and_then(|(index, _)| config_steps.get(*index..))
            .and_then(|rest| rest.iter().find(|step| live_steps.contains(step)));
        if let Some((item, step)) = old.peek() {
            if !config_steps.contains(step) {
                result.push((*item).clone());
                old.next();
                continue;
            }
            // Its turn is past or comes later, in the order of the configuration.
            if next_shared != Some(*step) {
                old.next();
                continue;
            }
        }
        let Some((_, (item, step))) = new.next() else {
            break;
        };
        let matching = live_steps.iter().position(|live_step| live_step == step);
        match matching.and_then(|index| live.get(index)) {
            Some(before) => {
                result.push(merged(below(schema, step), before, item));
                if old.peek().is_some_and(|(_, front)| *front == step) {
                    old.next();
                }
            }
            None => result.push(item.clone()),
        }
    }
    result
}

/// Takes out the fields of a set. A map or item that becomes empty stays unless it is in the set itself.
pub(crate) fn without(schema: Option<&Schema>, value: &Value, gone: &FieldSet) -> Option<Value> {
    if gone.here {
        return None;
    }
    if gone.below.is_empty() {
        return Some(value.clone());
    }
    match value {
        Value::Object(map) => {
            let mut kept = Map::new();
            for (name, child) in map {
                let step = PathElement::Field(name.clone());
                let child = match gone.below.get(&step) {
                    Some(gone) => without(below(schema, &step), child, gone),
                    None => Some(child.clone()),
                };
                if let Some(child) = child {
                    kept.insert(name.clone(), child);
                }
            }
            Some(Value::Object(kept))
        }
        Value::Array(items) => {
            let kept = items.iter().enumerate().filter_map(|(index, item)| {
                let step = item_step(schema, index, item);
                match gone.below.get(&step) {
                    Some(gone) => without(below(schema, &step), item, gone),
                    None => Some(item.clone()),
                }
            });
            Some(Value::Array(kept.collect()))
        }
        other => Some(other.clone()),
    }
}
