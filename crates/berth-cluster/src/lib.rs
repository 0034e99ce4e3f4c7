//! Berth in a Kubernetes cluster.
//!
//! ```text
//! watches ──► snapshot ── observe ──► site ── Resolver ──► decide ──► plan ──► writes (leader only)
//!                                  (berth-site, pure)     (pure)    (a value)
//! ```
//!
//! Types first: [`api`] has the resources. Deciding is pure and takes the clock as an argument; only the controller
//! speaks to the API server.

pub mod api;
pub mod names;
