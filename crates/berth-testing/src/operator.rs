//! What OpenShift's Machine Config Operator does with machine configs, pools and nodes, to hold Berth against.
//!
//! The operator's own module is not built here: the Go module proxy gives single commits of 2025 only. What it makes with
//! libraries that are there is asked of [`Operator`], a small program that is built from them. What it decides about nodes is a
//! small model.

mod daemon;
mod first_boot;
mod machines;
mod nodes;
mod render;

pub use daemon::{DaemonVerdict, Disk, daemon_start};
pub use first_boot::first_boot_labelling;
pub use machines::{PoolCounts, next_of, nodes_of, pool_counts, pools_of};
pub use nodes::{NodeVerdict, candidates, node_verdict, pool_of, served_config};
pub use render::{OPERATOR, Operator, OperatorRendered};
