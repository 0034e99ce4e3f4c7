//! The paths that printer columns and selectable fields are written in.

use serde_json::Value;

/// A compiled path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Accessor>);

#[derive(Clone, Debug, PartialEq)]
enum Accessor {
    Field(String),
    Index(i64),
    All,
    /// Items whose field at a path equals a value, or does not.
    Filter {
        path: Vec<String>,
        equal: bool,
        value: Value,
    },
}

impl JsonPath {
    /// Reads a path such as `.status.conditions[?(@.type=="Ready")].status`. Nothing if it is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim().trim_start_matches('{').trim_end_matches('}');
        rest = rest.strip_prefix('$').unwrap_or(rest);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('[') {
                let end = closing(after)?;
                let (inside, after) = (after.get(..end)?, after.get(end.checked_add(1)?..)?);
                steps.push(bracket(inside)?);
                rest = after;
            } else {
                let after = rest.strip_prefix('.').unwrap_or(rest);
                let (name, after) = field(after);
                if name == "*" {
                    steps.push(Accessor::All);
                } else if !name.is_empty() {
                    steps.push(Accessor::Field(name));
                } else if !after.starts_with('[') && !after.is_empty() {
                    return None;
                }
                rest = after;
            }
        }
        Some(Self(steps))
    }

    /// All values at the path.
    pub(crate) fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![value];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.apply(value)).collect();
        }
        found
    }
}

/// The end of a bracket; quotes may hold brackets.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    for (index, character) in text.char_indices() {
        match (quote, character) {
            (None, ']') => return Some(index),
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    None
}

/// A name up to the next step, with `\.` for a dot in it.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return (name, text.get(index..).unwrap_or_default()),
            _ => name.push(character),
        }
    }
    (name, "")
}

fn bracket(inside: &str) -> Option<Accessor> {
    let inside = inside.trim();
    if inside == "*" {
        return Some(Accessor::All);
    }
    if let Some(name) = unquoted(inside) {
        return Some(Accessor::Field(name.to_owned()));
    }
    if let Some(condition) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        let (left, equal, right) = match condition.split_once("!=") {
            Some((left, right)) => (left, false, right),
            None => {
                let (left, right) = condition.split_once("==")?;
                (left, true, right)
            }
        };
        let path = left.trim().strip_prefix('@')?.trim_start_matches('.');
        let right = right.trim();
        let value = match unquoted(right) {
            Some(text) => Value::String(text.to_owned()),
            None => serde_json::from_str(right).ok()?,
        };
        return Some(Accessor::Filter {
            path: path.split('.').map(str::to_owned).collect(),
            equal,
            value,
        });
    }
    inside.parse().ok().map(Accessor::Index)
}

fn unquoted(text: &str) -> Option<&str> {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

impl Accessor {
    fn apply<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => value
                .as_array()
                .and_then(|items| {
                    let back = usize::try_from(index.unsigned_abs()).ok()?;
                    let place = if *index < 0 {
                        items.len().checked_sub(back)?
                    } else {
                        back
                    };
                    items.get(place)
                })
                .into_iter()
                .collect(),
            Self::All => match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(map) => map.values().collect(),
                _ => Vec::new(),
            },
            Self::Filter {
                path,
                equal,
                value: wanted,
            } => value
                .as_array()
                .into_iter()
                .flatten()
                .filter(|item| {
                    let found = path.iter().try_fold(*item, |value, key| value.get(key));
                    (found == Some(wanted)) == *equal
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_that_columns_use() {
        let object = json!({
            "metadata": {"labels": {"a.b/c": "dotted"}},
            "spec": {"list": [1, 2, 3]},
            "status": {"conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "Other", "status": "False"},
            ]},
        });
        for (path, expected) in [
            (".spec.list[0]", json!([1])),
            (".spec.list[-1]", json!([3])),
            (".spec.list[*]", json!([1, 2, 3])),
            (".spec.list[9]", json!([])),
            ("{.spec.list[1]}", json!([2])),
            (r".metadata.labels.a\.b/c", json!(["dotted"])),
            (".metadata.labels['a.b/c']", json!(["dotted"])),
            (r#".status.conditions[?(@.type=="Ready")].status"#, json!(["True"])),
            (".status.conditions[?(@.type!='Ready')].status", json!(["False"])),
            (".none.there", json!([])),
        ] {
            let found = JsonPath::parse(path).unwrap().find(&object);
            assert_eq!(json!(found), expected, "{path}");
        }
        assert_eq!(JsonPath::parse("..a"), None);
        assert_eq!(JsonPath::parse(".a[?(@.b)]"), None);
        assert_eq!(JsonPath::parse(".a[b"), None);
    }
}
