//! Label values.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use crate::{error::LabelError, syntax::value_problems};

/// A legal label value. The empty value is legal and differs from an absent label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelValue(Arc<str>);

impl LabelValue {
    /// The value's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the empty value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Default for LabelValue {
    fn default() -> Self {
        Self(Arc::from(""))
    }
}

impl fmt::Debug for LabelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for LabelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `pad` keeps width and alignment, which tables use.
        f.pad(&self.0)
    }
}

impl TryFrom<&str> for LabelValue {
    type Error = LabelError;

    fn try_from(text: &str) -> Result<Self, LabelError> {
        let problems = value_problems(text);
        if problems.is_empty() {
            Ok(Self(Arc::from(text)))
        } else {
            Err(LabelError::Value {
                text: text.to_owned(),
                problems,
            })
        }
    }
}

impl TryFrom<String> for LabelValue {
    type Error = LabelError;

    fn try_from(text: String) -> Result<Self, LabelError> {
        Self::try_from(text.as_str())
    }
}

impl FromStr for LabelValue {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        Self::try_from(text)
    }
}

// Order, equality and hash are those of the text, as `Borrow` demands.
impl Borrow<str> for LabelValue {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for LabelValue {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<LabelValue> for String {
    fn from(value: LabelValue) -> Self {
        value.as_str().to_owned()
    }
}

impl PartialEq<str> for LabelValue {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for LabelValue {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for LabelValue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for LabelValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::try_from(&*text).map_err(serde::de::Error::custom)
    }
}
