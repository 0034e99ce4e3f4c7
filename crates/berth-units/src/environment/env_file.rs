//! The files that `EnvironmentFile=` names, read by systemd's rules, with the bytes of every assignment.

use std::ops::Range;

use super::is_variable_name;
use crate::{diagnostic::UnitDiagnostic, unit_file::is_blank};

/// An environment file. Its bytes are kept by the caller; entries say where they stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvFile {
    /// The assignments in order; for a name the last one counts.
    pub entries: Vec<EnvEntry>,
    /// What systemd would complain about.
    pub diagnostics: Vec<UnitDiagnostic>,
}

/// One assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvEntry {
    /// The variable's name.
    pub name: String,
    /// The value without quotes and escapes.
    pub value: String,
    /// Line of the name, from 1.
    pub line: usize,
    /// The bytes from the name to the value's end, without the line end.
    pub span: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    BeforeName,
    Name,
    BeforeValue,
    Value,
    ValueEscape,
    SingleQuote,
    DoubleQuote,
    DoubleQuoteEscape,
    Comment,
}

#[derive(Default)]
struct Pending {
    name: Vec<u8>,
    value: Vec<u8>,
    /// Length of `value` without the unquoted blanks at its end.
    kept: usize,
    start: usize,
    line: usize,
}

impl Pending {
    /// Takes one byte; the answer is the state after it.
    fn step(&mut self, state: State, byte: u8) -> State {
        let newline = matches!(byte, b'\n' | b'\r');
        match state {
            State::BeforeName if matches!(byte, b'#' | b';') => State::Comment,
            State::BeforeName if is_blank(byte) => State::BeforeName,
            State::Comment if !newline => State::Comment,
            State::Comment => State::BeforeName,
            State::Name | State::BeforeValue | State::Value if newline => State::BeforeName,
            State::Name if byte == b'=' => State::BeforeValue,
            // An `=` with nothing in front of it is the first byte of a name, as it is for systemd.
            State::BeforeName | State::Name => {
                self.name.push(byte);
                State::Name
            }
            State::BeforeValue if byte == b'\'' => State::SingleQuote,
            State::BeforeValue if byte == b'"' => State::DoubleQuote,
            State::BeforeValue | State::Value if byte == b'\\' => State::ValueEscape,
            State::BeforeValue if is_blank(byte) => State::BeforeValue,
            State::Value if is_blank(byte) => {
                self.value.push(byte);
                State::Value
            }
            State::BeforeValue | State::Value => {
                self.keep(&[byte]);
                State::Value
            }
            State::ValueEscape => {
                self.keep(if newline { &[] } else { std::slice::from_ref(&byte) });
                State::Value
            }
            State::SingleQuote if byte == b'\'' => State::BeforeValue,
            State::DoubleQuote if byte == b'"' => State::BeforeValue,
            State::DoubleQuote if byte == b'\\' => State::DoubleQuoteEscape,
            State::DoubleQuoteEscape => {
                match byte {
                    b'"' | b'\\' | b'`' | b'$' => self.keep(&[byte]),
                    b'\n' => self.keep(&[]),
                    _ => self.keep(&[b'\\', byte]),
                }
                State::DoubleQuote
            }
            State::SingleQuote | State::DoubleQuote => {
                self.keep(&[byte]);
                state
            }
        }
    }

    /// Adds bytes that count even at the value's end.
    fn keep(&mut self, bytes: &[u8]) {
        self.value.extend_from_slice(bytes);
        self.kept = self.value.len();
    }
}

impl EnvFile {
    /// Reads a file. Never fails: lines that systemd skips are in the diagnostics.
    pub fn parse(source: &[u8]) -> Self {
        let mut file = Self::default();
        let mut state = State::BeforeName;
        let mut pending = Pending::default();
        let mut line = 1;
        let mut at = 0;
        // systemd reads the file as a C string.
        while let Some(&byte) = source.get(at).filter(|byte| **byte != 0) {
            if state == State::BeforeName {
                pending = Pending {
                    start: at,
                    line,
                    ..Pending::default()
                };
            }
            let next = pending.step(state, byte);
            if next == State::BeforeName {
                file.leave(&mut pending, state, at);
            }
            state = next;
            if byte == b'\n' {
                line += 1;
            }
            at += 1;
        }
        if matches!(
            state,
            State::SingleQuote | State::DoubleQuote | State::DoubleQuoteEscape
        ) {
            file.diagnostics.push(UnitDiagnostic::warning(
                pending.line,
                1,
                "a quote has no end, the value goes on to the end of the file",
            ));
        }
        file.leave(&mut pending, state, at);
        file
    }

    /// The value of a variable: of several assignments the last one counts.
    pub fn get(&self, name: &str) -> Option<&EnvEntry> {
        self.entries.iter().rev().find(|entry| entry.name == name)
    }

    /// Takes what was read when a line, or the file, ends in `state`.
    fn leave(&mut self, pending: &mut Pending, state: State, end: usize) {
        match state {
            State::BeforeName | State::Comment => return,
            State::Name => {
                self.diagnostics.push(UnitDiagnostic::warning(
                    pending.line,
                    1,
                    "no `=` in the line, systemd ignores it",
                ));
                return;
            }
            _ => {}
        }
        let Pending {
            name,
            mut value,
            kept,
            start,
            line,
        } = std::mem::take(pending);
        if state == State::Value {
            value.truncate(kept);
        }
        let (Ok(name), Ok(value)) = (String::from_utf8(name), String::from_utf8(value)) else {
            self.diagnostics.push(UnitDiagnostic::error(
                line,
                1,
                "the line is not UTF-8, systemd refuses the file",
            ));
            return;
        };
        let name = name.trim_end_matches([' ', '\t']).to_owned();
        if !is_variable_name(&name) {
            self.diagnostics.push(UnitDiagnostic::warning(
                line,
                1,
                format!("`{name}` cannot name a variable, systemd ignores the line"),
            ));
            return;
        }
        self.entries.push(EnvEntry {
            name,
            value,
            line,
            span: start..end,
        });
    }
}

/// Writes a value so that an environment file gives exactly it back, and a shell too.
pub(crate) fn quote_value(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./,=:@+%".contains(c);
    if value.chars().all(plain) {
        return value.to_owned();
    }
    let mut quoted = String::from('"');
    for c in value.chars() {
        if matches!(c, '"' | '\\' | '`' | '$') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}
