//! Objects that were never text: from a value to a tree, and from a place in it to the field.
//!
//! Offsets count as in a text where every key, scalar, bracket, colon and comma takes one byte. So places lie beside and
//! inside each other as they do in a text, and the field of a place is found again by walking down.

use std::{borrow::Cow, fmt::Write as _};

use serde_json::Value as Json;

use crate::{
    mapping::Interner,
    node::{Key, MAX_DEPTH, Node, Value},
    source::{SourceId, Span},
};

/// The tree of a value; `None` where it is nested too deeply.
pub(crate) fn tree(source: SourceId, value: &Json) -> Option<Node> {
    let mut builder = Builder {
        source,
        at: 0,
        interner: Interner::default(),
    };
    builder.node(value, 0)
}

struct Builder {
    source: SourceId,
    at: u32,
    interner: Interner,
}

impl Builder {
    fn node(&mut self, value: &Json, depth: usize) -> Option<Node> {
        let is_collection = value.is_object() || value.is_array();
        if is_collection && depth >= MAX_DEPTH {
            return None;
        }
        let start = self.at;
        self.step();
        let read = match value {
            Json::Object(map) => {
                let entry = |(key, value): (&String, &Json)| {
                    let key = Key {
                        span: self.step(),
                        text: self.interner.intern(key),
                    };
                    self.step();
                    let node = self.node(value, depth + 1)?;
                    self.step();
                    Some((key, node))
                };
                Value::Map(map.iter().map(entry).collect::<Option<_>>()?)
            }
            Json::Array(items) => {
                let item = |item: &Json| {
                    let node = self.node(item, depth + 1)?;
                    self.step();
                    Some(node)
                };
                Value::Seq(items.iter().map(item).collect::<Option<_>>()?)
            }
            scalar => from_scalar(scalar),
        };
        if is_collection {
            self.step();
        }
        Some(Node::new(Span::new(self.source, start, self.at), read))
    }

    /// The place of one key, scalar or sign.
    fn step(&mut self) -> Span {
        let start = self.at;
        self.at = self.at.saturating_add(1);
        Span::new(self.source, start, self.at)
    }
}

/// A scalar; lists and mappings give nothing.
pub(crate) fn from_scalar(value: &Json) -> Value {
    match value {
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => number
            .as_i64()
            .map(Value::Int)
            .or_else(|| number.as_u64().map(Value::UInt))
            .or_else(|| number.as_f64().map(Value::Float))
            .unwrap_or(Value::Null),
        Json::String(text) => Value::String(text.as_str().into()),
        Json::Null | Json::Array(_) | Json::Object(_) => Value::Null,
    }
}

/// What is at a place of a tree.
pub(crate) enum Found<'a> {
    Key(&'a Key),
    Node(&'a Node),
}

/// The way from the root to the smallest part that begins where `span` does, as `spec.machines[3].name`, and that part.
pub(crate) fn find(root: &Node, span: Span) -> (String, Found<'_>) {
    let mut path = String::new();
    let mut node = root;
    let holds = |place: Span| place.start <= span.start && span.start < place.end;
    while node.span.start < span.start {
        match &node.value {
            Value::Map(map) => {
                let Some((key, value)) = map.iter().find(|(key, value)| holds(key.span) || holds(value.span)) else {
                    break;
                };
                add_key(&mut path, key.as_str());
                if holds(key.span) {
                    return (path, Found::Key(key));
                }
                node = value;
            }
            Value::Seq(items) => {
                let Some((index, item)) = items.iter().enumerate().find(|(_, item)| holds(item.span)) else {
                    break;
                };
                // Writing to a string cannot fail.
                let _ = write!(path, "[{index}]");
                node = item;
            }
            _ => break,
        }
    }
    (path, Found::Node(node))
}

/// Keys that could be taken for a path themselves stand in brackets, as kubectl writes them.
fn add_key(path: &mut String, key: &str) {
    if key.is_empty() || key.contains(['.', '[', ']', '/', ' ']) {
        let _ = write!(path, "[{key}]");
    } else {
        let dot = if path.is_empty() { "" } else { "." };
        let _ = write!(path, "{dot}{key}");
    }
}

impl Found<'_> {
    /// As JSON writes it.
    pub(crate) fn written<'a>(self) -> Cow<'a, str> {
        Cow::Owned(match self {
            Self::Key(key) => Json::from(key.as_str()).to_string(),
            Self::Node(node) => node.to_json().to_string(),
        })
    }
}

#[cfg(test)]
mod tests;
