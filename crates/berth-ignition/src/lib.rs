//! Ignition configs: model, validation, merge, translation.
//!
//! ```text
//! JSON of 2.2, 3.0 … 3.5 ──parse──► Config (3.5 types) ──to_version──► JSON of 2.2, 3.0 … 3.5
//!                          findings    │        ▲
//!                                      └ merge ─┘
//! ```
//!
//! A config is brought to the newest spec version when it is read, worked on in the
//! types of that version, and written in whatever version a machine asks for. All
//! of it is pure: same input, same answer.

mod config;
mod contents;
mod data_url;
mod finding;
mod json;
mod merge;
mod negotiate;
mod parse;
#[cfg(test)]
mod strategy;
mod translate;
mod unit_syntax;
mod url;
mod validate;
mod version;

pub use config::{Config, UnitText};
pub use contents::{CONTENTS_LIMIT, file, file_as, file_contents, resource, resource_contents};
pub use data_url::{DecodeError, Encoded, Encoding, decode, decode_data_url, encode};
pub use finding::{Finding, Severity};
pub use ignition_config::v3_5 as types;
pub use merge::{merge, merge_all};
pub use negotiate::{NegotiateError, negotiate};
pub use parse::{Parsed, parse};
pub use translate::{TranslateError, reachable};
pub use validate::validate;
pub use version::{SpecVersion, UnsupportedVersion};
