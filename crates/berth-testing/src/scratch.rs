//! Folders for the data of one test, also cleaned up after tests that were killed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
};

use crate::error::TestingError;

/// Short, because sockets live inside and their paths have a limit.
const PREFIX: &str = "berth-test";

/// Makes a new folder whose name tells which process it belongs to.
pub(crate) fn scratch() -> Result<tempfile::TempDir, TestingError> {
    let parent = std::env::temp_dir();
    sweep(&parent);
    tempfile::Builder::new()
        .prefix(&format!("{PREFIX}.{}.", process::id()))
        .tempdir_in(&parent)
        .map_err(|source| TestingError::File { path: parent, source })
}

/// Removes what belongs to processes that are gone. A server in a static is never dropped, so this is the only way.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner);
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner.to_string()).exists()) {
            // Another test may do the same at this moment.
            unmount(&entry.path());
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Ends what is mounted inside a folder. A kubelet mounts its own folder over itself and leaves that behind.
pub(crate) fn unmount(folder: &Path) {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    // Later ones may lie inside or above earlier ones.
    for mount in mount_points(&mounts, folder).into_iter().rev() {
        let _ = process::Command::new("umount").arg(mount).status();
    }
}

/// The mount points inside a folder, in the order of the table.
fn mount_points<'a>(mounts: &'a str, folder: &Path) -> Vec<&'a Path> {
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    points
        .map(Path::new)
        .filter(|point| point.starts_with(folder))
        .collect()
}

fn owner(name: &str) -> Option<u32> {
    let rest = name.strip_prefix(PREFIX)?.strip_prefix('.')?;
    rest.split_once('.')?.0.parse().ok()
}

/// Writes a file that only its owner can read: most of them hold keys.
pub(crate) fn write(path: PathBuf, contents: impl AsRef<[u8]>) -> Result<PathBuf, TestingError> {
    use std::{io::Write as _, os::unix::fs::OpenOptionsExt as _};

    let result: io::Result<()> = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(contents.as_ref()));
    match result {
        Ok(()) => Ok(path),
        Err(source) => Err(TestingError::File { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_a_folder_are_told_from_others() {
        let mounts =
            "/dev/vda / ext4 rw 0 0\n/dev/vda /tmp/a.1/kubelet ext4 rw 0 0\n/dev/vda /tmp/a.12/kubelet ext4 rw 0 0\n";
        let inside = mount_points(mounts, Path::new("/tmp/a.1"));
        assert_eq!(inside, [Path::new("/tmp/a.1/kubelet")]);
    }

    #[test]
    fn what_dead_processes_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let alive = format!("berth-test.{}.abc", process::id());
        // Process ids do not reach this number.
        for name in ["berth-test.4294967295.abc", &alive, "berth-test.x.y", "other"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        sweep(parent.path());
        let mut left: Vec<String> = fs::read_dir(parent.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [alive.as_str(), "berth-test.x.y", "other"]);
    }
}
