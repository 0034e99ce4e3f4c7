//! The pools of a site with the live nodes in them, as the rollout planner wants to see them.

use std::collections::{BTreeMap, HashMap};

use berth_decide::{NodePlan, Plan, Presence};
use berth_pools::{
    Action, DisruptionPolicy, ForecastPool, MASTER, MachineConfigSpec, MaxUnavailable, NewNode, NodeState, PoolRollout,
    Reboots, WORKER, diff_specs_with,
};
use berth_site::{IntOrString, Pool, Site};
use serde_json::{Value, json};

use crate::{failure::Chain, rendering::PoolConfig, site::Loaded};

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

/// The pools as they are once labels are applied, with what each node's way there costs: the start of a change.
pub(crate) fn changing_pools(
    configs: &[PoolConfig<'_>],
    loaded: &Loaded,
    labels: &Plan,
    live: Vec<NodeState>,
) -> Vec<ForecastPool> {
    let mut pools: Vec<ForecastPool> = empty_rollouts(configs, &loaded.configured)
        .into_iter()
        .map(|rollout| ForecastPool {
            rollout,
            ..ForecastPool::default()
        })
        .collect();
    let costs = Costs::new(configs, &loaded.site);
    let places: HashMap<String, usize> = pools.iter().map(|pool| pool.rollout.pool.clone()).zip(0..).collect();
    let mut states: HashMap<String, NodeState> = live.into_iter().map(|node| (node.name.clone(), node)).collect();
    for node in &labels.nodes {
        let state = states.remove(&*node.node);
        let pool = node.pool_after.as_deref().and_then(|pool| places.get(pool));
        if let Some(pool) = pool.and_then(|index| pools.get_mut(*index)) {
            take_part(pool, node, state, &costs);
        }
    }
    pools
}

/// Adds a node to the pool that it is in once its labels are applied.
fn take_part(pool: &mut ForecastPool, node: &NodePlan, state: Option<NodeState>, costs: &Costs<'_>) {
    let name = node.node.to_string();
    match state {
        Some(mut state) if node.presence != Presence::Awaited => {
            state.labels.extend(node.set.clone());
            state.labels.retain(|key, _| !node.remove.contains(key));
            if let Some(reboots) = costs.of_move(&state, &pool.rollout.pool) {
                pool.reboots.insert(name, reboots);
            }
            pool.rollout.nodes.push(state);
        }
        _ => pool.joining.push(NewNode {
            name,
            labels: node.set.clone(),
            reboots: Some(costs.of_joining(&pool.rollout.pool)),
        }),
    }
}

/// What moves between rendered configs cost, where both are known.
struct Costs<'a> {
    by_pool: BTreeMap<&'a str, &'a MachineConfigSpec>,
    by_name: BTreeMap<&'a str, &'a MachineConfigSpec>,
    policy: DisruptionPolicy,
}

impl<'a> Costs<'a> {
    fn new(configs: &'a [PoolConfig<'_>], site: &Site) -> Self {
        let rendered = || configs.iter().filter_map(PoolConfig::rendered);
        Self {
            by_pool: rendered().map(|it| (it.pool.as_str(), &it.spec)).collect(),
            by_name: rendered().map(|it| (it.name.as_str(), &it.spec)).collect(),
            policy: DisruptionPolicy::default().with(&site.disruption),
        }
    }

    /// The reboots of a live node; nothing where what it runs now is not known, which means one.
    fn of_move(&self, node: &NodeState, pool: &str) -> Option<Reboots> {
        let old = self.by_name.get(node.current_config()?)?;
        let new = self.by_pool.get(pool)?;
        (!self.needs_reboot(old, new)).then_some(Reboots { with: 0, without: 0 })
    }

    /// The reboots of a new machine. Without labels at first boot it comes up as a worker, so it reboots again only
    /// where its pool is another and differs in what needs it. Masters come up as masters.
    fn of_joining(&self, pool: &str) -> Reboots {
        let same = match (self.by_pool.get(WORKER), self.by_pool.get(pool)) {
            (Some(worker), Some(own)) => !self.needs_reboot(worker, own),
            _ => false,
        };
        if same || [MASTER, WORKER].contains(&pool) {
            Reboots::MOVING
        } else {
            Reboots::NEW
        }
    }

    /// Configs that cannot be compared are taken to differ.
    fn needs_reboot(&self, old: &MachineConfigSpec, new: &MachineConfigSpec) -> bool {
        diff_specs_with(old, new, &self.policy).map_or(true, |diff| diff.actions().contains(&Action::Reboot))
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
