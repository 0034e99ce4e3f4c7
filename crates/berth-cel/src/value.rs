//! Values of expressions.

use std::{cmp::Ordering, collections::BTreeMap, fmt, net::IpAddr, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value as Json};

/// The key of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number that no [`Key::Int`] can hold.
    Uint(u64),
    /// A text.
    Text(Arc<str>),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Uint(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// Whether the order of a list counts, by its definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// It does.
    #[default]
    Ordered,
    /// Its items are a set.
    Set,
    /// Its items are told apart by these fields.
    Map(Vec<String>),
}

/// A list.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// Its items.
    pub items: Vec<Value>,
    /// How it is compared and added.
    pub kind: ListKind,
}

/// A value that an expression made with `Type{field: value}`.
#[derive(Clone, Debug)]
pub struct Message {
    /// The name of its type.
    pub name: Arc<str>,
    /// Its fields.
    pub fields: BTreeMap<Arc<str>, Value>,
}

/// A value.
#[derive(Clone, Debug)]
pub enum Value {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number that is not negative, of its own type.
    Uint(u64),
    /// A number.
    Double(f64),
    /// A text.
    Text(Arc<str>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A list.
    List(Arc<List>),
    /// A map, or an object.
    Map(Arc<BTreeMap<Key, Self>>),
    /// An object that an expression made.
    Message(Arc<Message>),
    /// A length of time.
    Duration(SignedDuration),
    /// A moment.
    Timestamp(Timestamp),
    /// A type.
    Type(Arc<str>),
    /// A value that may be missing.
    Optional(Option<Arc<Self>>),
    /// A URL, in its parts.
    Url(Arc<crate::functions::Url>),
    /// An IP address.
    Ip(IpAddr),
    /// A network.
    Cidr(IpAddr, u8),
    /// A quantity.
    Quantity(crate::functions::Quantity),
    /// A named format.
    Format(crate::functions::Format),
}

impl Value {
    /// A text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Text(text.as_ref().into())
    }

    /// An ordered list.
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(Arc::new(List {
            items,
            kind: ListKind::Ordered,
        }))
    }

    /// A map.
    pub fn map(entries: impl IntoIterator<Item = (Key, Self)>) -> Self {
        Self::Map(Arc::new(entries.into_iter().collect()))
    }

    /// What an optional holds, or that it holds nothing.
    pub fn optional(value: Option<Self>) -> Self {
        Self::Optional(value.map(Arc::new))
    }

    /// The value of a JSON value of which nothing more is known.
    pub fn of_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(value), _) => Self::Int(value),
                (None, value) => Self::Double(value.unwrap_or_default()),
            },
            Json::String(text) => Self::text(text),
            Json::Array(items) => Self::list(items.iter().map(Self::of_json).collect()),
            Json::Object(map) => Self::map(
                map.iter()
                    .map(|(key, value)| (Key::Text(key.as_str().into()), Self::of_json(value))),
            ),
        }
    }

    /// The JSON form; `None` for what has none.
    pub fn to_json(&self) -> Option<Json> {
        Some(match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Int(value) => Json::from(*value),
            Self::Uint(value) => Json::from(*value),
            // A whole number is written without a fraction, as the API server's encoder does.
            #[expect(clippy::cast_possible_truncation, reason = "the limits are checked")]
            Self::Double(value) if value.fract() == 0.0 && value.abs() < 9e15 => Json::from(*value as i64),
            Self::Double(value) => Json::from(*value),
            Self::Text(text) => Json::from(&**text),
            Self::List(list) => Json::Array(list.items.iter().map(Self::to_json).collect::<Option<_>>()?),
            Self::Map(map) => {
                let mut object = Map::new();
                for (key, value) in map.iter() {
                    object.insert(key.to_string(), value.to_json()?);
                }
                Json::Object(object)
            }
            Self::Message(message) => {
                let mut object = Map::new();
                for (name, value) in &message.fields {
                    object.insert(name.to_string(), value.to_json()?);
                }
                Json::Object(object)
            }
            Self::Duration(_) | Self::Timestamp(_) => Json::from(crate::functions::text_of(self).ok()?),
            Self::Optional(Some(value)) => value.to_json()?,
            _ => return None,
        })
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is `true`.
    pub fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// The name of its type.
    pub fn type_name(&self) -> Arc<str> {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Message(message) => return Arc::clone(&message.name),
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Format(_) => "kubernetes.NamedFormat",
        }
        .into()
    }

    /// As the key of a map, if it can be one.
    pub(crate) fn as_key(&self) -> Option<Key> {
        Some(match self {
            Self::Bool(value) => Key::Bool(*value),
            Self::Int(value) => Key::Int(*value),
            Self::Uint(value) => i64::try_from(*value).map_or(Key::Uint(*value), Key::Int),
            #[expect(clippy::cast_possible_truncation, reason = "the limits are checked")]
            Self::Double(value) if value.fract() == 0.0 && value.abs() < 9e15 => Key::Int(*value as i64),
            Self::Text(text) => Key::Text(Arc::clone(text)),
            _ => return None,
        })
    }

    /// Whether two values are equal. Values of different types are not, except for numbers.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a), Self::Text(b)) | (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Optional(a), Self::Optional(b)) => match (a, b) {
                (None, None) => true,
                (Some(a), Some(b)) => a.equals(b),
                _ => false,
            },
            (Self::List(a), Self::List(b)) => a.equals(b),
            (Self::Map(a), Self::Map(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .all(|(key, value)| b.get(key).is_some_and(|it| it.equals(value)))
            }
            (Self::Message(a), Self::Message(b)) => {
                a.name == b.name
                    && a.fields.len() == b.fields.len()
                    && a.fields
                        .iter()
                        .all(|(name, value)| b.fields.get(name).is_some_and(|it| it.equals(value)))
            }
            (Self::Url(a), Self::Url(b)) => a == b,
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a, n), Self::Cidr(b, m)) => a == b && n == m,
            (Self::Quantity(a), Self::Quantity(b)) => a.compare(b) == Ordering::Equal,
            (Self::Format(a), Self::Format(b)) => a == b,
            (Self::Int(_) | Self::Uint(_) | Self::Double(_), Self::Int(_) | Self::Uint(_) | Self::Double(_)) => {
                self.compare(other) == Some(Ordering::Equal)
            }
            _ => false,
        }
    }

    /// Which of two values comes first; `None` where they have no order.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Uint(a), Self::Uint(b)) => a.cmp(b),
            (Self::Double(a), Self::Double(b)) => return a.partial_cmp(b),
            (Self::Int(a), Self::Uint(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Self::Uint(a), Self::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Self::Int(a), Self::Double(b)) => return whole_and_double(i128::from(*a), *b),
            (Self::Uint(a), Self::Double(b)) => return whole_and_double(i128::from(*a), *b),
            (Self::Double(a), Self::Int(b)) => return whole_and_double(i128::from(*b), *a).map(Ordering::reverse),
            (Self::Double(a), Self::Uint(b)) => return whole_and_double(i128::from(*b), *a).map(Ordering::reverse),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::Duration(a), Self::Duration(b)) => a.cmp(b),
            (Self::Timestamp(a), Self::Timestamp(b)) => a.cmp(b),
            _ => return None,
        })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the limits are checked")]
fn whole_and_double(whole: i128, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        None
    } else if double >= 2e19 {
        Some(Ordering::Less)
    } else if double <= -2e19 {
        Some(Ordering::Greater)
    } else {
        let floor = double.floor();
        Some(whole.cmp(&(floor as i128)).then(if double > floor {
            Ordering::Less
        } else {
            Ordering::Equal
        }))
    }
}

impl List {
    fn equals(&self, other: &Self) -> bool {
        if self.items.len() != other.items.len() {
            return false;
        }
        match &self.kind {
            ListKind::Ordered => self.items.iter().zip(&other.items).all(|(a, b)| a.equals(b)),
            ListKind::Set | ListKind::Map(_) => self.items.iter().all(|item| other.holds(item)),
        }
    }

    /// Whether an item is in it.
    pub(crate) fn holds(&self, item: &Value) -> bool {
        self.items.iter().any(|known| known.equals(item))
    }

    /// This and then the other, as the kind of this asks.
    pub(crate) fn joined(&self, other: &Self) -> Self {
        let mut items = self.items.clone();
        match &self.kind {
            ListKind::Ordered => items.extend(other.items.iter().cloned()),
            ListKind::Set => items.extend(other.items.iter().filter(|item| !self.holds(item)).cloned()),
            ListKind::Map(keys) => {
                let same = |a: &Value, b: &Value| {
                    keys.iter().all(|key| {
                        let field = |value: &Value| match value {
                            Value::Map(map) => map.get(&Key::Text(key.as_str().into())).cloned(),
                            _ => None,
                        };
                        match (field(a), field(b)) {
                            (Some(a), Some(b)) => a.equals(&b),
                            (None, None) => true,
                            _ => false,
                        }
                    })
                };
                for item in &other.items {
                    match items.iter_mut().find(|known| same(known, item)) {
                        Some(known) => *known = item.clone(),
                        None => items.push(item.clone()),
                    }
                }
            }
        }
        Self {
            items,
            kind: self.kind.clone(),
        }
    }
}
