//! What is read from areas that others wrote, and what is written.

use std::io::{Read as _, Write as _};

use berth_iso::{Archive, ArchiveError, NoRoom};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use lzma_rust2::{XzOptions, XzReader, XzWriter};
use proptest::prelude::*;

/// An archive in newc, written by the book and not by the crate.
pub(crate) fn newc(entries: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (path, mode, contents) in entries.iter().copied().chain([("TRAILER!!!", 0, b"".as_slice())]) {
        let (size, name) = (contents.len(), path.len() + 1);
        let header = format!(
            "070701{:08x}{mode:08x}{:08x}{:08x}{:08x}{:08x}{size:08x}{:08x}{:08x}{:08x}{:08x}{name:08x}{:08x}",
            7, 0, 0, 1, 0, 0, 0, 0, 0, 0
        );
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(path.as_bytes());
        bytes.push(0);
        while bytes.len() % 4 != 0 {
            bytes.push(0);
        }
        bytes.extend_from_slice(contents);
        while bytes.len() % 4 != 0 {
            bytes.push(0);
        }
    }
    bytes
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const FILE: u32 = 0o100_600;
const FOLDER: u32 = 0o040_755;
const LINK: u32 = 0o120_777;

fn paths(archive: &Archive) -> Vec<&str> {
    archive.paths().collect()
}

#[test]
fn archives_follow_each_other_in_any_compression_and_the_last_file_wins() {
    let one = newc(&[("config.ign", FILE, b"one"), ("a", FILE, b"1")]);
    let two = newc(&[("config.ign", FILE, b"two"), ("b", FILE, b"22")]);
    let three = newc(&[("config.ign", FILE, b"three")]);
    for packed in [
        [gzip(&one), xz(&two), three.clone()],
        [one.clone(), gzip(&two), xz(&three)],
        [xz(&one), two.clone(), gzip(&three)],
        [gzip(&one), gzip(&two), gzip(&three)],
        [xz(&one), xz(&two), xz(&three)],
    ] {
        for padding in [0, 1, 511] {
            let area = packed.iter().fold(Vec::new(), |mut area, part| {
                area.resize(area.len() + padding, 0);
                area.extend_from_slice(part);
                area
            });
            let archive = Archive::decode(&area).unwrap();
            assert_eq!(archive.config(), Some(b"three".as_slice()));
            assert_eq!(paths(&archive), ["a", "b", "config.ign"]);
        }
    }
}

#[test]
fn files_of_others_stay_with_their_folders_and_modes() {
    let path = "etc/coreos-firstboot-network/eth0.nmconnection";
    let area = gzip(&newc(&[
        ("etc", FOLDER, b""),
        ("etc/coreos-firstboot-network", FOLDER, b""),
        (path, 0o100_640, b"[connection]"),
        ("link", LINK, b"etc"),
    ]));
    let mut archive = Archive::decode(&area).unwrap();
    archive.set_config("{}");
    let written = archive.encode(8192).unwrap();
    assert_eq!(Archive::decode(&written).unwrap(), archive);
    let mut plain = Vec::new();
    GzDecoder::new(written.as_slice()).read_to_end(&mut plain).unwrap();
    // The kernel makes no folders by itself, so they come before what is in them.
    let mut expected = Vec::new();
    for (inode, entry) in [
        ("config.ign", FILE, b"{}".as_slice()),
        ("etc", FOLDER, b""),
        ("etc/coreos-firstboot-network", FOLDER, b""),
        (path, 0o100_640, b"[connection]"),
        ("link", LINK, b"etc"),
        ("TRAILER!!!", 0, b""),
    ]
    .into_iter()
    .enumerate()
    {
        let one = newc(&[entry]);
        let length = one.len() - newc(&[]).len();
        let mut one = one[..length].to_vec();
        let inode = if entry.0 == "TRAILER!!!" { 0 } else { inode + 1 };
        one[6..14].copy_from_slice(format!("{inode:08x}").as_bytes());
        let links = if entry.1 == FOLDER { b"00000002" } else { b"00000001" };
        one[38..46].copy_from_slice(links);
        expected.extend_from_slice(&one);
    }
    assert_eq!(
        String::from_utf8_lossy(&plain).to_lowercase(),
        String::from_utf8_lossy(&expected).to_lowercase()
    );
    assert!(archive.remove_config());
    assert!(!archive.remove_config());
    assert_eq!(paths(&archive), [path, "link"]);
}

#[test]
fn paths_that_are_filled_up_with_zeros_are_read() {
    let bytes = newc(&[("config.ign\0\0\0\0\0\0", FILE, b"{}")]);
    assert_eq!(Archive::decode(&bytes).unwrap().config(), Some(b"{}".as_slice()));
}

#[test]
fn what_cannot_be_read_says_why() {
    let good = newc(&[("config.ign", FILE, b"{}")]);
    let replaced = |at: usize, text: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + text.len()].copy_from_slice(text);
        bytes
    };
    let bomb = gzip(&vec![0; 65 << 20]);
    let cases: [(Vec<u8>, &str); 13] = [
        (
            b"\0\0hello".to_vec(),
            "at byte 2 of the area is something that is not a cpio archive",
        ),
        (
            gzip(b"hello"),
            "at byte 0 of the area is something that is not a cpio archive",
        ),
        (
            b"\x28\xb5\x2f\xfd....".to_vec(),
            "the archive in the area is compressed with zstd; only gzip and xz can be read",
        ),
        (gzip(&good)[..30].to_vec(), "the gzip data in the area is damaged: "),
        (xz(&good)[..30].to_vec(), "the xz data in the area is damaged: "),
        (bomb, "the archive in the area unpacks to more than 64 MiB"),
        (
            gzip(&[good.as_slice(), b"x"].concat()),
            "the cpio archive in the area is damaged: something follows its end",
        ),
        (
            good[..112].to_vec(),
            "the cpio archive in the area is damaged: an entry is cut off",
        ),
        (
            good[..124].to_vec(),
            "the cpio archive in the area is damaged: an entry is cut off",
        ),
        (
            good[..128].to_vec(),
            "the cpio archive in the area is damaged: an entry is missing before the trailer",
        ),
        (
            replaced(54, b"+0000002"),
            "the cpio archive in the area is damaged: the header of an entry is not a number",
        ),
        (
            replaced(54, b"ffffffff"),
            "the cpio archive in the area is damaged: an entry is cut off",
        ),
        (
            newc(&[("dev/console", 0o020_600, b"")]),
            "`dev/console` in the area is neither a file, nor a folder, nor a symbolic link",
        ),
    ];
    for (bytes, says) in cases {
        let said = Archive::decode(&bytes).unwrap_err().to_string();
        assert!(said.starts_with(says), "{said}");
    }
}

/// A header that asks for a dictionary of 4 GiB, with a correct checksum.
#[test]
fn xz_data_that_asks_for_too_much_memory_is_refused() {
    let mut bytes = xz(b"070701");
    // Stream header 12 bytes; block header: size, flags, filter 0x21, one property, the dictionary.
    assert_eq!(bytes[14..16], [0x21, 1]);
    bytes[16] = 40;
    let length = (usize::from(bytes[12]) + 1) * 4;
    let sum = crc32(&bytes[12..12 + length - 4]).to_le_bytes();
    bytes[12 + length - 4..12 + length].copy_from_slice(&sum);
    let error = Archive::decode(&bytes).unwrap_err();
    assert!(
        matches!(&error, ArchiveError::Compressed { format: "xz", .. }),
        "{error:?}"
    );
    assert!(error.to_string().to_lowercase().contains("memory"), "{error}");
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[test]
fn an_empty_archive_is_an_untouched_area() {
    assert_eq!(Archive::default().encode(100), Ok(vec![0; 100]));
    assert_eq!(Archive::decode(&[0; 100]), Ok(Archive::default()));
    assert_eq!(Archive::decode(&[]), Ok(Archive::default()));
}

/// A text that xz packs better than gzip, because it repeats at a long distance.
fn repetitive() -> Vec<u8> {
    let mut noise = 1_u32;
    let part: Vec<u8> = std::iter::repeat_with(|| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 24) as u8
    })
    .take(50_000)
    .collect();
    [part.clone(), part].concat()
}

#[test]
fn what_does_not_fit_with_gzip_is_written_with_xz() {
    let mut archive = Archive::default();
    archive.set_config(repetitive());
    let wide = archive.encode(200_000).unwrap();
    assert!(wide.starts_with(b"\x1f\x8b"));
    let narrow = archive.encode(60_000).unwrap();
    assert!(narrow.starts_with(b"\xfd7zXZ\0\0\x01"), "the kernel wants CRC32");
    assert_eq!((wide.len(), narrow.len()), (200_000, 60_000));
    assert_eq!(Archive::decode(&narrow).unwrap(), archive);
    let mut plain = Vec::new();
    XzReader::new(narrow.as_slice(), false).read_to_end(&mut plain).unwrap();

    let error = archive.encode(40_000).unwrap_err();
    let NoRoom { needed, room } = error;
    assert_eq!(room, 40_000);
    assert!(archive.encode(needed).is_ok() && archive.encode(needed - 1).is_err());
    assert_eq!(
        error.to_string(),
        format!("compressed it has {needed} bytes, and the embed area has room for 40000")
    );
}

proptest! {
    #[test]
    fn any_config_comes_back_as_it_was(config: Vec<u8>, others in prop::collection::btree_map("[a-z]{1,3}(/[a-z]{1,3}){0,3}", any::<Vec<u8>>(), 0..4)) {
        let others: Vec<_> = others.iter().map(|(path, contents)| (path.as_str(), FILE, contents.as_slice())).collect();
        let mut archive = Archive::decode(&newc(&others)).unwrap();
        prop_assert_eq!(archive.paths().count(), others.len());
        archive.set_config(config.clone());
        let area = archive.encode(65_536).unwrap();
        prop_assert_eq!(area.len(), 65_536);
        let read = Archive::decode(&area).unwrap();
        prop_assert_eq!(read.config(), Some(config.as_slice()));
        prop_assert_eq!(&read, &archive);
        prop_assert_eq!(archive.encode(65_536).unwrap(), area);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
        let _ = Archive::decode(&bytes);
        for magic in [b"070701".as_slice(), b"\x1f\x8b\x08", b"\xfd7zXZ\0"] {
            let _ = Archive::decode(&[magic, &bytes].concat());
        }
        let _ = Archive::decode(&gzip(&[b"070701", bytes.as_slice()].concat()));
    }
}
