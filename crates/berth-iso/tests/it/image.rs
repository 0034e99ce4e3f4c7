//! Images made byte by byte: small, but installers take them for live images.

const SECTOR: usize = 2048;

/// How an image says where its area is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `/coreos/igninfo.json` names `/images/ignition.img`.
    InfoFile,
    /// `/coreos/igninfo.json` names a part of a larger file, as on s390x.
    InsideFile,
    /// There is only `/images/ignition.img`.
    DefaultFile,
    /// Nothing but the header of the first images.
    Header,
    /// An image of a disc, and no more.
    NoArea,
}

/// All layouts that have an area.
pub(crate) const LAYOUTS: [Layout; 4] = [
    Layout::InfoFile,
    Layout::InsideFile,
    Layout::DefaultFile,
    Layout::Header,
];

/// Where in a file the area of [`Layout::InsideFile`] begins.
const INSIDE: usize = 5000;

/// An image and where its area is, for comparison with what is found.
pub(crate) struct TestImage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) offset: usize,
}

/// Makes an image with so much room for a config. Everything around the area is filled, so that a stray write shows.
pub(crate) fn image(layout: Layout, room: usize) -> TestImage {
    let info = match layout {
        Layout::InfoFile => r#"{"file": "images/ignition.img"}"#.to_owned(),
        Layout::InsideFile => format!(r#"{{"file": "images/cdboot.img", "offset": {INSIDE}, "length": {room}}}"#),
        _ => String::new(),
    };
    let (name, file, inside) = match layout {
        Layout::InsideFile => {
            let mut file = vec![0x55; INSIDE];
            file.resize(INSIDE + room, 0);
            file.resize(INSIDE + room + 700, 0x66);
            ("CDBOOT.IMG;1", file, INSIDE)
        }
        Layout::NoArea => ("OTHER.IMG;1", vec![0x77; room], 0),
        Layout::Header => ("OLD.IMG;1", vec![0; room], 0),
        _ => ("IGNITION.IMG;1", vec![0; room], 0),
    };
    let sectors = |length: usize| length.div_ceil(SECTOR);
    // 16 and 17 are descriptors; folders have one sector each.
    let (top_at, coreos_at, images_at, info_at, file_at) = (18, 19, 20, 21, 22);
    let last_at = file_at + sectors(file.len());
    let last = vec![0x33; SECTOR + 100];
    let end = last_at + sectors(last.len());

    let mut bytes = vec![0; end * SECTOR];
    let mut put = |at: usize, what: &[u8]| bytes[at * SECTOR..][..what.len()].copy_from_slice(what);
    put(0, &[0x11; 512]);
    if layout == Layout::Header {
        let header = [
            b"coreiso+".as_slice(),
            &(file_at * SECTOR).to_le_bytes(),
            &room.to_le_bytes(),
        ]
        .concat();
        put(15, &[vec![0; SECTOR - 24], header].concat());
    }
    put(16, &primary(top_at, end));
    put(17, b"\xffCD001\x01");
    let folder = |at: usize, parent: usize, records: &[Vec<u8>]| {
        let dots = [record(b"\0", at, SECTOR, true), record(b"\x01", parent, SECTOR, true)];
        [dots.concat(), records.concat()].concat()
    };
    let mut top = vec![
        record(b"IMAGES", images_at, SECTOR, true),
        record(b"LAST.IMG;1", last_at, last.len(), false),
    ];
    if !info.is_empty() {
        top.insert(0, record(b"COREOS", coreos_at, SECTOR, true));
        put(
            coreos_at,
            &folder(
                coreos_at,
                top_at,
                &[record(b"IGNINFO.JSO;1", info_at, info.len(), false)],
            ),
        );
        put(info_at, info.as_bytes());
    }
    put(top_at, &folder(top_at, top_at, &top));
    put(
        images_at,
        &folder(
            images_at,
            top_at,
            &[record(name.as_bytes(), file_at, file.len(), false)],
        ),
    );
    put(file_at, &file);
    put(last_at, &last);
    TestImage {
        bytes,
        offset: file_at * SECTOR + inside,
    }
}

fn primary(root: usize, sectors: usize) -> Vec<u8> {
    let mut bytes = vec![0; SECTOR];
    bytes[..8].copy_from_slice(b"\x01CD001\x01\0");
    bytes[8..72].fill(b' ');
    bytes[40..54].copy_from_slice(b"fedora-coreos-");
    bytes[80..88].copy_from_slice(&both_32(sectors));
    for at in [120, 124] {
        bytes[at..at + 4].copy_from_slice(&[1, 0, 0, 1]);
    }
    bytes[128..132].copy_from_slice(&[0, 8, 8, 0]);
    let root = record(b"\0", root, SECTOR, true);
    bytes[156..156 + root.len()].copy_from_slice(&root);
    bytes[190..813].fill(b' ');
    for at in [813, 830, 847, 864] {
        bytes[at..at + 16].fill(b'0');
    }
    bytes[881] = 1;
    bytes
}

fn record(name: &[u8], sector: usize, length: usize, is_folder: bool) -> Vec<u8> {
    let mut bytes = vec![0; 33];
    bytes[2..10].copy_from_slice(&both_32(sector));
    bytes[10..18].copy_from_slice(&both_32(length));
    bytes[25] = if is_folder { 2 } else { 0 };
    bytes[28..32].copy_from_slice(&[1, 0, 0, 1]);
    bytes[32] = u8::try_from(name.len()).unwrap();
    bytes.extend_from_slice(name);
    if bytes.len() % 2 == 1 {
        bytes.push(0);
    }
    bytes[0] = u8::try_from(bytes.len()).unwrap();
    bytes
}

fn both_32(number: usize) -> [u8; 8] {
    let number = u32::try_from(number).unwrap();
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    bytes
}
