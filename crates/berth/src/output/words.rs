//! Small pieces of text.

use std::borrow::Cow;

/// `1 node`, `2 nodes`. For nouns that take an s.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
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
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(printable("größe"), "größe");
    }
}
