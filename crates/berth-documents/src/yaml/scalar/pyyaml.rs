//! Scalars as PyYAML's `SafeLoader` reads them.
//!
//! Dates, which Python has a type for and JSON has not, are text.

use super::special_float;
use crate::node::Value;

/// The value of a plain scalar, or none where it is just text.
pub(super) fn resolve(text: &str) -> Option<Value> {
    let first = match text.as_bytes() {
        [] => return Some(Value::Null),
        [first, ..] => *first,
    };
    match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => special_float(text).or_else(|| number(text)),
        _ => word(text),
    }
}

fn word(text: &str) -> Option<Value> {
    match text {
        "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn number(text: &str) -> Option<Value> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let signed = text.len() != unsigned.len();
    whole(negative, unsigned).or_else(|| float(negative, signed, unsigned))
}

/// Whether a text has only these characters and underscores, and at least one character.
fn digits(text: &str, allowed: fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'_' || allowed(byte))
}

const fn is_decimal(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn whole(negative: bool, unsigned: &str) -> Option<Value> {
    let octal = |byte: u8| matches!(byte, b'0'..=b'7');
    let (radix, written) = match unsigned.as_bytes() {
        [b'0', b'b', ..] if digits(unsigned.get(2..)?, |byte| matches!(byte, b'0' | b'1')) => (2, unsigned.get(2..)?),
        [b'0', b'x', ..] if digits(unsigned.get(2..)?, |byte| byte.is_ascii_hexdigit()) => (16, unsigned.get(2..)?),
        [b'0', _, ..] if digits(unsigned.get(1..)?, octal) => (8, unsigned.get(1..)?),
        [b'0'] => return Some(Value::Int(0)),
        [b'1'..=b'9', ..] if digits(unsigned, is_decimal) => (10, unsigned),
        [b'1'..=b'9', ..] if unsigned.contains(':') => return base_60(negative, unsigned),
        _ => return None,
    };
    let written = written.replace('_', "");
    // Python reads `0_` as 0, and gives up on `0x_`.
    if written.is_empty() {
        return (radix == 8).then_some(Value::Int(0));
    }
    match u64::from_str_radix(&written, radix) {
        Ok(magnitude) => Some(signed(negative, magnitude)),
        // Python's numbers have no end; here a float has to do.
        Err(_) if radix == 10 => written
            .parse()
            .ok()
            .map(|value: f64| Value::Float(flip(negative, value))),
        Err(_) => None,
    }
}

fn signed(negative: bool, magnitude: u64) -> Value {
    if !negative {
        return i64::try_from(magnitude).map_or(Value::UInt(magnitude), Value::Int);
    }
    #[expect(clippy::cast_precision_loss, reason = "there is no whole number that small")]
    let beyond = || Value::Float(-(magnitude as f64));
    0_i64.checked_sub_unsigned(magnitude).map_or_else(beyond, Value::Int)
}

fn flip(negative: bool, value: f64) -> f64 {
    if negative { -value } else { value }
}

/// `1:30:00`: each part but the first is from 0 to 59.
fn base_60(negative: bool, unsigned: &str) -> Option<Value> {
    let mut parts = unsigned.split(':');
    let first = parts.next().filter(|first| digits(first, is_decimal))?;
    let mut value: u64 = first.replace('_', "").parse().ok()?;
    for part in parts {
        value = value.checked_mul(60)?.checked_add(below_60(part)?)?;
    }
    Some(signed(negative, value))
}

fn below_60(part: &str) -> Option<u64> {
    match part.as_bytes() {
        [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'] => part.parse().ok(),
        _ => None,
    }
}

fn float(negative: bool, has_sign: bool, unsigned: &str) -> Option<Value> {
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (unsigned.get(..at)?, unsigned.get(at + 1..)?),
        None => (unsigned, ""),
    };
    // Without its sign an exponent is not one.
    let has_exponent = mantissa.len() != unsigned.len();
    if has_exponent
        && !exponent
            .strip_prefix(['+', '-'])
            .is_some_and(|it| !it.is_empty() && it.bytes().all(is_decimal))
    {
        return None;
    }
    let (whole, fraction) = mantissa.split_once('.')?;
    if fraction.bytes().any(|byte| byte != b'_' && !is_decimal(byte)) {
        return None;
    }
    if whole.contains(':') && !has_exponent {
        return float_base_60(negative, whole, fraction);
    }
    let starts_well = |text: &str| text.bytes().next().is_some_and(is_decimal);
    let well_formed = if whole.is_empty() {
        !has_sign && starts_well(fraction)
    } else {
        starts_well(whole) && digits(whole, is_decimal)
    };
    let written = unsigned.replace('_', "");
    let value: f64 = written.parse().ok().filter(|_| well_formed)?;
    // A number beyond the range of floats is left as text, so that it is not silently changed to infinity.
    value.is_finite().then(|| Value::Float(flip(negative, value)))
}

fn float_base_60(negative: bool, whole: &str, fraction: &str) -> Option<Value> {
    let mut parts = whole.split(':');
    let first = parts.next()?;
    let starts_well = first.bytes().next().is_some_and(is_decimal) && digits(first, is_decimal);
    let mut value: f64 = first.replace('_', "").parse().ok().filter(|_| starts_well)?;
    let mut rest: Vec<&str> = parts.collect();
    let last = rest.pop()?;
    for part in rest {
        value = value.mul_add(60.0, f64::from(u32::try_from(below_60(part)?).ok()?));
    }
    below_60(last)?;
    let last: f64 = format!("{last}.{}0", fraction.replace('_', "")).parse().ok()?;
    Some(Value::Float(flip(negative, value.mul_add(60.0, last))))
}
