//! Moments and lengths of time.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::Outcome;
use crate::{error::EvalError, value::Value};

/// Reads a length as Go does: `1h30m`, `1.5s`.
pub(super) fn length(text: &str) -> Result<SignedDuration, EvalError> {
    let invalid = || super::no_conversion("google.protobuf.Duration");
    let (sign, mut rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (if text.starts_with('-') { -1 } else { 1 }, rest),
        None => (1, text),
    };
    if rest == "0" {
        return Ok(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut nanos = 0_i128;
    while !rest.is_empty() {
        let end = rest
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .ok_or_else(invalid)?;
        let (number, after) = rest.split_at_checked(end).ok_or_else(invalid)?;
        let unit_end = after
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(unit_end).ok_or_else(invalid)?;
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(invalid()),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || whole.len() > 18 {
            return Err(invalid());
        }
        let whole: i128 = if whole.is_empty() {
            0
        } else {
            whole.parse().map_err(|_| invalid())?
        };
        nanos += whole * unit;
        let fraction: String = fraction.chars().take(15).collect();
        if !fraction.is_empty() {
            let digits: i128 = fraction.parse().map_err(|_| invalid())?;
            let scale = 10_i128.pow(u32::try_from(fraction.len()).unwrap_or_default());
            nanos += digits * unit / scale;
        }
        rest = after;
    }
    let nanos = i64::try_from(nanos * sign).map_err(|_| invalid())?;
    Ok(SignedDuration::from_nanos(nanos))
}

/// Reads a moment of RFC 3339.
pub(super) fn moment(text: &str) -> Result<Timestamp, EvalError> {
    text.parse()
        .map_err(|_| super::no_conversion("google.protobuf.Timestamp"))
}

/// A length in seconds.
pub(super) fn shown(length: SignedDuration) -> String {
    let nanos = length.as_nanos();
    let (sign, size) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let fraction = format!("{:09}", size % 1_000_000_000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}s", size / 1_000_000_000)
}

pub(super) fn of_length(name: &str, length: SignedDuration) -> Outcome {
    Ok(Value::Int(match name {
        "getHours" => length.as_hours(),
        "getMinutes" => length.as_mins(),
        "getSeconds" => length.as_secs(),
        "getMilliseconds" => i64::try_from(length.as_millis()).unwrap_or(i64::MAX),
        _ => return Err(EvalError::no_overload()),
    }))
}

pub(super) fn of_moment(name: &str, moment: Timestamp, arguments: &[Value]) -> Outcome {
    let zone = match arguments {
        [] => TimeZone::UTC,
        [Value::Text(zone)] => TimeZone::get(zone).map_err(|_| EvalError::new(format!("unknown time zone {zone}")))?,
        _ => return Err(EvalError::no_overload()),
    };
    let there = moment.to_zoned(zone);
    Ok(Value::Int(match name {
        "getFullYear" => i64::from(there.year()),
        "getMonth" => i64::from(there.month()) - 1,
        "getDate" => i64::from(there.day()),
        "getDayOfMonth" => i64::from(there.day()) - 1,
        "getDayOfYear" => i64::from(there.day_of_year()) - 1,
        "getDayOfWeek" => i64::from(there.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(there.hour()),
        "getMinutes" => i64::from(there.minute()),
        "getSeconds" => i64::from(there.second()),
        "getMilliseconds" => i64::from(there.millisecond()),
        _ => return Err(EvalError::no_overload()),
    }))
}
