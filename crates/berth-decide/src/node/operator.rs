//! What the Machine Config Operator and its daemon keep on a Node, as far as Berth has to touch it.

use std::collections::BTreeMap;

use berth_pools::{MASTER, WORKER};

use crate::{
    definitions::{Answer, Definitions},
    names,
    patch::{MapPatch, NodePatch},
    view::NodeView,
};
use berth_resources::Berth;

/// What the daemon of a disk that is gone noted on the Node: with it the daemon of the new one would find itself in an unexpected
/// state. `given_back` is what Berth gave back to a Node that it created again, where a kubelet has just filled it: what differs from
/// that, the daemon of the new disk has written.
pub(super) fn of_old_disk(node: &NodeView, given_back: Option<&BTreeMap<String, String>>) -> MapPatch {
    let is_old = |key: &String, value: &String| given_back.is_none_or(|given| given.get(key) == Some(value));
    let mut notes: MapPatch = node
        .annotations
        .iter()
        .filter(|(key, value)| {
            key.starts_with(names::MACHINE_CONFIG_PREFIX)
                && *key != names::CUSTOM_POOL_LABELS_APPLIED
                && is_old(key, value)
        })
        .map(|(key, _)| (key.clone(), None))
        .collect();
    // The label stays, as it does without Berth; it is not what the new disk says.
    if node.labels.contains_key(names::OS_ID) && !node.annotations.contains_key(names::INSTALLED_ANEW) {
        notes.insert(names::INSTALLED_ANEW.to_owned(), Some(String::new()));
    }
    notes
}

/// What is to be noted on a Node that has its pool from Berth.
pub(super) fn first_labels(node: &NodeView) -> Option<(String, Option<String>)> {
    awaits_first_labels(node).then(|| (names::CUSTOM_POOL_LABELS_APPLIED.to_owned(), Some(String::new())))
}

/// A patch of a Node with further annotations, for this very version of the object.
pub(super) fn with_annotations(patch: Option<NodePatch>, node: &NodeView, annotations: MapPatch) -> Option<NodePatch> {
    if annotations.is_empty() {
        return patch;
    }
    let mut patch = patch.unwrap_or_else(|| NodePatch {
        uid: Some(node.uid.clone()),
        resource_version: Some(node.resource_version.clone()),
        ..NodePatch::default()
    });
    patch.annotations.extend(annotations);
    Some(patch)
}

/// Whether the Node has its pool from Berth: it was declared, or Berth set a label that the pool demands. A Node that was found
/// in its pool may still be on its way to the one that its machine booted in.
pub(super) fn gives_the_place(
    definitions: &Definitions,
    berth: &Berth,
    answer: &Answer,
    owned: &BTreeMap<String, String>,
) -> bool {
    let Some(pool) = answer.pool.as_deref() else {
        return false;
    };
    let demanded = definitions.implicit(pool);
    berth.spec.pool.is_some()
        || demanded.is_some_and(|demanded| demanded.keys().any(|key| owned.contains_key(key.as_str())))
}

/// Whether the Machine Config Operator is still to give the Node the labels of the custom pool that its machine booted in.
fn awaits_first_labels(node: &NodeView) -> bool {
    let booted = node.annotations.get(names::FIRST_PIVOT_CONFIG);
    let pool = booted
        .and_then(|config| config.strip_prefix("rendered-"))
        .and_then(|name| Some(name.rsplit_once('-')?.0));
    pool.is_some_and(|pool| pool != WORKER && pool != MASTER)
        && !node.annotations.contains_key(names::CUSTOM_POOL_LABELS_APPLIED)
}
