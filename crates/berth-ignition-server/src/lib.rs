//! The Ignition server: what a machine asks before it is a node.
//!
//! ```text
//! site, revision or cluster ──► Catalog ──► CatalogHandle ──┐
//!                               (immutable)  (swapped whole) ├─► IgnitionService ──► Server (TLS, plain)
//!                         tokens file ──► TokenStore ────────┘
//! ```
//!
//! A [`Catalog`] is a snapshot of everything that can be asked for. Whoever knows the source builds one and hands it in
//! through a [`CatalogHandle`]; this crate knows nothing of folders or clusters. Answers are built once for each
//! snapshot and spec version, and shared as bytes. The clock is passed in.
//!
//! The listeners and their limits are those of `berth-listen`, the tokens those of `berth-tokens`.

mod answer;
mod assemble;
mod catalog;
#[cfg(test)]
mod fixture;
mod make;
mod node_answers;
mod pointer;
mod problem;
mod refusal;
mod route;
mod service;

pub use assemble::AssembleError;
pub use catalog::{Catalog, CatalogBuilder, CatalogError, CatalogHandle, CommonFiles, NodeConfig};
pub use make::Made;
pub use pointer::{Pointer, PointerError, pointer};
pub use service::{Access, IgnitionService, Observer};
