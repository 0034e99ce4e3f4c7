//! The place in a CoreOS live image that holds its Ignition config.
//!
//! A live image reserves some room, the embed area, which the boot loader hands to the kernel as one more initial RAM
//! disk. Empty it is all zeros; else it holds a compressed cpio archive whose file `config.ign` Ignition reads, with
//! zeros behind it. Other files in the archive, such as network settings, belong to others and are kept.
//!
//! ```text
//! Image::open ──► Area (where) ──read_area──► bytes ──Archive::decode──► Archive
//!                                  ▲                                        │ set_config, remove_config
//!                              write_area ◄──────────Archive::encode────────┘
//! ```
//!
//! The crate knows no paths: an image is whatever can be read and sought in. No input makes it panic, and no image makes
//! it hold more than a few hundred megabytes.

mod archive;
mod area;
mod backup;
mod filesystem;
mod image;

pub use archive::{Archive, ArchiveError, CONFIG_PATH, NoRoom};
pub use area::{Area, FoundBy};
pub use backup::{Backup, BackupError};
pub use image::{Image, ImageError, RestoreError};
