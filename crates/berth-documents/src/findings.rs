//! Findings about one source, as many as somebody may read.

use crate::diagnostic::Diagnostic;

/// How many findings of a source are kept. Two bytes can be a finding, and a finding takes hundreds.
const MOST: usize = 2000;

/// Findings in the order they were made, up to a number.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Diagnostic>,
    left_out: usize,
}

impl Findings {
    pub(crate) fn push(&mut self, finding: Diagnostic) {
        if self.list.len() < MOST {
            self.list.push(finding);
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    /// Adds a finding that must be told, because the source could not be read for it.
    pub(crate) fn push_failure(&mut self, finding: Diagnostic) {
        if self.list.len() >= MOST && self.list.pop().is_some() {
            self.left_out = self.left_out.saturating_add(1);
        }
        self.list.push(finding);
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.left_out = self.left_out.saturating_add(other.left_out);
        other.list.into_iter().for_each(|finding| self.push(finding));
    }

    pub(crate) fn last(&self) -> Option<&Diagnostic> {
        self.list.last()
    }

    /// The findings from top to bottom. The last one says how many were left out.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list
            .sort_by_key(|finding| finding.span.map_or(0, |span| span.start));
        if self.left_out > 0
            && let Some(last) = self.list.last_mut()
        {
            let more = format!("{} more findings in this file are not shown", self.left_out);
            last.help = Some(match last.help.take() {
                Some(help) => format!("{help}; {more}"),
                None => more,
            });
        }
        self.list
    }
}

impl Extend<Diagnostic> for Findings {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, findings: T) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}
