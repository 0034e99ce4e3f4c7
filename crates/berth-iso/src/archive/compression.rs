//! gzip and xz, both of which the kernel of a live image unpacks.

use std::io::{Read, Write as _};

use flate2::{Compression, GzBuilder, bufread::GzDecoder};
use lzma_rust2::{CheckType, XzOptions, XzReader, XzWriter};

use super::ArchiveError;

/// The dictionary of the strongest preset has 64 MiB; a header can ask for 4 GiB.
const XZ_MEMORY_KIB: u32 = 80 << 10;

/// Other formats that begin with these bytes are named, because they are not damage.
const UNKNOWN: [(&[u8], &str); 5] = [
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\x5d\0\0", "lzma"),
    (b"\x02\x21\x4c\x18", "lz4"),
    (b"\x89LZO", "lzo"),
];

/// What some bytes begin with, unpacked, and what follows it.
#[derive(Debug)]
pub(super) struct Unpacked<'a> {
    pub(super) contents: Vec<u8>,
    pub(super) rest: &'a [u8],
}

/// Unpacks what the bytes begin with. `None` if they are not compressed.
pub(super) fn unpack(mut bytes: &[u8], limit: usize) -> Result<Option<Unpacked<'_>>, ArchiveError> {
    let contents = if bytes.starts_with(b"\x1f\x8b") {
        read_all("gzip", GzDecoder::new(&mut bytes), limit)?
    } else if bytes.starts_with(b"\xfd7zXZ\0") {
        read_all("xz", XzReader::new_mem_limit(&mut bytes, false, XZ_MEMORY_KIB), limit)?
    } else if let Some((_, name)) = UNKNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(ArchiveError::Compression(name));
    } else {
        return Ok(None);
    };
    Ok(Some(Unpacked { contents, rest: bytes }))
}

fn read_all(format: &'static str, reader: impl Read, limit: usize) -> Result<Vec<u8>, ArchiveError> {
    let mut unpacked = Vec::new();
    // One more than allowed, to see that there is more.
    let read = reader.take(limit as u64 + 1).read_to_end(&mut unpacked);
    if unpacked.len() > limit {
        return Err(ArchiveError::TooLarge);
    }
    read.map_err(|error| ArchiveError::Compressed {
        format,
        problem: error.to_string(),
    })?;
    Ok(unpacked)
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// The kernel checks CRC32 and no other sum.
pub(super) fn xz(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut options = XzOptions::with_preset(6);
    options.set_check_sum_type(CheckType::Crc32);
    let mut encoder = XzWriter::new(Vec::new(), options).ok()?;
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}
