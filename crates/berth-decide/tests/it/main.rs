//! Decisions, from documents and observed Nodes to plans.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "test helpers outside of test functions"
)]

mod agreement;
mod kubelet_fields;
mod operator;
mod plans;
mod serving;
