//! What a scalar without quotes means.
//!
//! kubectl reads YAML 1.1 with a few habits of its own, and people write site files for kubectl. So an unquoted `yes` is
//! a boolean and `0644` is the octal number 420 here too; times of day (`12:30`) and dates stay text.

use crate::node::Value;

/// The value of a plain scalar, or none where it is just text.
pub(crate) fn resolve(text: &str) -> Option<Value> {
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
        return plain_number(&text.replace('_', ""));
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
        // `0644` is octal; `08` is no octal number and is read as decimal, as kubectl does.
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

/// Decodes base 64 as `!!binary` holds it; white space is allowed anywhere.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count, mut padding) = (0_u32, 0_u32, 0_u32);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                continue;
            }
            _ => return None,
        };
        if padding > 0 {
            return None;
        }
        bits = (bits << 6) | u32::from(six);
        count += 1;
        if count == 4 {
            let [_, a, b, c] = bits.to_be_bytes();
            bytes.extend([a, b, c]);
            (bits, count) = (0, 0);
        }
    }
    match (count, padding) {
        (0, 0) => {}
        (2, 2) => bytes.push((bits >> 4).to_be_bytes()[3]),
        (3, 1) => {
            let [_, _, a, b] = (bits >> 2).to_be_bytes();
            bytes.extend([a, b]);
        }
        _ => return None,
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
