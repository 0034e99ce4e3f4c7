//! Small pieces of text.

use std::borrow::Cow;

use berth_pools::Timestamp;

/// `1 node`, `2 nodes`. For nouns that take an s.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// A moment as Kubernetes writes it: `2026-03-02T08:00:00Z`.
pub(crate) fn rfc3339(moment: Timestamp) -> String {
    let (days, seconds) = (moment.0.div_euclid(86_400), moment.0.rem_euclid(86_400));
    // Years that begin in March put the leap day at the end; 719 468 days lie between 0000-03-01 and 1970-01-01.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
}

/// The text with control characters escaped: names come from files, and must not steer the terminal.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        Cow::Owned(
            text.chars()
                .flat_map(|c| -> Box<dyn Iterator<Item = char>> {
                    if c.is_control() {
                        Box::new(c.escape_default())
                    } else {
                        Box::new(std::iter::once(c))
                    }
                })
                .collect(),
        )
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!(counted(0, "node"), "0 nodes");
        assert_eq!(counted(1, "node"), "1 node");
        assert_eq!(counted(2, "node"), "2 nodes");
    }

    #[test]
    fn moments_read_back() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2000-02-29T23:59:59Z",
            "2026-03-02T08:00:00Z",
            "2100-02-28T12:00:01Z",
            "2100-03-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(rfc3339(text.parse().unwrap()), text);
        }
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(printable("größe"), "größe");
    }
}
