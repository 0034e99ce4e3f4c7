//! What rendering does to the files of an Ignition config around the merge.

use berth_ignition::{
    Config,
    types::{File, Resource, Verification},
};

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
