//! Reads the certificate request of a kubelet, and nothing else.
//!
//! Whoever approves a request and whoever signs it must read the same name in the same bytes. The signer is written in Go, whose
//! readers of PEM and DER forgive much. So this reader forgives nothing: there is one way to write down a name, a key and a
//! signature, and every byte that differs from it is an error. What it accepts, Go reads alike; a test holds the two
//! against each other (`tests/cluster/requests.rs`).
//!
//! The signature is not verified here. The API server verifies it before it stores a request, and the signer does again
//! before it signs; whose name it is does not depend on it.
//!
//! This file stands alone, so that the fuzz target `certificate_request` is built from it.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The longest request that is read. One with an RSA key of 8192 bits has less than 3 kB.
pub(super) const LONGEST: usize = 8 * 1024;

/// The user name of a node begins so.
pub(super) const NODE_USER: &str = "system:node:";
/// The group of all nodes.
pub(super) const NODES_GROUP: &str = "system:nodes";

const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----\n";
const END: &str = "-----END CERTIFICATE REQUEST-----";
const LINE: usize = 64;

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT: u8 = 0x06;
const UTF8_STRING: u8 = 0x0C;
const PRINTABLE_STRING: u8 = 0x13;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const ATTRIBUTES: u8 = 0xA0;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0A];

/// The contents of the algorithm identifiers of keys: RSA, P-256, P-384, P-521 and Ed25519.
const KEYS: [&[u8]; 5] = [
    b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00",
    b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07",
    b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22",
    b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x23",
    b"\x06\x03\x2b\x65\x70",
];

/// The contents of the algorithm identifiers of signatures: RSA and ECDSA with SHA-256, SHA-384 and SHA-512, and Ed25519.
const SIGNATURES: [&[u8]; 7] = [
    b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b\x05\x00",
    b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c\x05\x00",
    b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d\x05\x00",
    b"\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02",
    b"\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x03",
    b"\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x04",
    b"\x06\x03\x2b\x65\x70",
];

/// What a kubelet asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KubeletRequest {
    /// The node whose certificate it is to be.
    pub(super) node: String,
    /// The public key, as a DER `SubjectPublicKeyInfo`.
    pub(super) key: Vec<u8>,
}

/// Reads a request in PEM. An error says what is wrong, so that it can follow "the request".
pub(super) fn read(pem: &[u8]) -> Result<KubeletRequest, &'static str> {
    if pem.len() > LONGEST {
        return Err("is too long");
    }
    read_der(&decode(pem)?)
}

/// The contents of the one block. There is exactly one text for given contents, up to the newline at the end.
fn decode(pem: &[u8]) -> Result<Vec<u8>, &'static str> {
    let text = std::str::from_utf8(pem).map_err(|_| "is not PEM")?;
    let inner = text
        .strip_prefix(BEGIN)
        .ok_or("must begin with the line -----BEGIN CERTIFICATE REQUEST-----")?;
    let inner = inner.strip_suffix('\n').unwrap_or(inner);
    let inner = inner
        .strip_suffix(END)
        .and_then(|inner| inner.strip_suffix('\n'))
        .ok_or("must end with the line -----END CERTIFICATE REQUEST-----")?;
    let mut base64 = String::with_capacity(inner.len());
    let mut lines = inner.split('\n').peekable();
    while let Some(line) = lines.next() {
        let last = lines.peek().is_none();
        if line.len() != LINE && !(last && (1..LINE).contains(&line.len())) {
            return Err("must have lines of 64 characters, and nothing but one PEM block without headers");
        }
        base64.push_str(line);
    }
    STANDARD
        .decode(base64)
        .map_err(|_| "must have nothing but base64 in its PEM block")
}

fn read_der(der: &[u8]) -> Result<KubeletRequest, &'static str> {
    let mut whole = Reader(der);
    let mut request = Reader(whole.element(SEQUENCE)?);
    whole.end("has bytes after its end")?;

    let mut info = Reader(request.element(SEQUENCE)?);
    if info.element(INTEGER)? != [0] {
        return Err("must have version 1");
    }
    let node = subject(info.element(SEQUENCE)?)?;
    let before = info.0;
    let contents = info.element(SEQUENCE)?;
    let key = before
        .get(..before.len().saturating_sub(info.0.len()))
        .unwrap_or_default()
        .to_vec();
    public_key(contents)?;
    if !info.element(ATTRIBUTES)?.is_empty() {
        return Err("must have no attributes: no subject alternative names and no other extensions");
    }
    info.end("has more than a name, a key and attributes")?;

    let algorithm = request.element(SEQUENCE)?;
    if !SIGNATURES.contains(&algorithm) {
        return Err("must be signed with RSA, ECDSA or Ed25519, and with SHA-256, SHA-384 or SHA-512");
    }
    bits(request.element(BIT_STRING)?)?;
    request.end("has bytes after its signature")?;
    Ok(KubeletRequest { node, key })
}

/// The name of the node: one organization and one common name, in any order.
fn subject(contents: &[u8]) -> Result<String, &'static str> {
    let mut names = Reader(contents);
    let (mut organization, mut common_name) = (None, None);
    while !names.0.is_empty() {
        let mut set = Reader(names.element(SET)?);
        let mut pair = Reader(set.element(SEQUENCE)?);
        set.end("must have one attribute in each part of its subject")?;
        let slot = match pair.element(OBJECT)? {
            COMMON_NAME => &mut common_name,
            ORGANIZATION => &mut organization,
            _ => return Err("must have nothing but an organization and a common name in its subject"),
        };
        let text = text(&mut pair)?;
        pair.end("must have one value for each attribute of its subject")?;
        if slot.replace(text).is_some() {
            return Err("must have one organization and one common name");
        }
    }
    if organization != Some(NODES_GROUP) {
        return Err("must have the organization system:nodes");
    }
    let node = common_name.and_then(|name| name.strip_prefix(NODE_USER));
    node.filter(|node| is_node_name(node))
        .map(str::to_owned)
        .ok_or("must have the common name system:node:NAME, where NAME can be the name of a Node")
}

fn text<'a>(pair: &mut Reader<'a>) -> Result<&'a str, &'static str> {
    let tag = pair.0.first().copied().unwrap_or_default();
    if ![UTF8_STRING, PRINTABLE_STRING].contains(&tag) {
        return Err("must have a UTF8String or a PrintableString for each attribute of its subject");
    }
    std::str::from_utf8(pair.element(tag)?).map_err(|_| "must have text in its subject")
}

/// What the API server takes as the name of a Node: a DNS subdomain.
pub(super) fn is_node_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().copied().is_some_and(inner)
            && bytes.last().copied().is_some_and(inner)
            && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

fn public_key(contents: &[u8]) -> Result<(), &'static str> {
    let mut key = Reader(contents);
    if !KEYS.contains(&key.element(SEQUENCE)?) {
        return Err("must have an RSA, ECDSA (P-256, P-384, P-521) or Ed25519 key");
    }
    bits(key.element(BIT_STRING)?)?;
    key.end("has bytes after its key")
}

/// A bit string of whole bytes.
fn bits(contents: &[u8]) -> Result<(), &'static str> {
    match contents {
        [0, _, ..] => Ok(()),
        _ => Err("must have a key and a signature of whole bytes"),
    }
}

/// Reads DER: single-byte tags, and lengths that are definite and as short as they can be.
struct Reader<'a>(&'a [u8]);

const NOT_DER: &str = "is not DER, or not a certificate request";

impl<'a> Reader<'a> {
    /// The contents of the next element, which must have this tag.
    fn element(&mut self, tag: u8) -> Result<&'a [u8], &'static str> {
        let (found, rest) = self.0.split_first().ok_or(NOT_DER)?;
        let (first, mut rest) = rest.split_first().ok_or(NOT_DER)?;
        if *found != tag {
            return Err(NOT_DER);
        }
        let mut length = usize::from(*first);
        if length >= 0x80 {
            // No more than two bytes: a request is shorter than that.
            let (bytes, after) = rest.split_at_checked(length - 0x80).ok_or(NOT_DER)?;
            length = match *bytes {
                [low @ 0x80..=0xFF] => usize::from(low),
                [high @ 1..=0xFF, low] => usize::from(high) << 8 | usize::from(low),
                _ => return Err("has a length that is not as DER wants it"),
            };
            rest = after;
        }
        let (contents, rest) = rest.split_at_checked(length).ok_or(NOT_DER)?;
        self.0 = rest;
        Ok(contents)
    }

    fn end(&self, problem: &'static str) -> Result<(), &'static str> {
        if self.0.is_empty() { Ok(()) } else { Err(problem) }
    }
}
