//! What a pool's status says.

use std::collections::BTreeMap;

use berth_pools::{ConditionStatus, MaxUnavailable, PoolRollout, RolloutPlan};
use jiff::Timestamp;

use super::{MemberView, PoolView, Rendering};
use berth_resources::{MachineConfigPoolStatus, PoolCondition, PoolConfiguration};

/// An event about a pool: its reason and its sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolNote {
    /// `Updating` or `Completed`, as the original has them.
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
}

/// What the planner is asked for one pool. Nodes whose Berths have another pool are about to leave.
pub fn rollout(
    pool: &PoolView,
    members: impl IntoIterator<Item = MemberView>,
    leaving: BTreeMap<String, String>,
    render_error: Option<String>,
) -> PoolRollout {
    PoolRollout {
        pool: pool.name.clone(),
        target: pool.target.clone(),
        paused: pool.paused || pool.deleting || pool.max_unavailable.is_err(),
        max_unavailable: match &pool.max_unavailable {
            Ok(limit) => *limit,
            Err(_) => MaxUnavailable::default(),
        },
        nodes: members.into_iter().map(|member| member.state).collect(),
        render_error,
        leaving,
        deferred: None,
        waits_for: None,
    }
}

/// Why the pool's config could not be rendered. Before it has been rendered for the first time, what the status says
/// stands.
pub fn render_error(pool: &PoolView, rendering: Option<&Rendering>) -> Option<String> {
    match rendering {
        Some(Rendering::Done(_)) => None,
        Some(Rendering::Failed(error)) => Some(error.clone()),
        Some(Rendering::SelectingAll) => Some("an empty machineConfigSelector selects all MachineConfigs".to_owned()),
        None => {
            let known = condition(&pool.status, "RenderDegraded")?;
            if known.status.as_deref() != Some("True") {
                return None;
            }
            let message = known.message.as_deref().unwrap_or_default();
            let prefix = format!("Failed to render configuration for pool {}: ", pool.name);
            Some(message.strip_prefix(&prefix).unwrap_or(message).to_owned())
        }
    }
}

/// The status after a plan, with what is to be told about the change. Conditions of others stay as they are.
pub fn status(pool: &PoolView, plan: &RolloutPlan, now: Timestamp) -> (MachineConfigPoolStatus, Vec<PoolNote>) {
    let counts = &plan.counts;
    let count = |count: usize| Some(i32::try_from(count).unwrap_or(i32::MAX));
    let mut status = MachineConfigPoolStatus {
        observed_generation: pool.generation,
        machine_count: count(counts.machine),
        updated_machine_count: count(counts.updated),
        ready_machine_count: count(counts.ready),
        unavailable_machine_count: count(counts.unavailable),
        degraded_machine_count: count(counts.degraded),
        ..pool.status.clone()
    };
    let target = plan.target.as_deref();
    let completed = target.filter(|_| counts.all_updated());
    if let Some(target) = completed {
        status.configuration = Some(PoolConfiguration {
            name: Some(target.to_owned()),
            source: serde_json::from_value(
                super::configuration(target, &pool.sources)
                    .get("source")
                    .cloned()
                    .unwrap_or_default(),
            )
            .ok(),
        });
    }
    // The times of conditions are whole seconds, as Kubernetes writes them.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let mut conditions = status.conditions.take().unwrap_or_default();
    for wanted in &plan.conditions {
        let (mut holds, mut message) = (wanted.status == ConditionStatus::True, wanted.message.clone());
        if let Err(error) = &pool.max_unavailable {
            match wanted.kind {
                "Degraded" if !holds => {
                    holds = true;
                    message = error.to_string();
                }
                // It is held, but nobody paused it.
                "Updating" if !pool.paused => message = error.to_string(),
                _ => {}
            }
        }
        set(&mut conditions, wanted.kind, holds, &wanted.reason, message, now);
    }
    status.conditions = Some(conditions);
    let mut notes = Vec::new();
    let started = |status: &MachineConfigPoolStatus| {
        let updating = condition(status, "Updating").filter(|known| known.status.as_deref() == Some("True"))?;
        updating.message.clone()
    };
    if let Some(target) = target {
        let name = &pool.name;
        if started(&status).is_some() && started(&status) != started(&pool.status) {
            notes.push(PoolNote {
                reason: "Updating",
                message: format!("Pool {name} now targeting MachineConfig {target}"),
            });
        }
        if completed.is_some() && pool.completed() != completed {
            notes.push(PoolNote {
                reason: "Completed",
                message: format!("Pool {name} has completed update to MachineConfig {target}"),
            });
        }
    }
    (status, notes)
}

fn condition<'a>(status: &'a MachineConfigPoolStatus, kind: &str) -> Option<&'a PoolCondition> {
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|known| known.type_.as_deref() == Some(kind))
}

/// Keeps the time of a condition whose status is the same, and its place in the list.
fn set(conditions: &mut Vec<PoolCondition>, kind: &str, holds: bool, reason: &str, message: String, now: Timestamp) {
    let status = if holds { "True" } else { "False" };
    let known = conditions.iter_mut().find(|known| known.type_.as_deref() == Some(kind));
    let since = match &known {
        Some(known) if known.status.as_deref() == Some(status) => known.last_transition_time,
        _ => None,
    };
    let condition = PoolCondition {
        type_: Some(kind.to_owned()),
        status: Some(status.to_owned()),
        last_transition_time: since.or(Some(now)),
        reason: Some(reason.to_owned()),
        message: Some(message),
    };
    match known {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}
