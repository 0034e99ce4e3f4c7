//! One spelling for each JSON value, and the hashes made of it.
//!
//! The spelling is the one that Deckhand hashes (keys sorted, `, ` and `: ` between the parts, everything outside ASCII
//! escaped), so a hash says the same in both systems.

use std::fmt::Write;

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

/// A SHA-256 hash, shown in lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of a value's canonical spelling.
    pub fn of(value: &Value) -> Self {
        let mut hasher = Hasher(Sha256::new());
        write_value(&mut hasher, value);
        Self(hasher.0.finalize().into())
    }

    /// The bytes of the hash.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl std::fmt::Debug for ContentHash {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ContentHash({self})")
    }
}

/// Hashes what is written into it, so that the spelling of a large value need not be kept.
struct Hasher(Sha256);

impl Write for Hasher {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// The canonical spelling of a value: equal values give equal texts, whatever the order of their keys.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// Writing into a text or a hash cannot fail.
fn put(out: &mut impl Write, text: &str) {
    let _ = out.write_str(text);
}

fn write_value(out: &mut impl Write, value: &Value) {
    match value {
        Value::Null => put(out, "null"),
        Value::Bool(true) => put(out, "true"),
        Value::Bool(false) => put(out, "false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            put(out, "[");
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    put(out, ", ");
                }
                write_value(out, item);
            }
            put(out, "]");
        }
        Value::Object(map) => {
            // Sorted here and not left to the map: another crate of the build may make maps keep their written order.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            put(out, "{");
            for (position, (key, item)) in entries.into_iter().enumerate() {
                if position > 0 {
                    put(out, ", ");
                }
                write_string(out, key);
                put(out, ": ");
                write_value(out, item);
            }
            put(out, "}");
        }
    }
}

fn write_string(out: &mut impl Write, text: &str) {
    put(out, "\"");
    for character in text.chars() {
        match character {
            '"' => put(out, "\\\""),
            '\\' => put(out, "\\\\"),
            '\n' => put(out, "\\n"),
            '\r' => put(out, "\\r"),
            '\t' => put(out, "\\t"),
            '\u{8}' => put(out, "\\b"),
            '\u{c}' => put(out, "\\f"),
            ' '..='~' => put(out, character.encode_utf8(&mut [0; 4])),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing into a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    put(out, "\"");
}

fn write_number(out: &mut impl Write, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => write_float(out, float),
        _ => {
            let _ = write!(out, "{number}");
        }
    }
}

/// Floats as Python writes them: the shortest digits, plain from 0.0001 up to 1e16 and with a two-digit exponent beyond.
fn write_float(out: &mut impl Write, float: f64) {
    let magnitude = float.abs();
    if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        let _ = write!(out, "{float:?}");
        return;
    }
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    let _ = write!(out, "{digits}e{sign}{exponent:0>2}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spelling_is_the_one_that_deckhand_hashes() {
        for (value, expected) in [
            (json!(null), "null"),
            (json!({"b": 1, "a": [true, null]}), r#"{"a": [true, null], "b": 1}"#),
            (json!("ü\n\u{1F600}\u{7f}"), r#""\u00fc\n\ud83d\ude00\u007f""#),
            (json!(1.0), "1.0"),
            (json!(0.1), "0.1"),
            (json!(1e16), "1e+16"),
            (json!(123_456_789_012_345.6), "123456789012345.6"),
            (json!(1.5e-7), "1.5e-07"),
            (json!(0.0001), "0.0001"),
            (json!(-2.5e300), "-2.5e+300"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!({}), "{}"),
            (json!([]), "[]"),
        ] {
            assert_eq!(canonical_json(&value), expected);
        }
    }

    #[test]
    fn hash_is_sha256_of_the_spelling() {
        // printf '{}' | sha256sum
        assert_eq!(
            ContentHash::of(&json!({})).to_string(),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }
}
