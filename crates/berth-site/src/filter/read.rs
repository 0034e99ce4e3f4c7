//! Reading a filter from JSON. Everything that is wrong is told at once, with its place.

use serde_json::{Map, Value};

use super::{FilterError, FilterItem, FilterJoin, FilterMistake, NodeFilter};
use crate::suggest::nearest;

const FILTER_KEYS: [&str; 2] = ["filter_set_type", "filter_set"];
const ITEM_KEYS: [&str; 6] = [
    "filter_type",
    "node_names",
    "node_tags",
    "node_labels",
    "rack_names",
    "rack_labels",
];

impl NodeFilter {
    /// Reads a filter. `path` is what the places of mistakes begin with.
    pub fn from_json(value: &Value, path: &str) -> Result<Self, FilterError> {
        let mut reader = Reader(Vec::new());
        let filter = reader.filter(value, path);
        match filter {
            Some(filter) if reader.0.is_empty() => Ok(filter),
            _ => Err(FilterError(reader.0)),
        }
    }

    /// The filter as it is written; criteria that were not given are left out.
    pub fn to_json(&self) -> Value {
        let word = |join| match join {
            FilterJoin::Union => "union",
            FilterJoin::Intersection => "intersection",
        };
        let items = self.items.iter().map(|item| {
            let mut object = Map::new();
            object.insert("filter_type".to_owned(), Value::from(word(item.filter_type)));
            for (key, list) in [
                ("node_names", &item.node_names),
                ("node_tags", &item.node_tags),
                ("rack_names", &item.rack_names),
            ] {
                if !list.is_empty() {
                    object.insert(key.to_owned(), Value::from(list.clone()));
                }
            }
            for (key, pairs) in [("node_labels", &item.node_labels), ("rack_labels", &item.rack_labels)] {
                if !pairs.is_empty() {
                    object.insert(key.to_owned(), labels_to_json(pairs));
                }
            }
            Value::Object(object)
        });
        let items: Vec<Value> = items.collect();
        serde_json::json!({"filter_set_type": word(self.set_type), "filter_set": items})
    }
}

/// An object where every key is there once, else a list, which can repeat them.
fn labels_to_json(pairs: &[(String, String)]) -> Value {
    let object: Map<String, Value> = pairs
        .iter()
        .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
        .collect();
    if object.len() == pairs.len() {
        return Value::Object(object);
    }
    let list = pairs
        .iter()
        .map(|(key, value)| Value::Object(Map::from_iter([(key.clone(), Value::from(value.as_str()))])));
    Value::Array(list.collect())
}

struct Reader(Vec<FilterMistake>);

impl Reader {
    fn wrong(&mut self, path: &str, message: impl Into<String>) {
        self.0.push(FilterMistake {
            path: path.to_owned(),
            message: message.into(),
        });
    }

    fn filter(&mut self, value: &Value, path: &str) -> Option<NodeFilter> {
        let Value::Object(object) = value else {
            let found = kind(value);
            self.wrong(
                path,
                format!("must be a dictionary with keys 'filter_set_type' and 'filter_set', not {found}"),
            );
            return None;
        };
        self.known_keys(object, &FILTER_KEYS, path);
        let set_type = self.join(object, "filter_set_type", path);
        let at = format!("{path}.filter_set");
        let items = match object.get("filter_set") {
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.item(item, &format!("{at}[{index}]")))
                .collect(),
            None => {
                self.wrong(&at, "is required");
                None
            }
            Some(other) => {
                self.wrong(&at, format!("must be a list of filters, not {}", kind(other)));
                None
            }
        };
        Some(NodeFilter {
            set_type: set_type?,
            items: items?,
        })
    }

    fn item(&mut self, value: &Value, path: &str) -> Option<FilterItem> {
        let Value::Object(object) = value else {
            self.wrong(path, format!("must be a dictionary, not {}", kind(value)));
            return None;
        };
        self.known_keys(object, &ITEM_KEYS, path);
        let filter_type = self.join(object, "filter_type", path);
        let [node_names, node_tags, rack_names] =
            ["node_names", "node_tags", "rack_names"].map(|key| self.names(object, key, path));
        let [node_labels, rack_labels] = ["node_labels", "rack_labels"].map(|key| self.labels(object, key, path));
        Some(FilterItem {
            filter_type: filter_type?,
            node_names,
            node_tags,
            node_labels,
            rack_names,
            rack_labels,
        })
    }

    fn known_keys(&mut self, object: &Map<String, Value>, known: &[&str], path: &str) {
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let message = match nearest(key, known.iter().copied()) {
                Some(near) => format!("is not known; did you mean '{near}'?"),
                None => format!("is not known; there are {}", known.join(", ")),
            };
            self.wrong(&format!("{path}.{key}"), message);
        }
    }

    fn join(&mut self, object: &Map<String, Value>, key: &str, path: &str) -> Option<FilterJoin> {
        let at = format!("{path}.{key}");
        match object.get(key) {
            Some(Value::String(word)) if word == "union" => Some(FilterJoin::Union),
            Some(Value::String(word)) if word == "intersection" => Some(FilterJoin::Intersection),
            None => {
                self.wrong(&at, "is required; it is 'union' or 'intersection'");
                None
            }
            Some(other) => {
                self.wrong(&at, format!("must be 'union' or 'intersection', not {}", shown(other)));
                None
            }
        }
    }

    fn names(&mut self, object: &Map<String, Value>, key: &str, path: &str) -> Vec<String> {
        let at = format!("{path}.{key}");
        let items = match object.get(key) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.wrong(&at, format!("must be a list of strings, not {}", kind(other)));
                return Vec::new();
            }
        };
        let mut names = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item {
                Value::String(name) => names.push(name.clone()),
                other => self.wrong(
                    &format!("{at}[{index}]"),
                    format!("must be a string, not {}", shown(other)),
                ),
            }
        }
        names
    }

    /// Labels as an object, or as a list of objects, which Drydock's documentation shows too.
    fn labels(&mut self, object: &Map<String, Value>, key: &str, path: &str) -> Vec<(String, String)> {
        let at = format!("{path}.{key}");
        let mut pairs = Vec::new();
        match object.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Object(labels)) => self.pairs(labels, &at, &mut pairs),
            Some(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let at = format!("{at}[{index}]");
                    match item {
                        Value::Object(labels) => self.pairs(labels, &at, &mut pairs),
                        other => self.wrong(&at, format!("must be a dictionary of labels, not {}", shown(other))),
                    }
                }
            }
            Some(other) => self.wrong(&at, format!("must be a dictionary of labels, not {}", kind(other))),
        }
        pairs
    }

    fn pairs(&mut self, labels: &Map<String, Value>, path: &str, pairs: &mut Vec<(String, String)>) {
        for (key, value) in labels {
            match value {
                Value::String(value) => pairs.push((key.clone(), value.clone())),
                other => self.wrong(
                    &format!("{path}.{key}"),
                    format!("must be a string, not {}; write it in quotes", shown(other)),
                ),
            }
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a dictionary",
    }
}

/// A scalar as it is written, anything larger by its kind.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}
