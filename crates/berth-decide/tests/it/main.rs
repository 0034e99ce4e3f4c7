//! Decisions, from documents and observed Nodes to plans.

mod plans;
mod serving;
