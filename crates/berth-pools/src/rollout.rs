//! Rollout planning: which nodes of a pool move to its rendered config now, and what the pool's status says.
//!
//! A plan is a value. It depends on the nodes as they are and on nothing else, so asking twice gives the same
//! answer, and asking again after a crash goes on where the rollout stood. Labels are not part of it: label upkeep
//! never waits for a rollout, a pause or a free slot.
//!
//! The rules are those of OpenShift's node controller, with these differences:
//!
//! - a negative or senseless `maxUnavailable` is refused; the original freezes the pool or fails the sync in silence;
//! - a degraded node never blocks the others forever (`docs/decisions/0010-rollout-with-degraded-nodes.md`);
//! - a node whose daemon has not reported yet is not given a config, and takes no slot;
//! - a node that is still busy with an older config finishes first, so it is not moved twice at once;
//! - the order of nodes is always the same, also when there is room for all;
//! - a node's reason is reported once, and a render failure also shows in the message of `Degraded`.

mod conditions;
mod max_unavailable;
mod node;
mod plan;
mod select;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use conditions::{ConditionStatus, PoolCondition, PoolCounts};
pub use max_unavailable::{MaxUnavailable, MaxUnavailableError};
pub use node::{DaemonState, NodeConditions, NodeState, NodeStateError, annotation};
pub use plan::{PoolRollout, RolloutPlan, Waiting, plan_pool, plan_pools};

pub(crate) use plan::{Quorum, out_of_service};
pub(crate) use select::select;
