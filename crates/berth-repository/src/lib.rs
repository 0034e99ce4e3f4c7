//! What can be done with documents in revisions: the operations that the HTTP API and the command line share.
//!
//! ```text
//!  HTTP routes ──┐                     ┌─► Store (SQLite, PostgreSQL, memory)
//!                ├──► Repository ──────┼─► deckhand (form, rendering, validation, differences)
//!  commands ─────┘     └ Configdocs ───┴─► SiteRules (everything that `berth lint` knows)
//! ```
//!
//! [`Repository`] follows Deckhand: buckets, revisions, documents as written and as rendered, differences, tags, rollback
//! and validations. [`Configdocs`] follows Shipyard: collections are loaded into a buffer and committed when the whole site
//! is sound. Errors carry the status and the class name that Deckhand answers with.
//!
//! There is no HTTP in here. The clock and the name under which a lock is held are passed in.

mod body;
mod configdocs;
mod designs;
mod error;
mod filed;
mod repository;
mod revisions;
mod secret_places;
mod site_rules;
mod snapshots;
mod time;
mod validations;
mod workers;

pub use body::{BodyError, read_documents, read_object, read_values};
pub use configdocs::{
    BufferMode, CommitOptions, Commitment, Configdocs, ConfigdocsError, LOCK_NAME, LOCK_SECONDS, LoadOptions, Loaded,
};
pub use designs::{DesignDifference, DifferenceKind};
pub use error::Error;
pub use filed::{FiledDocument, Secrets};
pub use repository::{Put, Repository, RevisionKey};
pub use revisions::{RevisionQuery, RevisionView, bucket_diff, deep_diff, revision_list, tags};
pub use secret_places::{SecretPlaces, SiteDocuments, read_shown_site, read_site};
pub use site_rules::{DocumentRules, NoRules, SiteRules};
pub use time::timestamp;
pub use validations::{ValidationEntry, ValidationSummary, ValidationVerdict, Validations};
