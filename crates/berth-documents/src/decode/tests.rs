use super::*;
use crate::{Severity, Sources};

#[test]
fn text_in_its_encodings() {
    for (bytes, expected) in [
        (&b""[..], Ok("")),
        (b"a: \xC3\xA9", Ok("a: \u{e9}")),
        // The mark stays, so that offsets fit the file.
        (b"\xEF\xBB\xBFa", Ok("\u{feff}a")),
        (b"\xFF\xFEa\0\xE9\0", Ok("a\u{e9}")),
        (b"\xFE\xFF\0a\0\xE9", Ok("a\u{e9}")),
        (b"\xFF\xFE\x3D\xD8\x00\xDE", Ok("\u{1f600}")),
        (b"ab\xFFc", Err(DecodeError::Utf8 { offset: 2 })),
        (b"ab\xC3", Err(DecodeError::Utf8 { offset: 2 })),
        (b"\xFF\xFEa\0b", Err(DecodeError::Utf16 { offset: 4 })),
        (b"\xFF\xFEa\0\x00\xDEb\0", Err(DecodeError::Utf16 { offset: 4 })),
    ] {
        assert_eq!(decode(bytes).as_deref(), expected.as_ref().copied(), "{bytes:?}");
    }
}

#[test]
fn the_finding_names_the_file() {
    let mut sources = Sources::new();
    let id = sources.add("photo.yaml", "");
    let finding = DecodeError::Utf8 { offset: 7 }.to_diagnostic(id);
    assert_eq!((finding.code(), finding.severity()), ("not-text", Severity::Error));
    assert_eq!(finding.message, "the file is not text: byte 7 is not valid UTF-8");
    assert_eq!(sources.location(finding.span.unwrap()).to_string(), "photo.yaml:1:1");
}
