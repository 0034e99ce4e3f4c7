//! Why staging says no.

use berth_store::Conflict;

use berth_api::Version;

use crate::{
    configdocs::{BufferMode, LOCK_NAME, LOCK_SECONDS},
    error::Error,
};

/// Why a collection is not loaded, the buffer not committed, or a version not shown.
///
/// The text says what is wrong; [`title`](Self::title) is the short form that Shipyard puts before it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigdocsError {
    /// The buffer has something that the mode does not allow to be changed.
    #[error("Buffermode : {mode}")]
    BufferNotEmpty {
        /// The mode.
        mode: BufferMode,
    },
    /// The collection would become empty, which has to be asked for.
    #[error("Collection {collection} has no documents; ask for an empty collection if that is meant")]
    EmptyCollection {
        /// The collection.
        collection: String,
    },
    /// The collection is what it was.
    #[error("Collection created no new revision")]
    NothingNew {
        /// The collection.
        collection: String,
    },
    /// Another collection has one of the documents.
    #[error(transparent)]
    ElsewhereToo {
        /// Which document, and which collection.
        conflict: Conflict,
    },
    /// The documents cannot be stored as they are.
    #[error(transparent)]
    Unsuitable(Box<Error>),
    /// Somebody else loads or commits right now.
    #[error(
        "Another process is currently blocking this request with a lock for {LOCK_NAME}. Lock expires in not more than \
         {LOCK_SECONDS} seconds"
    )]
    Locked,
    /// Somebody has loaded something while the buffer was validated.
    #[error("The buffer was changed while it was validated, and is not committed; commit again")]
    BufferChanged,
    /// There is nothing to commit.
    #[error("There are no documents in the buffer to commit")]
    BufferEmpty,
    /// No revision is in this stage.
    #[error("{version} version does not exist")]
    VersionNotFound {
        /// The stage.
        version: Version,
    },
    /// A version is compared with itself.
    #[error("Versions must be different for comparison")]
    SameVersion,
    /// The version does not have the collection.
    #[error("{}", no_documents(collection, *version))]
    NoDocuments {
        /// The collection.
        collection: String,
        /// The version.
        version: Version,
    },
    /// The version cannot be rendered.
    #[error(transparent)]
    NotRendered(Box<Error>),
    /// The repository says no.
    #[error(transparent)]
    Repository(#[from] Error),
}

fn no_documents(collection: &str, version: Version) -> String {
    if version == Version::Buffer {
        "The Shipyard buffer is empty or does not contain this collection".to_owned()
    } else {
        format!("No collection {collection} for revision {version}")
    }
}

impl ConfigdocsError {
    /// The short form.
    pub fn title(&self) -> String {
        match self {
            Self::BufferNotEmpty { .. } => "Invalid collection specified for buffer".to_owned(),
            Self::EmptyCollection { collection } | Self::NothingNew { collection } => {
                format!("Collection {collection} not added to Shipyard buffer")
            }
            Self::ElsewhereToo { .. } => "Documents may not exist in more than one collection".to_owned(),
            Self::Unsuitable(_) => "Document(s) invalid syntax or otherwise unsuitable".to_owned(),
            Self::Locked => "Blocked by another process".to_owned(),
            Self::BufferEmpty | Self::BufferChanged => "Unable to commit configuration documents".to_owned(),
            Self::VersionNotFound { .. } => "This revision does not exist".to_owned(),
            Self::SameVersion => "Versions must be different for comparison".to_owned(),
            Self::NoDocuments { .. } => "No documents to retrieve".to_owned(),
            Self::NotRendered(_) => "Deckhand indicated an error while rendering".to_owned(),
            Self::Repository(_) => "The documents could not be read or written".to_owned(),
        }
    }

    /// What to do about it, for those who can do something.
    pub const fn advice(&self) -> Option<&'static str> {
        match self {
            Self::BufferNotEmpty { .. } => Some(
                "Buffer is either not empty or the collection already exists in buffer. Setting a different buffermode \
                 may provide the desired functionality",
            ),
            _ => None,
        }
    }

    /// The HTTP status that says this.
    pub fn status(&self) -> u16 {
        match self {
            Self::BufferNotEmpty { .. }
            | Self::ElsewhereToo { .. }
            | Self::Locked
            | Self::BufferEmpty
            | Self::BufferChanged => 409,
            Self::EmptyCollection { .. } | Self::NothingNew { .. } | Self::Unsuitable(_) | Self::SameVersion => 400,
            Self::VersionNotFound { .. } | Self::NoDocuments { .. } => 404,
            Self::NotRendered(_) => 500,
            Self::Repository(error) => error.status(),
        }
    }

    /// Whether the same request may go well later.
    pub fn retry(&self) -> bool {
        matches!(self, Self::Locked | Self::BufferEmpty | Self::BufferChanged)
            || matches!(self, Self::Repository(error) if error.status() >= 500)
    }
}
