//! Deckhand's document engine: layering, replacement, substitution, validation, filters and differences.
//!
//! ```text
//! JSON ─read_documents─► DeckhandDocument ─Renderer─► Rendered ─validate─► findings
//! ```
//!
//! Everything here is pure and works on JSON values, wherever they come from: YAML through [`Node::to_json`], a database,
//! a request. Errors carry Deckhand's class name and HTTP status, so that a server can answer as Deckhand does.
//!
//! [`Node::to_json`]: crate::Node::to_json

mod budget;
mod canonical;
mod diff;
mod document;
mod error;
mod form;
mod layering;
mod path;
mod pattern;
mod plan;
mod query;
mod redact;
mod render;
mod secrets;
mod substitution;
mod validation;

pub use canonical::{ContentHash, canonical_json};
pub use diff::{BucketChange, BucketDiff, DeepDiff, DocumentDiff, Revision, deep_diff, diff, value_diff};
pub use document::{
    Action, DeckhandDocument, Depth, Destination, Identity, Method, Source, StoragePolicy, Substitution,
};
pub use error::{RenderError, RenderErrors};
pub use form::{Described, FormError, FormErrors, ReadError, read_documents};
pub use path::{Path, PathError, PathPart, SetError};
pub use query::{Listing, Query, QueryError, View};
pub use redact::{RedactionKey, redact};
pub use render::{Edit, RenderOptions, Rendered, RenderedDocument, Renderer, render};
pub use secrets::SecretPaths;
pub use validation::{
    DataSchemas, PolicyEntry, PolicyReport, SCHEMA_VALIDATION, ValidationStatus, Violation, validation_entry,
};
