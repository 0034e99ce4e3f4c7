//! What rendering does to the files of an Ignition config around the merge.

use berth_ignition::{
    Config,
    types::{File, Resource, Verification},
};
use serde_json::Value;

/// Calls `change` for every file.
pub(super) fn each(config: &mut Config, change: impl FnMut(&mut File)) {
    let storage = config.as_v3_5_mut().storage.as_mut();
    if let Some(files) = storage.and_then(|storage| storage.files.as_mut()) {
        files.iter_mut().for_each(change);
    }
}

/// Says aloud, with empty texts, that new contents have no compression and no hash.
///
/// Ignition's merge keeps from the parent what the child does not say, field by field: plain contents over
/// compressed ones would be taken for compressed, and judged by the hash of what they replace. A file without
/// contents of its own says nothing, for it keeps those below it.
pub(super) fn say_what_is_not_inherited(file: &mut File) {
    let Some(contents) = file.contents.as_mut().filter(|contents| contents.source.is_some()) else {
        return;
    };
    contents.compression.get_or_insert_default();
    contents
        .verification
        .get_or_insert_default()
        .hash
        .get_or_insert_default();
}

/// Takes the empty texts away again, and lets files replace what is on the machine unless they say otherwise.
pub(super) fn finish(file: &mut File) {
    if let Some(contents) = &mut file.contents {
        contents.compression.take_if(|compression| compression.is_empty());
        if let Some(verification) = &mut contents.verification {
            verification.hash.take_if(|hash| hash.is_empty());
        }
        contents
            .verification
            .take_if(|verification| *verification == Verification::default());
    }
    file.contents.take_if(|contents| *contents == Resource::default());
    // Ignition refuses `overwrite` for a file without contents.
    if file.overwrite.is_none() && file.contents.as_ref().is_some_and(|contents| contents.source.is_some()) {
        file.overwrite = Some(true);
    }
}

/// Whether the operator may render this file differently, because of what it inherits.
pub(super) fn may_differ(file: &File) -> bool {
    let Some(contents) = &file.contents else { return true };
    let has_hash = contents
        .verification
        .as_ref()
        .is_some_and(|verification| verification.hash.is_some());
    let says_plain = contents.compression.as_deref() == Some("");
    contents.source.is_none() || has_hash || says_plain
}

/// What the operator does in place of [`say_what_is_not_inherited`]: also files without contents lose the compression of those
/// that they keep, and nothing loses the hash.
pub(super) fn say_as_operator(file: &mut File) {
    file.contents
        .get_or_insert_default()
        .compression
        .get_or_insert_default();
}

/// What the operator does in place of [`finish`]: nothing loses an empty hash.
pub(super) fn finish_as_operator(file: &mut File) {
    if let Some(contents) = &mut file.contents {
        contents.compression.take_if(|compression| compression.is_empty());
    }
    file.contents.take_if(|contents| *contents == Resource::default());
}

/// The files of a config that is written, which all get `overwrite` from the operator: also those without contents, for which
/// Ignition refuses it.
pub(super) fn overwrite_all(config: &mut Value) {
    let files = config.pointer_mut("/storage/files").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten().filter_map(Value::as_object_mut) {
        file.entry("overwrite").or_insert(Value::Bool(true));
    }
}

/// The paths of files that differ between two configs that have the same files.
pub(super) fn differing(ours: &Value, theirs: &Value) -> Vec<String> {
    let files = |config: &Value| config.pointer("/storage/files").and_then(Value::as_array).cloned();
    let (ours, theirs) = (files(ours).unwrap_or_default(), files(theirs).unwrap_or_default());
    let differing = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs);
    let paths = differing.filter_map(|(file, _)| file.get("path")?.as_str().map(str::to_owned));
    paths.collect()
}
