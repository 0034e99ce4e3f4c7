//! Quoting as Kubernetes' messages do it, so that error texts are the same to the byte.

use std::fmt::{self, Write as _};

/// A text in the double-quoted form that Go's `%q` gives.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\u{7}' => f.write_str("\\a")?,
                '\u{8}' => f.write_str("\\b")?,
                '\u{c}' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\u{b}' => f.write_str("\\v")?,
                _ if character.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(character))?,
                // Go escapes every character that is not printable; these are the ones people meet: control
                // characters, spaces other than U+0020, zero-width marks and the byte order mark.
                '\u{a0}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{feff}' => {
                    escape_unicode(f, character)?;
                }
                _ if character.is_control() || (character != ' ' && character.is_whitespace()) => {
                    escape_unicode(f, character)?;
                }
                _ => f.write_char(character)?,
            }
        }
        f.write_char('"')
    }
}

fn escape_unicode(f: &mut fmt::Formatter<'_>, character: char) -> fmt::Result {
    write!(f, "\\u{:04x}", u32::from(character))
}

/// A list of texts as Go's JSON encoder prints it.
pub(crate) struct JsonList<'a>(pub(crate) &'a [String]);

impl fmt::Display for JsonList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        for (index, text) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_char(',')?;
            }
            write_json(f, text)?;
        }
        f.write_char(']')
    }
}

fn write_json(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            // Go escapes these three for use inside HTML, and the line separators for use inside JavaScript.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => escape_unicode(f, character)?,
            _ if u32::from(character) < 0x20 => escape_unicode(f, character)?,
            _ => f.write_char(character)?,
        }
    }
    f.write_char('"')
}
