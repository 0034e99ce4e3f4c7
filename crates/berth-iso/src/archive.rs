//! What is in an embed area: the files of an initial RAM disk.

mod compression;
mod newc;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use self::newc::Entry;

/// Where Ignition looks for its config in the live system.
pub const CONFIG_PATH: &str = "config.ign";

/// How much an area may hold unpacked. Configs have kilobytes; a bomb has more.
const UNPACKED_LIMIT: usize = 64 << 20;

/// Only root reads a config: it may hold secrets.
const CONFIG_MODE: u32 = newc::REGULAR | 0o600;

/// The files in an embed area by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    members: BTreeMap<String, Member>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    mode: u32,
    contents: Vec<u8>,
}

/// Why the bytes of an area are not an archive.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Neither zeros, nor cpio, nor something compressed.
    #[error("at byte {0} of the area is something that is not a cpio archive")]
    Unknown(usize),
    /// A compression that is not known here.
    #[error("the archive in the area is compressed with {0}; only gzip and xz can be read")]
    Compression(&'static str),
    /// The compressed bytes are damaged.
    #[error("the {format} data in the area is damaged: {problem}")]
    Compressed {
        /// How it was compressed.
        format: &'static str,
        /// What the decoder says.
        problem: String,
    },
    /// It would take too much memory.
    #[error("the archive in the area unpacks to more than {} MiB", UNPACKED_LIMIT >> 20)]
    TooLarge,
    /// The archive itself is damaged.
    #[error("the cpio archive in the area is damaged: {0}")]
    Damaged(&'static str),
    /// Something that would be lost if the archive were written again.
    #[error("`{0}` in the area is neither a file, nor a folder, nor a symbolic link")]
    Kind(String),
}

/// An archive that is larger than the area.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("compressed it has {needed} bytes, and the embed area has room for {room}")]
pub struct NoRoom {
    /// The size of the archive, compressed as well as possible.
    pub needed: u64,
    /// The size of the area.
    pub room: u64,
}

impl Archive {
    /// Reads the contents of an area: nothing, or archives one after the other with zeros between them. Of two files with
    /// one path the last wins, as in the kernel.
    pub fn decode(area: &[u8]) -> Result<Self, ArchiveError> {
        let mut archive = Self::default();
        let mut room = UNPACKED_LIMIT;
        let mut rest = skip_zeros(area);
        while !rest.is_empty() {
            let at = area.len() - rest.len();
            rest = match compression::unpack(rest, room)? {
                Some(unpacked) => {
                    let behind = archive.read_newc(&unpacked.contents, at)?;
                    if behind.iter().any(|byte| *byte != 0) {
                        return Err(ArchiveError::Damaged("something follows its end"));
                    }
                    room = room.saturating_sub(unpacked.contents.len());
                    unpacked.rest
                }
                None => archive.read_newc(rest, at)?,
            };
            rest = skip_zeros(rest);
        }
        Ok(archive)
    }

    /// Reads entries up to the trailer and gives what is behind it.
    fn read_newc<'a>(&mut self, bytes: &'a [u8], at: usize) -> Result<&'a [u8], ArchiveError> {
        if !newc::is_newc(bytes) {
            return Err(ArchiveError::Unknown(at));
        }
        let mut rest = bytes;
        loop {
            let (entry, after) = newc::read(rest)?;
            rest = after;
            let Some(Entry { path, mode, contents }) = entry else {
                return Ok(rest);
            };
            match mode & newc::KIND {
                newc::REGULAR | newc::SYMLINK => {
                    let contents = contents.to_vec();
                    self.members.insert(path, Member { mode, contents });
                }
                // They are made again for what is in them.
                newc::FOLDER => {}
                _ => return Err(ArchiveError::Kind(path)),
            }
        }
    }

    /// The bytes of a whole area that holds the archive: compressed with gzip, or with xz if that alone fits, and zeros
    /// up to the end. An empty archive is all zeros, as in an image that was never touched.
    pub fn encode(&self, room: u64) -> Result<Vec<u8>, NoRoom> {
        let length = usize::try_from(room).unwrap_or(usize::MAX);
        let mut area = if self.members.is_empty() {
            Vec::new()
        } else {
            self.compress(length)
        };
        if area.len() > length {
            let needed = area.len() as u64;
            return Err(NoRoom { needed, room });
        }
        area.resize(length, 0);
        Ok(area)
    }

    fn compress(&self, room: usize) -> Vec<u8> {
        let plain = self.to_newc();
        let gzip = compression::gzip(&plain);
        if gzip.len() <= room {
            return gzip;
        }
        match compression::xz(&plain) {
            Some(xz) if xz.len() < gzip.len() => xz,
            _ => gzip,
        }
    }

    fn to_newc(&self) -> Vec<u8> {
        let mut writer = newc::Writer::default();
        // The kernel makes no folders by itself. Paths are sorted, so the files of a folder follow each other.
        let mut made = BTreeSet::new();
        for (path, member) in &self.members {
            for (end, _) in path.match_indices('/') {
                let folder = path.get(..end).unwrap_or_default();
                if !folder.is_empty() && made.insert(folder) {
                    writer.add(folder, newc::FOLDER | 0o755, &[]);
                }
            }
            writer.add(path, member.mode, &member.contents);
        }
        writer.finish()
    }

    /// The embedded config as it was given.
    pub fn config(&self) -> Option<&[u8]> {
        self.members.get(CONFIG_PATH).map(|member| member.contents.as_slice())
    }

    /// Puts a config in, in the place of the one that was there.
    pub fn set_config(&mut self, config: impl Into<Vec<u8>>) {
        let member = Member {
            mode: CONFIG_MODE,
            contents: config.into(),
        };
        self.members.insert(CONFIG_PATH.to_owned(), member);
    }

    /// Takes the config out, and says whether there was one. What else is there stays.
    pub fn remove_config(&mut self) -> bool {
        self.members.remove(CONFIG_PATH).is_some()
    }

    /// The paths of all files.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

fn skip_zeros(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    bytes.get(start..).unwrap_or_default()
}
