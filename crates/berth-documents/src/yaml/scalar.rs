//! What a scalar without quotes means.
//!
//! It depends on who else reads the document. kubectl reads YAML 1.1 with a few habits of its own: an unquoted `y` is a
//! boolean, `08` a number, and times of day (`12:30`) and dates are text. Airship's services read with PyYAML, where `y`
//! and `08` are text and `12:30` is a number in base 60.

mod pyyaml;

use base64::{
    Engine as _, alphabet,
    engine::{GeneralPurpose, GeneralPurposeConfig},
};

use crate::node::Value;

/// Whose meaning scalars have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// kubectl's, for documents in the Kubernetes envelope.
    #[default]
    Kubectl,
    /// PyYAML's, for documents in the Airship envelope.
    PyYaml,
}

impl Dialect {
    /// The value of a plain scalar, or none where it is just text.
    pub(crate) fn resolve(self, text: &str) -> Option<Value> {
        match self {
            Self::Kubectl => resolve(text),
            Self::PyYaml => pyyaml::resolve(text),
        }
    }
}

/// Whether a plain scalar means the same in both dialects. It can say no where they agree.
pub(crate) fn means_the_same(text: &str) -> bool {
    match text.as_bytes() {
        [b'0'..=b'9' | b'+' | b'-' | b'.', ..] => {
            // Nearly every number is a plain decimal one, and nearly every other text with such a beginning has a letter.
            let decimal = text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() < 16 && !text.starts_with('0'));
            decimal || text == "0" || same(resolve(text).as_ref(), pyyaml::resolve(text).as_ref())
        }
        [b'y' | b'Y' | b'n' | b'N'] => false,
        _ => true,
    }
}

fn same(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(Value::Int(one)), Some(Value::Int(other))) => one == other,
        (Some(Value::UInt(one)), Some(Value::UInt(other))) => one == other,
        (Some(Value::Float(one)), Some(Value::Float(other))) => one.to_bits() == other.to_bits(),
        _ => false,
    }
}

/// What kubectl reads a plain scalar as, or none where it is just text.
fn resolve(text: &str) -> Option<Value> {
    let first = match text.as_bytes() {
        [] => return Some(Value::Null),
        [first, ..] => *first,
    };
    match first {
        b'0'..=b'9' => number(text),
        b'+' | b'-' | b'.' => special_float(text).or_else(|| number(text)),
        // No word below is longer than five letters.
        b'~' | b'n' | b'N' | b'y' | b'Y' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' if text.len() <= 5 => word(text),
        _ => None,
    }
}

fn word(text: &str) -> Option<Value> {
    match text {
        "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => {
            Some(Value::Bool(false))
        }
        _ => None,
    }
}

fn special_float(text: &str) -> Option<Value> {
    let value = match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => f64::INFINITY,
        "-.inf" | "-.Inf" | "-.INF" => f64::NEG_INFINITY,
        ".nan" | ".NaN" | ".NAN" => f64::NAN,
        _ => return None,
    };
    Some(Value::Float(value))
}

/// A number in any of the spellings of YAML 1.1, except base 60.
fn number(text: &str) -> Option<Value> {
    // A name, an address or a date mostly shows itself by a character that no number has.
    if text.bytes().any(|byte| {
        !(byte.is_ascii_hexdigit() || matches!(byte, b'+' | b'-' | b'.' | b'_' | b'x' | b'X' | b'o' | b'O'))
    }) {
        return None;
    }
    if text.contains('_') {
        // Behind a point kubectl's reader does not look for them.
        return if text.starts_with('.') {
            None
        } else {
            plain_number(&text.replace('_', ""))
        };
    }
    plain_number(text)
}

fn plain_number(text: &str) -> Option<Value> {
    whole_number(text).or_else(|| float(text))
}

fn whole_number(text: &str) -> Option<Value> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        // `0644` is octal; `08` is not an octal number and is read as decimal, as kubectl does.
        [b'0', rest @ ..] if !rest.is_empty() && rest.iter().all(|digit| matches!(digit, b'0'..=b'7')) => {
            (8, digits.get(1..)?)
        }
        _ => (10, digits),
    };
    // The standard library would accept one more sign here.
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        return 0_i64.checked_sub_unsigned(magnitude).map(Value::Int);
    }
    Some(i64::try_from(magnitude).map_or(Value::UInt(magnitude), Value::Int))
}

fn float(text: &str) -> Option<Value> {
    if !is_float(text) {
        return None;
    }
    // A number beyond the range of floats is left as text, so that it is not silently changed to infinity.
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(Value::Float(value))
}

/// Whether the text is an optional sign, digits with at most one point, and an optional exponent.
pub(crate) fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_fits
}

/// Base 64 as `!!binary` holds it and Go reads it: the last character may have bits to spare.
const BINARY: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Decodes base 64; white space is allowed anywhere.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    BINARY.decode(text).ok()
}

#[cfg(test)]
mod tests;
