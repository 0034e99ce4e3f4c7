//! The disk below a root directory, seen as a program that runs in that root would see it.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Component, Path, PathBuf},
};

/// More links than the kernel follows are a loop.
const MOST_LINKS: usize = 40;

/// Far above any file that is read here. A larger one is some mistake, and reading it would hold up the boot.
const LARGEST: u64 = 1 << 20;

/// The directory that stands for `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    directory: PathBuf,
    running: bool,
}

impl Default for Root {
    /// The running system.
    fn default() -> Self {
        Self {
            directory: PathBuf::from("/"),
            running: true,
        }
    }
}

/// What stands at a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Bytes of a file.
    Text(Vec<u8>),
    /// A device, which for systemd is the same as nothing.
    Device,
}

/// One entry of a directory.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The name; what is not UTF-8 in it is replaced.
    pub(crate) name: String,
    /// Whether the name is what it says.
    pub(crate) is_utf8: bool,
    pub(crate) is_link: bool,
}

impl Root {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            running: false,
        }
    }

    /// Whether this is the running system, and not an image or a test.
    pub(crate) fn is_running_system(&self) -> bool {
        self.running
    }

    /// Reads a file. What is neither a regular file nor a device, such as a pipe that would block, is an error.
    pub(crate) fn read(&self, path: &str) -> io::Result<Found> {
        let path = self.resolve(Path::new(path))?;
        let metadata = fs::metadata(&path)?;
        let kind = metadata.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return Ok(Found::Device);
        }
        if !kind.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut text = Vec::new();
        File::open(&path)?.take(LARGEST + 1).read_to_end(&mut text)?;
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > LARGEST {
            return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
        }
        Ok(Found::Text(text))
    }

    /// Reads a file that may be missing.
    pub(crate) fn read_optional(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        match self.read(path) {
            Ok(Found::Text(text)) => Ok(Some(text)),
            Ok(Found::Device) => Ok(None),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Where the link at `path` points, as an absolute path that is only cleaned up and not followed. `None` when there
    /// is something else than a link.
    pub(crate) fn link(&self, path: &str) -> io::Result<Option<String>> {
        let path = Path::new(path);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(None);
        };
        let place = self.resolve(parent)?.join(name);
        if !fs::symlink_metadata(&place)?.file_type().is_symlink() {
            return Ok(None);
        }
        let target = fs::read_link(&place)?;
        Ok(clean(&parent.join(target)).into_os_string().into_string().ok())
    }

    /// The entries of a directory in order of their names. One that is missing has none.
    pub(crate) fn list(&self, path: &str) -> io::Result<Vec<Entry>> {
        let listing = match self.resolve(Path::new(path)).and_then(fs::read_dir) {
            Ok(listing) => listing,
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut entries = Vec::new();
        for entry in listing {
            let entry = entry?;
            let name = entry.file_name();
            entries.push(Entry {
                is_link: entry.file_type()?.is_symlink(),
                is_utf8: name.to_str().is_some(),
                name: name.to_string_lossy().into_owned(),
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Writes a file under the root in one step. A link stays a link, and what it points to is replaced; the file keeps
    /// its mode and owner.
    pub(crate) fn write(&self, path: &str, text: &[u8]) -> io::Result<()> {
        let place = match self.resolve(Path::new(path)) {
            Ok(place) => place,
            Err(error) if is_missing(&error) => self.create_parent(Path::new(path))?,
            Err(error) => return Err(error),
        };
        write_atomically(&place, text, Keep::OnDisk)
    }

    /// The place of a file that is to be made, with all directories above it.
    fn create_parent(&self, path: &Path) -> io::Result<PathBuf> {
        let mut place = self.directory.clone();
        let parent = path.parent().unwrap_or_else(|| Path::new("/"));
        let mut seen = PathBuf::from("/");
        for component in parent.components() {
            let Component::Normal(name) = component else { continue };
            seen.push(name);
            place = match self.resolve(&seen) {
                Ok(place) => place,
                Err(error) if is_missing(&error) => {
                    let missing = place.join(name);
                    fs::create_dir(&missing)?;
                    missing
                }
                Err(error) => return Err(error),
            };
        }
        Ok(place.join(path.file_name().unwrap_or_default()))
    }

    /// The real place of a path: every link is followed inside the root, so that no link leads out of an image.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut place = self.directory.clone();
        let mut depth = 0_usize;
        let mut links = 0;
        let mut rest: VecDeque<OsString> = names(path).collect();
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                if depth > 0 {
                    place.pop();
                    depth -= 1;
                }
                continue;
            }
            place.push(&name);
            depth += 1;
            if !fs::symlink_metadata(&place)?.file_type().is_symlink() {
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other("too many links"));
            }
            let target = fs::read_link(&place)?;
            if target.is_absolute() {
                place.clone_from(&self.directory);
                depth = 0;
            } else {
                place.pop();
                depth -= 1;
            }
            for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
                rest.push_front(name);
            }
        }
        Ok(place)
    }
}

/// How long a file has to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Until the next boot: what generators write is made anew then.
    ThisBoot,
    /// For ever, also when the machine loses power in the next moment.
    OnDisk,
}

/// Writes a file in one step, so that a reader sees the old one or the new one and a crash leaves no half of it.
pub(crate) fn write_atomically(place: &Path, text: &[u8], keep: Keep) -> io::Result<()> {
    let name = place.file_name().unwrap_or_default();
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(".berth");
    let temporary = place.with_file_name(temporary);
    // One that an earlier run left behind would keep its mode.
    match fs::remove_file(&temporary) {
        Err(error) if !is_missing(&error) => return Err(error),
        _ => {}
    }
    let written = write_new(&temporary, place, text, keep).and_then(|()| fs::rename(&temporary, place));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    if keep == Keep::OnDisk
        && let Some(directory) = place.parent()
    {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

fn write_new(temporary: &Path, place: &Path, text: &[u8], keep: Keep) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(temporary)?;
    file.write_all(text)?;
    let mode = match fs::metadata(place) {
        Ok(before) => {
            let now = file.metadata()?;
            if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
                std::os::unix::fs::fchown(&file, Some(before.uid()), Some(before.gid()))?;
            }
            before.permissions().mode() & 0o7777
        }
        Err(_) => 0o644,
    };
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    match keep {
        Keep::ThisBoot => Ok(()),
        Keep::OnDisk => file.sync_all(),
    }
}

/// Whether the error says that there is nothing.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A path without `.`, `..` and double slashes.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::from("/");
    for name in names(path) {
        if name == ".." {
            clean.pop();
        } else {
            clean.push(name);
        }
    }
    clean
}

fn names(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn text(root: &Root, path: &str) -> String {
        match root.read(path).unwrap() {
            Found::Text(text) => String::from_utf8(text).unwrap(),
            Found::Device => "device".to_owned(),
        }
    }

    #[test]
    fn links_stay_inside_the_root() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path().to_owned());
        root.write("/usr/lib/os-release", b"ID=x\n").unwrap();
        fs::create_dir(directory.path().join("etc")).unwrap();
        symlink("/usr/lib/os-release", directory.path().join("etc/absolute")).unwrap();
        symlink("../../../../usr/lib/os-release", directory.path().join("etc/outside")).unwrap();
        symlink("usr/lib", directory.path().join("lib")).unwrap();
        symlink("loop", directory.path().join("loop")).unwrap();
        for path in [
            "/etc/absolute",
            "/etc/outside",
            "/lib/os-release",
            "/etc/../lib/./os-release",
        ] {
            assert_eq!(text(&root, path), "ID=x\n", "{path}");
        }
        assert_eq!(root.read("/loop").unwrap_err().to_string(), "too many links");
        assert_eq!(
            root.link("/etc/outside").unwrap().as_deref(),
            Some("/usr/lib/os-release")
        );
        assert_eq!(root.link("/usr/lib/os-release").unwrap(), None);
        // A link is written through.
        root.write("/etc/absolute", b"ID=y\n").unwrap();
        assert_eq!(text(&root, "/usr/lib/os-release"), "ID=y\n");
        assert!(root.link("/etc/absolute").unwrap().is_some());
    }

    #[test]
    fn a_written_file_keeps_its_mode() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path().to_owned());
        let mode = || {
            let metadata = fs::metadata(directory.path().join("a/b/c")).unwrap();
            metadata.permissions().mode() & 0o7777
        };
        root.write("/a/b/c", b"1").unwrap();
        assert_eq!(mode(), 0o644);
        fs::set_permissions(directory.path().join("a/b/c"), fs::Permissions::from_mode(0o640)).unwrap();
        root.write("/a/b/c", b"2").unwrap();
        assert_eq!((mode(), text(&root, "/a/b/c").as_str()), (0o640, "2"));
        assert_eq!(root.list("/a/b").unwrap().len(), 1, "no temporary file is left");
    }

    #[test]
    fn only_regular_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path().to_owned());
        fs::create_dir(directory.path().join("d")).unwrap();
        assert!(root.read("/d").is_err());
        let large = vec![b'x'; usize::try_from(LARGEST).unwrap() + 1];
        fs::write(directory.path().join("large"), large).unwrap();
        assert!(root.read("/large").is_err());
        assert_eq!(Root::default().read("/dev/null").unwrap(), Found::Device);
        assert_eq!(root.read_optional("/missing/file").unwrap(), None);
    }
}
