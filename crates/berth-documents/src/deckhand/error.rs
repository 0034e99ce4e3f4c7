//! What can be wrong with rendering, under the names and statuses that Deckhand answers with.

use std::{fmt, sync::Arc};

use crate::deckhand::document::Identity;

/// One reason why documents cannot be rendered. Every error names the documents involved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Two documents have the same schema, layer and name.
    #[error("The provided documents failed schema validation. Details: Duplicate document exists: {document}")]
    DuplicateDocument {
        /// The identity of both.
        document: Arc<Identity>,
    },
    /// There is no `LayeringPolicy`.
    #[error("Required LayeringPolicy was not found for layering.")]
    LayeringPolicyNotFound,
    /// There is more than one `LayeringPolicy`.
    #[error(
        "A singleton document {existing} already exists in the system. The new document(s) {} cannot be created. To \
         create a document with a new name, delete the current one first.",
        join(conflict)
    )]
    SingletonDocumentConflict {
        /// The first of them.
        existing: Arc<Identity>,
        /// The others.
        conflict: Vec<Arc<Identity>>,
    },
    /// A document's layer is not in the layer order.
    #[error(
        "Invalid layer '{}' for document {} was not found in layerOrder: {} for provided LayeringPolicy: {}.",
        document.layer.as_deref().unwrap_or("None"),
        short(document),
        layer_order.join(", "),
        policy.name
    )]
    InvalidDocumentLayer {
        /// The document.
        document: Arc<Identity>,
        /// The layers that there are.
        layer_order: Arc<[String]>,
        /// The policy that says so.
        policy: Arc<Identity>,
    },
    /// A parent selector matches a document that cannot be the parent.
    #[error(
        "The document parent {} is invalid for document {}. Reason: {reason}",
        short(parent),
        short(document)
    )]
    InvalidDocumentParent {
        /// The child.
        document: Arc<Identity>,
        /// What its selector matches.
        parent: Arc<Identity>,
        /// Why it cannot be the parent.
        reason: String,
    },
    /// A parent selector matches several documents of the nearest layer.
    #[error(
        "Too many parent documents found for document {document}. Found: {found}. Expected: 1. Parents: {}.",
        join(parents)
    )]
    IndeterminateDocumentParent {
        /// The child.
        document: Arc<Identity>,
        /// How many its selector matches.
        found: usize,
        /// The first few of them.
        parents: Vec<Arc<Identity>>,
    },
    /// The path of a layering action names nothing.
    #[error(
        "Missing action path in {action} needed for layering from either the data section of the parent {parent} or \
         child {child} document."
    )]
    MissingDocumentKey {
        /// The action.
        action: String,
        /// The document whose rendered data is layered upon.
        parent: Arc<Identity>,
        /// The document with the action.
        child: Arc<Identity>,
    },
    /// A document replaces another in a way that is not allowed.
    #[error("Replacement document {document} is invalid. Reason: {reason}")]
    InvalidDocumentReplacement {
        /// The document.
        document: Arc<Identity>,
        /// The other documents concerned.
        others: Vec<Arc<Identity>>,
        /// Why not.
        reason: String,
    },
    /// Documents need each other in a circle.
    #[error(
        "Cannot determine substitution order as a dependency cycle exists for the following documents: {}.",
        join(cycle)
    )]
    SubstitutionDependencyCycle {
        /// The documents, each needing the next and the last needing the first.
        cycle: Vec<Arc<Identity>>,
    },
    /// The document that a value should come from is not there.
    #[error(
        "Required substitution source document [{schema}] {name} was not found, yet is referenced by {}.",
        short(document)
    )]
    SubstitutionSourceNotFound {
        /// The schema of the source.
        schema: String,
        /// The name of the source.
        name: String,
        /// The document that wants the value.
        document: Arc<Identity>,
    },
    /// The value is not in the source document.
    #[error(
        "Required substitution source secret was not found at path {path} in source document {source_document} which \
         is referenced by destination document {document} under its `metadata.substitutions`."
    )]
    SubstitutionSourceDataNotFound {
        /// Where it should be.
        path: String,
        /// The source.
        source_document: Arc<Identity>,
        /// The document that wants the value.
        document: Arc<Identity>,
    },
    /// A substitution has a pattern, and there is no text to look for it in.
    #[error(
        "The destination document's `data` section is missing the pattern {pattern} specified under \
         `substitutions.dest.pattern` at path {path}, specified under `substitutions.dest.path`. Document: {document}."
    )]
    MissingDocumentPattern {
        /// The pattern.
        pattern: String,
        /// Where it is looked for.
        path: String,
        /// The document that wants the value.
        document: Arc<Identity>,
        /// The document that the value comes from.
        source_document: Arc<Identity>,
    },
    /// Any other failure of a layering action, such as a path that leads through a text.
    #[error("Layering action {action} of document {child} failed on parent {parent}. Details: {detail}")]
    LayeringFailed {
        /// The action.
        action: String,
        /// The document whose rendered data is layered upon.
        parent: Arc<Identity>,
        /// The document with the action.
        child: Arc<Identity>,
        /// What went wrong.
        detail: String,
    },
    /// The rendered documents would not fit in memory.
    #[error("Rendering document {document} would make the rendered documents larger than the limit of {limit} bytes.")]
    TooLarge {
        /// The document at which the limit is passed.
        document: Arc<Identity>,
        /// The limit.
        limit: usize,
    },
    /// Any other failure of a substitution.
    #[error(
        "An unknown exception occurred while trying to perform substitution using source document {source_document} \
         contained in document {document}. Details: {detail}"
    )]
    UnknownSubstitutionError {
        /// The source.
        source_document: Arc<Identity>,
        /// The document that wants the value.
        document: Arc<Identity>,
        /// What went wrong.
        detail: String,
    },
}

impl RenderError {
    /// The name of Deckhand's error class, which replies carry as `errorType`.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::DuplicateDocument { .. } | Self::TooLarge { .. } => "InvalidDocumentFormat",
            Self::LayeringPolicyNotFound => "LayeringPolicyNotFound",
            Self::SingletonDocumentConflict { .. } => "SingletonDocumentConflict",
            Self::InvalidDocumentLayer { .. } => "InvalidDocumentLayer",
            Self::InvalidDocumentParent { .. } => "InvalidDocumentParent",
            Self::IndeterminateDocumentParent { .. } => "IndeterminateDocumentParent",
            // Deckhand has no class for a blocked path: it fails with whatever Python raises. The nearest is taken.
            Self::MissingDocumentKey { .. } | Self::LayeringFailed { .. } => "MissingDocumentKey",
            Self::InvalidDocumentReplacement { .. } => "InvalidDocumentReplacement",
            Self::SubstitutionDependencyCycle { .. } => "SubstitutionDependencyCycle",
            Self::SubstitutionSourceNotFound { .. } => "SubstitutionSourceNotFound",
            Self::SubstitutionSourceDataNotFound { .. } => "SubstitutionSourceDataNotFound",
            Self::MissingDocumentPattern { .. } => "MissingDocumentPattern",
            Self::UnknownSubstitutionError { .. } => "UnknownSubstitutionError",
        }
    }

    /// The HTTP status that Deckhand answers with.
    pub const fn status(&self) -> u16 {
        match self {
            Self::LayeringPolicyNotFound
            | Self::SingletonDocumentConflict { .. }
            | Self::SubstitutionSourceNotFound { .. } => 409,
            Self::UnknownSubstitutionError { .. } => 500,
            _ => 400,
        }
    }

    /// The documents that the error is about, the one to change first.
    pub fn documents(&self) -> Vec<&Arc<Identity>> {
        match self {
            Self::LayeringPolicyNotFound => Vec::new(),
            Self::DuplicateDocument { document }
            | Self::TooLarge { document, .. }
            | Self::SubstitutionSourceNotFound { document, .. } => vec![document],
            Self::SingletonDocumentConflict { existing, conflict } => conflict.iter().chain([existing]).collect(),
            Self::InvalidDocumentLayer { document, policy, .. } => vec![document, policy],
            Self::InvalidDocumentParent { document, parent, .. } => vec![document, parent],
            Self::IndeterminateDocumentParent { document, parents, .. } => {
                std::iter::once(document).chain(parents).collect()
            }
            Self::MissingDocumentKey { parent, child, .. } | Self::LayeringFailed { parent, child, .. } => {
                vec![child, parent]
            }
            Self::InvalidDocumentReplacement { document, others, .. } => {
                std::iter::once(document).chain(others).collect()
            }
            Self::SubstitutionDependencyCycle { cycle } => cycle.iter().collect(),
            Self::SubstitutionSourceDataNotFound {
                document,
                source_document,
                ..
            }
            | Self::MissingDocumentPattern {
                document,
                source_document,
                ..
            }
            | Self::UnknownSubstitutionError {
                document,
                source_document,
                ..
            } => vec![document, source_document],
        }
    }
}

/// All reasons why documents cannot be rendered, at least one, in the order of the documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderErrors {
    first: RenderError,
    rest: Vec<RenderError>,
}

impl RenderErrors {
    /// `None` when there is no error.
    pub(crate) fn new(errors: Vec<RenderError>) -> Option<Self> {
        let mut errors = errors.into_iter();
        let first = errors.next()?;
        Some(Self {
            first,
            rest: errors.collect(),
        })
    }

    /// The error that decides the status of a reply.
    pub const fn first(&self) -> &RenderError {
        &self.first
    }

    /// All errors.
    pub fn iter(&self) -> impl Iterator<Item = &RenderError> {
        std::iter::once(&self.first).chain(&self.rest)
    }
}

impl From<RenderError> for RenderErrors {
    fn from(first: RenderError) -> Self {
        Self {
            first,
            rest: Vec::new(),
        }
    }
}

/// The first error; the others are as many findings of their own.
impl fmt::Display for RenderErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.first)?;
        match self.rest.len() {
            0 => Ok(()),
            1 => formatter.write_str(" (and 1 more error)"),
            more => write!(formatter, " (and {more} more errors)"),
        }
    }
}

impl std::error::Error for RenderErrors {}

fn join(documents: &[Arc<Identity>]) -> String {
    documents.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// `[schema] name`, the way of those messages that leave the layer out.
fn short(document: &Identity) -> String {
    format!("[{}] {}", document.schema, document.name)
}
