//! The file that tokens are kept in: reading, and replacing it whole.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    net::IpAddr,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{TokenInfo, TokenScope, TokenUse};

/// The only form there is so far.
const FORMAT: u32 = 1;

/// Why tokens could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the tokens in {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is not there.
    #[error("there is no token file {}", .path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// The file holds something else.
    #[error("{} is not a token file", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// The file is of a newer Berth.
    #[error("{} has format {found}; this version of Berth knows format {FORMAT}", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format it names.
        found: u32,
    },
    /// The file cannot be locked against other processes.
    #[error("cannot lock {}", .path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the tokens to {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system gives no randomness.
    #[error("the system gives no random numbers")]
    Random(#[source] getrandom::Error),
    /// There is no token of that name.
    #[error("there is no token {id}")]
    NoSuchToken {
        /// The name.
        id: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Wire {
    format: u32,
    tokens: Vec<Record>,
}

/// A token as it is stored. Times are seconds since 1970.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) hash: String,
    scope: TokenScope,
    created: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<i64>,
    #[serde(default, skip_serializing_if = "is_false")]
    single_use: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    comment: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<Used>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked: Option<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Used {
    at: i64,
    from: IpAddr,
    target: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Record {
    pub(super) fn new(info: TokenInfo, hash: String) -> Self {
        Self {
            id: info.id,
            hash,
            scope: info.scope,
            created: info.created.as_second(),
            expires: info.expires.map(Timestamp::as_second),
            single_use: info.single_use,
            comment: info.comment,
            used: info.used.map(|used| Used {
                at: used.at.as_second(),
                from: used.from,
                target: used.target,
            }),
            revoked: info.revoked.map(Timestamp::as_second),
        }
    }

    pub(super) fn info(&self) -> TokenInfo {
        TokenInfo {
            id: self.id.clone(),
            scope: self.scope.clone(),
            created: moment(self.created),
            expires: self.expires.map(moment),
            single_use: self.single_use,
            comment: self.comment.clone(),
            used: self.used.as_ref().map(|used| TokenUse {
                at: moment(used.at),
                from: used.from,
                target: used.target.clone(),
            }),
            revoked: self.revoked.map(moment),
        }
    }
}

/// The end of time, where a number means a later one.
fn moment(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
}

/// What changes when the file is replaced. Every change is a replacement, so the content need not be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of the file; nothing if there is none.
    pub(super) fn of(path: &Path) -> Result<Option<Self>, TokenError> {
        match fs::metadata(path) {
            Ok(meta) => Ok(Some(Self {
                inode: meta.ino(),
                length: meta.len(),
                changed: (meta.ctime(), meta.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(TokenError::Read {
                path: path.to_owned(),
                source,
            }),
        }
    }
}

/// Reads all tokens. No file means no tokens.
pub(super) fn read(path: &Path) -> Result<Vec<Record>, TokenError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            return Err(TokenError::Read {
                path: path.to_owned(),
                source,
            });
        }
    };
    let wire: Wire = serde_json::from_slice(&bytes).map_err(|source| TokenError::Content {
        path: path.to_owned(),
        source,
    })?;
    if wire.format != FORMAT {
        return Err(TokenError::Format {
            path: path.to_owned(),
            found: wire.format,
        });
    }
    Ok(wire.tokens)
}

/// Replaces the file, so that a reader sees the old tokens or the new ones and a crash loses neither. On return the
/// new ones are on disk.
pub(super) fn write(path: &Path, tokens: &[Record]) -> Result<(), TokenError> {
    let refuse = |source| TokenError::Write {
        path: path.to_owned(),
        source,
    };
    let wire = Wire {
        format: FORMAT,
        tokens: tokens.to_vec(),
    };
    let text = serde_json::to_vec_pretty(&wire).map_err(|error| refuse(error.into()))?;
    let new = with_suffix(path, ".new");
    let replace = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        File::open(folder_of(path))?.sync_all()
    };
    replace().map_err(refuse)
}

/// Holds off other processes (and other threads) that want to change the tokens, until it is dropped.
pub(super) fn lock(path: &Path) -> Result<File, TokenError> {
    let path = with_suffix(path, ".lock");
    let take = || {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)?;
        file.lock()?;
        Ok(file)
    };
    take().map_err(|source| TokenError::Lock {
        path: path.clone(),
        source,
    })
}

/// A neighbour of the file. The file itself cannot carry the lock, because it is replaced.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}
