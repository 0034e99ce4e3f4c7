//! Label and field selectors as clients write them in a query.

use std::collections::BTreeSet;

use berth_labels::{LabelKey, LabelValue, Operator, Requirement, Selector};
use serde_json::Value;

use crate::{
    failure::Failure,
    object::{at, label},
};

/// Reads the text form of a label selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
pub(crate) fn parse_labels(text: &str) -> Result<Selector, Failure> {
    let refuse = |why: String| Failure::bad_request(format!("unable to parse requirement: {why}"));
    let mut requirements = Vec::new();
    for part in split_outside_parentheses(text) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        if let Some(found) = ["==", "!=", "=", "(", ")"]
            .iter()
            .find(|token| part.starts_with(**token))
        {
            return Err(Failure::bad_request(format!(
                "found '{found}', expected: !, identifier, or 'end of string'"
            )));
        }
        let (key, operator, values) = requirement(part);
        let key: LabelKey = key.trim().parse().map_err(|error| refuse(format!("{error}")))?;
        let values = values
            .into_iter()
            .map(|value| value.trim().parse::<LabelValue>())
            .collect::<Result<BTreeSet<LabelValue>, _>>()
            .map_err(|error| refuse(format!("{error}")))?;
        requirements.push(Requirement { key, operator, values });
    }
    Ok(Selector::from_requirements(requirements))
}

/// One comma does not part what stands in parentheses.
fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|character| match character {
        '(' => {
            depth += 1;
            false
        }
        ')' => {
            depth = depth.saturating_sub(1);
            false
        }
        ',' => depth == 0,
        _ => false,
    })
    .collect()
}

fn requirement(part: &str) -> (&str, Operator, Vec<&str>) {
    if let Some(key) = part.strip_prefix('!') {
        return (key, Operator::DoesNotExist, Vec::new());
    }
    if let Some((key, value)) = part.split_once("!=") {
        return (key, Operator::NotIn, vec![value]);
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return (key, Operator::In, vec![value]);
    }
    if let Some((head, list)) = part.strip_suffix(')').and_then(|part| part.split_once('(')) {
        let head = head.trim_end();
        for (word, operator) in [(" notin", Operator::NotIn), (" in", Operator::In)] {
            if let Some(key) = head.strip_suffix(word) {
                return (key, operator, list.split(',').collect());
            }
        }
    }
    (part, Operator::Exists, Vec::new())
}

/// Whether an object's labels meet the selector.
pub(crate) fn labels_match(selector: &Selector, object: &Value) -> bool {
    selector.matches_with(|key| label(object, key))
}

/// Whether labels meet a `LabelSelector` inside an object. One that cannot be read matches nothing.
pub(crate) fn object_selector_matches(selector: Option<&Value>, object: &Value) -> bool {
    let Some(selector) = selector else {
        return false;
    };
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let by_labels = labels
        .into_iter()
        .flatten()
        .all(|(key, value)| label(object, key) == value.as_str());
    by_labels
        && expressions.into_iter().flatten().all(|expression| {
            let found = expression
                .get("key")
                .and_then(Value::as_str)
                .and_then(|key| label(object, key));
            let listed = || {
                expression
                    .get("values")
                    .and_then(Value::as_array)
                    .is_some_and(|values| values.iter().any(|value| value.as_str() == found))
            };
            match expression.get("operator").and_then(Value::as_str) {
                Some("In") => found.is_some() && listed(),
                Some("NotIn") => found.is_none() || !listed(),
                Some("Exists") => found.is_some(),
                Some("DoesNotExist") => found.is_none(),
                _ => false,
            }
        })
}

/// A compiled field selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<FieldRequirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldRequirement {
    path: Vec<String>,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Reads `a.b=c,d!=e`. Only the fields that the resource offers can be asked for.
    pub(crate) fn parse(text: &str, offered: &[String]) -> Result<Self, Failure> {
        let mut requirements = Vec::new();
        for part in split_unescaped(text) {
            if part.is_empty() {
                continue;
            }
            let (field, equal, value) = if let Some((field, value)) = part.split_once("!=") {
                (field, false, value)
            } else if let Some((field, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
                (field, true, value)
            } else {
                return Err(Failure::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            let known = ["metadata.name", "metadata.namespace"].contains(&field)
                || offered.iter().any(|offered| offered == field);
            if !known {
                return Err(Failure::bad_request(format!("field label not supported: {field}")));
            }
            requirements.push(FieldRequirement {
                path: field.split('.').map(str::to_owned).collect(),
                equal,
                value: unescape(value),
            });
        }
        Ok(Self(requirements))
    }

    /// Whether the object has the values asked for. An absent field is the empty text, as it is for Kubernetes.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|requirement| {
            let path: Vec<&str> = requirement.path.iter().map(String::as_str).collect();
            let found = match at(object, &path) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) | None if requirement.path.last().is_some_and(|last| last == "unschedulable") => {
                    "false".to_owned()
                }
                Some(Value::Null) | None => String::new(),
                Some(other) => other.to_string(),
            };
            (found == requirement.value) == requirement.equal
        })
    }
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|character| {
        let splits = character == ',' && !escaped;
        escaped = character == '\\' && !escaped;
        splits
    })
    .collect()
}

fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        if character == '\\' {
            text.extend(characters.next());
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        json!({
            "metadata": {"name": "n1", "labels": {"app": "web", "tier": "front", "empty": ""}},
            "spec": {"nodeName": "a,b"},
        })
    }

    #[test]
    fn label_selectors() {
        for (text, expected) in [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app = web , tier=front", true),
            ("app!=web", false),
            ("other!=x", true),
            ("app in (web, db)", true),
            ("app notin (web,db)", false),
            ("other notin (a)", true),
            ("app", true),
            ("!app", false),
            ("!other,empty=", true),
            ("app in (db),tier=front", false),
        ] {
            let selector = parse_labels(text).unwrap();
            assert_eq!(labels_match(&selector, &object()), expected, "{text}");
        }
        assert!(parse_labels("a b").is_err());
        assert!(parse_labels("app=not legal").is_err());
    }

    #[test]
    fn field_selectors() {
        let offered = ["spec.nodeName".to_owned(), "spec.unschedulable".to_owned()];
        for (text, expected) in [
            ("metadata.name=n1", true),
            ("metadata.name!=n1", false),
            (r"spec.nodeName=a\,b", true),
            ("spec.unschedulable=false", true),
            ("metadata.name==n1,spec.nodeName=", false),
        ] {
            let selector = FieldSelector::parse(text, &offered).unwrap();
            assert_eq!(selector.matches(&object()), expected, "{text}");
        }
        let refused = FieldSelector::parse("spec.other=x", &offered).unwrap_err();
        assert_eq!(refused.code, 400);
        assert!(refused.message.ends_with("field label not supported: spec.other"));
    }

    #[test]
    fn selectors_inside_objects() {
        for (selector, expected) in [
            (json!({}), true),
            (json!({"matchLabels": {"app": "web"}}), true),
            (json!({"matchLabels": {"app": "db"}}), false),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["y"]}]}),
                true,
            ),
            (json!({"matchExpressions": [{"key": "x", "operator": "Exists"}]}), false),
            (
                json!({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}),
                true,
            ),
        ] {
            assert_eq!(
                object_selector_matches(Some(&selector), &object()),
                expected,
                "{selector}"
            );
        }
        assert!(!object_selector_matches(None, &object()));
    }
}
