//! What to do about one node: pure functions from what is known to a plan that is a value.
//!
//! ```text
//! Berth + Node ── pin ──► pool to ask for ── Definitions::resolve ──► answer ── decide ──► Decision
//! ```
//!
//! A [`Decision`] names at most one write to the Node, and what the Berth's status has to say and to remember.

mod conditions;
mod labels;
mod life;
mod memory;
mod operator;
mod pool;
mod registration;
mod reserve;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use berth_labels::Flavour;
use berth_pools::KubeletLabels;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use serde_json::Value;

use crate::{
    definitions::{Answer, Definitions},
    names::reason,
    patch::{MapPatch, NodePatch, merge_diff},
    view::NodeView,
};
use berth_resources::{Berth, BerthStatus, Phase, Preregister};

pub(crate) use self::pool::registered_in;
use self::{conditions::Findings, labels::LabelPlan};
pub use self::{
    conditions::awaits_registration,
    life::{Absence, MachineState, Pulse},
    memory::{may_register, noted_ahead},
    pool::{Cause, Move, Pin, current_pool, first_of, holder, is_in_place, pin, seniority},
    registration::KubeletRequest,
    reserve::{Reservation, Reserved, adopt, is_adoptable, is_by_documents, made_by, reserve},
};

/// What is known about one node when it is decided upon.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its Berth.
    pub berth: &'a Berth,
    /// Its Node, if there is one.
    pub node: Option<&'a NodeView>,
    /// Requests of kubelets for a certificate in this name.
    pub requests: &'a [KubeletRequest],
    /// What is known about its Node's end, if there is none.
    pub absence: Option<&'a Absence>,
    /// The labels that its kubelet gives itself, by the unit of its pool's config.
    pub registers: Option<&'a KubeletLabels>,
    /// Another Berth has the name already.
    pub duplicate_of: Option<&'a str>,
}

/// How to decide.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The time.
    pub now: Timestamp,
    /// Take nothing away: the brake on mass removal is on.
    pub hold_removals: bool,
    /// What to do with a declared key that somebody else gave another value.
    pub conflicts: berth_labels::ConflictPolicy,
}

/// A write to a Node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeWrite {
    /// Create it.
    Create(Box<Node>),
    /// One merge patch with only the keys concerned, for this very object.
    Patch(NodePatch),
}

/// What an event says, and about what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// One of [`reason`].
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
    /// Whether somebody should look.
    pub warning: bool,
}

/// What to do about one node.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The write to its Node.
    pub node: Option<NodeWrite>,
    /// The Berth's status afterwards.
    pub status: BerthStatus,
    /// What to say about it.
    pub notes: Vec<Note>,
    /// When to look again although nothing changed.
    pub wake_after: Option<Duration>,
    /// How many labels go, or would go if the brake did not hold them back.
    pub removals: usize,
    /// A person asked for that by editing this very Berth or relabelling this very Node.
    pub asked: bool,
    /// Removals that the brake holds back.
    pub held_removals: usize,
    /// How many labels Berth owns on the Node.
    pub owned: usize,
    /// How many conflicts there are.
    pub conflicts: usize,
}

/// Decides about one node. `pin` is what [`pin`] said and `answer` what the definitions gave for it.
pub fn decide(
    definitions: &Definitions,
    subject: Subject<'_>,
    pin: &Pin,
    answer: &Answer,
    settings: &Settings,
) -> Decision {
    let before = subject.berth.status.clone().unwrap_or_default();
    let mut status = before.clone();
    status.observed_generation = subject.berth.metadata.generation;
    status.node_name = Some(subject.berth.node_name());
    let mut decision = Decision::default();
    let mut findings = Findings::default();

    if let Some(other) = subject.duplicate_of {
        findings.duplicate = Some(other.to_owned());
    } else if subject.berth.spec.release || subject.berth.metadata.deletion_timestamp.is_some() {
        if before.phase != Some(Phase::Released) {
            decision.note(
                reason::RELEASED,
                "the place is given up; the Node stays as it is".to_owned(),
            );
        }
        status.phase = Some(Phase::Released);
        status.recreations = None;
        status.departure = None;
    } else {
        let stays = match subject.node {
            Some(node) => live(
                definitions,
                subject,
                node,
                pin,
                answer,
                settings,
                &mut status,
                &mut decision,
                &mut findings,
            ),
            None => {
                absent(
                    definitions,
                    subject,
                    &before,
                    pin,
                    answer,
                    settings,
                    &mut status,
                    &mut decision,
                    &mut findings,
                );
                false
            }
        };
        // A move that is held back is found again.
        if !stays {
            status.followed.clone_from(&pin.followed);
            decision
                .notes
                .splice(0..0, pin.moved.iter().map(|moved| followed(moved, pin.cause)));
        }
        findings.answer(definitions, answer, subject.node.is_some(), &decision, &status);
    }
    decision.wake_after = decision.wake_after.or(findings.wake_after);
    conditions::write(&mut status, subject.berth, &findings, settings.now);
    decision.status = status;
    decision
}

impl Decision {
    fn note(&mut self, reason: &'static str, message: String) {
        self.notes.push(Note {
            reason,
            message,
            warning: false,
        });
    }

    fn warn(&mut self, reason: &'static str, message: String) {
        self.notes.push(Note {
            reason,
            message,
            warning: true,
        });
    }

    /// The change of the status, if there is one.
    pub fn status_patch(&self, berth: &Berth) -> Option<Value> {
        let before = serde_json::to_value(berth.status.clone().unwrap_or_default()).ok()?;
        let after = serde_json::to_value(&self.status).ok()?;
        merge_diff(&before, &after)
    }
}

/// Says whether the Node stays in its pool although it should be in another.
#[expect(
    clippy::too_many_arguments,
    reason = "one step of `decide`, split off to be read alone"
)]
fn live(
    definitions: &Definitions,
    subject: Subject<'_>,
    node: &NodeView,
    pin: &Pin,
    answer: &Answer,
    settings: &Settings,
    status: &mut BerthStatus,
    decision: &mut Decision,
    findings: &mut Findings,
) -> bool {
    let before = status.clone();
    memory::remember(subject, node, answer, status);
    let filled = memory::is_filled_now(node, &before);
    let anew = registration::is_installed_anew(subject, node, &before) || (filled && memory::is_another(node, &before));
    let mut notes = MapPatch::new();
    if anew {
        memory::forget(status);
        notes = operator::of_old_disk(node, filled.then_some(&before.annotations));
    }
    findings.identity = registration::identity(subject.berth, node);
    let stranger = findings.identity == Some(false);
    let settled = matches!(before.phase, Some(Phase::Occupied | Phase::Vacant));
    status.phase = Some(match (node.has_kubelet && !stranger, settled) {
        (true, _) => Phase::Occupied,
        (false, true) => Phase::Vacant,
        (false, false) => Phase::Reserved,
    });
    if status.phase == Some(Phase::Occupied) {
        status.departure = None;
    }
    if registration::is_calm(status.recreations.as_ref(), settings.now) {
        status.recreations = None;
    }
    if stranger || answer.error().is_some() {
        decision.node = operator::with_annotations(None, node, notes.clone()).map(NodeWrite::Patch);
    }
    if stranger {
        decision.warn(
            reason::MISMATCH,
            "another machine than the reserved one came with this name; its labels are left as they are".to_owned(),
        );
        return false;
    }
    if answer.error().is_some() {
        return false;
    }
    let unknown = BTreeMap::new();
    let unit = subject.registers.map_or(&unknown, |unit| &unit.known);
    let plan = LabelPlan::new(definitions, subject.berth, &before, node, pin, answer, unit, settings);
    decision.owned = plan.owned.len();
    decision.conflicts = plan.conflicts.len();
    decision.removals = plan.removals;
    decision.asked = plan.asked;
    if plan.enforced {
        decision.warn(
            reason::ENFORCED,
            format!(
                "somebody moved the Node out of pool {}; it is put back, because poolPolicy is enforce",
                answer.pool.as_deref().unwrap_or_default()
            ),
        );
    }
    findings.conflicts = plan.conflicts.iter().map(labels::describe).collect();
    decision.held_removals = plan.held;
    findings.held = plan.held;
    findings.withheld_pool_key.clone_from(&plan.withheld_pool_key);
    findings.withheld = plan.withheld.iter().cloned().collect();
    findings.placement = Some(definitions.placement(&node.name, &plan.after));
    if !plan.stays {
        status.pool = answer.pool.as_deref().map(str::to_owned);
    }
    let patch = plan.patch(node, subject.berth, status.pool.as_deref());
    let gives = !plan.stays && operator::gives_the_place(definitions, subject.berth, answer, &plan.owned);
    notes.extend(operator::first_labels(node).filter(|_| gives));
    decision.node = operator::with_annotations(patch, node, notes).map(NodeWrite::Patch);
    status.node_uid = Some(node.uid.clone());
    let stays = plan.stays;
    plan.store(status, node);
    stays
}

fn followed(moved: &Move, cause: Cause) -> Note {
    let Move { from, to } = moved;
    let message = match cause {
        Cause::Labels => {
            format!("an administrator moved the Node from pool {from} to pool {to}, and the Berth follows")
        }
        Cause::Definitions => {
            format!("the pools say that the Node of pool {from} is in pool {to}, and the Berth follows")
        }
    };
    Note {
        reason: reason::FOLLOWED,
        message,
        warning: false,
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one step of `decide`, split off to be read alone"
)]
fn absent(
    definitions: &Definitions,
    subject: Subject<'_>,
    before: &BerthStatus,
    pin: &Pin,
    answer: &Answer,
    settings: &Settings,
    status: &mut BerthStatus,
    decision: &mut Decision,
    findings: &mut Findings,
) {
    let settled = matches!(before.phase, Some(Phase::Occupied | Phase::Vacant));
    status.phase = Some(if settled { Phase::Vacant } else { Phase::Reserved });
    status.pool = answer.pool.as_deref().map(str::to_owned);
    let unknown = Absence::default();
    let absence = subject.absence.unwrap_or(&unknown);
    let departure = settled.then(|| life::departure(before, absence, settings.now));
    let shown = registration::shown(subject, departure.as_ref().map(|departure| departure.time));
    let waits = departure.as_ref().filter(|_| !shown.at_all).and_then(life::waits);
    status.departure.clone_from(&departure);
    if let Some((reason, why)) = &waits
        && before.departure.as_ref().and_then(life::waits).as_ref() != Some(&(*reason, why.clone()))
    {
        decision.note(reason, format!("{why}; {}", conditions::UNTIL_SHOWN));
    }
    findings.waits = waits;
    if answer.error().is_some() || findings.waits.is_some() {
        return;
    }
    if !settled && !shown.at_all && subject.berth.spec.preregister != Preregister::Now {
        return;
    }
    if shown.anew {
        memory::forget(status);
    }
    // What it is installed for, its kubelet alone knows. No rule names the pool where the question had to.
    let is_reserved = !pool::is_found(subject.berth) || (pin.pool.is_none() && answer.pool.is_some());
    if settled && shown.anew && !shown.fetched && !is_reserved && definitions.flavour() == Flavour::Openshift {
        findings.registers_itself = true;
        return;
    }
    if let Some(departure) = &mut status.departure {
        (departure.reason, departure.message) = (None, None);
    }
    let again = before.node_uid.is_some();
    if again && let Some(wait) = registration::wait(before.recreations.as_ref(), settings.now) {
        findings.wake_after = Some(wait);
        findings.keeps_being_deleted = before.recreations.as_ref().map(|recreations| recreations.count);
        return;
    }
    let created = registration::build(definitions, subject, status, answer);
    // A late watch may not have shown a Node that is there: then this is not the one that comes, and what is on it is not
    // forgotten.
    status.earlier_labels = labels::unforgotten(before, &BTreeMap::new(), &created.owned);
    status.labels.clone_from(&created.owned);
    status.node_version = None;
    status.found_labels.clear();
    if again {
        status.recreations = Some(registration::count(before.recreations.as_ref(), settings.now));
    }
    decision.owned = created.owned.len();
    let (reason, words) = if again {
        (reason::RECREATED, "the Node was deleted and is created again")
    } else {
        (
            reason::PREREGISTERED,
            "the Node is created before its kubelet registers",
        )
    };
    decision.note(
        reason,
        match answer.pool.as_deref() {
            Some(pool) => format!("{words}, in pool {pool}"),
            None => words.to_owned(),
        },
    );
    findings.created = true;
    decision.node = Some(NodeWrite::Create(Box::new(created.node)));
}
