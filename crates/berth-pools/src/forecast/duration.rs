//! Durations as people write them.

use std::time::Duration;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// There is nothing.
    #[error("a duration is missing; write for example 4h, 90m or 1h30m")]
    Empty,
    /// A number without a unit.
    #[error("`{text}` has no unit after {number}; write for example {number}m for minutes")]
    NoUnit {
        /// The whole text.
        text: String,
        /// The number.
        number: String,
    },
    /// A unit that is none.
    #[error("`{unit}` in `{text}` is not a unit; use d, h, m or s")]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// What stands after the number.
        unit: String,
    },
    /// Units that are repeated or not in order, which nearly always is a slip.
    #[error("`{text}` names its units out of order or twice; write for example 1h30m")]
    Order {
        /// The whole text.
        text: String,
    },
    /// Something else than numbers and units.
    #[error("`{text}` is not a duration; write for example 4h, 90m or 1h30m")]
    Malformed {
        /// The whole text.
        text: String,
    },
    /// Longer than can be counted.
    #[error("`{text}` is too long")]
    TooLong {
        /// The whole text.
        text: String,
    },
}

/// No rollout takes longer than this: a thousand years. Sums of such times cannot overflow.
const LONGEST_SECONDS: u64 = 1_000 * 366 * 86_400;

/// Reads durations such as `4h`, `90m`, `1h30m` or `2d`.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let whole = text.trim();
    if whole.is_empty() {
        return Err(DurationError::Empty);
    }
    let owned = || whole.to_owned();
    let mut rest = whole;
    let mut total = 0_u64;
    let mut last_unit = u64::MAX;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        if number.is_empty() {
            return Err(DurationError::Malformed { text: owned() });
        }
        let (unit, after) = after.split_at(after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len()));
        let seconds = match unit {
            "d" => 86_400,
            "h" => 3_600,
            "m" | "min" => 60,
            "s" => 1,
            "" => {
                return Err(DurationError::NoUnit {
                    text: owned(),
                    number: number.to_owned(),
                });
            }
            unit => {
                return Err(DurationError::UnknownUnit {
                    text: owned(),
                    unit: unit.to_owned(),
                });
            }
        };
        if seconds >= last_unit {
            return Err(DurationError::Order { text: owned() });
        }
        total = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(seconds))
            .and_then(|part| total.checked_add(part))
            .filter(|total| *total <= LONGEST_SECONDS)
            .ok_or_else(|| DurationError::TooLong { text: owned() })?;
        last_unit = seconds;
        rest = after;
    }
    Ok(Duration::from_secs(total))
}

/// Writes a duration as [`parse_duration`] reads it: `1h30m`. Fractions of a second are left out.
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = [
        (seconds / 86_400, 'd'),
        (seconds / 3_600 % 24, 'h'),
        (seconds / 60 % 60, 'm'),
        (seconds % 60, 's'),
    ];
    let mut text = String::new();
    for (number, unit) in parts.into_iter().filter(|(number, _)| *number > 0) {
        text.push_str(&number.to_string());
        text.push(unit);
    }
    if text.is_empty() { "0m".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_people_write() {
        for (text, seconds) in [
            ("4h", 14_400),
            ("90m", 5_400),
            ("1h30m", 5_400),
            ("45s", 45),
            ("1d2h", 93_600),
            (" 20min ", 1_200),
            ("0m", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("", "a duration is missing; write for example 4h, 90m or 1h30m"),
            ("90", "`90` has no unit after 90; write for example 90m for minutes"),
            ("1h30", "`1h30` has no unit after 30; write for example 30m for minutes"),
            ("4 h", "` h` in `4 h` is not a unit; use d, h, m or s"),
            ("4hours", "`hours` in `4hours` is not a unit; use d, h, m or s"),
            (
                "30m1h",
                "`30m1h` names its units out of order or twice; write for example 1h30m",
            ),
            (
                "1h1h",
                "`1h1h` names its units out of order or twice; write for example 1h30m",
            ),
            ("-4h", "`-4h` is not a duration; write for example 4h, 90m or 1h30m"),
            ("soon", "`soon` is not a duration; write for example 4h, 90m or 1h30m"),
            ("99999999999999999999h", "`99999999999999999999h` is too long"),
            ("999999999d", "`999999999d` is too long"),
        ] {
            assert_eq!(parse_duration(text).unwrap_err().to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(seconds in 0u64..LONGEST_SECONDS) {
            let duration = Duration::from_secs(seconds);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_is_a_panic(text in "\\PC*") {
            let _ = parse_duration(&text);
        }
    }
}
