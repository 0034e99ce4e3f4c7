//! Backups of areas.

use std::io::Cursor;

use berth_iso::{Backup, Image};
use proptest::prelude::*;

use crate::image::{Layout, image};

fn open(layout: Layout, room: usize) -> Image<Cursor<Vec<u8>>> {
    Image::open(Cursor::new(image(layout, room).bytes)).unwrap()
}

#[test]
fn a_backup_puts_back_what_was_there() {
    let mut image = open(Layout::InfoFile, 4096);
    image.write_area(b"before").unwrap();
    let file = image.backup().unwrap().encode();
    image.write_area(b"after").unwrap();
    let backup = Backup::decode(&file).unwrap();
    image.restore(&backup).unwrap();
    assert!(image.read_area().unwrap().starts_with(b"before\0"));
}

#[test]
fn a_backup_of_another_image_is_refused() {
    let backup = open(Layout::InfoFile, 4096).backup().unwrap();
    assert!(open(Layout::InfoFile, 4096).owns(&backup));
    // The one has another size, the other an area of another size.
    for mut other in [open(Layout::InfoFile, 8192), open(Layout::InfoFile, 4095)] {
        let before = other.read_area().unwrap();
        let error = other.restore(&backup).unwrap_err();
        assert_eq!(error.to_string(), "the backup belongs to another image");
        assert_eq!(other.read_area().unwrap(), before);
    }
}

proptest! {
    #[test]
    fn a_damaged_backup_is_never_used(at: prop::sample::Index, flip in 1_u8..) {
        let mut image = open(Layout::Header, 512);
        image.write_area(b"config").unwrap();
        let backup = image.backup().unwrap();
        let mut file = backup.encode();
        prop_assert_eq!(&Backup::decode(&file).unwrap(), &backup);
        prop_assert!(Backup::decode(&file[..at.index(file.len())]).is_err());
        let at = at.index(file.len());
        file[at] ^= flip;
        if let Ok(read) = Backup::decode(&file) {
            // The name of the image and the place have no checksum, but must be those of the image.
            prop_assert_eq!(read.contents(), backup.contents());
            prop_assert!(read == backup || !image.owns(&read));
        }
    }
}
