//! What can be wrong with an expression.

use std::fmt;

use thiserror::Error;

/// How many findings of one text are reported, as the API server does. Each finding holds its line, so that all findings of a
/// long line would take the square of its length.
const MOST: usize = 100;

/// A text that is not an expression: what is wrong with it, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct SyntaxError {
    findings: Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    message: String,
    line: usize,
    /// Counted in characters from 0.
    column: usize,
    source_line: String,
}

impl SyntaxError {
    pub(crate) fn new(text: &str, at: usize, message: impl Into<String>) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let finding = Finding {
            message: message.into(),
            line: before.matches('\n').count() + 1,
            column: before.get(start..).unwrap_or_default().chars().count(),
            source_line: text
                .get(start..)
                .and_then(|rest| rest.lines().next())
                .unwrap_or_default()
                .to_owned(),
        };
        Self {
            findings: vec![finding],
        }
    }

    /// Adds something that is wrong to what was found so far.
    pub(crate) fn add(found: &mut Option<Self>, text: &str, at: usize, message: impl Into<String>) {
        match found {
            Some(known) if known.is_full() => {}
            Some(known) => known.and(Self::new(text, at, message)),
            none => *none = Some(Self::new(text, at, message)),
        }
    }

    /// Whether enough was found.
    pub(crate) fn is_full(&self) -> bool {
        self.findings.len() >= MOST
    }

    /// Takes what another found, too.
    pub(crate) fn and(&mut self, other: Self) {
        let place = |finding: &Finding| (finding.line, finding.column);
        for finding in other.findings {
            let after = self.findings.partition_point(|known| place(known) <= place(&finding));
            // What stands in parentheses is looked at twice.
            let known = after.checked_sub(1).and_then(|before| self.findings.get(before)) == Some(&finding);
            if !known && !self.is_full() {
                self.findings.insert(after, finding);
            }
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.findings.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(
                f,
                "ERROR: <input>:{}:{}: {}\n | {}\n | {}^",
                finding.line,
                finding.column + 1,
                finding.message,
                finding.source_line.replace('\t', " "),
                ".".repeat(finding.column)
            )?;
        }
        Ok(())
    }
}

/// What kind of failure an evaluation met: the API server has words for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalErrorKind {
    /// A function or operator does not take what it was given.
    NoSuchOverload,
    /// The budget is used up.
    Cost,
    /// Something else: a missing key, an index, a division.
    Other,
}

/// An expression that has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct EvalError {
    kind: EvalErrorKind,
    message: String,
}

impl EvalError {
    /// One with these words.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            kind: EvalErrorKind::Other,
            message: message.into(),
        }
    }

    /// What kind it is.
    pub fn kind(&self) -> EvalErrorKind {
        self.kind
    }

    pub(crate) fn no_overload() -> Self {
        Self {
            kind: EvalErrorKind::NoSuchOverload,
            message: "no such overload".to_owned(),
        }
    }

    pub(crate) fn no_key(key: impl fmt::Display) -> Self {
        Self::new(format!("no such key: {key}"))
    }

    pub(crate) fn cost() -> Self {
        Self {
            kind: EvalErrorKind::Cost,
            message: "operation cancelled: actual cost limit exceeded".to_owned(),
        }
    }
}
