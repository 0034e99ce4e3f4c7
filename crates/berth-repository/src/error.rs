//! What can go wrong in the repository.

use berth_documents::deckhand::{FormErrors, QueryError, ReadError, RenderErrors, Violation};
use berth_store::Conflict;

use crate::body::BodyError;

/// Why the repository did not do what it was asked. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store says no.
    #[error(transparent)]
    Store(#[from] berth_store::Error),
    /// A text is not a list of documents.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// Documents do not have the form of documents.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The documents cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderErrors),
    /// Rendered documents do not meet their schemas.
    #[error("The provided documents failed schema validation.")]
    Invalid {
        /// In which ways.
        violations: Vec<Violation>,
    },
    /// A filter cannot be understood.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The data of a tag is neither nothing nor a mapping.
    #[error("The requested tag data {data} must either be null or dictionary.")]
    TagData {
        /// What was given.
        data: String,
    },
    /// A report of a validation lacks what it must say.
    #[error("Validation payload must contain keys: \"status\", \"validator\".")]
    ValidationPayload,
    /// There is no such report.
    #[error(
        "The requested validation entry {entry} was not found for validation name {name} and revision ID {revision}."
    )]
    ValidationNotFound {
        /// The revision.
        revision: u64,
        /// The name of the validation.
        name: String,
        /// Which report under this name.
        entry: u64,
    },
    /// Work that was handed to another thread did not come back.
    #[error("rendering stopped before it was done")]
    Interrupted,
}

impl Error {
    /// The HTTP status that says this.
    pub fn status(&self) -> u16 {
        use berth_store::Error as Store;
        match self {
            Self::Store(error) => match error {
                Store::Conflict(_) => 409,
                Store::RevisionNotFound { .. } | Store::TagNotFound { .. } => 404,
                Store::Name { .. } | Store::TooDeep { .. } | Store::NoSealingKey { .. } => 400,
                _ => 500,
            },
            Self::Render(errors) => errors.first().status(),
            Self::ValidationNotFound { .. } => 404,
            Self::Body(_)
            | Self::Read(_)
            | Self::Invalid { .. }
            | Self::Query(_)
            | Self::TagData { .. }
            | Self::ValidationPayload => 400,
            Self::Interrupted => 500,
        }
    }

    /// The name under which Deckhand's clients know the error.
    pub fn class(&self) -> &'static str {
        use berth_store::Error as Store;
        match self {
            Self::Store(error) => match error {
                Store::Conflict(Conflict::Duplicate { .. }) => "DuplicateDocumentExists",
                Store::Conflict(Conflict::Singleton { .. }) => "SingletonDocumentConflict",
                Store::Conflict(_) => "HTTPConflict",
                Store::RevisionNotFound { .. } | Store::TagNotFound { .. } => "HTTPNotFound",
                Store::Name { .. } | Store::TooDeep { .. } | Store::NoSealingKey { .. } => "HTTPBadRequest",
                _ => "HTTPInternalServerError",
            },
            Self::Read(ReadError::Form(_)) | Self::Invalid { .. } => FormErrors::CLASS,
            Self::Render(errors) => errors.first().class(),
            Self::Query(_) => "HTTPInvalidParam",
            Self::Body(_) | Self::Read(_) | Self::TagData { .. } | Self::ValidationPayload => "HTTPBadRequest",
            Self::ValidationNotFound { .. } => "HTTPNotFound",
            Self::Interrupted => "HTTPInternalServerError",
        }
    }

    /// Whether the fault is the server's: its words may name what only the log should.
    pub fn is_internal(&self) -> bool {
        self.status() >= 500 && !matches!(self, Self::Render(_))
    }
}
