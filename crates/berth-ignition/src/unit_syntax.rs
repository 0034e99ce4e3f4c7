//! Whether a text is a unit file to Ignition.
//!
//! This is Ignition's reader, not systemd's: it refuses lines that systemd would warn
//! about and pass over, and before the first section it takes anything. A unit
//! that it refuses makes the whole config unusable, so its verdict is what counts.

/// Lines that systemd would cut off are refused.
const LINE_MAX: usize = 2048;

/// How much the reader looks at. The length of a line is judged by what it holds,
/// so a long line can pass when it begins late in the window; that is kept.
const WINDOW: usize = 4096;

/// What is wrong with a unit's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnitSyntaxError {
    #[error("a section header has no closing bracket")]
    OpenSection,
    #[error("there is text after a section header")]
    AfterSection,
    #[error("a line has no `=`")]
    NoEqualSign,
    #[error("a line is longer than {LINE_MAX} bytes")]
    LineTooLong,
}

/// Reads a unit file; gives the names of the sections that have options.
pub(crate) fn sections(text: &str) -> Result<Vec<&str>, UnitSyntaxError> {
    Reader {
        text,
        at: 0,
        held: 0,
        sections: Vec::new(),
    }
    .read()
}

enum State<'a> {
    BeforeSections,
    /// A comment, and the section it is in.
    Comment(Option<&'a str>),
    InSection(&'a str),
    Option(&'a str),
    Value,
    SectionName,
    SectionEnd(&'a str),
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The end of what the window holds.
    held: usize,
    sections: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn read(mut self) -> Result<Vec<&'a str>, UnitSyntaxError> {
        let mut state = State::BeforeSections;
        let mut section = "";
        loop {
            self.check_line_length()?;
            state = match state {
                State::BeforeSections => match self.next() {
                    None => return Ok(self.sections),
                    Some('[') => State::SectionName,
                    Some('#' | ';') => State::Comment(None),
                    Some(_) => State::BeforeSections,
                },
                State::Comment(section) => {
                    self.skip_comment();
                    section.map_or(State::BeforeSections, State::InSection)
                }
                State::SectionName => {
                    let (name, found) = self.until(']');
                    if !found {
                        return Err(UnitSyntaxError::OpenSection);
                    }
                    State::SectionEnd(name)
                }
                State::SectionEnd(name) => {
                    if !self.line().0.trim().is_empty() {
                        return Err(UnitSyntaxError::AfterSection);
                    }
                    State::InSection(name)
                }
                State::InSection(name) => match self.next() {
                    None => return Ok(self.sections),
                    Some('[') => State::SectionName,
                    Some('#' | ';') => State::Comment(Some(name)),
                    Some(c) if c.is_whitespace() => State::InSection(name),
                    Some(c) => {
                        self.at -= c.len_utf8();
                        State::Option(name)
                    }
                },
                State::Option(name) => {
                    self.option_name()?;
                    section = name;
                    State::Value
                }
                State::Value => {
                    let (line, _) = self.line();
                    if !line.trim().is_empty() && line.ends_with('\\') {
                        State::Value
                    } else {
                        self.sections.push(section);
                        State::InSection(section)
                    }
                }
            };
        }
    }

    fn check_line_length(&self) -> Result<(), UnitSyntaxError> {
        let bytes = self.text.as_bytes();
        let ahead = bytes.get(self.at..self.held).and_then(|held| held.get(..LINE_MAX));
        match ahead {
            Some(ahead) if !ahead.iter().any(|byte| b"\r\n".contains(byte)) => Err(UnitSyntaxError::LineTooLong),
            _ => Ok(()),
        }
    }

    fn fill(&mut self) {
        self.held = self.text.len().min(self.at.saturating_add(WINDOW));
    }

    fn next(&mut self) -> Option<char> {
        let next = self.text.get(self.at..)?.chars().next()?;
        if self.at + next.len_utf8() > self.held {
            self.fill();
        }
        self.at += next.len_utf8();
        Some(next)
    }

    /// The text up to a delimiter, which is passed over, and whether it was found.
    fn until(&mut self, delimiter: char) -> (&'a str, bool) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (found, end, next) = match rest.split_once(delimiter) {
            Some((before, _)) => (before, true, self.at + before.len() + delimiter.len_utf8()),
            None => (rest, false, self.text.len()),
        };
        while next > self.held {
            // A full window without the delimiter is given up and filled anew.
            if self.held.saturating_sub(self.at) >= WINDOW {
                self.at = self.held;
            }
            self.fill();
        }
        self.at = next;
        (found, end)
    }

    fn line(&mut self) -> (&'a str, bool) {
        let (line, found) = self.until('\n');
        // Before a line feed a carriage return stays, so a backslash before both does
        // not continue the line.
        let line = if found {
            line
        } else {
            line.strip_suffix('\r').unwrap_or(line)
        };
        (line, found)
    }

    /// Passes over a comment, with the lines that continue it.
    fn skip_comment(&mut self) {
        loop {
            let (line, found) = self.line();
            let line = line.strip_suffix(' ').unwrap_or(line);
            if !found || !line.ends_with('\\') {
                return;
            }
        }
    }

    fn option_name(&mut self) -> Result<(), UnitSyntaxError> {
        loop {
            match self.next() {
                Some('=') => return Ok(()),
                None | Some('\n' | '\r') => return Err(UnitSyntaxError::NoEqualSign),
                Some(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn verdicts_are_those_of_ignition() {
        let long = "y".repeat(2100);
        let good = [
            "",
            "junk",
            "junk\n[A]\nx=1",
            "[A] \nx=1",
            "[A]\nx=\\",
            "[A]\nx=1\\\ny",
            "[A]\n=1",
            "[]\n",
            "[A]\n# c\\\nfoo\nx=1",
            "[A]\n#c",
            "[A\n]\nx=1",
            "[A]\r\nx=1\r\n",
            "[A]\n  foo = 1\n",
            "[A]\nx=1\\\n\n[B]\n",
            "[A]\n\u{a0}x=1\n",
            "[A]\nx=\n",
            "a=b\n",
            "[A]\n[B]\n",
        ];
        for text in good {
            assert!(sections(text).is_ok(), "{text:?}");
        }
        let late = format!("[A]\n{}x={}\n", "a=b\n".repeat(1000), "y".repeat(3000));
        assert!(sections(&late).is_ok());
        let bad = [
            ("[A", UnitSyntaxError::OpenSection),
            ("[A]x", UnitSyntaxError::AfterSection),
            ("[A] #c\nx=1", UnitSyntaxError::AfterSection),
            ("[A]\rx=1", UnitSyntaxError::AfterSection),
            ("[A]\nx", UnitSyntaxError::NoEqualSign),
            ("[A]\nx\n", UnitSyntaxError::NoEqualSign),
            ("[A]\n;c\nfoo", UnitSyntaxError::NoEqualSign),
            ("[A]\nx=1\\\n#c\nfoo\n", UnitSyntaxError::NoEqualSign),
            ("[A]\nx=1\\ \nfoo\n", UnitSyntaxError::NoEqualSign),
            ("[A]\nfoo\\\n=1", UnitSyntaxError::NoEqualSign),
            (&format!("[A]\nx={long}\n"), UnitSyntaxError::LineTooLong),
            (&format!("#{long}"), UnitSyntaxError::LineTooLong),
        ];
        for (text, want) in bad {
            assert_eq!(sections(text), Err(want), "{text:?}");
        }
    }

    #[test]
    fn sections_with_options_are_named() {
        assert_eq!(
            sections("[Unit]\nA=1\n[Empty]\n[Install]\nB=2\nC=3\n"),
            Ok(vec!["Unit", "Install", "Install"])
        );
    }

    proptest! {
        #[test]
        fn never_panics_and_always_ends(text in "([\\[\\]=\\\\#;\r\n a]|\\PC){0,60}") {
            let _ = sections(&text);
        }

        #[test]
        fn long_texts_end_too(text in "[\\[\\]=\\\\\n a]{0,12}", times in 1_usize..2000) {
            let _ = sections(&text.repeat(times));
        }
    }
}
