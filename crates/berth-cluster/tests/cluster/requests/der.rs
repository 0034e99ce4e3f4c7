//! Writes certificate requests, also such as no honest program writes.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{KeyPair, PublicKeyData as _, SigningKey as _};

pub(super) const UTF8: u8 = 0x0C;
pub(super) const NUMERIC: u8 = 0x12;
pub(super) const PRINTABLE: u8 = 0x13;
pub(super) const T61: u8 = 0x14;
pub(super) const IA5: u8 = 0x16;
pub(super) const VISIBLE: u8 = 0x1A;
pub(super) const UNIVERSAL: u8 = 0x1C;
pub(super) const BMP: u8 = 0x1E;

pub(super) const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
pub(super) const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0A];
pub(super) const UNIT: &[u8] = &[0x55, 0x04, 0x0B];
pub(super) const EXTENSION_REQUEST: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x0E];
pub(super) const CHALLENGE_PASSWORD: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x07];
pub(super) const ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1D, 0x11];
pub(super) const KEY_USAGE: &[u8] = &[0x55, 0x1D, 0x0F];
pub(super) const UNKNOWN_EXTENSION: &[u8] = &[0x2A, 0x03, 0x04];

/// An element with the shortest length.
pub(super) fn tlv(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u8::try_from(contents.len()) {
        Ok(short @ 0..0x80) => bytes.push(short),
        _ => {
            let long: Vec<u8> = contents
                .len()
                .to_be_bytes()
                .into_iter()
                .skip_while(|byte| *byte == 0)
                .collect();
            bytes.push(0x80 | u8::try_from(long.len()).expect("few"));
            bytes.extend(long);
        }
    }
    bytes.extend_from_slice(contents);
    bytes
}

/// What is in an element that [`tlv`] made.
pub(super) fn contents(element: &[u8]) -> &[u8] {
    let header = match element[1] {
        0..0x80 => 2,
        long => 2 + usize::from(long & 0x7F),
    };
    &element[header..]
}

/// An element whose length takes a byte more than it has to.
pub(super) fn long_tlv(tag: u8, contents: &[u8]) -> Vec<u8> {
    let [.., high, middle, low] = contents.len().to_be_bytes();
    [&[tag, 0x83, high, middle, low], contents].concat()
}

/// An element without a length, with an end instead.
pub(super) fn endless_tlv(tag: u8, contents: &[u8]) -> Vec<u8> {
    [&[tag, 0x80], contents, &[0, 0]].concat()
}

pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tlv(0x30, &parts.concat())
}

/// A type and its value, as subjects have them.
pub(super) fn pair(oid: &[u8], tag: u8, text: &[u8]) -> Vec<u8> {
    sequence(&[&tlv(0x06, oid), &tlv(tag, text)])
}

/// A part of a subject with one value.
pub(super) fn part(oid: &[u8], tag: u8, text: &[u8]) -> Vec<u8> {
    tlv(0x31, &pair(oid, tag, text))
}

/// The same text in UTF-16.
pub(super) fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

pub(super) fn attribute(oid: &[u8], value: &[u8]) -> Vec<u8> {
    sequence(&[&tlv(0x06, oid), &tlv(0x31, value)])
}

/// An attribute that asks for these extensions.
pub(super) fn extension_request(extensions: &[(&[u8], &[u8])]) -> Vec<u8> {
    let extensions: Vec<Vec<u8>> = extensions
        .iter()
        .map(|(oid, value)| sequence(&[&tlv(0x06, oid), &tlv(0x04, value)]))
        .collect();
    attribute(EXTENSION_REQUEST, &tlv(0x30, &extensions.concat()))
}

/// The value of a subject alternative name.
pub(super) fn dns_name(name: &str) -> Vec<u8> {
    sequence(&[&tlv(0x82, name.as_bytes())])
}

/// The parts of a request, each of them whole.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) version: Vec<u8>,
    pub(super) subject: Vec<Vec<u8>>,
    pub(super) key: Vec<u8>,
    pub(super) attributes: Vec<Vec<u8>>,
    /// What follows in the signed part.
    pub(super) more: Vec<u8>,
}

impl Parts {
    /// An honest request for a node.
    pub(super) fn new(key: &KeyPair, node: &str) -> Self {
        Self {
            version: tlv(0x02, &[0]),
            subject: vec![
                part(ORGANIZATION, PRINTABLE, b"system:nodes"),
                part(COMMON_NAME, PRINTABLE, format!("system:node:{node}").as_bytes()),
            ],
            key: key.subject_public_key_info(),
            attributes: Vec::new(),
            more: Vec::new(),
        }
    }

    /// The part that is signed.
    pub(super) fn info(&self) -> Vec<u8> {
        sequence(&[
            &self.version,
            &tlv(0x30, &self.subject.concat()),
            &self.key,
            &tlv(0xA0, &self.attributes.concat()),
            &self.more,
        ])
    }

    pub(super) fn der(&self, key: &KeyPair) -> Vec<u8> {
        sign(key, &self.info())
    }

    pub(super) fn pem(&self, key: &KeyPair) -> String {
        pem(&self.der(key))
    }
}

/// The identifier of ECDSA with SHA-256.
pub(super) fn ecdsa() -> Vec<u8> {
    sequence(&[&tlv(0x06, &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02])])
}

/// Signs any bytes with a key on P-256.
pub(super) fn sign(key: &KeyPair, info: &[u8]) -> Vec<u8> {
    let signature = key.sign(info).expect("a signature");
    sequence(&[info, &ecdsa(), &tlv(0x03, &[&[0], signature.as_slice()].concat())])
}

/// As Go and OpenSSL write it.
pub(super) fn pem(der: &[u8]) -> String {
    pem_as(der, "CERTIFICATE REQUEST", 64, "\n")
}

pub(super) fn pem_as(der: &[u8], label: &str, width: usize, newline: &str) -> String {
    let base64 = STANDARD.encode(der);
    let lines: Vec<&str> = base64
        .as_bytes()
        .chunks(width)
        .map(|line| std::str::from_utf8(line).expect("ASCII"))
        .collect();
    format!(
        "-----BEGIN {label}-----{newline}{}{newline}-----END {label}-----{newline}",
        lines.join(newline)
    )
}
