//! Reading the protobuf form of the few kinds that `kubectl` sends so.
//!
//! Clients of the kinds that are built in send protobuf where they can, and do not try JSON when it is refused. They take
//! JSON as the answer, so nothing is ever written in this form.

mod fields;
#[cfg(test)]
mod tests;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use self::fields::{Field, Form, kind_fields};

/// How a body in this form begins.
const MAGIC: &[u8] = b"k8s\0";

/// Whether a body is in this form.
pub(crate) fn is_protobuf(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads an object. Nothing if it is damaged or of a kind that is not known in this form.
pub(crate) fn read(bytes: &[u8]) -> Option<Value> {
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for entry in entries(bytes.strip_prefix(MAGIC)?) {
        match entry? {
            (1, Wire::Bytes(type_meta)) => {
                for entry in entries(type_meta) {
                    match entry? {
                        (1, Wire::Bytes(text)) => api_version = utf8(text)?,
                        (2, Wire::Bytes(text)) => kind = utf8(text)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(object)) => raw = object,
            _ => {}
        }
    }
    let mut object = message(kind_fields(&kind)?, raw)?;
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    Some(Value::Object(object))
}

/// A value on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Of a width that no field here has.
    Fixed,
}

/// The fields of a message, up to the first that cannot be read.
fn entries(mut rest: &[u8]) -> impl Iterator<Item = Option<(u64, Wire<'_>)>> {
    let mut broken = false;
    std::iter::from_fn(move || {
        if rest.is_empty() || broken {
            return None;
        }
        let entry = next_entry(&mut rest);
        broken = entry.is_none();
        Some(entry)
    })
}

fn next_entry<'a>(rest: &mut &'a [u8]) -> Option<(u64, Wire<'a>)> {
    let tag = varint(rest)?;
    let mut take = |length: usize| {
        let (head, tail) = rest.split_at_checked(length)?;
        *rest = tail;
        Some(head)
    };
    let value = match tag & 7 {
        0 => Wire::Number(varint(rest)?),
        1 => {
            take(8)?;
            Wire::Fixed
        }
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            let (head, tail) = rest.split_at_checked(length)?;
            *rest = tail;
            Wire::Bytes(head)
        }
        5 => {
            take(4)?;
            Wire::Fixed
        }
        _ => return None,
    };
    Some((tag >> 3, value))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7F).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn utf8(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

fn message(fields: &[Field], bytes: &[u8]) -> Option<Map<String, Value>> {
    let mut object = Map::new();
    for entry in entries(bytes) {
        let (number, wire) = entry?;
        let Some(field) = fields.iter().find(|field| field.number == number) else {
            continue;
        };
        let name = field.name.to_owned();
        match field.form {
            Form::Map(value_form) => {
                let Wire::Bytes(pair) = wire else { return None };
                let (mut key, mut value) = (String::new(), json!(""));
                for entry in entries(pair) {
                    match entry? {
                        (1, Wire::Bytes(text)) => key = utf8(text)?,
                        (2, wire) => value = single(*value_form, wire)?,
                        _ => {}
                    }
                }
                let slot = object.entry(name).or_insert_with(|| json!({}));
                slot.as_object_mut()?.insert(key, value);
            }
            Form::List(item_form) => {
                let item = single(*item_form, wire)?;
                let slot = object.entry(name).or_insert_with(|| json!([]));
                slot.as_array_mut()?.push(item);
            }
            form => {
                let value = single(form, wire)?;
                // Fields that are not pointers are sent with their zero, which means that nobody set them.
                let zero = value == json!("") || value == json!({}) || value == json!(false) || value.is_null();
                let unset = zero || (value == json!(0) && form != Form::Pointer);
                if !unset {
                    object.insert(name, value);
                }
            }
        }
    }
    Some(object)
}

fn single(form: Form, wire: Wire<'_>) -> Option<Value> {
    Some(match (form, wire) {
        (Form::Text, Wire::Bytes(bytes)) => json!(utf8(bytes)?),
        (Form::Bytes, Wire::Bytes(bytes)) => json!(STANDARD.encode(bytes)),
        (Form::Number | Form::Pointer, Wire::Number(number)) => json!(number.cast_signed()),
        (Form::Flag, Wire::Number(number)) => json!(number != 0),
        (Form::Time, Wire::Bytes(bytes)) => time(bytes)?,
        (Form::IntOrText, Wire::Bytes(bytes)) => int_or_text(bytes)?,
        (Form::Message(fields), Wire::Bytes(bytes)) => Value::Object(message(fields, bytes)?),
        _ => return None,
    })
}

fn time(bytes: &[u8]) -> Option<Value> {
    let mut seconds = 0_i64;
    for entry in entries(bytes) {
        if let (1, Wire::Number(number)) = entry? {
            seconds = number.cast_signed();
        }
    }
    if bytes.is_empty() {
        return Some(Value::Null);
    }
    let moment = jiff::Timestamp::from_second(seconds).ok()?;
    Some(json!(crate::cluster::seconds(moment)))
}

fn int_or_text(bytes: &[u8]) -> Option<Value> {
    let (mut is_text, mut number, mut text) = (false, 0_i64, String::new());
    for entry in entries(bytes) {
        match entry? {
            (1, Wire::Number(kind)) => is_text = kind == 1,
            (2, Wire::Number(value)) => number = value.cast_signed(),
            (3, Wire::Bytes(value)) => text = utf8(value)?,
            _ => {}
        }
    }
    Some(if is_text { json!(text) } else { json!(number) })
}
