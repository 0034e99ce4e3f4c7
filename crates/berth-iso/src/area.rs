//! Where the embed area of an image is.

use std::io::{Read, Seek};

use serde::Deserialize;

use crate::{
    ImageError,
    filesystem::{DESCRIPTORS, Volume, read_at},
};

/// Says which file holds the area, since 2021.
const INFO_PATH: &str = "COREOS/IGNINFO.JSO";

/// The file that is the area where nothing says otherwise.
const DEFAULT_PATH: &str = "IMAGES/IGNITION.IMG";

/// The info file is a line of JSON.
const INFO_LIMIT: u64 = 64 << 10;

/// The header of the first live images: the last bytes of the system area.
const HEADER_LENGTH: u64 = 24;
const HEADER_MAGIC: &[u8; 8] = b"coreiso+";

/// Areas have 256 KiB. What claims to have more than this is not read into memory.
const AREA_LIMIT: u64 = 64 << 20;

/// The room that an image reserves for its config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// Its first byte in the image.
    pub offset: u64,
    /// How many bytes it has.
    pub length: u64,
    /// What in the image points to it.
    pub found_by: FoundBy,
}

/// The ways in which images say where their area is, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FoundBy {
    /// `/coreos/igninfo.json` names this file.
    InfoFile(String),
    /// There is a file `/images/ignition.img`.
    DefaultFile,
    /// The last 24 bytes of the system area.
    Header,
}

#[derive(Deserialize)]
struct Info {
    file: String,
    offset: Option<u64>,
    length: Option<u64>,
}

impl Area {
    /// Looks where installers of today look first, and where the first ones looked last.
    pub(crate) fn find(image: &mut (impl Read + Seek), volume: &Volume) -> Result<Self, ImageError> {
        let area = if let Some(info) = volume.find(image, INFO_PATH)? {
            if info.length > INFO_LIMIT {
                return Err(ImageError::Damaged(
                    "/coreos/igninfo.json, which is too long".to_owned(),
                ));
            }
            let text = read_at(image, info.offset, info.length)?;
            let info: Info = serde_json::from_slice(&text).map_err(ImageError::Info)?;
            Self::in_file(image, volume, info)?
        } else if let Some(file) = volume.find(image, DEFAULT_PATH)? {
            Self {
                offset: file.offset,
                length: file.length,
                found_by: FoundBy::DefaultFile,
            }
        } else {
            Self::in_header(image)?.ok_or(ImageError::NoArea)?
        };
        area.check(volume)?;
        Ok(area)
    }

    fn in_file(image: &mut (impl Read + Seek), volume: &Volume, info: Info) -> Result<Self, ImageError> {
        let Some(file) = volume.find(image, &info.file.to_uppercase())? else {
            return Err(ImageError::NoFile(info.file));
        };
        let start = info.offset.unwrap_or(0);
        let length = info.length.unwrap_or_else(|| file.length.saturating_sub(start));
        // A write beyond the end of the file would hit another one.
        if start.checked_add(length).is_none_or(|end| end > file.length) {
            return Err(ImageError::OutOfPlace {
                offset: file.offset.saturating_add(start),
                length,
                problem: "it reaches beyond the file that holds it",
            });
        }
        Ok(Self {
            offset: file.offset + start,
            length,
            found_by: FoundBy::InfoFile(info.file),
        })
    }

    fn in_header(image: &mut (impl Read + Seek)) -> Result<Option<Self>, ImageError> {
        let header = read_at(image, DESCRIPTORS - HEADER_LENGTH, HEADER_LENGTH)?;
        let numbers = header
            .strip_prefix(HEADER_MAGIC)
            .and_then(|rest| Some((number(rest, 0)?, number(rest, 8)?)));
        Ok(numbers.map(|(offset, length)| Self {
            offset,
            length,
            found_by: FoundBy::Header,
        }))
    }

    fn check(&self, volume: &Volume) -> Result<(), ImageError> {
        let end = self.offset.checked_add(self.length);
        let problem = if self.length == 0 {
            "it has no room at all"
        } else if self.length > AREA_LIMIT {
            "no image reserves so much for a config"
        } else if end.is_none_or(|end| end > volume.image_length) {
            "it reaches beyond the end of the image"
        } else if self.offset < volume.descriptors_end {
            "it overlaps what makes the image readable"
        } else {
            return Ok(());
        };
        Err(ImageError::OutOfPlace {
            offset: self.offset,
            length: self.length,
            problem,
        })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}
