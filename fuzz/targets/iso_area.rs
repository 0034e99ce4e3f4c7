//! Live images: whatever is damaged, an area that is found lies inside of the image, and what is written reads back.
//!
//! Input: a byte that chooses the layout, changes of three bytes each (where and what), a line of `====`, and the contents
//! of the area.
#![no_main]

#[path = "../../crates/berth-iso/tests/it/image.rs"]
mod image;

use std::{io::Cursor, sync::LazyLock};

use berth_fuzz::byte_parts;
use berth_iso::{Archive, Backup, Image};
use image::{LAYOUTS, Layout, TestImage, image};
use libfuzzer_sys::fuzz_target;

const ROOM: usize = 2048;

/// From the header in the system area to the end of the info file.
const FIRST: usize = 32_744;
const LAST: usize = 21 * 2048 + 64;

/// The undamaged images, of every layout.
static IMAGES: LazyLock<Vec<TestImage>> = LazyLock::new(|| {
    let layouts = LAYOUTS.into_iter().chain([Layout::NoArea]);
    layouts.map(|layout| image(layout, ROOM)).collect()
});

fuzz_target!(|data: &[u8]| {
    let parts = byte_parts(data, 2);
    let contents = parts.get(1).copied().unwrap_or_default();
    check_archive(contents);
    let _ = Backup::decode(contents);
    let Some((choice, changes)) = parts[0].split_first() else {
        return;
    };
    let made = &IMAGES[usize::from(*choice) % IMAGES.len()];
    let mut bytes = made.bytes.clone();
    let length = contents.len().min(ROOM);
    bytes[made.offset..made.offset + length].copy_from_slice(&contents[..length]);
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]]));
        bytes[FIRST + place % (LAST - FIRST)] = change[2];
    }
    check_image(&bytes);
});

fn check_archive(contents: &[u8]) {
    let Ok(mut archive) = Archive::decode(contents) else {
        return;
    };
    archive.set_config("{}");
    let room = contents.len() as u64 + 1024;
    if let Ok(area) = archive.encode(room) {
        assert_eq!(area.len() as u64, room);
        assert_eq!(Archive::decode(&area).as_ref(), Ok(&archive));
    }
}

fn check_image(bytes: &[u8]) {
    let Ok(mut image) = Image::open(Cursor::new(bytes.to_vec())) else {
        return;
    };
    let start = usize::try_from(image.area().offset).unwrap();
    let end = start + usize::try_from(image.area().length).unwrap();
    assert_eq!(image.read_area().unwrap(), &bytes[start..end]);
    let backup = image.backup().unwrap();
    assert_eq!(Backup::decode(&backup.encode()).unwrap(), backup);
    image.write_area(b"x").unwrap();
    let written = image.get_mut().get_ref();
    assert_eq!(written.len(), bytes.len());
    assert_eq!((&written[..start], &written[end..]), (&bytes[..start], &bytes[end..]));
    image.restore(&backup).unwrap();
    assert_eq!(image.into_inner().into_inner(), bytes);
}
