//! Strategic merge patches: lists whose items have a key are merged by it, and directives say what to remove.

use serde_json::{Map, Value};

use super::map_of;
use crate::{
    failure::Failure,
    object::as_map,
    schema::{Schema, Strategy},
};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";
const SET_ORDER: &str = "$setElementOrder/";

/// Applies a strategic merge patch to an object of this schema.
pub(crate) fn strategic_merge(schema: &Schema, target: &mut Value, patch: &Value) -> Result<(), Failure> {
    let Some(patch) = map_of(patch) else {
        return Err(Failure::bad_request("a strategic merge patch must be an object"));
    };
    merge_map(Some(schema), target, patch)
}

fn merge_map(schema: Option<&Schema>, target: &mut Value, patch: &Map<String, Value>) -> Result<(), Failure> {
    match patch.get(PATCH).and_then(Value::as_str) {
        Some("replace") => {
            let mut whole = patch.clone();
            whole.remove(PATCH);
            *target = Value::Object(whole);
            return Ok(());
        }
        Some("delete") => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Some("merge") | None => {}
        Some(other) => {
            return Err(Failure::bad_request(format!(
                "unrecognized type: unknown patch type: {other}"
            )));
        }
    }
    let map = as_map(target);
    if let Some(kept) = patch.get(RETAIN_KEYS).and_then(Value::as_array) {
        map.retain(|key, _| kept.iter().any(|kept| kept.as_str() == Some(key)));
    }
    for (key, value) in patch {
        if let Some(field) = key.strip_prefix(DELETE_FROM_LIST) {
            if let (Some(Value::Array(items)), Some(gone)) = (map.get_mut(field), value.as_array()) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        if key == PATCH || key == RETAIN_KEYS || key.starts_with(SET_ORDER) {
            continue;
        }
        let field_schema = schema.and_then(|schema| schema.field(key));
        match value {
            Value::Null => {
                map.remove(key);
            }
            Value::Object(child) => {
                merge_map(field_schema, map.entry(key.clone()).or_insert(Value::Null), child)?;
            }
            Value::Array(items) => {
                let strategy = field_schema.map(|schema| schema.strategy.clone()).unwrap_or_default();
                let order = patch.get(&format!("{SET_ORDER}{key}")).and_then(Value::as_array);
                let item_schema = field_schema.and_then(|schema| schema.items.as_deref());
                let slot = map.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
                merge_list(&strategy, item_schema, slot, items, order)?;
            }
            scalar => {
                map.insert(key.clone(), scalar.clone());
            }
        }
    }
    reorder_only(schema, map, patch);
    Ok(())
}

/// An order may come without a list to merge.
fn reorder_only(schema: Option<&Schema>, map: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, order) in patch {
        let Some(field) = key.strip_prefix(SET_ORDER) else {
            continue;
        };
        let strategy = schema
            .and_then(|schema| schema.field(field))
            .map(|schema| schema.strategy.clone())
            .unwrap_or_default();
        if let (Some(Value::Array(items)), Some(order)) = (map.get_mut(field), order.as_array()) {
            put_in_order(strategy.key.as_deref(), items, order);
        }
    }
}

fn merge_list(
    strategy: &Strategy,
    item_schema: Option<&Schema>,
    target: &mut Value,
    patch: &[Value],
    order: Option<&Vec<Value>>,
) -> Result<(), Failure> {
    let replace = patch
        .iter()
        .any(|item| item.get(PATCH).and_then(Value::as_str) == Some("replace"));
    if !strategy.merge || replace {
        let items = patch.iter().filter(|item| item.get(PATCH).is_none()).cloned().collect();
        *target = Value::Array(items);
        return Ok(());
    }
    if !target.is_array() {
        *target = Value::Array(Vec::new());
    }
    let Value::Array(items) = target else { return Ok(()) };
    match &strategy.key {
        None => {
            for item in patch {
                if !items.contains(item) {
                    items.push(item.clone());
                }
            }
        }
        Some(key) => {
            for item in patch {
                merge_item(key, item_schema, items, item)?;
            }
        }
    }
    if let Some(order) = order {
        put_in_order(strategy.key.as_deref(), items, order);
    }
    Ok(())
}

fn merge_item(key: &str, schema: Option<&Schema>, items: &mut Vec<Value>, patch: &Value) -> Result<(), Failure> {
    let Some(patch_map) = map_of(patch) else {
        return Err(Failure::bad_request(format!(
            "a list that is merged by the key {key} has an item that is not an object"
        )));
    };
    let Some(identity) = patch.get(key) else {
        // A list can be told as a whole to go.
        if patch.get(PATCH).and_then(Value::as_str) == Some("delete") {
            items.clear();
            return Ok(());
        }
        return Err(Failure::bad_request(format!(
            "map: {patch} does not contain declared merge key: {key}"
        )));
    };
    let found = items.iter().position(|item| item.get(key) == Some(identity));
    if patch.get(PATCH).and_then(Value::as_str) == Some("delete") {
        items.retain(|item| item.get(key) != Some(identity));
        return Ok(());
    }
    match found.and_then(|index| items.get_mut(index)) {
        Some(item) => merge_map(schema, item, patch_map),
        None => {
            let mut item = Value::Object(Map::new());
            merge_map(schema, &mut item, patch_map)?;
            items.push(item);
            Ok(())
        }
    }
}

/// Items that the order names stand in that order; the others keep their place after what stood before them.
fn put_in_order(key: Option<&str>, items: &mut [Value], order: &[Value]) {
    let identity = |item: &Value| match key {
        Some(key) => item.get(key).cloned().unwrap_or(Value::Null),
        None => item.clone(),
    };
    let rank = |item: &Value| {
        let wanted = identity(item);
        order.iter().position(|entry| identity(entry) == wanted)
    };
    let mut named: Vec<Value> = items.iter().filter(|item| rank(item).is_some()).cloned().collect();
    named.sort_by_key(|item| rank(item));
    let mut named = named.into_iter();
    for item in items.iter_mut() {
        if rank(item).is_some()
            && let Some(next) = named.next()
        {
            *item = next;
        }
    }
}
