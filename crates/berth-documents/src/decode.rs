//! From the bytes of a file to text.

use crate::{
    diagnostic::Diagnostic,
    lints::NOT_TEXT,
    source::{SourceId, Span},
};

/// Why bytes are not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are not UTF-8.
    #[error("byte {offset} is not valid UTF-8")]
    Utf8 {
        /// Offset of the first wrong byte.
        offset: usize,
    },
    /// A UTF-16 byte order mark is followed by something that is not UTF-16.
    #[error("byte {offset} is not valid UTF-16")]
    Utf16 {
        /// Offset of the first wrong byte.
        offset: usize,
    },
}

impl DecodeError {
    /// The finding for a source that could not be decoded (registered with empty text, so that the file is named).
    pub fn to_diagnostic(&self, source: SourceId) -> Diagnostic {
        Diagnostic::new(
            &NOT_TEXT,
            Span::file_start(source),
            format!("the file is not text: {self}"),
        )
        .with_help("save the file as UTF-8")
    }
}

/// Turns the bytes of a file into text: UTF-8, or UTF-16 where the file begins with its byte order mark.
///
/// The byte order mark of UTF-8 is kept, so that offsets still fit the file; [`parse`](crate::parse) skips it.
pub fn decode(bytes: &[u8]) -> Result<String, DecodeError> {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|error| DecodeError::Utf8 {
                offset: error.valid_up_to(),
            }),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DecodeError> {
    let mut pairs = bytes.chunks_exact(2);
    let units = pairs
        .by_ref()
        .map(|pair| unit([pair.first().copied().unwrap_or(0), pair.last().copied().unwrap_or(0)]));
    let mut text = String::with_capacity(bytes.len() / 2);
    let mut at = 2;
    for character in char::decode_utf16(units) {
        let character = character.map_err(|_| DecodeError::Utf16 { offset: at })?;
        at += 2 * character.len_utf16();
        text.push(character);
    }
    if bytes.len() % 2 == 1 {
        return Err(DecodeError::Utf16 { offset: at });
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
