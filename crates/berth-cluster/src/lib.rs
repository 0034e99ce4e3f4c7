//! Berth in a Kubernetes cluster.
//!
//! ```text
//! watches ──► snapshot ──► berth-decide (pure) ──► Decision ──► writes (leader only)
//! ```
//!
//! What is decided, and from what, is in `berth-decide`; the resources are in `berth-resources`. Here are the watches, the writer,
//! [`lease`], admission objects and [`install`]; only [`controller`] and [`daemon`] write to the API server by themselves.

pub mod admission;
mod connect;
pub mod controller;
pub mod daemon;
pub mod doctor;
mod documents;
mod inspect;
pub mod install;
pub mod lease;
mod missing;
mod request;
mod stuck;
mod summary;
mod vital;

pub use connect::{ConnectError, Unreached, connect};
pub use documents::{DocumentKind, Snapshot, follow_documents, list_documents};
pub use inspect::{Inspection, inspect};
pub use missing::{is_missing, is_missing_kind};
pub use request::{RequestError, request_node};
pub use stuck::{MendOptions, Mended, mend};
pub use summary::summary;
