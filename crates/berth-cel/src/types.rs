//! Types of expressions, as far as they are known before anything is evaluated.

use std::{collections::BTreeMap, fmt, sync::Arc};

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Nothing is known.
    Dyn,
    /// That of `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// Whole numbers.
    Int,
    /// Whole numbers that are not negative.
    Uint,
    /// Numbers.
    Double,
    /// Texts.
    Text,
    /// Bytes.
    Bytes,
    /// Moments.
    Timestamp,
    /// Lengths of time.
    Duration,
    /// Lists of a type.
    List(Arc<Self>),
    /// Maps of a type to a type.
    Map(Arc<Self>, Arc<Self>),
    /// Objects whose fields are known.
    Object(Arc<ObjectType>),
    /// Values that may be missing.
    Optional(Arc<Self>),
}

/// The type of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectType {
    /// Its name in messages.
    pub name: String,
    /// Its fields.
    pub fields: BTreeMap<String, Type>,
}

impl Type {
    /// Lists of a type.
    pub fn list(item: Self) -> Self {
        Self::List(Arc::new(item))
    }

    /// Maps of texts to a type.
    pub fn map(value: Self) -> Self {
        Self::Map(Arc::new(Self::Text), Arc::new(value))
    }

    /// Objects with these fields.
    pub fn object(name: &str, fields: impl IntoIterator<Item = (String, Self)>) -> Self {
        Self::Object(Arc::new(ObjectType {
            name: name.to_owned(),
            fields: fields.into_iter().collect(),
        }))
    }

    pub(crate) fn optional(self) -> Self {
        match self {
            Self::Optional(_) => self,
            other => Self::Optional(Arc::new(other)),
        }
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// Whether a value of one type can stand where one of the other does.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::Null, other) | (other, Self::Null) => matches!(
                other,
                Self::Null | Self::Object(_) | Self::Timestamp | Self::Duration | Self::Optional(_)
            ),
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.fits(b),
            (Self::Map(k, v), Self::Map(l, w)) => k.fits(l) && v.fits(w),
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b) || a == b,
            (a, b) => a == b,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Object(object) => f.write_str(&object.name),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
        }
    }
}
