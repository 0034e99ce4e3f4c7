//! Files that the user names for output.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// Writes a whole file or nothing: readers never see half of it, and a full disk leaves the old file alone.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let temporary = temporary(path);
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|source| {
        // What is left over is of no use; that it cannot be removed either is not news.
        let _ = fs::remove_file(&temporary);
        Failure::WriteFile {
            path: path.to_owned(),
            source,
        }
    })
}

/// Reads a file as it is.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|source: io::Error| Failure::ReadFile {
        path: path.to_owned(),
        source,
    })
}

/// A name in the same folder, so that the rename stays on one disk.
fn temporary(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_folder_stays_where_it_is() {
        let name = temporary(Path::new("a.svg"));
        assert_eq!(name.parent(), Some(Path::new("")));
        assert!(name.to_string_lossy().starts_with(".a.svg."));
    }
}
