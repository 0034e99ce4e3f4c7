//! The pools of a site with the live nodes in them, as the rollout planner wants to see them.

use std::collections::BTreeMap;

use berth_pools::{MaxUnavailable, NodeState, PoolRollout};
use berth_site::{IntOrString, Pool};
use serde_json::{Value, json};

use crate::{failure::Chain, rendering::PoolConfig};

/// Pools without nodes yet. The target is the rendered config; without one, what `spec.configuration` names.
pub(crate) fn empty_rollouts(configs: &[PoolConfig<'_>], configured: &BTreeMap<String, String>) -> Vec<PoolRollout> {
    configs
        .iter()
        .map(|config| {
            let fallback = configured.get(config.name());
            let target = config.rendered().map(|rendered| &rendered.name).or(fallback);
            let error = match (&config.rendered, fallback) {
                (Err(error), None) => Some(error),
                _ => config.failure(),
            };
            PoolRollout {
                pool: config.name().to_owned(),
                target: target.cloned(),
                paused: config.pool.paused,
                max_unavailable: max_unavailable(config.pool),
                render_error: error.map(|error| Chain(error).to_string()),
                ..PoolRollout::default()
            }
        })
        .collect()
}

/// Puts a node into its pool.
pub(crate) fn add_node(rollouts: &mut [PoolRollout], pool: &str, node: NodeState) {
    if let Some(rollout) = rollouts.iter_mut().find(|rollout| rollout.pool == pool) {
        rollout.nodes.push(node);
    }
}

/// A value that makes no sense has been reported as a finding; one node at a time is safe.
fn max_unavailable(pool: &Pool) -> MaxUnavailable {
    let value: Option<Value> = pool.max_unavailable.as_ref().map(|value| match &value.value {
        IntOrString::Int(number) => json!(number),
        IntOrString::String(text) => json!(text),
    });
    MaxUnavailable::from_json(value.as_ref()).unwrap_or_default()
}
