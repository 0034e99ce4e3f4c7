//! Values as texts.

use super::text_of;
use crate::{error::EvalError, value::Value};

/// A text in quotes, with what cannot be seen escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// The shortest text of a number, with an exponent where it is large or small.
pub(super) fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if value != 0.0 && !(-4..21).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.unsigned_abs());
    }
    format!("{value}")
}

/// Fills in the places of a text that begin with `%`.
pub(super) fn format(pattern: &str, arguments: &[Value]) -> Result<String, EvalError> {
    let mut out = String::new();
    let mut arguments = arguments.iter().enumerate();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        let mut verb = characters.next();
        if verb == Some('%') {
            out.push('%');
            continue;
        }
        let mut precision = None;
        if verb == Some('.') {
            let mut digits = String::new();
            verb = characters.next();
            while let Some(digit @ '0'..='9') = verb {
                digits.push(digit);
                verb = characters.next();
            }
            precision = digits.parse::<usize>().ok().map(|precision| precision.min(100));
        }
        let verb = verb.ok_or_else(|| EvalError::new("unexpected end of string"))?;
        let (index, argument) = arguments.next().ok_or_else(|| EvalError::new("index out of range"))?;
        out.push_str(&filled(verb, precision, argument).ok_or_else(|| {
            EvalError::new(format!(
                "error during formatting: argument {index} cannot be formatted with %{verb}"
            ))
        })?);
    }
    Ok(out)
}

fn filled(verb: char, precision: Option<usize>, value: &Value) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "the language says so")]
    let number = match value {
        Value::Double(value) => Some(*value),
        Value::Int(value) => Some(*value as f64),
        Value::Uint(value) => Some(*value as f64),
        _ => None,
    };
    let hexadecimal = |bytes: &[u8]| -> String {
        let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        halves
            .filter_map(|half| char::from_digit(u32::from(half), 16))
            .collect()
    };
    match (verb, value) {
        ('s', value) => shown(value),
        ('d', Value::Int(value)) => Some(value.to_string()),
        ('d', Value::Uint(value)) => Some(value.to_string()),
        ('d', Value::Double(value)) => Some(double(*value)),
        ('b', Value::Int(value)) => Some(if *value < 0 {
            format!("-{:b}", value.unsigned_abs())
        } else {
            format!("{value:b}")
        }),
        ('b', Value::Uint(value)) => Some(format!("{value:b}")),
        ('b', Value::Bool(value)) => Some(u8::from(*value).to_string()),
        ('o', Value::Int(value)) => Some(format!("{value:o}")),
        ('o', Value::Uint(value)) => Some(format!("{value:o}")),
        ('x', Value::Int(value)) => Some(format!("{value:x}")),
        ('x', Value::Uint(value)) => Some(format!("{value:x}")),
        ('x', Value::Text(text)) => Some(hexadecimal(text.as_bytes())),
        ('x', Value::Bytes(bytes)) => Some(hexadecimal(bytes)),
        ('X', value) => filled('x', precision, value).map(|text| text.to_uppercase()),
        ('f', _) => number.map(|number| format!("{number:.*}", precision.unwrap_or(6))),
        ('e', _) => number.map(|number| {
            let text = format!("{number:.*e}", precision.unwrap_or(6));
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or_default();
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }),
        _ => None,
    }
}

/// A value as `%s` writes it.
fn shown(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Type(name) => name.to_string(),
        Value::List(list) => {
            let items: Option<Vec<String>> = list.items.iter().map(inside).collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Map(map) => {
            let entries: Option<Vec<String>> = map
                .iter()
                .map(|(key, value)| {
                    let key = match key {
                        crate::value::Key::Text(text) => quoted(text),
                        other => other.to_string(),
                    };
                    Some(format!("{key}: {}", inside(value)?))
                })
                .collect();
            format!("{{{}}}", entries?.join(", "))
        }
        other => text_of(other).ok()?,
    })
}

fn inside(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(quoted(text)),
        other => shown(other),
    }
}
