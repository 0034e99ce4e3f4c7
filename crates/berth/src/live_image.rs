//! Live images as files: opened, changed in place, or copied with a change.
//!
//! A new image appears whole or not at all. A change in place is one write of a few hundred kilobytes, which a crash can
//! cut in two; so the old contents are on disk, in a backup, before it begins.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use berth_iso::{Archive, ArchiveError, Backup, Image};

use crate::{
    args::IsoTarget,
    failure::{Chain, Failure},
    output::Progress,
};

/// How much is copied between two looks at the progress bar.
const PIECE: u64 = 8 << 20;

/// An image that was opened, and what its embed area holds.
#[derive(Debug)]
pub(crate) struct LiveImage {
    path: PathBuf,
    image: Image<File>,
    contents: Vec<u8>,
}

/// What a change left behind.
#[derive(Debug)]
pub(crate) struct Written {
    /// The image that has the change.
    pub(crate) path: PathBuf,
    /// Where the old contents are.
    pub(crate) backup: Option<PathBuf>,
}

impl LiveImage {
    /// Opens an image to look at it, or to copy it.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).map_err(|source| Failure::ReadFile {
            path: path.to_owned(),
            source,
        })?;
        Self::with_file(path, file)
    }

    /// Opens an image that is to be changed in place. Nobody else changes it until it is dropped.
    pub(crate) fn open_to_write(path: &Path) -> Result<Self, Failure> {
        let cannot_write = |source| Failure::WriteFile {
            path: path.to_owned(),
            source,
        };
        let metadata = fs::metadata(path).map_err(|source| Failure::ReadFile {
            path: path.to_owned(),
            source,
        })?;
        // The superuser could write it, but whoever marked it did not want that.
        if metadata.is_file() && metadata.permissions().readonly() {
            return Err(Failure::Argument {
                message: format!("`{}` is read-only", path.display()),
                hint: Some("write a new image with `-o OUT`, or make this one writable".to_owned()),
            });
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(cannot_write)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::Argument {
                    message: format!("`{}` is being changed by another program", path.display()),
                    hint: None,
                });
            }
            Err(TryLockError::Error(error)) => return Err(cannot_write(error)),
        }
        Self::with_file(path, file)
    }

    /// Opens an image for what the arguments ask.
    pub(crate) fn open_for(path: &Path, target: &IsoTarget) -> Result<Self, Failure> {
        match &target.out {
            Some(out) => {
                check_new(path, out)?;
                Self::open(path)
            }
            None => Self::open_to_write(path),
        }
    }

    fn with_file(path: &Path, file: File) -> Result<Self, Failure> {
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Failure::Argument {
                message: format!("`{}` is a folder, not an image", path.display()),
                hint: None,
            });
        }
        let unusable = |source| Failure::Image {
            path: path.to_owned(),
            source,
        };
        let mut image = Image::open(file).map_err(unusable)?;
        let contents = image.read_area().map_err(unusable)?;
        Ok(Self {
            path: path.to_owned(),
            image,
            contents,
        })
    }

    pub(crate) fn area(&self) -> &berth_iso::Area {
        self.image.area()
    }

    /// How many bytes of the area are in use.
    pub(crate) fn used(&self) -> usize {
        used(&self.contents)
    }

    /// The archive in the area.
    pub(crate) fn archive(&self) -> Result<Archive, ArchiveError> {
        Archive::decode(&self.contents)
    }

    /// The archive, or what to say and do if it cannot be read. `instead` is the command that goes on all the same.
    pub(crate) fn readable_archive(&self, instead: Option<&str>) -> Result<Archive, Failure> {
        self.archive().map_err(|source| {
            let shown = self.path.display();
            let hint = match (self.own_backup(), instead) {
                (Some(_), _) => Some(format!(
                    "perhaps a write was cut off; `berth iso restore {shown}` brings back what was there before"
                )),
                (None, Some(instead)) => Some(format!("`{instead}` goes on without it")),
                (None, None) => None,
            };
            Failure::Area {
                path: self.path.clone(),
                source,
                hint,
            }
        })
    }

    /// Writes new contents of the area, where the arguments say.
    pub(crate) fn write(self, contents: &[u8], target: &IsoTarget) -> Result<Written, Failure> {
        match &target.out {
            Some(out) => self.write_new(contents, out),
            None => self.write_in_place(contents, !target.no_backup),
        }
    }

    fn write_in_place(mut self, contents: &[u8], keep: bool) -> Result<Written, Failure> {
        let backup = if keep { Some(self.keep_backup()?) } else { None };
        let written = self
            .image
            .write_area(contents)
            .and_then(|()| self.image.get_mut().sync_all());
        if let Err(source) = written {
            // The disk fails; what can be put back is put back, and the backup has the rest.
            let _ = self.image.write_area(&self.contents);
            let path = self.path;
            return Err(Failure::WriteFile { path, source });
        }
        let path = self.path;
        Ok(Written { path, backup })
    }

    /// Puts the old contents on disk beside the image.
    fn keep_backup(&mut self) -> Result<PathBuf, Failure> {
        let path = backup_path(&self.path);
        let is_file = self.image.get_mut().metadata().is_ok_and(|metadata| metadata.is_file());
        if !is_file {
            return Err(Failure::Argument {
                message: format!(
                    "`{}` is not a file, so there is no place for a backup beside it",
                    self.path.display()
                ),
                hint: Some("`--no-backup` changes it without one".to_owned()),
            });
        }
        // What cannot be read is not a state to come back to, and the backup may hold the last one that could be read.
        if self.archive().is_err() && self.own_backup().is_some() {
            return Ok(path);
        }
        match fs::read(&path) {
            Ok(bytes) if Backup::decode(&bytes).is_err() => {
                return Err(Failure::Argument {
                    message: format!("`{}` is in the way: it is not a backup", path.display()),
                    hint: Some("move it away, or take `--no-backup`".to_owned()),
                });
            }
            _ => {}
        }
        let backup = self.image.backup().map_err(|source| Failure::Image {
            path: self.path.clone(),
            source,
        })?;
        let written = new_file(&path).and_then(|mut file| {
            file.write_all(&backup.encode())?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            sync_folder(&path)
        });
        written.map_err(|source| Failure::WriteFile {
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }

    /// The backup beside the image, if it was made of this image.
    fn own_backup(&self) -> Option<Backup> {
        let bytes = fs::read(backup_path(&self.path)).ok()?;
        Backup::decode(&bytes).ok().filter(|backup| self.image.owns(backup))
    }

    /// Puts back what the backup beside the image holds, and gives its path.
    pub(crate) fn restore(mut self) -> Result<PathBuf, Failure> {
        let path = backup_path(&self.path);
        let bytes = fs::read(&path).map_err(|source| Failure::ReadFile {
            path: path.clone(),
            source,
        })?;
        let unusable = |problem: String| Failure::Unusable(format!("cannot use `{}`: {problem}", path.display()));
        let backup = Backup::decode(&bytes).map_err(|error| unusable(Chain(&error).to_string()))?;
        self.image
            .restore(&backup)
            .map_err(|error| unusable(Chain(&error).to_string()))?;
        self.image.get_mut().sync_all().map_err(|source| Failure::WriteFile {
            path: self.path.clone(),
            source,
        })?;
        Ok(path)
    }

    /// Copies the image with other contents of its area. Under its name there is a whole image or none.
    fn write_new(mut self, contents: &[u8], out: &Path) -> Result<Written, Failure> {
        let area = self.image.area().clone();
        let written = new_file(out).and_then(|mut file| {
            copy(self.image.get_mut(), file.as_file_mut())?;
            area.write(file.as_file_mut(), contents)?;
            // Whoever can read the image can read the new one, and its owner can change it again.
            let mode = self.image.get_mut().metadata()?.permissions().mode() & 0o777;
            file.as_file().set_permissions(Permissions::from_mode(mode | 0o200))?;
            file.as_file().sync_all()?;
            file.persist_noclobber(out)?;
            sync_folder(out)
        });
        written.map_err(|source| Failure::WriteFile {
            path: out.to_owned(),
            source,
        })?;
        let path = out.to_owned();
        Ok(Written { path, backup: None })
    }
}

/// How many bytes are in front of the zeros at the end.
pub(crate) fn used(contents: &[u8]) -> usize {
    contents.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// `live.iso.berth-backup`.
fn backup_path(image: &Path) -> PathBuf {
    let mut name = OsString::from(image);
    name.push(".berth-backup");
    name.into()
}

/// The name of a new image must be free: copies take long, so this is found out first.
fn check_new(image: &Path, out: &Path) -> Result<(), Failure> {
    let (message, hint) = if out.as_os_str() == "-" {
        ("an image is not written to standard output".to_owned(), "name a file")
    } else if fs::symlink_metadata(out).is_err() {
        return Ok(());
    } else if fs::canonicalize(image).ok() == fs::canonicalize(out).ok() {
        (
            format!("`{}` is the image itself", out.display()),
            "leave `-o` out to change it in place",
        )
    } else {
        (
            format!("`{}` exists already", out.display()),
            "take another name, or remove it first",
        )
    };
    let hint = Some(hint.to_owned());
    Err(Failure::Argument { message, hint })
}

/// A file in the folder of another, which vanishes unless it gets its name.
fn new_file(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".");
    tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".tmp")
        .tempfile_in(folder(path))
}

/// A rename is on disk when its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Copies a whole file, piece by piece, and shows how far it is. The system may share the bytes between both.
fn copy(from: &mut File, to: &mut File) -> io::Result<()> {
    let length = from.seek(SeekFrom::End(0))?;
    from.rewind()?;
    let progress = Progress::of_bytes(length, "copying");
    let mut done = 0;
    while done < length {
        let copied = io::copy(&mut (&*from).take(PIECE.min(length - done)), to)?;
        if copied == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the image became shorter while it was copied",
            ));
        }
        done += copied;
        progress.at(done);
    }
    Ok(())
}
