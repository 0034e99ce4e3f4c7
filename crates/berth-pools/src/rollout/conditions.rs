//! What a pool's status says about its rollout.

use std::fmt::Write;

use serde::Serialize;

use super::{node::NodeState, plan::PoolRollout};

/// One entry of a pool's `status.conditions`, without its time of transition, which whoever writes it knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolCondition {
    /// `Updated`, `Updating`, `NodeDegraded`, `RenderDegraded` or `Degraded`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// A short reason. `NodeDegraded` has a sentence here, because clients of the original look for it.
    pub reason: String,
    /// A message for people.
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// The counters of a pool's status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PoolCounts {
    /// All nodes of the pool.
    pub machine: usize,
    /// Nodes done with the target.
    pub updated: usize,
    /// Nodes done with the target that serve.
    pub ready: usize,
    /// Nodes that are unavailable by the original's rule, [`NodeState::unavailable`].
    pub unavailable: usize,
    /// Nodes whose daemon reports trouble.
    pub degraded: usize,
}

impl PoolCounts {
    /// Counts the nodes of a pool.
    pub fn of(rollout: &PoolRollout) -> Self {
        let mut counts = Self::default();
        for node in &rollout.nodes {
            let updated = rollout.target.as_ref().is_some_and(|target| node.updated(target));
            counts.machine += 1;
            counts.updated += usize::from(updated);
            counts.ready += usize::from(updated && node.ready());
            counts.unavailable += usize::from(node.unavailable());
            counts.degraded += usize::from(node.degraded());
        }
        counts
    }

    /// Whether the rollout is over: every node is done, serves and none is unavailable. True for a pool without nodes.
    pub fn all_updated(&self) -> bool {
        self.updated == self.machine && self.ready == self.machine && self.unavailable == 0
    }
}

/// The conditions of a pool, in the order in which they are written.
pub(super) fn conditions(rollout: &PoolRollout, counts: &PoolCounts) -> Vec<PoolCondition> {
    let mut conditions = rollout_conditions(rollout, counts);
    let node_message = node_message(&rollout.nodes);
    let node_reason = match counts.degraded {
        0 => String::new(),
        count => format!("{count} nodes are reporting degraded status on sync"),
    };
    let render_message = rollout.render_error.as_ref().map(|error| {
        let pool = &rollout.pool;
        format!("Failed to render configuration for pool {pool}: {error}")
    });
    let nodes_degraded = counts.degraded > 0;
    let render_degraded = render_message.is_some();
    let render_message = render_message.unwrap_or_default();
    // The original leaves the message of `Degraded` empty when only rendering failed, and people look there first.
    let message = if nodes_degraded {
        node_message.clone()
    } else {
        render_message.clone()
    };
    conditions.push(condition("NodeDegraded", nodes_degraded, node_reason, node_message));
    conditions.push(condition(
        "RenderDegraded",
        render_degraded,
        String::new(),
        render_message,
    ));
    conditions.push(condition(
        "Degraded",
        nodes_degraded || render_degraded,
        String::new(),
        message,
    ));
    conditions
}

/// `Updated` and `Updating`. A pool without a rendered config is neither.
fn rollout_conditions(rollout: &PoolRollout, counts: &PoolCounts) -> Vec<PoolCondition> {
    let (updated, updating) = match &rollout.target {
        None => ((false, String::new()), (false, String::new())),
        Some(target) if counts.all_updated() => (
            (true, format!("All nodes are updated with MachineConfig {target}")),
            (false, String::new()),
        ),
        Some(target) if rollout.paused => (
            (false, String::new()),
            (
                false,
                format!("Pool is paused; will not update to MachineConfig {target}"),
            ),
        ),
        Some(target) => (
            (false, String::new()),
            (true, format!("All nodes are updating to MachineConfig {target}")),
        ),
    };
    vec![
        condition("Updated", updated.0, String::new(), updated.1),
        condition("Updating", updating.0, String::new(), updating.1),
    ]
}

fn condition(kind: &'static str, holds: bool, reason: String, message: String) -> PoolCondition {
    PoolCondition {
        kind,
        status: holds.into(),
        reason,
        message,
    }
}

fn node_message(nodes: &[NodeState]) -> String {
    let mut degraded: Vec<&NodeState> = nodes.iter().filter(|node| node.degraded()).collect();
    degraded.sort_by_key(|node| &node.name);
    let reports = degraded.into_iter().flat_map(|node| {
        let name = &node.name;
        node.troubles()
            .into_iter()
            .map(move |trouble| format!("Node {name} is reporting: {}", quoted(trouble)))
    });
    reports.collect::<Vec<_>>().join(", ")
}

/// In double quotes, escaped as the original does it, so that a message of several lines stays one.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\x{:02x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
