//! Documents: YAML and JSON with spans, the two envelopes, diagnostics.
//!
//! ```text
//! bytes ─decode─► text ─Sources::add─┐
//!                                    ├─► SourceId ─parse─► documents (Node trees with spans) + diagnostics
//!      value ─Sources::add_object────┘
//! ```
//!
//! A place in a text has a line and a column, a place in an object is a field; [`Sources::location`] tells which.
//!
//! The crate takes text and values and never paths: reading files and folders is the caller's work. Reading never fails as a whole
//! and never panics; what is wrong with the input comes back as [`Diagnostic`]s that carry their place. Each diagnostic is
//! made from a documented [`Lint`], so every code can be explained.

mod allowance;
pub mod deckhand;
mod decode;
mod diagnostic;
mod document;
pub mod emit;
mod envelope;
mod findings;
mod json;
mod layered;
mod lints;
mod mapping;
mod node;
mod object;
mod parse;
mod set;
mod source;
mod yaml;

pub use decode::{DecodeError, decode};
pub use diagnostic::{Diagnostic, Lint, Severity};
pub use document::{Document, Envelope};
pub use layered::{layer, to_deckhand};
pub use lints::LINTS;
pub use node::{Key, Mapping, Node, Style, Value};
pub use parse::{Parsed, parse};
pub use set::{DocumentSet, object_name};
pub use source::{Location, Place, SourceId, Sources, Span};
