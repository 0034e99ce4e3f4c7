//! Identifiers of actions: ULIDs, which sort by the time at which they were made.

use std::{fmt, str::FromStr};

use ulid::Ulid;

/// The identifier of an action.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(Box<str>);

/// A text is not an identifier of an action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an identifier of an action: it has 26 characters from 0-9 and A-Z without I, L, O and U")]
pub struct ActionIdError(pub String);

impl ActionId {
    /// From the time in microseconds since 1970 and 80 random bits.
    pub fn new(now: i64, random: [u8; 10]) -> Self {
        let random = random.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        let id = Ulid::from_parts(u64::try_from(now / 1000).unwrap_or_default(), random);
        Self(id.to_string().into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for ActionId {
    type Err = ActionIdError;

    /// Small letters are read like capitals.
    fn from_str(text: &str) -> Result<Self, ActionIdError> {
        // The decoder also reads letters that look like digits, and drops bits beyond 128.
        Ulid::from_string(text)
            .map(|id| id.to_string())
            .ok()
            .filter(|canonical| canonical.eq_ignore_ascii_case(text))
            .map(|canonical| Self(canonical.into()))
            .ok_or_else(|| ActionIdError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_a_ulid() {
        // The example of the ULID specification: its time, and a random part of its own.
        let id = ActionId::new(1_469_918_176_385_000, [0xff; 10]);
        assert_eq!(id.as_str(), "01ARYZ6S41ZZZZZZZZZZZZZZZZ");
        assert_eq!(ActionId::new(0, [0; 10]).as_str(), "0".repeat(26));
        assert_eq!(id.as_str().to_lowercase().parse(), Ok(id));
    }

    #[test]
    fn identifiers_sort_by_time() {
        let mut ids: Vec<_> = (0..50)
            .map(|step| ActionId::new(step * 1000, [u8::try_from(97 * step % 251).unwrap(); 10]))
            .collect();
        let in_order = ids.clone();
        ids.sort();
        assert_eq!(ids, in_order);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "01ARYZ6S41",
            "01ARYZ6S41ZZZZZZZZZZZZZZZZZ",
            "81ARYZ6S41ZZZZZZZZZZZZZZZZ",
            "01ARYZ6S41ZZZZZZZZZZZZZZZU",
            "01ARYZ6S41ZZZZZZZZZZZZZZé",
        ] {
            assert!(text.parse::<ActionId>().is_err(), "{text}");
        }
    }
}
