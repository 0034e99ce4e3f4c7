//! JSON in one form, whose length is the size of an object.
//!
//! Keys are sorted here and not left to the order of `serde_json`'s maps: that order depends on a feature which any
//! crate of a build can turn on.

use std::fmt::Write as _;

use serde_json::Value;

/// Compact JSON with the keys of every object in the order of their bytes.
pub(super) fn write(json: &Value) -> String {
    let mut text = String::new();
    append(json, &mut text);
    text
}

fn append(json: &Value, text: &mut String) {
    match json {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => {
            // Writing to a string cannot fail.
            let _ = write!(text, "{value}");
        }
        Value::String(value) => append_string(value, text),
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                append(element, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| key.as_bytes());
            text.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                append_string(key, text);
                text.push(':');
                append(value, text);
            }
            text.push('}');
        }
    }
}

fn append_string(value: &str, text: &mut String) {
    text.push('"');
    let mut rest = value;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || c < ' ') {
        let (plain, special) = rest.split_at(at);
        text.push_str(plain);
        let mut characters = special.chars();
        match characters.next() {
            Some('"') => text.push_str("\\\""),
            Some('\\') => text.push_str("\\\\"),
            Some('\n') => text.push_str("\\n"),
            Some('\r') => text.push_str("\\r"),
            Some('\t') => text.push_str("\\t"),
            Some('\u{8}') => text.push_str("\\b"),
            Some('\u{c}') => text.push_str("\\f"),
            Some(control) => {
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            None => {}
        }
        rest = characters.as_str();
    }
    text.push_str(rest);
    text.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_nothing_is_added() {
        let value = json!({"b": [1, -2.5, null, true], "a": {"é": "x\n\"\u{1}", "Z": {}}});
        assert_eq!(
            write(&value),
            r#"{"a":{"Z":{},"é":"x\n\"\u0001"},"b":[1,-2.5,null,true]}"#
        );
    }

    proptest! {
        #[test]
        fn any_string_reads_back(text in any::<String>()) {
            let read: Value = serde_json::from_str(&write(&json!(text))).unwrap();
            prop_assert_eq!(read, json!(text));
        }
    }
}
