//! Findings as they are printed.

use std::cmp::Ordering;

use berth_documents::{Diagnostic, Location, Severity, Sources};
use serde::Serialize;

use crate::{
    exit::Exit,
    failure::Failure,
    output::{Printer, counted, excerpts},
};

/// A finding as `-o json` shows it. The fields are a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    severity: &'static str,
    code: &'static str,
    message: String,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    /// The field, of objects that are in no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    help: Option<String>,
    #[serde(skip)]
    place: Option<String>,
}

impl Finding {
    /// The finding with its place looked up.
    pub(crate) fn new(sources: &Sources, diagnostic: &Diagnostic) -> Self {
        let location = diagnostic.span.map(|span| sources.location(span));
        Self {
            severity: diagnostic.severity().as_str(),
            code: diagnostic.code(),
            message: diagnostic.message.clone(),
            line: location.as_ref().and_then(Location::line),
            column: location.as_ref().and_then(Location::column),
            field: location.as_ref().and_then(Location::field).map(str::to_owned),
            place: location.as_ref().map(Location::to_string),
            file: location.map(|location| location.file),
            help: diagnostic.help.clone(),
        }
    }

    /// `file:line:column: code`, which editors can jump to.
    pub(crate) fn name(&self) -> String {
        match &self.place {
            Some(place) => format!("{place}: {}", self.code),
            None => self.code.to_owned(),
        }
    }
}

/// Sorts by file, then by place. Findings without a place come last.
pub(crate) fn sort(sources: &Sources, diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| by_place(sources, a, b).then_with(|| by_content(a, b)));
    diagnostics.dedup();
}

fn by_place(sources: &Sources, a: &Diagnostic, b: &Diagnostic) -> Ordering {
    match (a.span, b.span) {
        (Some(a), Some(b)) => sources
            .name(a.source)
            .cmp(sources.name(b.source))
            .then_with(|| a.cmp(&b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

fn by_content(a: &Diagnostic, b: &Diagnostic) -> Ordering {
    (a.severity(), a.code(), &a.message).cmp(&(b.severity(), b.code(), &b.message))
}

/// Shows the errors beside the data of a command that is not about findings, and says how the run ends. Warnings and
/// notes are left to `berth lint`.
pub(crate) fn show_errors(
    printer: &mut Printer<'_>,
    sources: &Sources,
    mut diagnostics: Vec<Diagnostic>,
) -> Result<Exit, Failure> {
    diagnostics.retain(|diagnostic| diagnostic.severity() == Severity::Error);
    sort(sources, &mut diagnostics);
    let tally = Tally::of(&diagnostics);
    if !tally.has_errors() {
        return Ok(Exit::Done);
    }
    printer.aside(&excerpts(sources, &diagnostics))?;
    printer.aside(&format!("{}\n", tally.summary()))?;
    Ok(Exit::No)
}

/// How many findings there are of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    errors: usize,
    warnings: usize,
    notes: usize,
}

impl Tally {
    /// Counts.
    pub(crate) fn of<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Self {
        let mut tally = Self::default();
        for diagnostic in diagnostics {
            match diagnostic.severity() {
                Severity::Error => tally.errors += 1,
                Severity::Warning => tally.warnings += 1,
                Severity::Note => tally.notes += 1,
            }
        }
        tally
    }

    /// Whether something has to change.
    pub(crate) const fn must_act(self) -> bool {
        self.errors > 0 || self.warnings > 0
    }

    /// Whether the input cannot be used as it is.
    pub(crate) const fn has_errors(self) -> bool {
        self.errors > 0
    }

    /// `2 errors, 1 warning`, or `no findings`.
    pub(crate) fn summary(self) -> String {
        let parts: Vec<String> = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| counted(count, noun))
            .collect();
        if parts.is_empty() {
            "no findings".to_owned()
        } else {
            parts.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_only_what_is_there() {
        let tally = |errors, warnings, notes| Tally {
            errors,
            warnings,
            notes,
        };
        assert_eq!(tally(0, 0, 0).summary(), "no findings");
        assert_eq!(tally(1, 0, 2).summary(), "1 error, 2 notes");
        assert!(!tally(0, 0, 2).must_act());
        assert!(tally(0, 1, 0).must_act());
        assert!(!tally(0, 1, 0).has_errors());
    }
}
