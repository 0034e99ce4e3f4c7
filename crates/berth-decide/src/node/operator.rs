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

/// What is to be noted on the Node, or removed from it, beside Berth's own annotations.
pub(super) fn notes(node: &NodeView, installed_anew: bool, gives_the_place: bool) -> MapPatch {
    let mut notes = MapPatch::new();
    if installed_anew {
        notes = old_disk(node);
        // The label stays, as it does without Berth; it is not what the new disk says.
        if node.labels.contains_key(names::OS_ID) && !node.annotations.contains_key(names::INSTALLED_ANEW) {
            notes.insert(names::INSTALLED_ANEW.to_owned(), Some(String::new()));
        }
    }
    if gives_the_place && awaits_first_labels(node) {
        notes.insert(names::CUSTOM_POOL_LABELS_APPLIED.to_owned(), Some(String::new()));
    }
    notes
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

/// The removal of what the Machine Config Operator's daemon noted about a disk that is gone: with the notes of the old one the
/// daemon of the new one would find itself in an unexpected state.
fn old_disk(node: &NodeView) -> MapPatch {
    let keys = node.annotations.keys();
    let keys =
        keys.filter(|key| key.starts_with(names::MACHINE_CONFIG_PREFIX) && *key != names::CUSTOM_POOL_LABELS_APPLIED);
    keys.map(|key| (key.clone(), None)).collect()
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
