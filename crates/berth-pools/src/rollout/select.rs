//! Slots and candidates: the heart of the planner, shared with the forecast.

use super::{node::NodeState, plan::PoolRollout};

/// So many nodes may fail with a config that works nowhere yet. After that the config is to blame, not the nodes.
const UNPROVEN_FAILURES: usize = 3;

/// What the planner decided.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    /// How many nodes may be out of service.
    pub(crate) limit: usize,
    /// Nodes that take a slot: out of service, or on the move.
    pub(crate) holders: Vec<&'a NodeState>,
    /// How many nodes may start now.
    pub(crate) capacity: usize,
    /// Nodes that get the target now.
    pub(crate) candidates: Vec<&'a NodeState>,
    /// Nodes on the move that may be drained now.
    pub(crate) drains: Vec<&'a NodeState>,
    /// Nodes that are not there and do not start now.
    pub(crate) waiting: Vec<(&'a NodeState, WaitReason<'a>)>,
}

/// Why a node does not move now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitReason<'a> {
    NoTarget,
    Paused,
    WaitsForPool(&'a str),
    Leaving(&'a str),
    NotReady,
    Unreported,
    Busy(&'a str),
    Failed,
    AsksForDrain,
    Unproven { failed: usize },
    GivenUp(&'a str),
    Deferred,
    NoSlot,
}

/// How a node takes part in the rollout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Not ready, or cordoned, for whatever reason.
    OutOfService,
    /// Serves, and will go out of service or has just come back: it has been told to move.
    Moving,
    /// Serves, but could not take the target.
    Failed,
    /// Serves, and stays as it is until somebody moves it.
    Settled,
}

fn standing(node: &NodeState, target: Option<&str>) -> Standing {
    if !node.ready() {
        return Standing::OutOfService;
    }
    if node.degraded() {
        let failed = node.failing() && node.desired_config() == target;
        return if failed { Standing::Failed } else { Standing::Settled };
    }
    if !node.reported() || node.desired_config().is_none() || node.done() {
        return Standing::Settled;
    }
    Standing::Moving
}

/// Decides which nodes move now.
///
/// Never hands out more slots than there are, whatever the nodes do. Out-of-service and moving nodes take a slot each.
/// Nodes that failed with the target and still serve slow the rollout down to one node at a time, but leave that
/// one slot.
pub(crate) fn select(rollout: &PoolRollout) -> Selection<'_> {
    let target = rollout.target.as_deref();
    let limit = rollout.limit();
    let mut holders = Vec::new();
    let (mut out, mut failed, mut proven) = (0_usize, 0_usize, false);
    let mut asking = Vec::new();
    for node in &rollout.nodes {
        proven |= target.is_some() && node.current_config() == target;
        match standing(node, target) {
            Standing::OutOfService => {
                out += 1;
                holders.push(node);
            }
            Standing::Moving => {
                holders.push(node);
                if node.asks_for_drain() {
                    asking.push(node);
                }
            }
            Standing::Failed => failed += 1,
            Standing::Settled => {}
        }
    }
    // Failed nodes may come back to life and move after all. They ask for their drain then, and get it only within
    // the limit, so leaving them out of the count cannot put too many nodes out of service.
    let reserved = failed.min(limit.saturating_sub(out.saturating_add(1)));
    let unproven = !proven && failed >= limit.max(UNPROVEN_FAILURES);
    // A node that ran it and was not healthy is proof enough, unless others are healthy with it.
    let gave_up = |node: &&NodeState| !proven && target.is_some_and(|target| node.gave_up(target));
    let given_up = rollout.nodes.iter().find(gave_up);
    let obstacle = if target.is_none() {
        Some(WaitReason::NoTarget)
    } else if rollout.paused {
        Some(WaitReason::Paused)
    } else if let Some(pool) = &rollout.waits_for {
        Some(WaitReason::WaitsForPool(pool))
    } else if let Some(node) = given_up {
        Some(WaitReason::GivenUp(&node.name))
    } else if unproven {
        Some(WaitReason::Unproven { failed })
    } else {
        None
    };
    let capacity = match obstacle {
        Some(_) => 0,
        None => limit.saturating_sub(holders.len()).saturating_sub(reserved),
    };

    asking.sort_by_cached_key(|node| order(node));
    let (drains, undrained) = asking.split_at(asking.len().min(limit.saturating_sub(out)));
    let mut waiting: Vec<_> = undrained.iter().map(|node| (*node, WaitReason::AsksForDrain)).collect();

    let mut candidates = Vec::new();
    for node in &rollout.nodes {
        if target.is_some() && node.desired_config() == target {
            if standing(node, target) == Standing::Failed {
                waiting.push((node, WaitReason::Failed));
            }
            continue;
        }
        match obstacle.or_else(|| own_obstacle(rollout, node)) {
            Some(reason) => waiting.push((node, reason)),
            None => candidates.push(node),
        }
    }
    candidates.sort_by_cached_key(|node| order(node));
    take(&mut candidates, rollout, capacity, &mut waiting);
    waiting.sort_by_cached_key(|(node, _)| order(node));
    Selection {
        limit,
        holders,
        capacity,
        drains: drains.to_vec(),
        candidates,
        waiting,
    }
}

/// What keeps this node from being a candidate, whatever the others do.
fn own_obstacle<'a>(rollout: &'a PoolRollout, node: &'a NodeState) -> Option<WaitReason<'a>> {
    if let Some(pool) = rollout.leaving.get(&node.name) {
        return Some(WaitReason::Leaving(pool));
    }
    if !node.ready() {
        return Some(WaitReason::NotReady);
    }
    if !node.reported() {
        return Some(WaitReason::Unreported);
    }
    if standing(node, rollout.target.as_deref()) == Standing::Moving && !not_started(node) {
        return node.desired_config().map(WaitReason::Busy);
    }
    None
}

/// Whether the node was told to move but its daemon has not begun. It can be told something else at no cost.
fn not_started(node: &NodeState) -> bool {
    node.daemon() == Some(super::DaemonState::Done)
}

/// Leaves as many candidates as there are slots. A node that has been told to move keeps the slot it has.
fn take<'a>(
    candidates: &mut Vec<&'a NodeState>,
    rollout: &PoolRollout,
    capacity: usize,
    waiting: &mut Vec<(&'a NodeState, WaitReason<'a>)>,
) {
    let several = candidates.len() > 1;
    let mut free = capacity;
    candidates.retain(|node| {
        if several && rollout.deferred.as_ref() == Some(&node.name) {
            waiting.push((node, WaitReason::Deferred));
            return false;
        }
        if standing(node, rollout.target.as_deref()) == Standing::Moving {
            return true;
        }
        if free == 0 {
            waiting.push((node, WaitReason::NoSlot));
            return false;
        }
        free -= 1;
        true
    });
}

/// Zone after zone, inside a zone the oldest first, nodes without a zone last.
///
/// Degraded nodes come after all others: healthy ones prove the config first, and a node that cannot move does not
/// stand in front of those that can.
fn order(node: &NodeState) -> impl Ord + use<'_> {
    (
        node.degraded(),
        node.zone().is_none(),
        node.zone(),
        node.created.is_none(),
        node.created,
        node.name.as_str(),
    )
}
