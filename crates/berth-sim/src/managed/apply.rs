//! Server-side apply.

use serde_json::{Value, json};

use super::{
    compare::{compare, fields_of},
    entries::{Entry, Manager, manageable, read_entries, reset, write_entries},
    last_applied,
    merge::{merged, without},
    path::PathElement,
    set::FieldSet,
};
use crate::{failure::Failure, object::meta_mut, schema::Schema};

/// What is applied, by whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApplyRequest<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) config: &'a Value,
    pub(crate) manager: &'a Manager,
    /// Take fields from other managers.
    pub(crate) force: bool,
    /// The kind has a status of its own, which only the status subresource writes.
    pub(crate) has_status: bool,
    pub(crate) now: &'a str,
}

/// The object after an apply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Applied {
    pub(crate) object: Value,
}

/// Applies a configuration to an object, or to nothing if there is none yet.
pub(crate) fn apply(live: Option<&Value>, request: &ApplyRequest<'_>) -> Result<Applied, Failure> {
    let schema = Some(request.schema);
    let empty = json!({});
    let live_object = live.unwrap_or(&empty);
    let config = visible(request);
    let mut mine = fields_of(schema, &manageable(&config));
    mine.here = false;
    reset(&mut mine, &request.manager.subresource, request.has_status);

    let mut entries = read_entries(live_object);
    let mut object = merged(schema, live_object, &config);
    let difference = compare(schema, &manageable(live_object), &manageable(&object));
    let changed = difference.changed();

    settle(live_object, request, &mut entries, &changed)?;

    // What this manager applied before and does not any more goes, unless another manager has it too.
    let previous = entries
        .iter()
        .find(|entry| entry.manager == *request.manager)
        .map(|entry| entry.fields.clone())
        .unwrap_or_default();
    let mut gone = previous;
    gone.subtract(&mine);
    let mut held = mine.clone();
    for entry in entries.iter().filter(|entry| entry.manager != *request.manager) {
        held.union(&entry.fields);
    }
    let gone = removable(&gone, &held);
    if !gone.is_empty()
        && let Some(pruned) = without(schema, &object, &gone)
    {
        object = pruned;
        meta_mut(&mut object);
    }

    let old = entries.iter().position(|entry| entry.manager == *request.manager);
    let unchanged = difference.is_empty() && gone.is_empty();
    match old.and_then(|index| entries.get_mut(index)) {
        Some(entry) => {
            if entry.fields != mine || !unchanged {
                request.now.clone_into(&mut entry.time);
            }
            entry.fields = mine;
        }
        None => entries.push(Entry {
            manager: request.manager.clone(),
            time: request.now.to_owned(),
            fields: mine,
        }),
    }
    write_entries(&mut object, entries);
    if request.manager.name == last_applied::KUBECTL {
        last_applied::note(&mut object, request.config);
    }
    Ok(Applied { object })
}

/// Takes what changes from the managers that have it, if that is allowed.
fn settle(live: &Value, request: &ApplyRequest<'_>, entries: &mut [Entry], changed: &FieldSet) -> Result<(), Failure> {
    if !request.force {
        let mut conflicts: Vec<(Manager, FieldSet)> = entries
            .iter()
            .filter(|entry| entry.manager != *request.manager)
            .map(|entry| (entry.manager.clone(), entry.fields.intersection(changed)))
            .filter(|(_, common)| !common.is_empty())
            .collect();
        if !conflicts.is_empty() && request.manager.name == last_applied::KUBECTL {
            let own = last_applied::unchanged_since(request.schema, live);
            for (_, common) in &mut conflicts {
                common.subtract(&own);
            }
            conflicts.retain(|(_, common)| !common.is_empty());
        }
        if !conflicts.is_empty() {
            return Err(conflict(&conflicts));
        }
    }
    for entry in entries.iter_mut().filter(|entry| entry.manager != *request.manager) {
        entry.fields.subtract(changed);
    }
    Ok(())
}

/// A path goes only if nobody holds it or anything below it.
fn removable(gone: &FieldSet, held: &FieldSet) -> FieldSet {
    let mut result = FieldSet::default();
    for path in gone.paths() {
        if !holds(held, &path) {
            result.insert(&path);
        }
    }
    result
}

fn holds(held: &FieldSet, path: &[PathElement]) -> bool {
    match path.split_first() {
        None => !held.is_empty(),
        Some((step, rest)) => held.below.get(step).is_some_and(|below| holds(below, rest)),
    }
}

/// The part of the configuration that this subresource writes. The status of an object is written by itself, and beside
/// it nothing else.
fn visible(request: &ApplyRequest<'_>) -> Value {
    let mut config = request.config.clone();
    if let Some(map) = config.as_object_mut() {
        if request.manager.subresource == "status" {
            map.retain(|key, _| ["apiVersion", "kind", "metadata", "status"].contains(&key.as_str()));
        } else if request.has_status && request.manager.subresource.is_empty() {
            map.remove("status");
        }
    }
    config
}

fn conflict(conflicts: &[(Manager, FieldSet)]) -> Failure {
    let mut causes = Vec::new();
    let mut lines = Vec::new();
    let mut count = 0_usize;
    for (manager, fields) in conflicts {
        let who = if manager.operation == super::Operation::Apply {
            format!("conflict with \"{}\"", manager.name)
        } else {
            let with = if manager.subresource.is_empty() {
                String::new()
            } else {
                format!(" with subresource \"{}\"", manager.subresource)
            };
            format!("conflict with \"{}\"{with} using {}", manager.name, manager.api_version)
        };
        for path in fields.paths() {
            let path: String = path.iter().map(PathElement::to_string).collect();
            causes.push(json!({"reason": "FieldManagerConflict", "message": who, "field": path}));
            lines.push(format!("{who}: {path}"));
            count = count.saturating_add(1);
        }
    }
    let noun = if count == 1 { "conflict" } else { "conflicts" };
    let said = if let [only] = lines.as_slice() {
        only.clone()
    } else {
        lines.join("\n- ")
    };
    Failure::apply_conflict(format!("Apply failed with {count} {noun}: {said}"), &causes)
}
