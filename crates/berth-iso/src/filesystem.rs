//! As much of ISO 9660 as it takes to find a file.
//!
//! Names are those of the primary volume: capitals, and no Rock Ridge or Joliet. That is where image builders and
//! installers agree on the names of what is looked for here.

use std::io::{Read, Seek, SeekFrom};

use sha2::{Digest as _, Sha256};

use crate::ImageError;

/// The unit of all addresses.
pub(crate) const SECTOR: u64 = 2048;

/// Where the descriptors of the volume begin; what lies before is the system area, free for boot loaders.
pub(crate) const DESCRIPTORS: u64 = 16 * SECTOR;

/// A volume has three or four descriptors. Without a limit, a file full of them would be read to its end.
const DESCRIPTORS_LIMIT: u64 = 64;

/// A folder of ten thousand files is smaller.
const FOLDER_LIMIT: u64 = 4 << 20;

/// The primary volume of an image.
#[derive(Clone, Debug)]
pub(crate) struct Volume {
    root: Extent,
    /// The first byte behind the descriptors.
    pub(crate) descriptors_end: u64,
    /// The size of the image in bytes, which is what the volume says or more.
    pub(crate) image_length: u64,
    /// SHA-256 of the primary descriptor: name, size and time of making tell images apart.
    pub(crate) fingerprint: [u8; 32],
}

/// Where the bytes of a file or folder are. They lie inside of the image, or nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    is_folder: bool,
}

impl Volume {
    /// Reads the descriptors.
    pub(crate) fn read(image: &mut (impl Read + Seek)) -> Result<Self, ImageError> {
        let image_length = image.seek(SeekFrom::End(0))?;
        for number in 0..DESCRIPTORS_LIMIT {
            let offset = DESCRIPTORS + number * SECTOR;
            if offset + SECTOR > image_length {
                // What has some descriptors was an image once.
                return Err(match number {
                    0 => ImageError::NotIso,
                    _ => ImageError::Truncated {
                        length: image_length,
                        needed: offset + SECTOR,
                    },
                });
            }
            let sector = read_at(image, offset, SECTOR)?;
            let is_descriptor = sector.get(1..7) == Some(b"CD001\x01");
            match sector.first() {
                Some(1) if is_descriptor => return Self::from_primary(&sector, offset, image_length, image),
                Some(0 | 2..=254) if is_descriptor => {}
                _ => return Err(ImageError::NotIso),
            }
        }
        Err(ImageError::NotIso)
    }

    fn from_primary(
        sector: &[u8],
        offset: u64,
        image_length: u64,
        image: &mut (impl Read + Seek),
    ) -> Result<Self, ImageError> {
        let damaged = || ImageError::Damaged("its primary volume descriptor".to_owned());
        let sectors = number(sector, 80).ok_or_else(damaged)?;
        let needed = u64::from(sectors) * SECTOR;
        if needed > image_length {
            return Err(ImageError::Truncated {
                length: image_length,
                needed,
            });
        }
        let record = sector
            .get(156..190)
            .and_then(Record::read)
            .filter(|record| record.is_folder)
            .ok_or_else(damaged)?;
        let root = record.extent(image_length).ok_or_else(damaged)?;
        Ok(Self {
            root,
            descriptors_end: descriptors_end(image, offset, image_length)?,
            image_length,
            fingerprint: Sha256::digest(sector).into(),
        })
    }

    /// The file at a path. `None` if there is none; folders are not files.
    pub(crate) fn find(&self, image: &mut (impl Read + Seek), path: &str) -> Result<Option<Extent>, ImageError> {
        let mut found = self.root;
        for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
            if !found.is_folder {
                return Ok(None);
            }
            match self.find_in(image, found, name)? {
                Some(next) => found = next,
                None => return Ok(None),
            }
        }
        Ok((!found.is_folder).then_some(found))
    }

    fn find_in(
        &self,
        image: &mut (impl Read + Seek),
        folder: Extent,
        name: &str,
    ) -> Result<Option<Extent>, ImageError> {
        let damaged = || ImageError::Damaged(format!("the folder in which `{name}` is looked for"));
        if folder.length > FOLDER_LIMIT {
            return Err(damaged());
        }
        let bytes = read_at(image, folder.offset, folder.length)?;
        // No record crosses the end of a sector; a zero says that the rest of the sector is empty.
        for mut rest in bytes.chunks(usize::try_from(SECTOR).unwrap_or(usize::MAX)) {
            while let Some(length) = rest.first().copied().map(usize::from).filter(|length| *length > 0) {
                let (record, after) = rest.split_at_checked(length).ok_or_else(damaged)?;
                let record = Record::read(record).ok_or_else(damaged)?;
                if record.name == name.as_bytes() {
                    return record.extent(self.image_length).map(Some).ok_or_else(damaged);
                }
                rest = after;
            }
        }
        Ok(None)
    }
}

/// The terminator is the last descriptor. A volume without one is read by others all the same.
fn descriptors_end(image: &mut (impl Read + Seek), primary: u64, image_length: u64) -> Result<u64, ImageError> {
    let mut end = primary + SECTOR;
    while end + SECTOR <= image_length && end < DESCRIPTORS + DESCRIPTORS_LIMIT * SECTOR {
        let head = read_at(image, end, 7)?;
        if head.get(1..6) != Some(b"CD001") {
            break;
        }
        end += SECTOR;
        if head.first() == Some(&255) {
            break;
        }
    }
    Ok(end)
}

/// One line of a folder.
struct Record<'a> {
    sector: u32,
    length: u32,
    is_folder: bool,
    name: &'a [u8],
}

impl<'a> Record<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let name_length = usize::from(*bytes.get(32)?);
        let name = bytes.get(33..33 + name_length)?;
        let name = name.strip_suffix(b";1").unwrap_or(name);
        Some(Self {
            sector: number(bytes, 2)?,
            length: number(bytes, 10)?,
            is_folder: bytes.get(25)? & 2 != 0,
            name: name.strip_suffix(b".").unwrap_or(name),
        })
    }

    fn extent(&self, image_length: u64) -> Option<Extent> {
        let offset = u64::from(self.sector) * SECTOR;
        let length = u64::from(self.length);
        (offset + length <= image_length).then_some(Extent {
            offset,
            length,
            is_folder: self.is_folder,
        })
    }
}

/// Numbers are stored in both byte orders; the little end comes first.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

/// Reads so many bytes. Callers know that the image has them, and that they are not too many.
pub(crate) fn read_at(image: &mut (impl Read + Seek), offset: u64, length: u64) -> Result<Vec<u8>, ImageError> {
    image.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    image.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Err(ImageError::Truncated {
            length: offset + bytes.len() as u64,
            needed: offset + length,
        });
    }
    Ok(bytes)
}
