//! Deckhand's rules, told by documents and what becomes of them.
#![expect(
    clippy::unwrap_used,
    clippy::similar_names,
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    reason = "tables are long, documents are written in place, and a helper that fails stops its test"
)]

mod build;
mod diff;
mod errors;
mod form;
mod incremental;
mod layering;
mod patterns;
mod properties;
mod query;
mod replacement;
mod schema_limits;
mod secrets;
mod substitution;
mod validation;
