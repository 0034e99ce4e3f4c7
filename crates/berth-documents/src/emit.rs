//! Printing values as YAML that people like to read and that all readers understand alike.
//!
//! Block style, two spaces per level. A string is quoted only where some reader of YAML 1.1 or 1.2 would take it for
//! something else; text of several lines becomes a block scalar. Reading the output gives the same value again.
//!
//! What is nested deeply is written in brackets: indenting every line of it would make a print of many times its size.

use std::fmt::Write as _;

use serde_json::Value;

use crate::yaml::{Dialect, is_float};

/// Prints a value as YAML, ending with a line break.
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Array(items) if !items.is_empty() => sequence(&mut out, items, 0),
        Value::Object(entries) if !entries.is_empty() => mapping(&mut out, entries, 0),
        other => {
            inline(&mut out, other, 0);
            out.push('\n');
        }
    }
    out
}

/// Prints several documents with `---` lines between them.
pub fn to_yaml_documents<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    let mut out = String::new();
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.push_str("---\n");
        }
        out.push_str(&to_yaml(value));
    }
    out
}

/// How many levels are indented.
const DEEPEST_BLOCK: usize = 16;

/// A simple key may be 1024 characters long, quotes and escapes included; a longer one is announced with `?`.
const LONGEST_SIMPLE_KEY: usize = 1000;

fn mapping(out: &mut String, entries: &serde_json::Map<String, Value>, level: usize) {
    if level > DEEPEST_BLOCK {
        if !out.ends_with("- ") {
            indent(out, level);
        }
        flow_mapping(out, entries);
        out.push('\n');
        return;
    }
    for (index, (key, value)) in entries.iter().enumerate() {
        // The first key of a mapping in a list follows the dash, which stands for its indentation.
        if index > 0 || !out.ends_with("- ") {
            indent(out, level);
        }
        let key = scalar(key);
        if key.chars().count() > LONGEST_SIMPLE_KEY {
            out.push_str("? ");
            out.push_str(&key);
            out.push('\n');
            indent(out, level);
            out.push(':');
        } else {
            out.push_str(&key);
            out.push(':');
        }
        match value {
            // On the line of its key nobody takes it for a key.
            Value::Array(_) | Value::Object(_) if level >= DEEPEST_BLOCK => {
                out.push(' ');
                flow(out, value);
                out.push('\n');
            }
            // Lists stay at the level of their key, as kubectl prints them.
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                sequence(out, items, level);
            }
            Value::Object(entries) if !entries.is_empty() => {
                out.push('\n');
                mapping(out, entries, level + 1);
            }
            other => {
                out.push(' ');
                inline(out, other, level + 1);
                out.push('\n');
            }
        }
    }
}

fn sequence(out: &mut String, items: &[Value], level: usize) {
    if level > DEEPEST_BLOCK {
        if !out.ends_with("- ") {
            indent(out, level);
        }
        flow_sequence(out, items);
        out.push('\n');
        return;
    }
    for (index, item) in items.iter().enumerate() {
        if index > 0 || !out.ends_with("- ") {
            indent(out, level);
        }
        out.push_str("- ");
        match item {
            Value::Array(items) if !items.is_empty() => sequence(out, items, level + 1),
            Value::Object(entries) if !entries.is_empty() => mapping(out, entries, level + 1),
            other => {
                inline(out, other, level + 1);
                out.push('\n');
            }
        }
    }
}

fn flow(out: &mut String, value: &Value) {
    match value {
        Value::Array(items) => flow_sequence(out, items),
        Value::Object(entries) => flow_mapping(out, entries),
        Value::String(text) => out.push_str(&quote_double(text)),
        other => inline(out, other, 0),
    }
}

fn flow_sequence(out: &mut String, items: &[Value]) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        flow(out, item);
    }
    out.push(']');
}

fn flow_mapping(out: &mut String, entries: &serde_json::Map<String, Value>) {
    out.push('{');
    for (index, (key, value)) in entries.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        let key = quote_double(key);
        if key.chars().count() > LONGEST_SIMPLE_KEY {
            out.push_str("? ");
        }
        out.push_str(&key);
        out.push_str(": ");
        flow(out, value);
    }
    out.push('}');
}

fn indent(out: &mut String, level: usize) {
    for _ in 0..level {
        out.push_str("  ");
    }
}

/// Prints a scalar or an empty collection, without the line break after it.
fn inline(out: &mut String, value: &Value, level: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number_text(&number.to_string())),
        Value::String(text) if level <= DEEPEST_BLOCK && suits_block(text) => block(out, text, level),
        Value::String(text) => out.push_str(&scalar(text)),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

/// A number as every reader takes it for one: PyYAML wants a point before an exponent and a sign after it.
fn number_text(number: &str) -> String {
    let Some((mantissa, exponent)) = number.split_once('e') else {
        return number.to_owned();
    };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['+', '-']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

/// Whether text reads well as a block scalar and survives it unchanged.
fn suits_block(text: &str) -> bool {
    // A first line that is empty or indented would need an indentation mark; such text is rare and quoted instead.
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && text.chars().all(|c| c == '\n' || is_printable(c))
}

fn block(out: &mut String, text: &str, level: usize) {
    let content = text.trim_end_matches('\n');
    out.push_str(match text.len() - content.len() {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    // The caller ends the last line.
    let lines = text.strip_suffix('\n').unwrap_or(text);
    for line in lines.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            indent(out, level.max(1));
            out.push_str(line);
        }
    }
}

fn scalar(text: &str) -> String {
    if is_safe_plain(text) {
        return text.to_owned();
    }
    // Single quotes need no escapes; double quotes are what most people write otherwise.
    if text.contains(['"', '\\']) && !text.contains(['\'', '\t']) && text.chars().all(is_printable) {
        return format!("'{text}'");
    }
    quote_double(text)
}

/// Whether every reader takes the text for itself when it has no quotes.
fn is_safe_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let safe_start = match first {
        '-' | '?' | ':' => text
            .chars()
            .nth(1)
            .is_some_and(|next| next == '-' || next.is_ascii_alphanumeric()),
        '[' | ']' | '{' | '}' | ',' | '#' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' | '=' | '<'
        | '~' => false,
        _ => true,
    };
    safe_start
        && text.chars().all(is_printable)
        && text.trim() == text
        && !text.contains('\t')
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !text.starts_with("---")
        && !text.starts_with("...")
        && Dialect::Kubectl.resolve(text).is_none()
        && Dialect::PyYaml.resolve(text).is_none()
        && !is_number_elsewhere(text)
}

/// Numbers in base 60 and dates: this crate and kubectl read them as text, other readers do not.
fn is_number_elsewhere(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['+', '-']);
    let is_digits = |c: char| c.is_ascii_digit() || matches!(c, '_' | ':' | '.' | ',');
    let base_60 =
        unsigned.starts_with(|c: char| c.is_ascii_digit()) && unsigned.contains(':') && unsigned.chars().all(is_digits);
    let mut parts = unsigned.splitn(3, '-');
    let date = parts
        .next()
        .is_some_and(|year| year.len() == 4 && year.bytes().all(|b| b.is_ascii_digit()))
        && parts
            .next()
            .is_some_and(|month| !month.is_empty() && month.bytes().all(|b| b.is_ascii_digit()))
        && parts
            .next()
            .is_some_and(|day| day.starts_with(|c: char| c.is_ascii_digit()));
    // Beyond the range of floats: text here, infinity elsewhere.
    base_60 || date || is_float(&text.replace('_', ""))
}

/// Characters that may stand in YAML as they are, line breaks of every kind left out.
fn is_printable(c: char) -> bool {
    let allowed = matches!(c, '\t' | ' '..='~' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    allowed && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn quote_double(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c => {
                // Writing to a string cannot fail.
                let _ = match u32::from(c) {
                    code @ ..=0xFF => write!(out, "\\x{code:02x}"),
                    code @ ..=0xFFFF => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
