//! Findings: what is wrong, where, and what would be right.

use crate::source::Span;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The input cannot be used as it is.
    Error,
    /// The input can be used, but probably does not mean what its author thinks.
    Warning,
    /// Something worth knowing; nothing has to change.
    Note,
}

impl Severity {
    /// The word used in messages and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A documented kind of finding. Every [`Diagnostic`] is made from one, so no code is without its explanation.
#[derive(Debug, PartialEq, Eq)]
pub struct Lint {
    /// Stable kebab-case name that people script against.
    pub code: &'static str,
    /// How much findings of this kind matter.
    pub severity: Severity,
    /// One line that says what the lint finds.
    pub summary: &'static str,
    /// What `berth lint --explain CODE` prints: why it matters, with a wrong and a right example.
    pub explanation: &'static str,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of finding.
    pub lint: &'static Lint,
    /// How much it matters here: as much as its kind, or less.
    severity: Severity,
    /// What is wrong here, naming the things concerned.
    pub message: String,
    /// Where it is; absent only for findings that no place in the input causes.
    pub span: Option<Span>,
    /// What would be right.
    pub help: Option<String>,
    /// Other places that belong to the finding, each with what is there.
    pub related: Vec<(Span, String)>,
}

impl Diagnostic {
    /// A finding of kind `lint` at `span`.
    pub fn new(lint: &'static Lint, span: impl Into<Option<Span>>, message: impl Into<String>) -> Self {
        Self {
            lint,
            severity: lint.severity,
            message: message.into(),
            span: span.into(),
            help: None,
            related: Vec::new(),
        }
    }

    /// Adds what would be right.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another place that belongs to the finding.
    #[must_use]
    pub fn with_related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// Lowers how much the finding matters, where the rules of its kind are not those of the document.
    #[must_use]
    pub fn at_most(mut self, severity: Severity) -> Self {
        // The order runs from error to note.
        self.severity = self.severity.max(severity);
        self
    }

    /// How much the finding matters.
    pub const fn severity(&self) -> Severity {
        self.severity
    }

    /// The stable name of the kind of finding.
    pub const fn code(&self) -> &'static str {
        self.lint.code
    }
}
