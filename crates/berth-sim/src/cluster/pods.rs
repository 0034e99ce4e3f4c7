//! Eviction of Pods, and the budgets that hold it back.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Caller, Cluster, DeleteOptions, delete::Deleted};
use crate::{
    failure::Failure,
    object::{as_map, at, condition, is_terminating, items, revision},
    resources::Hit,
    selectors::object_selector_matches,
    storage::{Expect, Place},
};

const BUDGETS: &str = "poddisruptionbudgets.policy";

/// What a budget allows at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Allowance {
    expected: i64,
    healthy: i64,
    desired: i64,
}

impl Allowance {
    fn disruptions(self) -> i64 {
        self.healthy.saturating_sub(self.desired).max(0)
    }
}

fn is_healthy(pod: &Value) -> bool {
    condition(pod, "Ready") == "True" && !is_terminating(pod)
}

fn is_over(pod: &Value) -> bool {
    ["Succeeded", "Failed"].contains(&crate::object::text(pod, &["status", "phase"]))
}

/// Whether a Pod does no work that a budget could protect: it has not begun, has ended, or goes already.
fn goes_freely(pod: &Value) -> bool {
    is_terminating(pod) || is_over(pod) || crate::object::text(pod, &["status", "phase"]) == "Pending"
}

fn allowance<'a>(budget: &Value, pods: impl Iterator<Item = &'a Value>) -> Allowance {
    let selector = at(budget, &["spec", "selector"]);
    let (mut expected, mut healthy) = (0_i64, 0_i64);
    for pod in pods.filter(|pod| object_selector_matches(selector, pod) && !is_over(pod)) {
        expected = expected.saturating_add(1);
        healthy = healthy.saturating_add(i64::from(is_healthy(pod)));
    }
    let least = at(budget, &["spec", "minAvailable"]).map(|bound| scaled(bound, expected));
    let most_down = at(budget, &["spec", "maxUnavailable"]).map(|bound| scaled(bound, expected));
    let desired = match (least, most_down) {
        (Some(least), _) => least,
        (None, Some(most_down)) => expected.saturating_sub(most_down).max(0),
        (None, None) => 1,
    };
    Allowance {
        expected,
        healthy,
        desired,
    }
}

/// A number, or a share of the expected Pods rounded up.
fn scaled(bound: &Value, expected: i64) -> i64 {
    match bound {
        Value::String(text) => match text.strip_suffix('%').and_then(|percent| percent.parse::<i64>().ok()) {
            Some(percent) => percent.saturating_mul(expected).saturating_add(99) / 100,
            None => text.parse().unwrap_or(0),
        },
        other => other.as_i64().unwrap_or(0),
    }
}

impl Cluster {
    /// Puts a Pod on a node, as a scheduler does.
    pub(crate) async fn bind(&self, hit: &Hit, place: &Place, node: &str, caller: &Caller) -> Result<(), Failure> {
        let pod = self.get(hit, place)?;
        if !crate::object::text(&pod, &["spec", "nodeName"]).is_empty() {
            let why = format!("pod {} is already assigned to a node", place.name);
            return Err(Failure::conflict("pods/binding", &place.name, &why));
        }
        let target = super::Target {
            hit,
            place,
            subresource: "",
        };
        let patch = json!({"spec": {"nodeName": node}});
        let options = super::WriteOptions::default();
        self.patch(target, crate::patch::PatchKind::Merge, &patch, &options, caller)
            .await
            .map(|_| ())
    }

    /// Evicts a Pod, if its budgets allow.
    pub(crate) async fn evict(
        &self,
        hit: &Hit,
        place: &Place,
        options: &DeleteOptions,
        caller: &Caller,
    ) -> Result<(), Failure> {
        let _alone = self.0.evictions.lock().await;
        let pod = self.get(hit, place)?;
        if !goes_freely(&pod) {
            self.spend_budget(place, &pod, options.dry_run)?;
        }
        match self.delete(hit, place, options, caller).await? {
            Deleted::Gone(_) | Deleted::Terminating(_) => Ok(()),
        }
    }

    fn spend_budget(&self, place: &Place, pod: &Value, dry_run: bool) -> Result<(), Failure> {
        let budgets: Vec<Arc<Value>> = {
            let storage = self.storage();
            storage
                .iter(BUDGETS, Some(&place.namespace))
                .map(|(_, budget)| Arc::clone(budget))
                .filter(|budget| object_selector_matches(at(budget, &["spec", "selector"]), pod))
                .collect()
        };
        if budgets.len() > 1 {
            return Err(Failure::internal(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            ));
        }
        let Some(budget) = budgets.first() else {
            return Ok(());
        };
        let _ = dry_run;
        let allowed = {
            let storage = self.storage();
            allowance(
                budget,
                storage.iter("pods", Some(&place.namespace)).map(|(_, pod)| &**pod),
            )
        };
        // A Pod that is not ready counts for nothing, so it may go as long as the others suffice.
        let spends = is_healthy(pod);
        let enough = if spends {
            allowed.disruptions() > 0
        } else {
            allowed.healthy >= allowed.desired
        };
        if enough {
            return Ok(());
        }
        let budget_name = crate::object::name(budget);
        Err(Failure::too_many_requests(
            "Cannot evict pod as it would violate the pod's disruption budget.",
            &json!([{
                "reason": "DisruptionBudget",
                "message": format!(
                    "The disruption budget {budget_name} needs {} healthy pods and has {} currently",
                    allowed.desired, allowed.healthy
                ),
            }]),
        ))
    }

    /// Keeps the status of the budgets of a namespace true.
    pub(super) fn count_disruptions(&self, namespace: &str) {
        let stale: Vec<(Place, u64, Value)> = {
            let storage = self.storage();
            storage
                .iter(BUDGETS, Some(namespace))
                .filter_map(|(place, budget)| {
                    let pods = storage.iter("pods", Some(namespace)).map(|(_, pod)| &**pod);
                    let allowed = allowance(budget, pods);
                    let generation = at(budget, &["metadata", "generation"]).cloned().unwrap_or_default();
                    let enough = allowed.disruptions() > 0;
                    let old = items(budget, &["status", "conditions"]).next();
                    let (word, reason) = if enough {
                        ("True", "SufficientPods")
                    } else {
                        ("False", "InsufficientPods")
                    };
                    let since = old
                        .filter(|old| old.get("status").and_then(Value::as_str) == Some(word))
                        .and_then(|old| old.get("lastTransitionTime").cloned())
                        .unwrap_or_else(|| json!(self.now_text()));
                    let status = json!({
                        "observedGeneration": generation,
                        "disruptionsAllowed": allowed.disruptions(),
                        "currentHealthy": allowed.healthy,
                        "desiredHealthy": allowed.desired,
                        "expectedPods": allowed.expected,
                        "conditions": [{
                            "type": "DisruptionAllowed",
                            "status": word,
                            "reason": reason,
                            "message": "",
                            "lastTransitionTime": since,
                            "observedGeneration": generation,
                        }],
                    });
                    if budget.get("status") == Some(&status) {
                        return None;
                    }
                    let mut counted = (**budget).clone();
                    as_map(&mut counted).insert("status".to_owned(), status);
                    Some((place.clone(), revision(budget), counted))
                })
                .collect()
        };
        for (place, expected, budget) in stale {
            let _ = self.put(BUDGETS, place, Expect::Revision(expected), budget);
        }
    }
}
