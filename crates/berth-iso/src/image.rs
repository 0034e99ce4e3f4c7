//! An image as a whole.

use std::io::{self, Read, Seek, SeekFrom, Write};

use thiserror::Error;

use crate::{
    Area, Backup,
    filesystem::{Volume, read_at},
};

/// A live image whose embed area was found.
#[derive(Debug)]
pub struct Image<F> {
    file: F,
    area: Area,
    fingerprint: [u8; 32],
}

/// Why an image has no area that can be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Something else than an image of a disc.
    #[error("it is not an ISO 9660 image")]
    NotIso,
    /// Part of the image is missing, as after a download that broke off.
    #[error("the image is cut off: it has {length} bytes and needs {needed}")]
    Truncated {
        /// What there is.
        length: u64,
        /// What the image says it has.
        needed: u64,
    },
    /// A structure on the way to the area makes no sense.
    #[error("the image is damaged: {0} cannot be read")]
    Damaged(String),
    /// `/coreos/igninfo.json` has other contents than it should.
    #[error("the image is damaged: /coreos/igninfo.json cannot be read")]
    Info(#[source] serde_json::Error),
    /// `/coreos/igninfo.json` names a file that is not there.
    #[error("the image is damaged: /coreos/igninfo.json names `{0}`, and there is no such file")]
    NoFile(String),
    /// An image of a disc, but not one of a live CoreOS.
    #[error(
        "the image has no embed area: there is neither /coreos/igninfo.json nor /images/ignition.img in it, \
         nor a header in its system area"
    )]
    NoArea,
    /// The area is where it cannot be.
    #[error("the image says that its embed area begins at byte {offset} and has {length} bytes, but {problem}")]
    OutOfPlace {
        /// Where it would begin.
        offset: u64,
        /// How much room it would have.
        length: u64,
        /// What is wrong with that.
        problem: &'static str,
    },
    /// The system failed.
    #[error("the image cannot be read")]
    Read(#[from] io::Error),
}

/// Why a backup was not put back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// It was made of another image, or of an older one with the same name.
    #[error("the backup belongs to another image")]
    OtherImage,
    /// The system failed.
    #[error("the image cannot be written")]
    Write(#[from] io::Error),
}

impl<F: Read + Seek> Image<F> {
    /// Finds the area.
    pub fn open(mut file: F) -> Result<Self, ImageError> {
        let volume = Volume::read(&mut file)?;
        let area = Area::find(&mut file, &volume)?;
        Ok(Self {
            file,
            area,
            fingerprint: volume.fingerprint,
        })
    }

    /// Where the area is.
    pub fn area(&self) -> &Area {
        &self.area
    }

    /// The bytes of the area, zeros behind the archive included.
    pub fn read_area(&mut self) -> Result<Vec<u8>, ImageError> {
        read_at(&mut self.file, self.area.offset, self.area.length)
    }

    /// What is in the area now, to be kept before it is overwritten.
    pub fn backup(&mut self) -> Result<Backup, ImageError> {
        let contents = self.read_area()?;
        Ok(Backup::new(self.fingerprint, self.area.offset, contents))
    }

    /// Whether a backup was made of this image.
    pub fn owns(&self, backup: &Backup) -> bool {
        backup.fingerprint() == self.fingerprint
            && backup.offset() == self.area.offset
            && backup.contents().len() as u64 == self.area.length
    }

    /// Gives the underlying file back.
    pub fn into_inner(self) -> F {
        self.file
    }

    /// The underlying file, to copy or lock it.
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.file
    }
}

impl<F: Read + Seek + Write> Image<F> {
    /// Overwrites the area. The rest of it becomes zeros; contents that are longer are refused and nothing is written.
    pub fn write_area(&mut self, contents: &[u8]) -> io::Result<()> {
        write_area(&mut self.file, &self.area, contents)
    }

    /// Puts back what a backup holds.
    pub fn restore(&mut self, backup: &Backup) -> Result<(), RestoreError> {
        if !self.owns(backup) {
            return Err(RestoreError::OtherImage);
        }
        Ok(self.write_area(backup.contents())?)
    }
}

impl Area {
    /// Overwrites this area in a copy of the image that it was found in. The rest of the area becomes zeros; contents that
    /// are longer are refused and nothing is written.
    pub fn write(&self, copy: &mut (impl Write + Seek), contents: &[u8]) -> io::Result<()> {
        write_area(copy, self, contents)
    }
}

fn write_area(file: &mut (impl Write + Seek), area: &Area, contents: &[u8]) -> io::Result<()> {
    let Some(rest) = area.length.checked_sub(contents.len() as u64) else {
        let message = format!("{} bytes do not fit into {}", contents.len(), area.length);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    };
    file.seek(SeekFrom::Start(area.offset))?;
    file.write_all(contents)?;
    io::copy(&mut io::repeat(0).take(rest), file)?;
    file.flush()
}
