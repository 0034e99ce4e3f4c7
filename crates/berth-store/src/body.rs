//! Bodies: the contents of documents as they are stored, each under its digest.
//!
//! The content of an open body is the canonical spelling of its value, so its digest is the document's hash and anybody
//! can compute it again. A sealed body is under a digest that needs the key (see [`sealing`](crate::sealing)).

use std::fmt;

use berth_documents::deckhand::{ContentHash, canonical_json};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{error::Error, sealing::KeyId};

/// How deep the JSON reader goes. Documents are less deep: their form says so.
const MAX_DEPTH: usize = 127;

/// What a body is filed under, shown in lower-case hexadecimal digits.
///
/// For data that is not sealed this is the hash of the data's canonical spelling, as Deckhand computes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    pub(crate) const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// From a column of the database.
    pub(crate) fn from_column(bytes: &[u8]) -> Result<Self, Error> {
        bytes
            .try_into()
            .map(Self)
            .map_err(|_| Error::damaged(format!("a digest has {} bytes and not 32", bytes.len())))
    }

    pub(crate) fn of_content(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<ContentHash> for Digest {
    fn from(hash: ContentHash) -> Self {
        Self(*hash.as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

/// A body to be stored, unless it is there already.
#[derive(Debug)]
pub(crate) struct NewBody {
    pub(crate) digest: Digest,
    pub(crate) sealed_with: Option<KeyId>,
    pub(crate) content: Vec<u8>,
}

impl NewBody {
    pub(crate) fn open(digest: Digest, value: &Value) -> Self {
        Self {
            digest,
            sealed_with: None,
            content: canonical_json(value).into_bytes(),
        }
    }
}

/// The value of an open body.
pub(crate) fn read(content: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(content).map_err(|error| Error::damaged(format!("a body is not JSON ({error})")))
}

/// Refuses a value that cannot be read again once it is written.
pub(crate) fn check_depth(what: &'static str, value: &Value) -> Result<(), Error> {
    if is_too_deep(value) {
        return Err(Error::TooDeep { what, limit: MAX_DEPTH });
    }
    Ok(())
}

fn is_too_deep(value: &Value) -> bool {
    fn deeper_than(value: &Value, limit: usize) -> bool {
        let Some(below) = limit.checked_sub(1) else {
            return matches!(value, Value::Array(_) | Value::Object(_));
        };
        match value {
            Value::Array(items) => items.iter().any(|item| deeper_than(item, below)),
            Value::Object(map) => map.values().any(|item| deeper_than(item, below)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    deeper_than(value, MAX_DEPTH)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn what_is_not_too_deep_can_be_read_again_and_what_is_cannot() {
        for (levels, fits) in [(1, true), (MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
            let value = nested(levels);
            assert_eq!(is_too_deep(&value), !fits, "{levels} levels");
            assert_eq!(read(canonical_json(&value).as_bytes()).is_ok(), fits, "{levels} levels");
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back_as_they_were(float in any::<f64>().prop_filter("finite", |float| float.is_finite())) {
            let value = json!(float);
            let body = NewBody::open(ContentHash::of(&value).into(), &value);
            prop_assert_eq!(Digest::of_content(&body.content), body.digest);
            prop_assert_eq!(read(&body.content).unwrap(), value);
        }

        #[test]
        fn texts_come_back_as_they_were(text in any::<String>()) {
            let value = json!({text.clone(): text});
            let body = NewBody::open(ContentHash::of(&value).into(), &value);
            prop_assert_eq!(Digest::of_content(&body.content), body.digest);
            prop_assert_eq!(read(&body.content).unwrap(), value);
        }
    }
}
