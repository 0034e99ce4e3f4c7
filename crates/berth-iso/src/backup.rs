//! What was in an embed area before it was overwritten, as it is kept in a file.
//!
//! ```text
//! berth-iso-backup 1
//! {"volume":"…","offset":102400,"length":262144,"sha256":"…"}
//! the bytes of the area
//! ```

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

const MAGIC: &[u8] = b"berth-iso-backup 1\n";

/// The bytes of an area and the image that they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    fingerprint: [u8; 32],
    offset: u64,
    contents: Vec<u8>,
}

/// Why some bytes are not a backup.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackupError {
    /// It begins with something else.
    #[error("it is not a backup of an embed area")]
    NotABackup,
    /// The line that describes it makes no sense.
    #[error("its second line cannot be read")]
    Header(#[source] serde_json::Error),
    /// The bytes are others than those that were written, or not all of them.
    #[error("it is damaged: its checksum is wrong")]
    Checksum,
}

#[derive(Serialize, Deserialize)]
struct Header {
    volume: String,
    offset: u64,
    length: u64,
    sha256: String,
}

impl Backup {
    pub(crate) fn new(fingerprint: [u8; 32], offset: u64, contents: Vec<u8>) -> Self {
        Self {
            fingerprint,
            offset,
            contents,
        }
    }

    /// SHA-256 of the descriptor of the image's volume.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Where the area begins in the image.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes of the whole area.
    pub fn contents(&self) -> &[u8] {
        &self.contents
    }

    /// The contents of the file that keeps it.
    pub fn encode(&self) -> Vec<u8> {
        let header = Header {
            volume: hexadecimal(&self.fingerprint),
            offset: self.offset,
            length: self.contents.len() as u64,
            sha256: hexadecimal(&Sha256::digest(&self.contents)),
        };
        // Strings and numbers always become JSON.
        let header = serde_json::to_vec(&header).unwrap_or_default();
        [MAGIC, &header, b"\n", &self.contents].concat()
    }

    /// Reads what [`encode`](Self::encode) wrote, and nothing that was changed since.
    pub fn decode(bytes: &[u8]) -> Result<Self, BackupError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(BackupError::NotABackup)?;
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or(BackupError::NotABackup)?;
        let (line, contents) = rest.split_at(end);
        let contents = contents.get(1..).unwrap_or_default();
        let header: Header = serde_json::from_slice(line).map_err(BackupError::Header)?;
        let fingerprint = from_hexadecimal(&header.volume).ok_or(BackupError::Checksum)?;
        if header.length != contents.len() as u64 || header.sha256 != hexadecimal(&Sha256::digest(contents)) {
            return Err(BackupError::Checksum);
        }
        Ok(Self::new(fingerprint, header.offset, contents.to_vec()))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hexadecimal(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 2 * bytes.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}
