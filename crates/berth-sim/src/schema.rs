//! Structural schemas: what an object may hold, what is filled in, what is cut off, and how lists and maps merge.
//!
//! The same type serves the kinds that are built in and those that a `CustomResourceDefinition` brings.

mod compact;
mod defaults;
mod prune;
mod rules;
#[cfg(test)]
mod tests;
mod validate;

use std::{collections::BTreeMap, sync::Arc};

use regex::Regex;
use serde_json::{Map, Value};

pub(crate) use compact::CompactTypes;
pub(crate) use defaults::fill_defaults;
pub(crate) use prune::drop_unknown;
pub(crate) use rules::{Rule, check as check_rules, evaluate as evaluate_rules};
pub(crate) use validate::validate;

/// The type of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Type {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// How two lists become one when they are applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// The list is one value.
    #[default]
    Atomic,
    /// Its items are.
    Set,
    /// Its items are told apart by these keys.
    Map(Vec<String>),
}

/// What a strategic merge patch does with a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strategy {
    pub(crate) merge: bool,
    pub(crate) retain_keys: bool,
    pub(crate) key: Option<String>,
}

/// One level of a schema.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the wire form")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    pub(crate) kind: Option<Type>,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    /// Fields that the schema does not name are kept.
    pub(crate) open: bool,
    /// The value is an object with `apiVersion`, `kind` and `metadata` of its own.
    pub(crate) embedded: bool,
    pub(crate) properties: BTreeMap<String, Arc<Self>>,
    pub(crate) additional: Option<Arc<Self>>,
    pub(crate) items: Option<Arc<Self>>,
    pub(crate) required: Vec<String>,
    pub(crate) default: Option<Value>,
    pub(crate) list: ListKind,
    pub(crate) atomic_map: bool,
    pub(crate) strategy: Strategy,
    pub(crate) checks: Option<Box<Checks>>,
    /// There are rules in CEL here or below.
    pub(crate) ruled: bool,
}

/// What a value must meet beyond its type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    pub(crate) format: Option<String>,
    pub(crate) choices: Option<Vec<Value>>,
    pub(crate) pattern: Option<(String, Option<Regex>)>,
    pub(crate) minimum: Option<(f64, bool)>,
    pub(crate) maximum: Option<(f64, bool)>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) not: Option<Box<Schema>>,
    /// Rules in CEL.
    pub(crate) rules: Vec<Rule>,
}

impl Schema {
    /// One that takes anything.
    pub(crate) fn anything() -> Self {
        Self {
            open: true,
            ..Self::default()
        }
    }

    /// Reads the JSON form that a `CustomResourceDefinition` has. What is not understood counts for nothing.
    pub(crate) fn read(json: &Value) -> Self {
        let flag = |key: &str| json.get(key).and_then(Value::as_bool).unwrap_or(false);
        let child = |key: &str| json.get(key).filter(|value| value.is_object()).map(Self::read);
        let kind = json.get("type").and_then(Value::as_str).and_then(Type::named);
        let additional = match json.get("additionalProperties") {
            Some(Value::Bool(true)) => Some(Arc::new(Self::anything())),
            Some(value @ Value::Object(_)) => Some(Arc::new(Self::read(value))),
            _ => None,
        };
        let int_or_string = flag("x-kubernetes-int-or-string");
        let schema = Self {
            kind,
            nullable: flag("nullable"),
            int_or_string,
            open: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            properties: json
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.clone(), Arc::new(Self::read(value))))
                .collect(),
            additional,
            items: child("items").map(Arc::new),
            required: texts(json.get("required")),
            default: json.get("default").cloned(),
            list: match json.get("x-kubernetes-list-type").and_then(Value::as_str) {
                Some("set") => ListKind::Set,
                Some("map") => ListKind::Map(texts(json.get("x-kubernetes-list-map-keys"))),
                _ => ListKind::Atomic,
            },
            atomic_map: json.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic"),
            strategy: Strategy::read(json),
            checks: Checks::read(json, int_or_string),
            ruled: false,
        };
        Self {
            ruled: schema.has_rules(),
            ..schema
        }
    }

    fn has_rules(&self) -> bool {
        let own = self
            .checks
            .as_ref()
            .is_some_and(|checks| !checks.rules.is_empty() || checks.all_of.iter().any(|schema| schema.ruled));
        let mut below = self.properties.values().chain(&self.additional).chain(&self.items);
        own || below.any(|schema| schema.ruled)
    }

    /// The schema of a field of a map.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.properties
            .get(name)
            .or(self.additional.as_ref())
            .map(AsRef::as_ref)
    }
}

impl Strategy {
    fn read(json: &Value) -> Self {
        let words = json
            .get("x-kubernetes-patch-strategy")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Self {
            merge: words.split(',').any(|word| word == "merge"),
            retain_keys: words.split(',').any(|word| word == "retainKeys"),
            key: json
                .get("x-kubernetes-patch-merge-key")
                .and_then(Value::as_str)
                .map(str::to_owned),
        }
    }
}

impl Checks {
    fn read(json: &Value, int_or_string: bool) -> Option<Box<Self>> {
        let map = json.as_object()?;
        let number = |key: &str| map.get(key).and_then(Value::as_f64);
        let count = |key: &str| map.get(key).and_then(Value::as_u64);
        let flag = |key: &str| map.get(key).and_then(Value::as_bool).unwrap_or(false);
        let all = |key: &str| -> Vec<Schema> {
            map.get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(Schema::read)
                .collect()
        };
        let checks = Self {
            format: map.get("format").and_then(Value::as_str).map(str::to_owned),
            choices: map.get("enum").and_then(Value::as_array).cloned(),
            pattern: map
                .get("pattern")
                .and_then(Value::as_str)
                .map(|pattern| (pattern.to_owned(), berth_cel::pattern(pattern).ok())),
            minimum: number("minimum").map(|limit| (limit, flag("exclusiveMinimum"))),
            maximum: number("maximum").map(|limit| (limit, flag("exclusiveMaximum"))),
            multiple_of: number("multipleOf").filter(|step| *step != 0.0),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            all_of: all("allOf"),
            // The two alternatives of an int-or-string say what the flag says already.
            any_of: if int_or_string { Vec::new() } else { all("anyOf") },
            one_of: all("oneOf"),
            not: map
                .get("not")
                .filter(|value| value.is_object())
                .map(|value| Box::new(Schema::read(value))),
            rules: map
                .get("x-kubernetes-validations")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(Rule::read)
                .collect(),
        };
        checks.is_any().then(|| Box::new(checks))
    }

    fn is_any(&self) -> bool {
        let limits = [
            self.min_length,
            self.max_length,
            self.min_items,
            self.max_items,
            self.min_properties,
            self.max_properties,
        ];
        self.format.is_some()
            || self.choices.is_some()
            || self.pattern.is_some()
            || self.minimum.is_some()
            || self.maximum.is_some()
            || self.multiple_of.is_some()
            || limits.iter().any(Option::is_some)
            || !(self.all_of.is_empty() && self.any_of.is_empty() && self.one_of.is_empty())
            || self.not.is_some()
            || !self.rules.is_empty()
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Whether the map is a whole object inside another, whose own three fields are always allowed.
fn is_envelope_field(schema: &Schema, name: &str) -> bool {
    schema.embedded && ["apiVersion", "kind", "metadata"].contains(&name)
}

/// A path with one more field, as Kubernetes writes paths in messages.
fn joined(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// The map of a value that is one.
fn map_of(value: &mut Value) -> Option<&mut Map<String, Value>> {
    value.as_object_mut()
}
