//! Command lines of `ExecStart=` and its kin, split as systemd splits them.

use std::ops::Range;

use crate::{
    diagnostic::Severity,
    unit_file::is_blank,
    words::{Splitting, Unbalanced, next_word, skip_blanks},
};

/// One command of an `ExecStart=` value. Variables and specifiers are left as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecCommand {
    prefix: String,
    path: String,
    argv: Vec<String>,
    words: Vec<Range<usize>>,
    /// Where the command's arguments end in the value.
    end: usize,
}

/// All commands of one value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecLine {
    /// The commands, one for each part between lone semicolons.
    pub commands: Vec<ExecCommand>,
    /// What systemd would log.
    pub problems: Vec<ExecProblem>,
}

/// Something that systemd logs about a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecProblem {
    /// Byte of the value it is about.
    pub at: usize,
    /// What is wrong.
    pub message: String,
    /// [`Severity::Error`] when systemd refuses the unit for it.
    pub severity: Severity,
}

impl ExecCommand {
    /// The characters in front of the path, as written: any of `@ - : + ! |`.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The program, as written.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The argument list with the program's name first (what `@` names, else the path as written).
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// Whether systemd puts in environment variables (no `:`).
    pub fn expands_variables(&self) -> bool {
        !self.prefix.contains(':')
    }

    /// The bytes of the value that make one word of [`Self::argv`], quotes included.
    pub fn word_span(&self, index: usize) -> Option<Range<usize>> {
        self.words.get(index).cloned()
    }

    /// Where in the value the last word of the command ends.
    pub fn end(&self) -> usize {
        self.end
    }
}

impl ExecLine {
    /// Splits one value. A value of blanks only gives no command: it resets the list.
    pub fn parse(value: &str) -> Self {
        let mut line = Self::default();
        let mut at = 0;
        while let Some(next) = line.command(value, at) {
            at = next;
        }
        line
    }

    /// Whether systemd refuses the unit because of this line.
    pub fn is_refused(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Reads one command; the answer is where the next one starts, if there is one.
    fn command(&mut self, value: &str, from: usize) -> Option<usize> {
        let (first, mut at) = match next_word(value, from, Splitting::Setting) {
            Ok(found) => found?,
            Err(unbalanced) => {
                // Unlike a bad argument, a bad first word does not make systemd refuse the unit.
                self.unbalanced(unbalanced, Severity::Warning);
                return None;
            }
        };
        if first.text == ";" {
            return Some(at);
        }
        self.note_word(&first);
        let (prefix, path) = split_prefix(&first.text);
        let failure = if prefix.contains('-') {
            Severity::Warning
        } else {
            Severity::Error
        };
        if let Some(message) = bad_path(path) {
            self.problem(first.span.start, message, failure);
            return None;
        }
        let mut command = ExecCommand {
            prefix: prefix.to_owned(),
            path: path.to_owned(),
            argv: Vec::new(),
            words: Vec::new(),
            end: first.span.end,
        };
        if !prefix.contains('@') {
            command.argv.push(path.to_owned());
            command.words.push(first.span.clone());
        }

        let bytes = value.as_bytes();
        let mut next_command = None;
        while at < bytes.len() {
            if is_lone(bytes, at, b";") {
                next_command = Some(skip_blanks(bytes, at + 1));
                break;
            }
            if is_lone(bytes, at, b"\\;") {
                command.argv.push(";".to_owned());
                command.words.push(at..at + 2);
                command.end = at + 2;
                at = skip_blanks(bytes, at + 2);
                continue;
            }
            match next_word(value, at, Splitting::Setting) {
                Ok(Some((word, next))) => {
                    self.note_word(&word);
                    command.end = word.span.end;
                    command.words.push(word.span);
                    command.argv.push(word.text);
                    at = next;
                }
                Ok(None) => break,
                Err(unbalanced) => {
                    self.unbalanced(unbalanced, failure);
                    return None;
                }
            }
        }
        if command.argv.first().is_none_or(String::is_empty) {
            self.problem(
                first.span.start,
                "`@` needs the program's name as the next word",
                failure,
            );
            return None;
        }
        self.commands.push(command);
        next_command
    }

    fn note_word(&mut self, word: &crate::words::Word) {
        if word.unknown_escape {
            self.problem(
                word.span.start,
                format!("unknown escape in `{}`, systemd keeps the backslash", word.text),
                Severity::Warning,
            );
        }
        if word.not_utf8 {
            self.problem(
                word.span.start,
                "the escapes give bytes that are not UTF-8",
                Severity::Warning,
            );
        }
    }

    fn unbalanced(&mut self, unbalanced: Unbalanced, severity: Severity) {
        self.problem(unbalanced.at, "a quote has no end", severity);
    }

    fn problem(&mut self, at: usize, message: impl Into<String>, severity: Severity) {
        self.problems.push(ExecProblem {
            at,
            message: message.into(),
            severity,
        });
    }
}

/// Whether `token` stands at `at` as a word of its own.
fn is_lone(bytes: &[u8], at: usize, token: &[u8]) -> bool {
    bytes
        .get(at..)
        .and_then(|rest| rest.strip_prefix(token))
        .is_some_and(|rest| rest.first().is_none_or(|byte| is_blank(*byte)))
}

/// Splits the special characters off the first word. Each counts once; `+` and `!` exclude each other; `!!` is one mark.
fn split_prefix(word: &str) -> (&str, &str) {
    let mut length = 0;
    let mut seen = String::new();
    for c in word.chars() {
        let taken = match c {
            '-' | '@' | ':' | '|' => !seen.contains(c),
            '+' => !seen.contains(['+', '!']),
            '!' => !seen.contains('+') && !seen.contains("!!") && seen.matches('!').count() < 2,
            _ => false,
        };
        if !taken {
            break;
        }
        seen.push(c);
        length += 1;
    }
    word.split_at_checked(length).unwrap_or(("", word))
}

fn bad_path(path: &str) -> Option<String> {
    if path.is_empty() {
        return Some("the command line has no program".to_owned());
    }
    if path
        .chars()
        .any(|c| c.is_ascii_control() || matches!(c, '"' | '\'' | '\\'))
    {
        return Some("the program's path has a control character, a quote or a backslash".to_owned());
    }
    if path.ends_with('/') {
        return Some(format!("`{path}` names a directory, not a program"));
    }
    // A specifier may give an absolute path; only systemd knows.
    if !path.starts_with(['/', '%']) && (path.contains('/') || path == "." || path == "..") {
        return Some(format!("`{path}` is neither a program's name nor an absolute path"));
    }
    None
}

#[cfg(test)]
mod tests;
