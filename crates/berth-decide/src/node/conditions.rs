//! What the conditions of a Berth say.

use std::time::Duration;

use berth_pools::{MembershipError, Placement};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::Decision;
use crate::{
    definitions::{Answer, Definitions},
    names::{condition, reason},
};
use berth_resources::{Berth, BerthStatus, Phase};

/// Everything that was found about one node.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) duplicate: Option<String>,
    pub(super) identity: Option<bool>,
    pub(super) conflicts: Vec<String>,
    pub(super) held: usize,
    pub(super) withheld_pool_key: Option<String>,
    pub(super) withheld: Vec<String>,
    pub(super) placement: Option<Result<Placement, MembershipError>>,
    pub(super) keeps_being_deleted: Option<i32>,
    /// Why a Node that went is not created again.
    pub(super) waits: Option<(&'static str, String)>,
    /// A machine that nobody reserved is installed anew: its kubelet knows what for.
    pub(super) registers_itself: bool,
    pub(super) created: bool,
    pub(super) wake_after: Option<Duration>,
    error: Option<String>,
    pool: Option<Verdict>,
    has_node: bool,
}

/// Status, reason and message of one condition.
type Verdict = (&'static str, &'static str, String);

const TRUE: &str = "True";
const FALSE: &str = "False";
const UNKNOWN: &str = "Unknown";

/// When the Node of a machine that does not count as alive comes back.
pub(super) const UNTIL_SHOWN: &str =
    "the Node is created again when the machine requests a certificate, fetches its Ignition config or registers";

impl Findings {
    pub(super) fn answer(
        &mut self,
        definitions: &Definitions,
        answer: &Answer,
        has_node: bool,
        decision: &Decision,
        status: &BerthStatus,
    ) {
        self.has_node = has_node;
        self.error = answer.error().map(|finding| finding.message.clone());
        let pool = answer.pool.as_deref();
        let verdict = if let Some(error) = &self.error {
            (FALSE, reason::INVALID, error.clone())
        } else if let Some(Err(error)) = &self.placement {
            (FALSE, reason::SEVERAL_POOLS, error.to_string())
        } else if let Some(key) = &self.withheld_pool_key {
            let message = format!(
                "an administrator removed {key}, by which pool {} selects",
                pool.unwrap_or_default()
            );
            (FALSE, reason::REMOVED_ON_PURPOSE, message)
        } else if let (Some(Ok(placement)), Some(pool)) = (&self.placement, pool)
            && placement.primary().is_none_or(|primary| **primary != *pool)
        {
            let other = placement.primary().map_or("no pool", |name| name.as_ref());
            let message = format!("the Node should be in pool {pool}, but its labels say {other}");
            (FALSE, reason::CONFLICT, message)
        } else if let Some(pool) = pool {
            match &status.followed {
                Some(_) => (
                    TRUE,
                    reason::FOLLOWED,
                    format!("pool {pool}, which the labels of the Node say"),
                ),
                None => (TRUE, reason::ASSIGNED, format!("pool {pool}")),
            }
        } else if definitions.site().pools.is_empty() {
            (TRUE, reason::NO_POOL, "the cluster has no pools".to_owned())
        } else {
            (FALSE, reason::NO_POOL, "no pool selects the node".to_owned())
        };
        let _ = decision;
        self.pool = Some(verdict);
    }

    fn labels(&self, phase: Phase) -> Verdict {
        if let Some(error) = &self.error {
            (FALSE, reason::INVALID, error.clone())
        } else if self.held > 0 {
            let message = format!(
                "{} labels would go, as part of more than 10 % of all; allow it with --allow-mass-removal",
                self.held
            );
            (FALSE, reason::MASS_REMOVAL, message)
        } else if !self.conflicts.is_empty() {
            (FALSE, reason::CONFLICT, self.conflicts.join("; "))
        } else if !self.withheld.is_empty() {
            let message = format!(
                "the Node carries its labels, but for those that an administrator removed: {}",
                self.withheld.join(", ")
            );
            (TRUE, reason::REMOVED_ON_PURPOSE, message)
        } else if self.has_node || self.created {
            (TRUE, reason::IN_SYNC, "the Node carries its labels".to_owned())
        } else if phase == Phase::Vacant {
            (UNKNOWN, reason::NODE_GONE, "there is no Node".to_owned())
        } else {
            (UNKNOWN, reason::AWAITING_MACHINE, "there is no Node yet".to_owned())
        }
    }

    fn identity(&self) -> Verdict {
        match self.identity {
            Some(true) => (TRUE, reason::MATCHED, "the machine is the reserved one".to_owned()),
            Some(false) => (
                FALSE,
                reason::MISMATCH,
                "the kubelet reports another system UUID than spec.machine.systemUUID".to_owned(),
            ),
            None => (UNKNOWN, reason::NOT_CHECKED, "nothing to compare".to_owned()),
        }
    }

    /// The verdict of all: the first that is not as declared.
    fn ready(&self, phase: Phase, parts: &[&Verdict]) -> Verdict {
        if let Some((_, reason, message)) = parts.iter().find(|(status, ..)| *status == FALSE) {
            return (FALSE, reason, message.clone());
        }
        if let Some(count) = self.keeps_being_deleted {
            let message =
                format!("the Node was deleted {count} times in a row; Berth waits before it creates it again");
            return (FALSE, reason::NODE_KEEPS_BEING_DELETED, message);
        }
        match phase {
            // A person's decision is not a fault of the Node, and still not what is declared.
            Phase::Occupied => match parts
                .iter()
                .find(|(_, reason, _)| *reason == reason::REMOVED_ON_PURPOSE)
            {
                Some((_, reason, message)) => (TRUE, reason, message.clone()),
                None => (TRUE, reason::IN_SYNC, "the Node is as declared".to_owned()),
            },
            Phase::Vacant if self.has_node || self.created => (
                FALSE,
                reason::RECREATED,
                "the Node was created again; its kubelet has not reported yet".to_owned(),
            ),
            Phase::Vacant if self.registers_itself => (
                FALSE,
                reason::AWAITING_REGISTRATION,
                "the machine is installed anew and nobody reserved its place: its kubelet registers in the role that it is \
                 installed for"
                    .to_owned(),
            ),
            Phase::Vacant => match &self.waits {
                Some((reason, why)) => (FALSE, reason, format!("{why}; {UNTIL_SHOWN}")),
                None => (
                    FALSE,
                    reason::NODE_GONE,
                    "the Node is gone and the place is kept".to_owned(),
                ),
            },
            Phase::Reserved if self.has_node || self.created => (
                FALSE,
                reason::PREREGISTERED,
                "the Node is there; its kubelet has not come yet".to_owned(),
            ),
            Phase::Reserved => (
                FALSE,
                reason::AWAITING_MACHINE,
                "the machine has not come yet".to_owned(),
            ),
            Phase::Released => (FALSE, reason::RELEASED, "the place is given up".to_owned()),
        }
    }
}

/// Whether the Node of a place is left to the kubelet, which is to join without it.
pub fn awaits_registration(status: &BerthStatus) -> bool {
    let mut conditions = status.conditions.iter();
    conditions.any(|known| known.type_ == condition::READY && known.reason == reason::AWAITING_REGISTRATION)
}

/// Writes the conditions; one whose status stays keeps its time.
pub(super) fn write(status: &mut BerthStatus, berth: &Berth, findings: &Findings, now: Timestamp) {
    let phase = status.phase.unwrap_or_default();
    let verdicts: Vec<(&str, Verdict)> = if let Some(other) = &findings.duplicate {
        let message = format!("berth {other} reserves this node already");
        vec![(condition::READY, (FALSE, reason::DUPLICATE, message))]
    } else if phase == Phase::Released {
        vec![(condition::READY, findings.ready(phase, &[]))]
    } else {
        let pool = findings
            .pool
            .clone()
            .unwrap_or((UNKNOWN, reason::NO_POOL, String::new()));
        let (labels, identity) = (findings.labels(phase), findings.identity());
        let ready = findings.ready(phase, &[&identity, &pool, &labels]);
        vec![
            (condition::READY, ready),
            (condition::LABELS_IN_SYNC, labels),
            (condition::POOL_ASSIGNED, pool),
            (condition::IDENTITY_MATCHED, identity),
        ]
    };
    let old = std::mem::take(&mut status.conditions);
    status.conditions = verdicts
        .into_iter()
        .map(|(type_, (state, reason, message))| {
            let since = old
                .iter()
                .find(|condition| condition.type_ == type_ && condition.status == state)
                .map(|condition| condition.last_transition_time.clone());
            Condition {
                type_: type_.to_owned(),
                status: state.to_owned(),
                reason: reason.to_owned(),
                message,
                observed_generation: berth.metadata.generation,
                // Kubernetes keeps seconds; with more the status would differ from what is stored, forever.
                last_transition_time: since.unwrap_or_else(|| Time(whole_seconds(now))),
            }
        })
        .collect();
}

/// Kubernetes stores times in seconds.
pub(super) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
