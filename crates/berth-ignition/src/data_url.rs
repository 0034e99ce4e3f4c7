//! `data:` URLs, in which configs carry file contents.
//!
//! Reading follows what Ignition accepts, which is stricter than a browser in
//! its characters (no spaces, no `#`) and does not decode percent escapes in
//! base64. So a URL that decodes here also decodes on the machine.

use std::io::{Read, Write};

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use flate2::{Compression, GzBuilder, bufread::MultiGzDecoder};

/// The compression value for gzip in a config.
pub(crate) const GZIP: &str = "gzip";

/// Trailing bits may be set, as in the decoder that Ignition uses; padding is
/// required, as there.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// How to write bytes into a `data:` URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Percent escapes: readable for text.
    Percent,
    /// Base64, for bytes that are mostly not text.
    Base64,
    /// Gzip, then base64. The resource needs `compression: gzip`.
    GzipBase64,
    /// Whichever of the three is shortest; the simpler one of equals.
    Smallest,
}

/// Bytes written as a URL, with the compression value that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The `source` of the resource.
    pub source: String,
    /// The `compression` of the resource: `gzip`, or nothing.
    pub compression: Option<String>,
}

/// Why contents could not be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The source has to be fetched from somewhere else.
    #[error("the source is not a data URL")]
    NotData,
    /// There is no comma between the media type and the data.
    #[error("the data URL has no comma before its data")]
    NoComma,
    /// What stands before the comma is not a media type with parameters.
    #[error("the data URL has a malformed media type `{0}`")]
    MediaType(String),
    /// A character that must be escaped.
    #[error("the data URL has the character {0:?}, which must be percent-encoded")]
    Character(char),
    /// A `%` without two hexadecimal digits.
    #[error("the data URL has a malformed percent escape")]
    Percent,
    /// The data is not base64.
    #[error("the data URL is not valid base64")]
    Base64(#[source] base64::DecodeError),
    /// The compression is neither empty nor gzip.
    #[error("the compression `{0}` is not known")]
    Compression(String),
    /// The data is not gzip although the compression says so.
    #[error("the data is not valid gzip")]
    Gzip(#[source] std::io::Error),
    /// The decompressed contents are larger than allowed.
    #[error("the contents are larger than {limit} bytes when decompressed")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}

/// Decodes a `data:` URL to the bytes it spells, without decompressing them.
pub fn decode_data_url(url: &str) -> Result<Vec<u8>, DecodeError> {
    let rest = url.strip_prefix("data:").ok_or(DecodeError::NotData)?;
    let (header, data) = split_header(rest)?;
    let base64 = check_header(header)?;
    if base64 {
        if let Some(bad) = data.chars().find(|&c| !is_base64_character(c)) {
            return Err(DecodeError::Character(bad));
        }
        return BASE64.decode(data).map_err(DecodeError::Base64);
    }
    if let Some(bad) = data.chars().find(|&c| !is_url_character(c)) {
        return Err(DecodeError::Character(bad));
    }
    percent_decode(data)
}

/// Decodes a resource's `source` and undoes its `compression`.
///
/// `limit` bounds the decompressed size, because a few kilobytes of gzip can
/// expand to gigabytes.
pub fn decode(url: &str, compression: Option<&str>, limit: u64) -> Result<Vec<u8>, DecodeError> {
    let bytes = decode_data_url(url)?;
    match compression {
        None | Some("") => Ok(bytes),
        Some(GZIP) => gunzip(&bytes, limit),
        Some(other) => Err(DecodeError::Compression(other.to_owned())),
    }
}

/// Writes bytes as a `data:` URL. Equal bytes always give equal text.
pub fn encode(bytes: &[u8], encoding: Encoding) -> Encoded {
    match encoding {
        Encoding::Percent => plain(percent_encode(bytes)),
        Encoding::Base64 => plain(base64_url(bytes)),
        Encoding::GzipBase64 => Encoded {
            source: base64_url(&gzip(bytes)),
            compression: Some(GZIP.to_owned()),
        },
        Encoding::Smallest => {
            let candidates = [Encoding::Percent, Encoding::Base64, Encoding::GzipBase64];
            let [first, second, third] = candidates.map(|encoding| encode(bytes, encoding));
            let mut best = first;
            for other in [second, third] {
                if written_length(&other) < written_length(&best) {
                    best = other;
                }
            }
            best
        }
    }
}

/// What the resource costs in the config: naming a compression is not free.
fn written_length(encoded: &Encoded) -> usize {
    const COMPRESSION_FIELD: usize = r#","compression":"gzip""#.len();
    let extra = if encoded.compression.is_some() {
        COMPRESSION_FIELD
    } else {
        0
    };
    encoded.source.len() + extra
}

fn plain(source: String) -> Encoded {
    Encoded {
        source,
        compression: None,
    }
}

fn base64_url(bytes: &[u8]) -> String {
    let mut url = "data:;base64,".to_owned();
    BASE64.encode_string(bytes, &mut url);
    url
}

fn percent_encode(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut url = String::with_capacity(bytes.len() + 6);
    url.push_str("data:,");
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push('%');
            for nibble in [byte >> 4, byte & 15] {
                url.extend(HEX.get(usize::from(nibble)).copied().map(char::from));
            }
        }
    }
    url
}

fn percent_decode(data: &str) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::with_capacity(data.len());
    let mut bytes = data.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = bytes.next().and_then(hex).ok_or(DecodeError::Percent)?;
            let low = bytes.next().and_then(hex).ok_or(DecodeError::Percent)?;
            out.push(high << 4 | low);
        } else {
            out.push(byte);
        }
    }
    Ok(out)
}

pub(crate) fn hex(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

/// Compresses without a time stamp or file name, so that the bytes depend on
/// nothing but the input.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}

fn gunzip(bytes: &[u8], limit: u64) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(limit.saturating_add(1))
        .read_to_end(&mut out)
        .map_err(DecodeError::Gzip)?;
    if u64::try_from(out.len()).is_ok_and(|length| length <= limit) {
        Ok(out)
    } else {
        Err(DecodeError::TooLarge { limit })
    }
}

/// Splits at the comma that ends the header. Commas inside a quoted parameter
/// belong to it.
fn split_header(rest: &str) -> Result<(&str, &str), DecodeError> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                let (header, data) = rest.split_at(at);
                return Ok((header, data.strip_prefix(',').unwrap_or(data)));
            }
            _ => {}
        }
    }
    Err(DecodeError::NoComma)
}

/// Checks `type/subtype;name=value;base64` and says whether it ends in base64.
fn check_header(header: &str) -> Result<bool, DecodeError> {
    let malformed = || DecodeError::MediaType(header.to_owned());
    let (media, parameters) = match header.split_once(';') {
        Some((media, parameters)) => (media, Some(parameters)),
        None => (header, None),
    };
    if !media.is_empty() && !is_media_type(media) {
        return Err(malformed());
    }
    let Some(parameters) = parameters else {
        return Ok(false);
    };
    let mut base64 = false;
    for parameter in split_parameters(parameters) {
        if base64 {
            return Err(malformed());
        }
        if parameter == "base64" {
            base64 = true;
            continue;
        }
        let (name, value) = parameter.split_once('=').ok_or_else(malformed)?;
        if !is_token(name) || !is_parameter_value(value) {
            return Err(malformed());
        }
    }
    Ok(base64)
}

/// Only the registered top-level types and `x-` ones are taken.
fn is_media_type(media: &str) -> bool {
    const TYPES: [&str; 7] = ["application", "audio", "image", "message", "multipart", "text", "video"];
    let Some((kind, subtype)) = media.split_once('/') else {
        return false;
    };
    let private = kind.starts_with("x-") || kind.starts_with("X-");
    let known = TYPES.iter().any(|known| kind.starts_with(known));
    (private || known) && is_token(kind) && (subtype.is_empty() || is_token(subtype))
}

fn split_parameters(parameters: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (at, byte) in parameters.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b';' if !quoted => {
                parts.extend(parameters.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(parameters.get(start..));
    parts
}

fn is_parameter_value(value: &str) -> bool {
    let Some(quoted) = value.strip_prefix('"') else {
        return is_token(value);
    };
    let mut escaped = false;
    for (at, byte) in quoted.bytes().enumerate() {
        match byte {
            128.. => return false,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1 == quoted.len(),
            _ => {}
        }
    }
    false
}

fn is_token(text: &str) -> bool {
    const SPECIAL: &str = "()<>@,;:\\\"/[]?=";
    !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && !SPECIAL.contains(c))
}

fn is_url_character(c: char) -> bool {
    c.is_ascii_graphic() && !"<>#\"{}|\\^[]`".contains(c)
}

fn is_base64_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/=".contains(c)
}

#[cfg(test)]
mod tests;
