//! Pieces of CEL, the language of admission policies.

use berth_labels::{Operator, Requirement};

/// A string literal.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for character in text.chars() {
        match character {
            '\\' => quoted.push_str(r"\\"),
            '\'' => quoted.push_str(r"\'"),
            '\n' => quoted.push_str(r"\n"),
            '\r' => quoted.push_str(r"\r"),
            '\t' => quoted.push_str(r"\t"),
            other if other.is_control() => quoted.extend([r"\u", &format!("{:04x}", u32::from(other))]),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

/// All of them; true where there are none.
pub(super) fn all(conditions: &[String]) -> String {
    match conditions {
        [] => "true".to_owned(),
        [one] => one.clone(),
        many => many
            .iter()
            .map(|condition| format!("({condition})"))
            .collect::<Vec<_>>()
            .join(" && "),
    }
}

/// Any of them; false where there are none.
pub(super) fn any(conditions: &[String]) -> String {
    match conditions {
        [] => "false".to_owned(),
        [one] => one.clone(),
        many => many
            .iter()
            .map(|condition| format!("({condition})"))
            .collect::<Vec<_>>()
            .join(" || "),
    }
}

/// Whether `labels`, a CEL map, meets a requirement.
pub(super) fn accepts(requirement: &Requirement, labels: &str) -> String {
    let key = quote(requirement.key.as_str());
    let values: Vec<String> = requirement.values.iter().map(|value| quote(value.as_str())).collect();
    let within = format!("{key} in {labels} && {labels}[{key}] in [{}]", values.join(", "));
    match requirement.operator {
        Operator::In => within,
        Operator::NotIn => format!("!({within})"),
        Operator::Exists => format!("{key} in {labels}"),
        Operator::DoesNotExist => format!("!({key} in {labels})"),
    }
}

/// Whether the value of the requirement's key meets it: `value` is a CEL list of that one value, or an empty one.
pub(super) fn accepts_one(requirement: &Requirement, value: &str) -> String {
    let values: Vec<String> = requirement.values.iter().map(|value| quote(value.as_str())).collect();
    let within = format!("{value}.exists(v, v in [{}])", values.join(", "));
    match requirement.operator {
        Operator::In => within,
        Operator::NotIn => format!("!{within}"),
        Operator::Exists => format!("size({value}) > 0"),
        Operator::DoesNotExist => format!("size({value}) == 0"),
    }
}

/// A reference token of a JSON pointer.
pub(super) fn pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(quote(r"a'b\d"), r"'a\'b\\d'");
        assert_eq!(quote("a\nb\u{1}"), r"'a\nb\u0001'");
        assert_eq!(pointer("a~b/c"), "a~0b~1c");
    }
}
