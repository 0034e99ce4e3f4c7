//! Times as texts.

use jiff::Timestamp;

/// Microseconds since 1970 as RFC 3339 writes them, in UTC: `2026-03-01T12:00:00.000000Z`.
pub fn timestamp(microseconds: i64) -> String {
    let moment = Timestamp::from_microsecond(microseconds).unwrap_or(Timestamp::MAX);
    format!("{moment:.6}")
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn microseconds_are_always_there() {
        assert_eq!(timestamp(1_772_366_400_000_000), "2026-03-01T12:00:00.000000Z");
        assert_eq!(timestamp(1_500_120), "1970-01-01T00:00:01.500120Z");
        assert_eq!(timestamp(i64::MAX), "9999-12-30T22:00:00.999999Z");
    }
}
