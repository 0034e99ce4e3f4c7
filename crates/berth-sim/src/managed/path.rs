//! One step of a path into an object, as managed fields write it.

use serde_json::{Map, Value};

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathElement {
    /// A field of a map.
    Field(String),
    /// The item of a list that has these values for its keys, as canonical JSON.
    Key(String),
    /// An item of a set, as JSON.
    Value(String),
    /// The item at an index.
    Index(usize),
}

impl PathElement {
    /// The step to an item of a keyed list. Keys that are absent take their default, and without one they are left out.
    pub(crate) fn key(keys: &[String], item: &Value, default_of: impl Fn(&str) -> Option<Value>) -> Self {
        let map: Map<String, Value> = keys
            .iter()
            .filter_map(|key| {
                let value = item.get(key).cloned().or_else(|| default_of(key))?;
                Some((key.clone(), value))
            })
            .collect();
        Self::Key(Value::Object(map).to_string())
    }

    /// The step to an item of a set.
    pub(crate) fn value(item: &Value) -> Self {
        Self::Value(item.to_string())
    }

    /// The form in `fieldsV1`.
    pub(crate) fn to_wire(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => format!("k:{keys}"),
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Reads the form in `fieldsV1`.
    pub(crate) fn from_wire(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        Some(match kind {
            "f" => Self::Field(rest.to_owned()),
            "k" => Self::Key(canonical(rest)?),
            "v" => Self::Value(canonical(rest)?),
            "i" => Self::Index(rest.parse().ok()?),
            _ => return None,
        })
    }
}

/// Parsing and printing puts keys in order and takes blanks away.
fn canonical(json: &str) -> Option<String> {
    serde_json::from_str::<Value>(json).ok().map(|value| value.to_string())
}

/// The form in messages: `.spec.taints[key="a"].effect`.
impl std::fmt::Display for PathElement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                let pairs: Vec<String> = serde_json::from_str::<Map<String, Value>>(keys)
                    .unwrap_or_default()
                    .iter()
                    .map(|(key, value)| format!("{key}={value}"))
                    .collect();
                write!(f, "[{}]", pairs.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}
