//! Small pieces of text.

use std::borrow::Cow;

use jiff::Timestamp;

/// `1 node`, `2 nodes`, `2 addresses`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else if noun.ends_with('s') {
        format!("{count} {noun}es")
    } else {
        format!("{count} {noun}s")
    }
}

/// A moment as Kubernetes writes it: `2026-03-02T08:00:00Z`.
pub(crate) fn rfc3339(moment: Timestamp) -> String {
    format!("{moment:.0}")
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
        assert_eq!(counted(2, "address"), "2 addresses");
    }

    #[test]
    fn moments_are_shown_to_the_second() {
        let moment = Timestamp::new(1_772_438_400, 999_999_999).unwrap();
        assert_eq!(rfc3339(moment), "2026-03-02T08:00:00Z");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(printable("größe"), "größe");
    }
}
