//! Images with bytes changed at random: an answer or an error, never a panic, and never a write outside of the area.

use std::io::Cursor;

use berth_iso::{Archive, Image};
use proptest::prelude::*;

use crate::{
    archives::{gzip, newc, xz},
    image::{LAYOUTS, image},
};

const ROOM: usize = 2048;

/// Where changes hurt: the header, the descriptors, folders, the info file and the area.
fn place() -> impl Strategy<Value = usize> {
    prop_oneof![
        32_744_usize..32_768,
        16 * 2048_usize..16 * 2048 + 200,
        17 * 2048_usize..17 * 2048 + 8,
        18 * 2048_usize..18 * 2048 + 250,
        19 * 2048_usize..19 * 2048 + 150,
        20 * 2048_usize..20 * 2048 + 150,
        21 * 2048_usize..21 * 2048 + 60,
        22 * 2048_usize..22 * 2048 + 200,
    ]
}

fn value() -> impl Strategy<Value = u8> {
    prop_oneof![any::<u8>(), Just(0), Just(0xff), Just(b'9'), Just(1)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_damage_makes_the_reader_panic_or_the_writer_stray(
        layout in prop::sample::select(&LAYOUTS),
        packed in 0..3,
        changes in prop::collection::vec((place(), value()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let made = image(layout, ROOM);
        let mut bytes = made.bytes;
        let archive = newc(&[("config.ign", 0o100_600, b"{}"), ("a/b", 0o100_600, b"c")]);
        let area = match packed {
            0 => gzip(&archive),
            1 => xz(&archive),
            _ => archive,
        };
        bytes[made.offset..made.offset + area.len()].copy_from_slice(&area);
        for (at, value) in &changes {
            bytes[*at] = *value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let Ok(mut image) = Image::open(Cursor::new(bytes.clone())) else {
            return Ok(());
        };
        let found = image.area().clone();
        let area = image.read_area().unwrap();
        prop_assert_eq!(area.len() as u64, found.length);
        if let Ok(mut archive) = Archive::decode(&area) {
            archive.set_config("[]");
            if let Ok(area) = archive.encode(found.length) {
                prop_assert_eq!(&Archive::decode(&area).unwrap(), &archive);
            }
        }
        let backup = image.backup().unwrap();
        image.write_area(&[0xaa]).unwrap();
        let written = image.get_mut().get_ref().clone();
        prop_assert_eq!(written.len(), bytes.len());
        let (start, end) = (usize::try_from(found.offset).unwrap(), usize::try_from(found.offset + found.length).unwrap());
        prop_assert!(start >= 17 * 2048);
        prop_assert_eq!(&written[..start], &bytes[..start]);
        prop_assert_eq!(&written[end..], &bytes[end..]);
        // The area can lie on a folder of a damaged image; then it is another image after the write.
        if image.restore(&backup).is_ok() {
            prop_assert_eq!(image.into_inner().into_inner(), bytes);
        }
    }
}
