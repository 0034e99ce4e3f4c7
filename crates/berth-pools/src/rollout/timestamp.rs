//! Points in time as Kubernetes writes them.

use std::str::FromStr;

/// Seconds since 1970-01-01T00:00:00Z. Enough to order nodes by age; the planner needs no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// A text that is not an RFC 3339 time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time such as 2026-03-01T10:00:00Z")]
pub struct TimestampError(pub String);

impl FromStr for Timestamp {
    type Err = TimestampError;

    /// Reads RFC 3339. Fractions of a second are cut off: Kubernetes does not write them here.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map(Self).ok_or_else(|| TimestampError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = rest.split_at_checked(zone_at)?;
    let time = match time.split_once('.') {
        Some((time, fraction)) => {
            let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
            digits.then_some(time)?
        }
        None => time,
    };
    let [year, month, day] = fields(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = fields(time, ':', [2, 2, 2])?;
    // 60 is a leap second.
    if day < 1 || day > days_in_month(year, month)? || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days_since_epoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(seconds - offset(zone)?)
}

fn offset(zone: &str) -> Option<i64> {
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => return Some(0),
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let [hour, minute] = fields(digits, ':', [2, 2])?;
    (hour <= 23 && minute <= 59).then_some(sign * (hour * 3_600 + minute * 60))
}

/// Numbers of fixed width between separators.
fn fields<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, width) in numbers.iter_mut().zip(widths) {
        let part = parts.next()?;
        if part.len() != width || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

fn days_in_month(year: i64, month: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 => Some(if leap { 29 } else { 28 }),
        _ => None,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar. The year is counted from March, so that the leap day is its last
/// day and the lengths of the months follow one formula.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    year * 365 + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_as_kubernetes_and_others_write_them() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-03-01T10:00:00Z", 1_772_359_200),
            ("2026-03-01T12:00:00+02:00", 1_772_359_200),
            ("2026-03-01T04:30:00.123456-05:30", 1_772_359_200),
        ] {
            assert_eq!(text.parse::<Timestamp>(), Ok(Timestamp(expected)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-03-01",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-03-00T00:00:00Z",
            "2026-03-01T24:00:00Z",
            "2026-03-01T10:00:00",
            "2026-03-01T10:00Z",
            "2026-03-01T10:00:00.Z",
            "2026-03-01T10:00:00+2",
            "2026-03-01T10:00:00Zulu",
            "+026-03-01T10:00:00Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in "\\PC*") {
            let _ = text.parse::<Timestamp>();
        }

        #[test]
        fn later_texts_are_later_times(a in (1i64..9999, 1i64..13, 1i64..29), b in (1i64..9999, 1i64..13, 1i64..29)) {
            let time = |(year, month, day)| {
                format!("{year:04}-{month:02}-{day:02}T00:00:00Z").parse::<Timestamp>().unwrap()
            };
            prop_assert_eq!(a.cmp(&b), time(a).cmp(&time(b)));
        }
    }
}
