//! Between the form that is kept and the form that was asked for.
//!
//! Versions of a definition differ in their name only, because no conversion is done. Events have two forms in two
//! groups.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{object::as_map, resources::Hit};

/// The fields of an event in the core group, and in its own.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The times that an event always has, known or not: clients sort by them.
const TIMES: [&str; 3] = ["firstTimestamp", "lastTimestamp", "eventTime"];

/// The object in the form that was asked for.
pub(crate) fn shown(hit: &Hit, object: &Arc<Value>) -> Arc<Value> {
    let wanted = hit.api_version();
    if object.get("apiVersion").and_then(Value::as_str) == Some(wanted.as_str()) {
        return Arc::clone(object);
    }
    let mut object = (**object).clone();
    if hit.resource.group == "events.k8s.io" {
        rename(&mut object, RENAMED.iter().copied());
    }
    as_map(&mut object).insert("apiVersion".to_owned(), json!(wanted));
    Arc::new(object)
}

/// The object in the form that is kept.
pub(crate) fn kept(hit: &Hit, object: &mut Value) {
    let version = if hit.resource.group == "events.k8s.io" {
        rename(object, RENAMED.iter().map(|(core, own)| (*own, *core)));
        "v1".to_owned()
    } else {
        hit.resource.api_version(&hit.resource.storage_version)
    };
    let map = as_map(object);
    map.insert("apiVersion".to_owned(), json!(version));
    if &*hit.resource.stored_as == "events" {
        for time in TIMES {
            map.entry(time).or_insert(Value::Null);
        }
        map.entry("source").or_insert_with(|| json!({}));
    }
}

fn rename<'a>(object: &mut Value, names: impl Iterator<Item = (&'a str, &'a str)>) {
    let map = as_map(object);
    for (from, to) in names {
        if let Some(value) = map.remove(from) {
            map.insert(to.to_owned(), value);
        }
    }
}
