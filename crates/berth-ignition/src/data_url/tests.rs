use proptest::prelude::*;

use super::*;

const LIMIT: u64 = 1 << 20;

#[test]
fn decodes_what_ignition_decodes() {
    let table: [(&str, &[u8]); 12] = [
        ("data:,", b""),
        ("data:,hello%20world%0A", b"hello world\n"),
        ("data:,a,b;c=d", b"a,b;c=d"),
        ("data:text/plain,x", b"x"),
        ("data:text/plain;charset=utf-8,%C3%A9", "é".as_bytes()),
        ("data:text/plain;charset=utf-8;base64,aGk=", b"hi"),
        ("data:;base64,aGVsbG8=", b"hello"),
        ("data:;base64,", b""),
        ("data:x-own/thing,z", b"z"),
        ("data:,+", b"+"),
        ("data:text/plain;name=\"a,b\",x", b"x"),
        ("data:,100%25", b"100%"),
    ];
    for (url, want) in table {
        assert_eq!(decode_data_url(url).unwrap(), want, "{url}");
    }
}

#[test]
fn refuses_with_the_reason() {
    let table = [
        ("http://x/y", "the source is not a data URL"),
        ("DATA:,x", "the source is not a data URL"),
        ("data:foo/bar,x", "the data URL has a malformed media type `foo/bar`"),
        ("data:x", "the data URL has no comma before its data"),
        ("data:text,x", "the data URL has a malformed media type `text`"),
        ("data:;charset,x", "the data URL has a malformed media type `;charset`"),
        (
            "data:,a b",
            "the data URL has the character ' ', which must be percent-encoded",
        ),
        (
            "data:,é",
            "the data URL has the character 'é', which must be percent-encoded",
        ),
        ("data:,%2", "the data URL has a malformed percent escape"),
        ("data:,%zz", "the data URL has a malformed percent escape"),
        ("data:;base64,aGk", "the data URL is not valid base64"),
        (
            "data:;base64,aG-=",
            "the data URL has the character '-', which must be percent-encoded",
        ),
    ];
    for (url, want) in table {
        assert_eq!(decode_data_url(url).unwrap_err().to_string(), want, "{url}");
    }
}

#[test]
fn gzip_says_what_is_wrong() {
    let gz = encode(&vec![b'a'; 5000], Encoding::GzipBase64);
    assert!(gz.source.len() < 200);
    assert_eq!(decode(&gz.source, Some("gzip"), 5000).unwrap().len(), 5000);
    assert!(matches!(
        decode(&gz.source, Some("gzip"), 4999),
        Err(DecodeError::TooLarge { limit: 4999 })
    ));
    assert!(matches!(
        decode("data:,x", Some("gzip"), LIMIT),
        Err(DecodeError::Gzip(_))
    ));
    assert!(matches!(
        decode("data:,x", Some("xz"), LIMIT),
        Err(DecodeError::Compression(_))
    ));
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let gz = encode(&vec![0; 8 << 20], Encoding::GzipBase64);
    assert!(matches!(
        decode(&gz.source, gz.compression.as_deref(), 1 << 10),
        Err(DecodeError::TooLarge { limit: 1024 })
    ));
}

#[test]
fn smallest_picks_by_content() {
    assert_eq!(encode(b"plain-text", Encoding::Smallest).source, "data:,plain-text");
    let binary: Vec<u8> = (128..=255).collect();
    assert!(encode(&binary, Encoding::Smallest).source.starts_with("data:;base64,"));
    let repeated = encode(&vec![b'\n'; 4000], Encoding::Smallest);
    assert_eq!(repeated.compression.as_deref(), Some("gzip"));
}

#[test]
fn gzip_bytes_carry_no_time() {
    let bytes = gzip(b"hello");
    assert_eq!(bytes.get(4..8), Some(&[0, 0, 0, 0][..]));
}

proptest! {
    #[test]
    fn every_encoding_decodes_to_the_same_bytes(bytes: Vec<u8>) {
        for encoding in [
            Encoding::Percent,
            Encoding::Base64,
            Encoding::GzipBase64,
            Encoding::Smallest,
        ] {
            let encoded = encode(&bytes, encoding);
            let decoded = decode(&encoded.source, encoded.compression.as_deref(), LIMIT).unwrap();
            prop_assert_eq!(&decoded, &bytes);
            prop_assert_eq!(encoded, encode(&bytes, encoding));
        }
    }

    #[test]
    fn smallest_is_no_longer_than_any(bytes: Vec<u8>) {
        let smallest = written_length(&encode(&bytes, Encoding::Smallest));
        for encoding in [Encoding::Percent, Encoding::Base64, Encoding::GzipBase64] {
            prop_assert!(smallest <= written_length(&encode(&bytes, encoding)));
        }
    }

    #[test]
    fn decoding_never_panics(text in ".{0,80}", header in "[a-z/;=\",\\\\]{0,20}") {
        let _ = decode_data_url(&text);
        let _ = decode_data_url(&format!("data:{header},{text}"));
        let _ = decode(&format!("data:;base64,{text}"), Some("gzip"), 100);
    }
}
