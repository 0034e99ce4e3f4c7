//! Whose rules a document follows: those of Airship's services, or those of Kubernetes.
//!
//! What Drydock and Deckhand take in their own documents, Berth takes too. What only Kubernetes asks for, such as a legal
//! label, is judged where a node uses it.

use berth_documents::{Diagnostic, Document, Envelope, Lint, Severity, Span};

use crate::{lints, model::Site};

/// Findings that only matter to a node that uses what they are about.
const OF_KUBERNETES: [&Lint; 3] = [
    &lints::INVALID_NAME,
    &lints::INVALID_LABEL_KEY,
    &lints::INVALID_LABEL_VALUE,
];

/// Where the documents are that follow Airship's rules.
#[derive(Debug, Default)]
pub struct AirshipPlaces {
    /// In order, so that a place is found by halves.
    documents: Vec<Span>,
}

impl AirshipPlaces {
    /// The places of Airship's documents, abstract ones and those of other services too: a value may be written there and be
    /// substituted into one of Drydock's.
    pub(crate) fn of(documents: &[Document]) -> Self {
        let mut documents: Vec<Span> = documents
            .iter()
            .filter(|document| schema_of_airship(document).is_some_and(|schema| !schema.starts_with("berth/")))
            .map(|document| document.root.span)
            .collect();
        documents.sort_unstable();
        Self { documents }
    }

    fn hold(&self, span: Span) -> bool {
        let after = self
            .documents
            .partition_point(|document| (document.source, document.start) <= (span.source, span.start));
        let before = after.checked_sub(1).and_then(|index| self.documents.get(index));
        before.is_some_and(|document| document.source == span.source && span.end <= document.end)
    }
}

/// Whether a document is one of Drydock's own, as Drydock reads it. A Kubernetes document in the store is a control document,
/// which Drydock never sees.
pub(crate) fn follows_airship(document: &Document) -> bool {
    schema_of_airship(document).is_some_and(|schema| schema.starts_with("drydock/"))
}

/// The schema of a document in Airship's envelope that is not a control document.
fn schema_of_airship(document: &Document) -> Option<&str> {
    let Envelope::Airship { schema } = &document.envelope else {
        return None;
    };
    let kind = document.root.at(&["metadata", "schema"]);
    let kind = kind.and_then(berth_documents::Node::as_str);
    let is_control = kind.is_some_and(|kind| kind.starts_with("metadata/Control/"));
    (!is_control).then_some(schema)
}

/// Why Drydock refuses a name for a host, nothing when it takes it: each part has 1 to 63 letters, digits or hyphens.
pub(crate) fn hostname_problem(name: &str) -> Option<&'static str> {
    let legal = |part: &str| {
        (1..=63).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if name.len() > 255 {
        return Some("it must have at most 255 characters");
    }
    (!name.split('.').all(legal))
        .then_some("each part between dots must have 1 to 63 characters, which are letters, digits or `-`")
}

impl Site {
    /// Whether the place is in a document that follows Airship's rules.
    pub(crate) fn is_airship(&self, span: impl Into<Option<Span>>) -> bool {
        span.into().is_some_and(|span| self.airship.hold(span))
    }

    /// A finding about something that neither Deckhand nor Drydock refuses.
    pub(crate) fn beyond_airship(&self, diagnostic: Diagnostic) -> Diagnostic {
        if self.is_airship(diagnostic.span) {
            diagnostic.at_most(Severity::Warning)
        } else {
            diagnostic
        }
    }

    /// A name that no document has and that Drydock never looks up: a likely slip where a name is close, else only worth knowing.
    pub(crate) fn unasked_reference(&self, diagnostic: Diagnostic, is_close: bool) -> Diagnostic {
        match self.is_airship(diagnostic.span) {
            true if is_close => diagnostic.at_most(Severity::Warning),
            true => diagnostic.at_most(Severity::Note),
            false => diagnostic,
        }
    }

    /// Whether a finding is about what Kubernetes asks of a value in a document that follows Airship's rules.
    pub(crate) fn is_for_its_users(&self, diagnostic: &Diagnostic) -> bool {
        OF_KUBERNETES.contains(&diagnostic.lint) && self.is_airship(diagnostic.span)
    }

    /// The finding as it counts when documents are committed: what Airship's services take stops no commit.
    #[must_use]
    pub fn at_commit(&self, diagnostic: Diagnostic) -> Diagnostic {
        if self.is_for_its_users(&diagnostic) {
            diagnostic.at_most(Severity::Warning)
        } else {
            diagnostic
        }
    }
}
