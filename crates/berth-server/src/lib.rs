//! The Ignition server: what a machine asks before it is a node. And the API: what people ask of documents.
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
//! The [`Api`] speaks Deckhand's and Shipyard's language over a repository of documents. Both are services for a `Server` of
//! `berth-listen`, which has the listeners and their limits.

mod airship;
mod answer;
mod assemble;
mod catalog;
#[cfg(test)]
mod fixture;
mod limiter;
mod make;
mod node_answers;
mod pointer;
mod problem;
mod refusal;
mod route;
mod service;
mod tokens;

pub use airship::{Api, ApiClock, ApiLimits, ApiState, Auth, ClusterAccess, IdSource};
pub use assemble::AssembleError;
pub use catalog::{Catalog, CatalogBuilder, CatalogError, CatalogHandle, CommonFiles, NodeConfig};
pub use make::Made;
pub use pointer::{Pointer, PointerError, pointer};
pub use service::{Access, Clock, IgnitionService, Observer};
pub use tokens::{
    CreatedToken, Denial, Grant, NewToken, Role, RoleGrant, Secret, Target, TokenError, TokenInfo, TokenScope,
    TokenState, TokenStore, TokenUse, Verdict,
};
