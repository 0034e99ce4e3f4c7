//! Label keys.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use crate::{error::LabelError, syntax::key_problems};

/// A legal label key: `name` or `prefix/name`.
///
/// The text is shared, so that a clone costs one counter: a large site repeats the same few keys on every node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelKey(Arc<str>);

impl LabelKey {
    /// The whole key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the slash, which names the domain that gives the key its meaning.
    pub fn prefix(&self) -> Option<&str> {
        self.0.split_once('/').map(|(prefix, _)| prefix)
    }

    /// The part after the slash, or the whole key when there is no slash.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// Whether the prefix is `domain` or a sub-domain of it.
    ///
    /// The border is a dot: `mykubernetes.io` is not in `kubernetes.io`, which is what Kubernetes decides too.
    pub fn in_domain(&self, domain: &str) -> bool {
        self.prefix()
            .and_then(|prefix| prefix.strip_suffix(domain))
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }
}

impl fmt::Debug for LabelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for LabelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `pad` keeps width and alignment, which tables use.
        f.pad(&self.0)
    }
}

impl TryFrom<&str> for LabelKey {
    type Error = LabelError;

    fn try_from(text: &str) -> Result<Self, LabelError> {
        let problems = key_problems(text);
        if problems.is_empty() {
            Ok(Self(Arc::from(text)))
        } else {
            Err(LabelError::Key {
                text: text.to_owned(),
                problems,
            })
        }
    }
}

impl TryFrom<String> for LabelKey {
    type Error = LabelError;

    fn try_from(text: String) -> Result<Self, LabelError> {
        Self::try_from(text.as_str())
    }
}

impl FromStr for LabelKey {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        Self::try_from(text)
    }
}

// Order, equality and hash are those of the text, as `Borrow` demands.
impl Borrow<str> for LabelKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for LabelKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<LabelKey> for String {
    fn from(key: LabelKey) -> Self {
        key.as_str().to_owned()
    }
}

impl PartialEq<str> for LabelKey {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for LabelKey {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for LabelKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for LabelKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::try_from(&*text).map_err(serde::de::Error::custom)
    }
}
