//! How many nodes of a pool may be out of service at a time.

use serde_json::Value;

/// A pool's `spec.maxUnavailable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxUnavailable {
    /// A number of nodes.
    Count(u32),
    /// A share of the pool's nodes, 0 to 100, rounded down.
    Percent(u32),
}

/// Why a value cannot be a pool's `maxUnavailable`.
///
/// The custom resource has no validation for the field, so the original meets such values only during a rollout: a
/// negative number stops the pool for good without a word, a text without `%` fails each sync.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaxUnavailableError {
    /// Less than nothing. The original accepts it, and the pool never moves again.
    #[error("maxUnavailable is {0}; a negative number would stop the pool forever")]
    Negative(String),
    /// More than all nodes.
    #[error("maxUnavailable is {0}; a share is at most 100%")]
    OverHundred(String),
    /// A number in quotes.
    #[error("maxUnavailable is the text \"{0}\"; write the number without quotes, or add %")]
    QuotedNumber(String),
    /// Anything else.
    #[error("maxUnavailable is `{0}`; expected a number of nodes such as 3, or a share such as \"10%\"")]
    Senseless(String),
}

impl Default for MaxUnavailable {
    /// One node at a time, as for a pool that does not say.
    fn default() -> Self {
        Self::Count(1)
    }
}

impl MaxUnavailable {
    /// Reads a number (`3`) or a share (`10%`).
    pub fn parse(text: &str) -> Result<Self, MaxUnavailableError> {
        let (digits, percent) = match text.strip_suffix('%') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let unsigned = digits.strip_prefix('-').unwrap_or(digits);
        if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(MaxUnavailableError::Senseless(text.to_owned()));
        }
        if digits.len() != unsigned.len() && unsigned.bytes().any(|byte| byte != b'0') {
            return Err(MaxUnavailableError::Negative(text.to_owned()));
        }
        let number = unsigned
            .parse()
            .map_err(|_| MaxUnavailableError::Senseless(text.to_owned()))?;
        match (percent, number) {
            (true, 101..) => Err(MaxUnavailableError::OverHundred(text.to_owned())),
            (true, number) => Ok(Self::Percent(number)),
            (false, number) => Ok(Self::Count(number)),
        }
    }

    /// Reads the field as it stands in a MachineConfigPool. Absent means one node.
    ///
    /// A number in quotes is refused, as by the original: the API server keeps it as a text.
    pub fn from_json(value: Option<&Value>) -> Result<Self, MaxUnavailableError> {
        match value {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(Value::Number(number)) => Self::parse(&number.to_string()),
            Some(Value::String(text)) => match Self::parse(text)? {
                Self::Count(_) => Err(MaxUnavailableError::QuotedNumber(text.clone())),
                share @ Self::Percent(_) => Ok(share),
            },
            Some(other) => Err(MaxUnavailableError::Senseless(other.to_string())),
        }
    }

    /// The number of nodes for a pool of this size. It is at least one: a pool that may never move is not a limit but
    /// a pause, and `paused` says that.
    pub fn resolve(self, total: usize) -> usize {
        let count = match self {
            Self::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
            Self::Percent(share) => {
                // Through u128, so that no pool is too large to multiply.
                let share = u128::from(share) * (total as u128) / 100;
                usize::try_from(share).unwrap_or(usize::MAX)
            }
        };
        count.max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_shares() {
        for (value, total, expected) in [
            (json!(null), 10, 1),
            (json!(3), 10, 3),
            (json!(3), 2, 3),
            (json!(0), 10, 1),
            (json!("10%"), 25, 2),
            (json!("10%"), 9, 1),
            (json!("0%"), 100, 1),
            (json!("33%"), 3, 1),
            (json!("50%"), 5, 2),
            (json!("100%"), 7, 7),
            (json!("100%"), 0, 1),
        ] {
            let limit = MaxUnavailable::from_json(Some(&value)).unwrap();
            assert_eq!(limit.resolve(total), expected, "{value} of {total}");
        }
        assert_eq!(MaxUnavailable::from_json(None).unwrap(), MaxUnavailable::Count(1));
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        for (value, expected) in [
            (
                json!(-1),
                "maxUnavailable is -1; a negative number would stop the pool forever",
            ),
            (
                json!("-5%"),
                "maxUnavailable is -5%; a negative number would stop the pool forever",
            ),
            (json!("120%"), "maxUnavailable is 120%; a share is at most 100%"),
            (
                json!("3"),
                "maxUnavailable is the text \"3\"; write the number without quotes, or add %",
            ),
            (
                json!("10 %"),
                "maxUnavailable is `10 %`; expected a number of nodes such as 3, or a share such as \"10%\"",
            ),
            (
                json!("%"),
                "maxUnavailable is `%`; expected a number of nodes such as 3, or a share such as \"10%\"",
            ),
            (
                json!("half"),
                "maxUnavailable is `half`; expected a number of nodes such as 3, or a share such as \"10%\"",
            ),
            (
                json!(1.5),
                "maxUnavailable is `1.5`; expected a number of nodes such as 3, or a share such as \"10%\"",
            ),
            (
                json!(true),
                "maxUnavailable is `true`; expected a number of nodes such as 3, or a share such as \"10%\"",
            ),
        ] {
            let error = MaxUnavailable::from_json(Some(&value)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        assert!(MaxUnavailable::parse("99999999999999999999").is_err());
        assert!(MaxUnavailable::parse("+3").is_err());
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic_and_every_limit_is_positive(text in "[-+]?[0-9]{0,12}%?", total in any::<usize>()) {
            if let Ok(limit) = MaxUnavailable::parse(&text) {
                prop_assert!(limit.resolve(total) >= 1);
            }
        }

        #[test]
        fn a_share_is_never_more_than_the_pool(share in 0u32..=100, total in 1usize..100_000) {
            prop_assert!(MaxUnavailable::Percent(share).resolve(total) <= total);
        }
    }
}
