//! Where an answer comes from that people pass on, such as a picture: the site, the date and the command.

use std::ffi::OsString;

use berth_clock::Clock;
use berth_site::Site;

use crate::output::rfc3339;

/// What was typed, and when.
#[derive(Debug)]
pub(crate) struct Origin<'a> {
    typed: &'a [OsString],
    clock: &'a Clock,
}

impl<'a> Origin<'a> {
    /// The first argument is the program's name, as the system passes it.
    pub(crate) fn new(typed: &'a [OsString], clock: &'a Clock) -> Self {
        Self { typed, clock }
    }

    /// One line: the site, the date and the command.
    pub(crate) fn of(&self, site: &Site) -> String {
        let regions: Vec<&str> = site.regions.iter().map(|region| &*region.value).collect();
        let words = self.typed.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
        let command: Vec<String> = std::iter::once("berth".to_owned()).chain(words).collect();
        let date = rfc3339(self.clock.now());
        let command = command.join(" ");
        if regions.is_empty() {
            format!("{date} · {command}")
        } else {
            format!("{} · {date} · {command}", regions.join(", "))
        }
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@+%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_can_be_pasted() {
        assert_eq!(quoted("-f"), "-f");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
