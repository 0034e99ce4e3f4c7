//! Times as texts.

/// Microseconds since 1970 as RFC 3339 writes them, in UTC: `2026-03-01T12:00:00.000000Z`.
pub fn timestamp(microseconds: i64) -> String {
    let (seconds, fraction) = (microseconds.div_euclid(1_000_000), microseconds.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

/// The date of a day counted from 1970-01-01. Years are counted from March, so that the leap day is the last of a year.
const fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_IN_ERA: i64 = 146_097;
    // Day 0 is now 0000-03-01.
    let days = days + 719_468;
    let era = days.div_euclid(DAYS_IN_ERA);
    let day = days.rem_euclid(DAYS_IN_ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let leap = if month <= 2 { 1 } else { 0 };
    (era * 400 + year + leap, month, day - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn known_moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (1_772_366_400, "2026-03-01T12:00:00.000000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.000000Z"),
        ] {
            assert_eq!(timestamp(seconds * 1_000_000), text);
        }
        assert_eq!(timestamp(1_500_123), "1970-01-01T00:00:01.500123Z");
    }
}
