//! Where the area is found, and that writing changes nothing else.

use std::io::Cursor;

use berth_iso::{Archive, FoundBy, Image, ImageError};

use crate::image::{LAYOUTS, Layout, image};

const ROOM: usize = 8192;

fn open(bytes: &[u8]) -> Result<Image<Cursor<Vec<u8>>>, ImageError> {
    Image::open(Cursor::new(bytes.to_vec()))
}

fn refusal(bytes: &[u8]) -> String {
    open(bytes).expect_err("it should be refused").to_string()
}

#[test]
fn the_area_is_found_in_every_layout() {
    for layout in LAYOUTS {
        let made = image(layout, ROOM);
        let found = open(&made.bytes).unwrap();
        let area = found.area();
        assert_eq!(
            (area.offset, area.length),
            (made.offset as u64, ROOM as u64),
            "{layout:?}"
        );
        let expected = match layout {
            Layout::InfoFile => FoundBy::InfoFile("images/ignition.img".to_owned()),
            Layout::InsideFile => FoundBy::InfoFile("images/cdboot.img".to_owned()),
            Layout::DefaultFile => FoundBy::DefaultFile,
            _ => FoundBy::Header,
        };
        assert_eq!(area.found_by, expected);
    }
}

#[test]
fn a_config_goes_in_and_comes_out_and_nothing_else_changes() {
    for layout in LAYOUTS {
        let made = image(layout, ROOM);
        let mut opened = open(&made.bytes).unwrap();
        let mut archive = Archive::decode(&opened.read_area().unwrap()).unwrap();
        assert!(archive.is_empty(), "{layout:?}");
        archive.set_config("{}");
        opened.write_area(&archive.encode(ROOM as u64).unwrap()).unwrap();
        let written = opened.into_inner().into_inner();
        assert_eq!(written.len(), made.bytes.len());
        let area = made.offset..made.offset + ROOM;
        for (at, (before, after)) in made.bytes.iter().zip(&written).enumerate() {
            assert!(before == after || area.contains(&at), "{layout:?}: byte {at} changed");
        }

        let mut again = open(&written).unwrap();
        let mut archive = Archive::decode(&again.read_area().unwrap()).unwrap();
        assert_eq!(archive.config(), Some(b"{}".as_slice()));
        assert!(archive.remove_config());
        again.write_area(&archive.encode(ROOM as u64).unwrap()).unwrap();
        assert!(again.into_inner().into_inner() == made.bytes, "{layout:?}");
    }
}

#[test]
fn writing_less_than_the_area_clears_the_rest_and_writing_more_is_refused() {
    let made = image(Layout::DefaultFile, ROOM);
    let mut opened = open(&made.bytes).unwrap();
    opened.write_area(&[9; ROOM]).unwrap();
    opened.write_area(&[1, 2]).unwrap();
    let area = opened.read_area().unwrap();
    assert!(area.starts_with(&[1, 2, 0]) && area[2..].iter().all(|byte| *byte == 0));
    let error = opened.write_area(&[9; ROOM + 1]).unwrap_err();
    assert_eq!(error.to_string(), "8193 bytes do not fit into 8192");
    assert_eq!(opened.read_area().unwrap(), area);
}

#[test]
fn what_is_no_live_image_is_refused_with_the_reason() {
    assert_eq!(refusal(b""), "it is not an ISO 9660 image");
    assert_eq!(refusal(&vec![0; 100_000]), "it is not an ISO 9660 image");
    assert!(refusal(&image(Layout::NoArea, ROOM).bytes).starts_with("the image has no embed area"));
    let made = image(Layout::InfoFile, ROOM);
    let length = made.bytes.len();
    assert_eq!(
        refusal(&made.bytes[..length - 1]),
        format!("the image is cut off: it has {} bytes and needs {length}", length - 1)
    );
    // Bytes behind the volume are none of its business: images on USB sticks have more.
    assert!(open(&[made.bytes, vec![7; 5000]].concat()).is_ok());
}

/// The bytes with one text in the place of another of the same length.
fn replaced(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let at = bytes
        .windows(old.len())
        .position(|window| window == old.as_bytes())
        .unwrap();
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    bytes
}

#[test]
fn an_area_that_cannot_be_is_refused() {
    let inside = image(Layout::InsideFile, ROOM).bytes;
    for (old, new, says) in [
        ("8192}", "9999}", "it reaches beyond the file that holds it"),
        ("8192}", "   0}", "it has no room at all"),
        ("8192}", "-192}", "/coreos/igninfo.json cannot be read"),
        ("cdboot", "cdb00t", "there is no such file"),
        ("images/cdboot.img", ".................", "there is no such file"),
        ("images/cdboot.img", "images/././././..", "there is no such file"),
        ("{\"file\"", "{\"fine\"", "/coreos/igninfo.json cannot be read"),
    ] {
        let said = refusal(&replaced(&inside, old, new));
        assert!(said.contains(says), "{new}: {said}");
    }

    let header = image(Layout::Header, ROOM);
    let with = |offset: u64, length: u64| {
        let mut bytes = header.bytes.clone();
        bytes[32752..32760].copy_from_slice(&offset.to_le_bytes());
        bytes[32760..32768].copy_from_slice(&length.to_le_bytes());
        refusal(&bytes)
    };
    for (offset, length, says) in [
        (0, 512, "it overlaps what makes the image readable"),
        (17 * 2048, 2048, "it overlaps what makes the image readable"),
        (u64::MAX, 2048, "it reaches beyond the end of the image"),
        (40_000, 1 << 20, "it reaches beyond the end of the image"),
        (40_000, 1 << 40, "no image reserves so much for a config"),
        (40_000, 0, "it has no room at all"),
    ] {
        let said = with(offset, length);
        assert!(said.ends_with(says), "{said}");
    }
}

#[test]
fn a_name_is_found_in_the_second_sector_of_a_folder() {
    // Move the record of IMAGES in the root folder to a second sector, as in a folder with many files.
    let mut bytes = image(Layout::DefaultFile, ROOM).bytes;
    let end = bytes.len();
    let root = bytes[18 * 2048..19 * 2048].to_vec();
    let sector = u32::try_from(end / 2048).unwrap();
    let mut first = root.clone();
    first[68..].fill(0);
    let mut second = root[68..].to_vec();
    second.resize(2048, 0);
    bytes.extend_from_slice(&first);
    bytes.extend_from_slice(&second);
    let record = 16 * 2048 + 156;
    bytes[record + 2..record + 6].copy_from_slice(&sector.to_le_bytes());
    bytes[record + 10..record + 14].copy_from_slice(&4096_u32.to_le_bytes());
    assert_eq!(open(&bytes).unwrap().area().found_by, FoundBy::DefaultFile);
}
