//! The plan for one pool, and for pools that depend on each other.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    conditions::{PoolCondition, PoolCounts, conditions},
    max_unavailable::MaxUnavailable,
    node::NodeState,
    select::{Selection, WaitReason, select},
};
use crate::pool::MASTER;

/// The pool of control-plane nodes that only vote. It moves one node at a time, and never beside `master`.
const ARBITER: &str = "arbiter";

/// So many names are spelled out in a sentence; the rest is counted.
const NAMES_IN_A_REASON: usize = 3;

/// What the planner looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolRollout {
    /// The pool's name.
    pub pool: String,
    /// The rendered config that its nodes shall get; `None` when there is none yet.
    pub target: Option<String>,
    /// Whether somebody has stopped the rollout.
    pub paused: bool,
    /// How many nodes may be out of service.
    pub max_unavailable: MaxUnavailable,
    /// The nodes of the pool, those that are done too.
    pub nodes: Vec<NodeState>,
    /// Why the pool's config could not be rendered, if so.
    pub render_error: Option<String>,
    /// Nodes whose place is another pool, by name. Their labels are on the way, so moving them here would cost them a
    /// second reboot.
    pub leaving: BTreeMap<String, String>,
    /// A node that moves only when no other can, such as the one where the planner itself runs.
    pub deferred: Option<String>,
    /// A pool that must come to rest first.
    pub waits_for: Option<String>,
}

impl PoolRollout {
    /// How many nodes may be out of service, in numbers.
    pub fn limit(&self) -> usize {
        match self.pool.as_str() {
            ARBITER => 1,
            _ => self.max_unavailable.resolve(self.nodes.len()),
        }
    }
}

/// What happens next in a pool. `berth rollout plan -o json` prints an array of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RolloutPlan {
    /// The pool.
    pub pool: String,
    /// The rendered config its nodes get.
    pub target: Option<String>,
    /// Whether the rollout is stopped.
    pub paused: bool,
    /// How many nodes may be out of service.
    pub max_unavailable: usize,
    /// Nodes that take a slot now: out of service, or told to move. Degraded nodes that serve are not among them.
    pub unavailable: Vec<String>,
    /// How many further nodes may start now.
    pub capacity: usize,
    /// Nodes that get the target now, in their order.
    pub candidates: Vec<String>,
    /// Nodes on the move that asked for their drain and may have it now. They must be cordoned before the next plan.
    pub drains: Vec<String>,
    /// Nodes that are not there yet and cannot go on now.
    pub waiting: Vec<Waiting>,
    /// The conditions of the pool's status.
    pub conditions: Vec<PoolCondition>,
    /// The counters of the pool's status.
    pub counts: PoolCounts,
}

/// A node that waits, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The node.
    pub node: String,
    /// A sentence for people.
    pub reason: String,
}

/// Plans one pool.
///
/// ```
/// use std::collections::BTreeMap;
/// use berth_pools::{MaxUnavailable, NodeState, PoolRollout, annotation, plan_pool};
///
/// let node = |name: &str| NodeState {
///     name: name.to_owned(),
///     annotations: BTreeMap::from([
///         (annotation::CURRENT_CONFIG.to_owned(), "rendered-worker-old".to_owned()),
///         (annotation::DESIRED_CONFIG.to_owned(), "rendered-worker-old".to_owned()),
///         (annotation::STATE.to_owned(), "Done".to_owned()),
///     ]),
///     ..NodeState::default()
/// };
/// let plan = plan_pool(&PoolRollout {
///     pool: "worker".to_owned(),
///     target: Some("rendered-worker-new".to_owned()),
///     paused: false,
///     max_unavailable: MaxUnavailable::default(),
///     nodes: vec![node("w1"), node("w2")],
///     render_error: None,
///     leaving: BTreeMap::new(),
///     deferred: None,
///     waits_for: None,
/// });
/// assert_eq!(plan.candidates, ["w1"], "one at a time");
/// ```
pub fn plan_pool(rollout: &PoolRollout) -> RolloutPlan {
    let selection = select(rollout);
    let counts = PoolCounts::of(rollout);
    let waiting = selection
        .waiting
        .iter()
        .map(|(node, reason)| Waiting {
            node: node.name.clone(),
            reason: explain(rollout, &selection, node, *reason),
        })
        .collect();
    RolloutPlan {
        pool: rollout.pool.clone(),
        target: rollout.target.clone(),
        paused: rollout.paused,
        max_unavailable: selection.limit,
        unavailable: names(&selection.holders),
        capacity: selection.capacity,
        candidates: names(&selection.candidates),
        drains: names(&selection.drains),
        waiting,
        conditions: conditions(rollout, &counts),
        counts,
    }
}

/// Plans all pools of a cluster.
///
/// Pools do not wait for each other, but for one pair: while an arbiter node is unavailable no master moves, and an
/// arbiter moves only when the masters are at rest. Together they hold the quorum.
pub fn plan_pools(rollouts: &[PoolRollout]) -> Vec<RolloutPlan> {
    let quorum = Quorum::of(rollouts);
    let plan = |rollout: &PoolRollout| match quorum.in_the_way(&rollout.pool) {
        None => plan_pool(rollout),
        Some(other) => plan_pool(&PoolRollout {
            waits_for: Some(other.to_owned()),
            ..rollout.clone()
        }),
    };
    rollouts.iter().map(plan).collect()
}

/// Which of the two pools that hold the quorum is not at rest.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quorum {
    arbiter_busy: bool,
    master_busy: bool,
}

impl Quorum {
    /// Looks at all pools of a cluster.
    pub(crate) fn of(rollouts: &[PoolRollout]) -> Self {
        let named = |name: &str| rollouts.iter().find(|rollout| rollout.pool == name);
        let (Some(arbiter), Some(master)) = (named(ARBITER), named(MASTER)) else {
            return Self::default();
        };
        let arbiter_busy = !select(arbiter).holders.is_empty();
        let master = select(master);
        let starting = !arbiter_busy && !master.candidates.is_empty();
        Self {
            arbiter_busy,
            master_busy: !master.holders.is_empty() || starting,
        }
    }

    /// The pool that this one has to wait for.
    pub(crate) fn in_the_way(self, pool: &str) -> Option<&'static str> {
        match pool {
            MASTER if self.arbiter_busy => Some(ARBITER),
            ARBITER if self.master_busy => Some(MASTER),
            _ => None,
        }
    }
}

fn names(nodes: &[&NodeState]) -> Vec<String> {
    nodes.iter().map(|node| node.name.clone()).collect()
}

fn explain(rollout: &PoolRollout, selection: &Selection<'_>, node: &NodeState, reason: WaitReason<'_>) -> String {
    let target = rollout.target.as_deref().unwrap_or_default();
    match reason {
        WaitReason::NoTarget => "the pool has no rendered config yet".to_owned(),
        WaitReason::Paused => "the pool is paused".to_owned(),
        WaitReason::WaitsForPool(pool) => format!("a node of pool {pool} is unavailable or moves"),
        WaitReason::Leaving(pool) => format!("belongs to pool {pool}; its labels come first"),
        WaitReason::NotReady => out_of_service(node),
        WaitReason::Unreported => "its daemon has not reported what it runs".to_owned(),
        WaitReason::Busy(config) => format!("still moves to {config}"),
        WaitReason::Failed => match node.troubles().first() {
            Some(trouble) => format!("could not take {target}: {trouble}"),
            None => format!("could not take {target}"),
        },
        WaitReason::AsksForDrain | WaitReason::NoSlot => no_slot(selection),
        WaitReason::Unproven { failed } => {
            format!("stopped: {failed} nodes could not take {target} and none runs it")
        }
        WaitReason::GivenUp(node) => format!("stopped: {node} was not healthy with {target}, and no node runs it"),
        WaitReason::Deferred => "moves last, when no other node of the pool has to".to_owned(),
    }
}

/// Why a node does not serve.
pub(crate) fn out_of_service(node: &NodeState) -> String {
    let conditions = &node.conditions;
    let causes = [
        (conditions.ready == Some(false), "NotReady"),
        (conditions.disk_pressure == Some(true), "DiskPressure"),
        (conditions.network_unavailable == Some(true), "NetworkUnavailable"),
        (node.unschedulable, "cordoned"),
    ];
    let causes: Vec<&str> = causes
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, cause)| cause)
        .collect();
    causes.join(", ")
}

/// Who is in the way: nodes that have the slots, nodes that get them now, or nodes that failed.
fn no_slot(selection: &Selection<'_>) -> String {
    let limit = selection.limit;
    if selection.holders.len() >= limit {
        return format!(
            "no slot is free; {limit} of {limit} taken by {}",
            some(&selection.holders)
        );
    }
    match selection.candidates.as_slice() {
        [] => "nodes of the pool could not take the config, so only one moves at a time".to_owned(),
        [first] => format!("{} moves first", first.name),
        several => format!("{} move first", some(several)),
    }
}

fn some(nodes: &[&NodeState]) -> String {
    let (shown, rest) = nodes.split_at(nodes.len().min(NAMES_IN_A_REASON));
    let shown = names(shown).join(", ");
    match rest.len() {
        0 => shown,
        count => format!("{shown} and {count} more"),
    }
}
