//! Berth in a Kubernetes cluster.
//!
//! ```text
//! watches ──► snapshot ── Definitions ──► answers ──► decide ──► Decision ──► writes (leader only)
//!                       (berth-site, pure)           (pure)     (a value)
//! ```
//!
//! Types first: [`api`] has the resources. Deciding ([`observe`], [`decide`], [`pools`], [`lease`]) is pure and takes the clock as
//! an argument; only [`controller`] speaks to the API server.

pub mod admission;
mod connect;
pub mod controller;
pub mod doctor;
mod documents;
pub mod install;
pub mod lease;
mod missing;
mod request;
mod summary;

pub use connect::{ConnectError, connect};
pub use documents::{DocumentKind, Snapshot, follow_documents, list_documents};
pub use missing::{is_missing, is_missing_kind};
pub use request::request_node;
pub use summary::{BerthSummary, PoolSummary, Summary, summarize, summary};
