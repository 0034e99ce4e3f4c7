//! cpio archives in the form that the kernel reads, called newc.
//!
//! An entry is a header of hexadecimal text, the path with a zero byte, and the contents; the last two are filled up so
//! that what follows begins at a multiple of four. An entry with a certain name is the end.

use super::ArchiveError;

pub(super) const KIND: u32 = 0o170_000;
pub(super) const REGULAR: u32 = 0o100_000;
pub(super) const SYMLINK: u32 = 0o120_000;
pub(super) const FOLDER: u32 = 0o040_000;

/// With and without checksums, which the kernel does not look at either.
const MAGICS: [&[u8]; 2] = [b"070701", b"070702"];
const FIELD: usize = 8;
const FIELDS: usize = 13;
const HEADER: usize = 6 + FIELDS * FIELD;
const TRAILER: &str = "TRAILER!!!";

/// One entry of an archive.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) contents: &'a [u8],
}

pub(super) fn is_newc(bytes: &[u8]) -> bool {
    MAGICS.iter().any(|magic| bytes.starts_with(magic))
}

/// Reads one entry, `None` for the trailer, and gives what follows.
pub(super) fn read(bytes: &[u8]) -> Result<(Option<Entry<'_>>, &[u8]), ArchiveError> {
    let damaged = ArchiveError::Damaged;
    if !is_newc(bytes) {
        return Err(damaged("an entry is missing before the trailer"));
    }
    let field = |index: usize| {
        let digits = bytes.get(6 + index * FIELD..)?.get(..FIELD)?;
        // A sign would be taken for part of a number.
        let text = str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
        u32::from_str_radix(text, 16).ok()
    };
    let length = |index: usize| field(index).and_then(|number| usize::try_from(number).ok());
    let header = damaged("the header of an entry is not a number");
    let (Some(mode), Some(size), Some(path_length)) = (field(1), length(6), length(11)) else {
        return Err(header);
    };
    let cut_off = || damaged("an entry is cut off");
    let path_end = HEADER.checked_add(path_length).ok_or_else(cut_off)?;
    let path = bytes.get(HEADER..path_end).ok_or_else(cut_off)?;
    // Some writers fill paths up with zeros to align what follows.
    let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
    let path = str::from_utf8(path).map_err(|_| damaged("a path is not UTF-8"))?;
    let start = path_end.checked_next_multiple_of(4).ok_or_else(cut_off)?;
    let end = start.checked_add(size).ok_or_else(cut_off)?;
    if path == TRAILER {
        // Nobody needs what fills it up.
        return Ok((None, bytes.get(end.min(bytes.len())..).unwrap_or_default()));
    }
    let contents = bytes.get(start..end).ok_or_else(cut_off)?;
    let next = end.checked_next_multiple_of(4).ok_or_else(cut_off)?;
    let entry = Entry {
        path: path.to_owned(),
        mode,
        contents,
    };
    Ok((Some(entry), bytes.get(next..).ok_or_else(cut_off)?))
}

/// Makes an archive. The same entries give the same bytes: all times are zero.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    entries: u32,
}

impl Writer {
    pub(super) fn add(&mut self, path: &str, mode: u32, contents: &[u8]) {
        self.entries += 1;
        let number = self.entries;
        self.entry(number, path, mode, contents);
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry(0, TRAILER, 0, &[]);
        self.bytes
    }

    /// Sizes are far below four gigabytes: nothing larger is ever decoded, and larger configs are refused for their room.
    fn entry(&mut self, inode: u32, path: &str, mode: u32, contents: &[u8]) {
        let size = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let links = if mode & KIND == FOLDER { 2 } else { 1 };
        let mut fields = [0; FIELDS];
        fields[0] = inode;
        fields[1] = mode;
        fields[4] = links;
        fields[6] = size(contents.len());
        fields[11] = size(path.len() + 1);
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.fill_up();
        self.bytes.extend_from_slice(contents);
        self.fill_up();
    }

    fn fill_up(&mut self) {
        let length = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(length, 0);
    }
}
