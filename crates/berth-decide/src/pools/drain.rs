//! Which Pods have to go before a node may move, and how long to wait between attempts.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use berth_labels::{LabelSelector, Selector};
use berth_pools::{NodeState, annotation};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    core::v1::{Pod, PodCondition},
    policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus},
};

/// What has not moved for so long does not move by itself.
const LONG: SignedDuration = SignedDuration::from_mins(10);

/// What a node's daemon asks the controller for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrainRequest {
    /// Cordon the node and move its Pods away.
    Drain(String),
    /// Let Pods come again.
    Uncordon(String),
    /// A word that is not in the contract.
    Unknown(String),
}

impl DrainRequest {
    /// The request of a node that has not been carried out. The verb is the text before the first `-`.
    pub fn of(state: &NodeState) -> Option<Self> {
        let text = |key: &str| {
            state
                .annotations
                .get(key)
                .map(String::as_str)
                .filter(|text| !text.is_empty())
        };
        let desired = text(annotation::DESIRED_DRAIN)?;
        if text(annotation::LAST_APPLIED_DRAIN) == Some(desired) {
            return None;
        }
        let desired = desired.to_owned();
        Some(match desired.split('-').next() {
            Some("drain") => Self::Drain(desired),
            Some("uncordon") => Self::Uncordon(desired),
            _ => Self::Unknown(desired),
        })
    }
}

/// A Pod as far as a drain is concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodView {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid: another Pod of the name is another Pod.
    pub uid: Option<String>,
    /// Its labels, by which budgets select it.
    pub labels: BTreeMap<String, String>,
    /// Whether it runs and serves. Only such a Pod is a loss.
    pub serves: bool,
    /// Whether it is on its way out.
    pub terminating: bool,
    /// Whether it belongs to the node: it is of a `DaemonSet`, or the kubelet runs it from a file.
    pub stays: bool,
}

impl From<&Pod> for PodView {
    fn from(pod: &Pod) -> Self {
        let metadata = &pod.metadata;
        let mirror = metadata
            .annotations
            .as_ref()
            .is_some_and(|annotations| annotations.contains_key("kubernetes.io/config.mirror"));
        let of_daemon_set = metadata
            .owner_references
            .iter()
            .flatten()
            .any(|owner| owner.controller == Some(true) && owner.kind == "DaemonSet");
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone(),
            labels: metadata.labels.clone().unwrap_or_default(),
            serves: serves(pod),
            terminating: metadata.deletion_timestamp.is_some(),
            stays: mirror || of_daemon_set,
        }
    }
}

fn serves(pod: &Pod) -> bool {
    let Some(status) = &pod.status else {
        return false;
    };
    let ready = |condition: &PodCondition| condition.type_ == "Ready" && condition.status == "True";
    status.phase.as_deref() == Some("Running") && status.conditions.iter().flatten().any(ready)
}

/// The budgets of the namespaces that a drain is about, and what is left of them.
#[derive(Debug, Default)]
pub struct Budgets(Vec<Budget>);

#[derive(Debug)]
struct Budget {
    namespace: String,
    name: String,
    selector: Selector,
    left: i32,
    healthy: i32,
    desired: i32,
    expected: i32,
    /// Since when it allows nothing.
    since: Option<Timestamp>,
    /// Whether its status is about what it says now.
    counted: bool,
}

impl Budgets {
    /// Takes the budgets of a namespace. One with a selector that cannot be read selects nothing.
    pub fn extend<'a>(&mut self, budgets: impl IntoIterator<Item = &'a PodDisruptionBudget>) {
        for budget in budgets {
            let wire = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            let selector = wire
                .and_then(|wire| serde_json::to_value(wire).ok())
                .and_then(|wire| serde_json::from_value::<LabelSelector>(wire).ok())
                .and_then(|wire| wire.compile().ok());
            let Some(selector) = selector else { continue };
            let status = budget.status.clone().unwrap_or_default();
            self.0.push(Budget {
                namespace: budget.metadata.namespace.clone().unwrap_or_default(),
                name: budget.metadata.name.clone().unwrap_or_default(),
                selector,
                left: status.disruptions_allowed,
                healthy: status.current_healthy,
                desired: status.desired_healthy,
                expected: status.expected_pods,
                since: forbids_since(&status),
                counted: status.observed_generation >= budget.metadata.generation,
            });
        }
    }

    /// Takes one Pod out of the budgets it is in, or says which of them does not allow it. The API server judges in the
    /// end; this keeps from asking for what it would refuse, and names the budget.
    pub fn spend(&mut self, pod: &PodView) -> Result<(), String> {
        if !pod.serves {
            return Ok(());
        }
        for budget in self.0.iter().filter(|budget| budget.is_about(pod)) {
            let name = &budget.name;
            if !budget.counted {
                return Err(format!(
                    "The disruption budget {name} is still being processed by the server."
                ));
            }
            if budget.left < 1 {
                return Err(format!(
                    "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget {name} \
                     needs {} healthy pods and has {} currently",
                    budget.desired, budget.healthy
                ));
            }
        }
        for budget in self.0.iter_mut().filter(|budget| budget.is_about(pod)) {
            budget.left -= 1;
        }
        Ok(())
    }
}

impl Budget {
    fn is_about(&self, pod: &PodView) -> bool {
        let label = |key: &str| pod.labels.get(key).map(String::as_str);
        self.namespace == pod.namespace && self.selector.matches_with(label)
    }

    /// Whether it will not let a Pod go by itself: all its Pods are there and it allows nothing, or it has allowed nothing for long.
    fn is_stuck(&self, now: Timestamp) -> bool {
        let long = self.since.is_some_and(|since| is_long_ago(since, now));
        self.counted && self.left < 1 && (long || (self.expected > 0 && self.healthy >= self.expected))
    }
}

fn forbids_since(status: &PodDisruptionBudgetStatus) -> Option<Timestamp> {
    let mut conditions = status.conditions.iter().flatten();
    let allows = conditions.find(|condition| condition.type_ == "DisruptionAllowed" && condition.status == "False")?;
    Some(allows.last_transition_time.0)
}

fn is_long_ago(time: Timestamp, now: Timestamp) -> bool {
    now.duration_since(time) > LONG
}

/// A Pod that keeps its node from being drained, and will not go by itself.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct StuckPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: Option<String>,
    /// What keeps it.
    pub why: String,
    /// What helps.
    pub advice: String,
    /// Whether a budget keeps it; otherwise it has been on its way out for too long.
    pub held: bool,
}

/// The Pods of a node that keep its drain from ending and will not go by themselves. A Pod that waits for others to come up
/// elsewhere is not one of them, unless that takes long.
pub fn stuck_pods(pods: &[Pod], budgets: &Budgets, now: Timestamp) -> Vec<StuckPod> {
    let mut found = Vec::new();
    for pod in pods {
        let view = PodView::from(pod);
        if view.stays {
            continue;
        }
        let (namespace, name) = (&view.namespace, &view.name);
        let (why, advice, held) = if let Some(deleted) = &pod.metadata.deletion_timestamp {
            if !is_long_ago(deleted.0, now) {
                continue;
            }
            (
                format!("it should have ended at {}", deleted.0),
                format!("`kubectl -n {namespace} describe pod {name}` shows its finalizers and what its kubelet says"),
                false,
            )
        } else {
            let mut of_pod = budgets.0.iter().filter(|budget| view.serves && budget.is_about(&view));
            let Some(budget) = of_pod.find(|budget| budget.is_stuck(now)) else {
                continue;
            };
            let of = &budget.name;
            (
                format!(
                    "the disruption budget {of} allows no disruption (healthy: {} of {}, needed: {})",
                    budget.healthy, budget.expected, budget.desired
                ),
                format!(
                    "let its Pods become healthy, or have more of them, or change it: `kubectl -n {namespace} edit pdb {of}`"
                ),
                true,
            )
        };
        found.push(StuckPod {
            namespace: namespace.clone(),
            name: name.clone(),
            uid: view.uid.clone(),
            why,
            advice,
            held,
        });
    }
    found
}

/// The Pods that have to go, those that are on their way too.
pub fn to_evict<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> Vec<PodView> {
    pods.into_iter().map(PodView::from).filter(|pod| !pod.stays).collect()
}

/// What is in the way, in one sentence for an event. The refusals are by `namespace/name`.
pub fn describe_blocked(left: usize, refusals: &BTreeMap<String, String>) -> String {
    let pods = if left == 1 {
        "1 Pod is".to_owned()
    } else {
        format!("{left} Pods are")
    };
    let mut sentence = format!("{pods} still to go");
    if let Some((pod, why)) = refusals.first_key_value() {
        // Writing to a String cannot fail.
        let _ = write!(sentence, "; {pod}: {}", why.trim_end_matches('.'));
        if refusals.len() > 1 {
            let _ = write!(sentence, " (and {} more)", refusals.len() - 1);
        }
    }
    sentence
}

/// How long to wait between attempts: longer and longer while nothing moves, and short again when something did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// Begins with `first` and never waits longer than `longest`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            next: first,
        }
    }

    /// The wait before the next attempt.
    pub fn wait(&mut self, progress: bool) -> Duration {
        if progress {
            self.next = self.first;
        }
        let wait = self.next;
        self.next = wait.saturating_mul(2).min(self.longest);
        wait
    }
}
