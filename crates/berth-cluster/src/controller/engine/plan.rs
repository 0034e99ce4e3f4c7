//! From dirty nodes to jobs.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use kube::ResourceExt as _;
use tracing::warn;

use super::{Engine, Job, Key};
use crate::{
    api::{Berth, BerthStatus, Phase},
    controller::writer::Work,
    decide::{Decision, Pin, Settings, Subject, decide, pin},
    names,
    observe::{Answer, Definitions, Question},
    view::NodeView,
};

/// A run that takes away more than this share of the owned labels stops and asks.
const MASS_REMOVAL_PERCENT: usize = 10;

/// One node with its Berth, ready to be decided upon.
struct Item {
    berth: Berth,
    live: Option<NodeView>,
    requested: bool,
    others: Vec<Berth>,
    pin: Pin,
}

/// What follows for one node.
struct Planned {
    node: String,
    conflicts: usize,
    wake_after: Option<Duration>,
    unexplained_removals: usize,
    work: Vec<Work>,
}

/// How many nodes are resolved together. More would be hardly faster, and after a restart all of them are due at once:
/// what is needed to resolve ten thousand takes more memory than what is kept of them.
const RESOLVED_TOGETHER: usize = 256;

impl Engine {
    /// Decides about every dirty node that no job is running for.
    pub(super) fn decide(&mut self) {
        let names: Vec<String> = self.state.dirty.difference(&self.busy).cloned().collect();
        if names.is_empty() {
            return;
        }
        for name in &names {
            self.state.dirty.remove(name);
        }
        let (reserved, others): (Vec<String>, Vec<String>) = names
            .into_iter()
            .partition(|name| !self.state.berths_of(name).is_empty());
        for name in &others {
            self.state.gone.remove(name);
            self.conflicts.remove(name);
            self.adopt(name);
        }
        let mut settings = Settings {
            now: (self.options.clock)(),
            hold_removals: self.brake,
            conflicts: self.options.conflicts,
        };
        let mut planned = self.plan(&reserved, &settings);
        if !self.brake && !self.options.allow_mass_removal && self.is_mass_removal(&planned) {
            self.brake = true;
            settings.hold_removals = true;
            planned = self.plan(&reserved, &settings);
        }
        self.metrics
            .decisions
            .inc_by(u64::try_from(planned.len()).unwrap_or_default());
        for planned in planned {
            self.enqueue(planned);
        }
        self.count_phases();
    }

    /// What follows for each of these nodes. Nothing of it is done yet: the brake looks at all of them together.
    fn plan(&mut self, names: &[String], settings: &Settings) -> Vec<Planned> {
        let mut planned = Vec::with_capacity(names.len());
        for names in names.chunks(RESOLVED_TOGETHER) {
            let mut items: Vec<Item> = names.iter().filter_map(|name| self.item(name)).collect();
            let answers = resolve(&mut self.definitions, &mut items, &self.state.gone);
            let decisions = decide_all(&self.definitions, &items, &answers, settings);
            let definitions = &self.definitions;
            let pairs = items.into_iter().zip(decisions);
            planned.extend(pairs.map(|(item, decision)| item.planned(decision, definitions, settings)));
        }
        planned
    }

    fn item(&self, name: &str) -> Option<Item> {
        let mut berths = self.state.berths_of(name).into_iter();
        let berth = berths.next()?.clone();
        let live = self.state.live(name);
        let pin = pin(
            &self.definitions,
            &berth,
            live.as_ref().or_else(|| self.state.gone.get(name)),
        );
        Some(Item {
            requested: live.is_none() && self.state.is_requested(name),
            berth,
            live,
            others: berths.cloned().collect(),
            pin,
        })
    }

    fn is_mass_removal(&self, planned: &[Planned]) -> bool {
        let removed: usize = planned.iter().map(|planned| planned.unexplained_removals).sum();
        if removed == 0 {
            return false;
        }
        let owned: usize = self
            .state
            .nodes
            .values()
            .map(|node| node.owned().map_or(0, |owned| owned.len()))
            .sum();
        let too_many = removed * 100 > owned * MASS_REMOVAL_PERCENT;
        if too_many {
            warn!(
                removed,
                owned, "too many labels would go at once; nothing is removed without --allow-mass-removal"
            );
        }
        self.metrics.held_removals.set(if too_many {
            i64::try_from(removed).unwrap_or(i64::MAX)
        } else {
            0
        });
        too_many
    }

    fn enqueue(&mut self, planned: Planned) {
        let name = planned.node;
        self.state.gone.remove(&name);
        self.conflicts.insert(name.clone(), planned.conflicts);
        if let Some(wait) = planned.wake_after {
            self.wakes.insert((tokio::time::Instant::now() + wait, name.clone()));
        }
        if !planned.work.is_empty() {
            self.busy.insert(name.clone());
            self.jobs.push_back(Job {
                key: Key::Node(name),
                work: planned.work,
            });
        }
    }

    fn count_phases(&self) {
        for phase in [Phase::Reserved, Phase::Occupied, Phase::Vacant, Phase::Released] {
            let count = self
                .state
                .berths
                .values()
                .filter(|berth| berth.phase() == phase)
                .count();
            self.metrics.berths(phase, count);
        }
    }
}

impl Item {
    fn planned(self, decision: Decision, definitions: &Definitions, settings: &Settings) -> Planned {
        let mut planned = Planned {
            node: self.berth.node_name(),
            conflicts: decision.conflicts,
            wake_after: decision.wake_after,
            unexplained_removals: decision.unexplained_removals,
            work: Vec::new(),
        };
        let first = self.berth.name_any();
        if self.berth.metadata.deletion_timestamp.is_some() {
            let guards = |finalizer: &String| finalizer == names::FINALIZER;
            if self.berth.finalizers().iter().any(guards) {
                planned.work.push(Work::Finish {
                    node: self.live.as_ref().map(|node| node.uid.clone()),
                    berth: Box::new(self.berth),
                });
            }
        } else {
            planned.work.extend(apply(self.berth, decision));
        }
        for other in self.others {
            if other.metadata.deletion_timestamp.is_some() {
                planned.work.push(Work::Finish {
                    berth: Box::new(other),
                    node: None,
                });
                continue;
            }
            let subject = Subject {
                berth: &other,
                node: None,
                requested: false,
                duplicate_of: Some(&first),
            };
            let decision = decide(definitions, subject, &Pin::default(), &Answer::default(), settings);
            planned.work.extend(apply(other, decision));
        }
        planned
    }
}

/// A job only where something is to be written.
fn apply(berth: Berth, decision: Decision) -> Option<Work> {
    let unguarded = !berth.finalizers().iter().any(|finalizer| finalizer == names::FINALIZER);
    if decision.node.is_none() && decision.status_patch(&berth).is_none() && !unguarded {
        return None;
    }
    let status_later = !unguarded && decision.notes.is_empty() && is_only_a_record(&berth, &decision.status);
    Some(Work::Apply {
        status_later,
        berth: Box::new(berth),
        node: decision.node,
        status: Box::new(decision.status),
        notes: decision.notes,
    })
}

/// Whether the status only repeats what the Node says itself: should it not be written, deciding anew gives it again. Then
/// labels of other Nodes come first.
fn is_only_a_record(berth: &Berth, after: &BerthStatus) -> bool {
    let before = berth.status.clone().unwrap_or_default();
    let mut recorded = after.clone();
    recorded.labels.clone_from(&before.labels);
    recorded.conditions.clone_from(&before.conditions);
    recorded.observed_generation = before.observed_generation;
    recorded == before
}

/// Resolves all items. A Berth that says nothing about its pool, where no rule does either, keeps the pool that its Node
/// is in.
fn resolve(definitions: &mut Definitions, items: &mut [Item], gone: &HashMap<String, NodeView>) -> Vec<Answer> {
    let mut answers = ask(definitions, items.iter());
    let mut open = BTreeSet::new();
    for (index, (item, answer)) in items.iter_mut().zip(&answers).enumerate() {
        if answer.pool.is_some() || answer.error().is_some() || item.berth.spec.pool.is_some() {
            continue;
        }
        let node = item.live.as_ref().or_else(|| gone.get(&item.berth.node_name()));
        let found = node
            .and_then(|node| definitions.placement(&node.name, &node.labels).ok())
            .and_then(|placement| placement.primary().map(ToString::to_string));
        let kept = || item.berth.status.as_ref().and_then(|status| status.pool.clone());
        let pool = found.or_else(kept).filter(|pool| definitions.has_pool(pool));
        if let Some(pool) = pool {
            item.pin.pool = Some(pool);
            open.insert(index);
        }
    }
    let second = ask(definitions, open.iter().filter_map(|index| items.get(*index)));
    for (index, answer) in open.into_iter().zip(second) {
        if let Some(slot) = answers.get_mut(index) {
            *slot = answer;
        }
    }
    answers
}

fn ask<'a>(definitions: &mut Definitions, items: impl Iterator<Item = &'a Item>) -> Vec<Answer> {
    let items: Vec<(&Item, String)> = items.map(|item| (item, item.berth.node_name())).collect();
    let questions: Vec<Question<'_>> = items
        .iter()
        .map(|(item, name)| Question {
            node: name,
            berth: Some(&item.berth),
            pin: item.pin.pool.as_deref().map(Some),
            live: item.live.as_ref(),
        })
        .collect();
    definitions.resolve(&questions)
}

fn decide_all(definitions: &Definitions, items: &[Item], answers: &[Answer], settings: &Settings) -> Vec<Decision> {
    let decisions = items.iter().zip(answers).map(|(item, answer)| {
        let subject = Subject {
            berth: &item.berth,
            node: item.live.as_ref(),
            requested: item.requested,
            duplicate_of: None,
        };
        decide(definitions, subject, &item.pin, answer, settings)
    });
    decisions.collect()
}
