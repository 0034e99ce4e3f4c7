//! Whether files changed, without reading them.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Names, sizes and times of all files under some paths. Two that are equal mean that nothing changed in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(Vec<Entry>);

/// The change time is set by the system alone, so it tells of an edit that keeps the size and sets the time back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    path: PathBuf,
    /// Nothing for what cannot be looked at: its coming back is a change.
    file: Option<(u64, u64, i64, i64, i64, i64)>,
}

impl Fingerprint {
    /// The files as they are now.
    pub(crate) fn of(paths: &[PathBuf]) -> Self {
        let mut entries = Vec::new();
        let mut folders = BTreeSet::new();
        for path in paths {
            look(path, &mut entries, &mut folders);
        }
        entries.sort();
        Self(entries)
    }
}

fn look(path: &Path, entries: &mut Vec<Entry>, folders: &mut BTreeSet<PathBuf>) {
    let metadata = fs::metadata(path).ok();
    let is_folder = metadata.as_ref().is_some_and(fs::Metadata::is_dir);
    entries.push(Entry {
        path: path.to_owned(),
        file: metadata.map(|it| {
            (
                it.ino(),
                it.len(),
                it.mtime(),
                it.mtime_nsec(),
                it.ctime(),
                it.ctime_nsec(),
            )
        }),
    });
    // A link that leads back up must not be followed forever.
    if !is_folder || !fs::canonicalize(path).is_ok_and(|real| folders.insert(real)) {
        return;
    }
    let Ok(inside) = fs::read_dir(path) else { return };
    for entry in inside.flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            look(&entry.path(), entries, folders);
        }
    }
}
