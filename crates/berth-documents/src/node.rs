//! The tree that a document is read into.
//!
//! Nodes are kept small (40 bytes) because a site of 50,000 machines holds millions of them, and every node keeps its
//! span because every finding must name its place.
//!
//! Texts, lists and mappings are shared: a clone of a node costs nothing, however much it holds. So a value that a hundred
//! aliases bring in is in memory once.

use std::sync::Arc;

use crate::source::Span;

/// How deep lists and mappings may be nested. Recursive code over trees relies on it.
pub(crate) const MAX_DEPTH: usize = 128;

/// A value and where it is written.
#[derive(Clone, Debug)]
pub struct Node {
    /// The text of the value. A value that came through an alias has the span of its anchor.
    pub span: Span,
    /// How the value is written.
    pub style: Style,
    /// What the value means.
    pub value: Value,
}

/// What a node means.
#[derive(Clone, Debug)]
pub enum Value {
    /// Nothing: `null`, `~` or an empty place.
    Null,
    /// True or false; unquoted `yes`, `no`, `on` and `off` too, as kubectl reads them.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number that is too large for [`Value::Int`].
    UInt(u64),
    /// Any other number.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// A list.
    Seq(Arc<[Node]>),
    /// Keys and values, in the order they are written.
    Map(Mapping),
}

/// How a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// A scalar without quotes.
    Plain,
    /// A scalar in single quotes.
    SingleQuoted,
    /// A scalar in double quotes.
    DoubleQuoted,
    /// A block scalar, `|` or `>`.
    BlockScalar,
    /// A list or mapping.
    Collection,
}

/// The key of a mapping entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The text of the key, quotes included.
    pub span: Span,
    /// The key. Shared, because documents repeat the same few keys.
    pub text: Arc<str>,
}

impl Key {
    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Keys and values in the order they are written, each key once.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    entries: Arc<[(Key, Node)]>,
}

impl Mapping {
    /// All entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Key, &Node)> + ExactSizeIterator {
        self.entries.iter().map(|(key, node)| (key, node))
    }

    /// All entries in order, by value. What they hold is shared with the mapping.
    pub fn to_entries(&self) -> impl Iterator<Item = (Key, Node)> {
        self.entries.iter().cloned()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.get_key_value(key).map(|(_, node)| node)
    }

    /// An entry by its key, for findings that point at the key.
    pub fn get_key_value(&self, key: &str) -> Option<(&Key, &Node)> {
        self.iter().find(|(candidate, _)| candidate.as_str() == key)
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Keys must differ: of two entries with one key, [`Mapping::get`] finds the first.
impl FromIterator<(Key, Node)> for Mapping {
    fn from_iter<T: IntoIterator<Item = (Key, Node)>>(entries: T) -> Self {
        Self {
            entries: entries.into_iter().collect(),
        }
    }
}

impl<'a> IntoIterator for &'a Mapping {
    type Item = (&'a Key, &'a Node);
    type IntoIter = std::iter::Map<std::slice::Iter<'a, (Key, Node)>, fn(&'a (Key, Node)) -> (&'a Key, &'a Node)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter().map(|(key, node)| (key, node))
    }
}

impl Node {
    /// A node with the style that fits its value best.
    pub fn new(span: Span, value: Value) -> Self {
        let style = match value {
            Value::Seq(_) | Value::Map(_) => Style::Collection,
            Value::String(_) => Style::DoubleQuoted,
            _ => Style::Plain,
        };
        Self { span, style, value }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The number, if this is a whole number that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.value {
            Value::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The number, if this is a whole number that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match self.value {
            Value::Int(value) => u64::try_from(value).ok(),
            Value::UInt(value) => Some(value),
            _ => None,
        }
    }

    /// The number, if this is one of any kind. Large whole numbers lose their last digits.
    #[expect(clippy::cast_precision_loss, reason = "asking for a float accepts its precision")]
    pub fn as_f64(&self) -> Option<f64> {
        match self.value {
            Value::Int(value) => Some(value as f64),
            Value::UInt(value) => Some(value as f64),
            Value::Float(value) => Some(value),
            _ => None,
        }
    }

    /// The mapping, if this is one.
    pub fn as_map(&self) -> Option<&Mapping> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The elements, if this is a list.
    pub fn as_seq(&self) -> Option<&[Self]> {
        match &self.value {
            Value::Seq(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// Whether there is nothing here.
    pub const fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The value of a key, if this is a mapping that has it. Chains with `Option::and_then`.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.get(key)
    }

    /// The value at the end of a chain of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// What the value is, in words for messages such as "expected a list, found a number".
    pub const fn type_name(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Int(_) | Value::UInt(_) | Value::Float(_) => "a number",
            Value::String(_) => "a string",
            Value::Seq(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// Whether this is a scalar written without quotes, whose type follows from its spelling.
    pub const fn is_plain(&self) -> bool {
        matches!(self.style, Style::Plain)
    }

    /// The same value without spans. Numbers that JSON cannot write (`.inf`, `.nan`) become strings.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Int(value) => Json::from(*value),
            Value::UInt(value) => Json::from(*value),
            Value::Float(value) => serde_json::Number::from_f64(*value)
                .map_or_else(|| Json::String(float_word(*value).to_owned()), Json::Number),
            Value::String(text) => Json::String(text.as_ref().to_owned()),
            Value::Seq(nodes) => Json::Array(nodes.iter().map(Self::to_json).collect()),
            Value::Map(map) => Json::Object(
                map.iter()
                    .map(|(key, node)| (key.as_str().to_owned(), node.to_json()))
                    .collect(),
            ),
        }
    }
}

const fn float_word(value: f64) -> &'static str {
    if value.is_nan() {
        ".nan"
    } else if value.is_sign_negative() {
        "-.inf"
    } else {
        ".inf"
    }
}
