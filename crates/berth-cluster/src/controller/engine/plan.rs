//! From dirty nodes to jobs.

use std::time::Duration;

use kube::ResourceExt as _;

use super::{
    Engine, Job, Key,
    brake::Prospects,
    round::{ENOUGH_JOBS, PART},
};
use crate::controller::{
    kept::{KeptNode, text},
    writer::{Sight, Work},
};
use berth_decide::{
    Absence, Answer, Decision, Definitions, KubeletRequest, Look, NodeView, Pin, Settings, Subject, decide,
    is_in_place, made_by, names, resolve,
};
use berth_pools::KubeletLabels;
use berth_resources::{Berth, BerthStatus};

/// One node with its Berth, ready to be decided upon.
struct Item {
    berth: Berth,
    live: Option<NodeView>,
    /// Its last state, where it was deleted and that was not dealt with yet.
    gone: Option<NodeView>,
    requests: Vec<KubeletRequest>,
    /// What is known about the Node's end, where there is none.
    absence: Option<Absence>,
    others: Vec<Berth>,
    /// It was seen in its place under the definitions that hold.
    witnessed: bool,
    pin: Pin,
}

/// What follows for one node.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) node: String,
    pub(super) conflicts: usize,
    pub(super) wake_after: Option<Duration>,
    /// Labels that go, or would go if they were not held back.
    pub(super) removals: usize,
    /// A person asked for that by touching this very Node or Berth.
    pub(super) asked: bool,
    pub(super) held_removals: usize,
    pub(super) work: Vec<Work>,
}

impl Engine {
    /// Decides about dirty nodes that no job is running for: about a few at once, about many in parts.
    pub(super) fn decide(&mut self) {
        let mut names = self.due();
        if self.jobs.len() < ENOUGH_JOBS {
            let part = self.round.next_part();
            names.extend(part.into_iter().filter(|name| !self.is_blocked(name)));
        }
        if names.is_empty() && self.round.is_empty() {
            return;
        }
        let mut settings = Settings {
            now: self.options.clock.now(),
            hold_removals: self.brake.on,
            conflicts: self.options.conflicts,
        };
        let (reserved, others): (Vec<String>, Vec<String>) = names
            .into_iter()
            .partition(|name| !self.state.berths.of(name).is_empty());
        let reserved = self.look_at_machines(reserved);
        for name in &others {
            self.state.forget(name);
            self.conflicts.remove(name);
            self.held.remove(name);
            self.witnessed.remove(name.as_str());
            self.own_labels.forget(name);
            self.brake.unfinished.remove(name);
            if !self.state.nodes.contains_key(name.as_str()) {
                self.failures.remove(&Key::Node(name.clone()));
            }
            self.adopt(name);
        }
        let mut planned = self.plan(&reserved, &settings);
        let exempt = self.exempt(&planned);
        if let Some(name) = exempt.as_ref().filter(|_| self.brake.on) {
            planned.retain(|planned| planned.node != *name);
            let free = Settings {
                hold_removals: false,
                ..settings
            };
            planned.extend(self.plan(std::slice::from_ref(name), &free));
        }
        for planned in planned {
            let counts = !self.brake.on && exempt.as_ref() != Some(&planned.node);
            if let Some(planned) = self.round.withhold(planned, counts) {
                self.enqueue(planned);
            }
        }
        if !self.round.is_over() {
            return;
        }
        let holds = !self.round.is_empty() && self.check_brake();
        let mut withheld = self.round.finish();
        withheld.retain(|name, _| !self.is_blocked(name));
        if holds {
            settings.hold_removals = true;
            let names: Vec<String> = withheld.into_keys().collect();
            for planned in self.plan(&names, &settings) {
                self.enqueue(planned);
            }
        } else {
            for planned in withheld.into_values() {
                self.enqueue(planned);
            }
        }
        self.release_brake();
    }

    /// The nodes to look at now. When they are many, they are put into the round.
    fn due(&mut self) -> Vec<String> {
        let changed = std::mem::take(&mut self.state.changed_pools);
        let dirty = std::mem::take(&mut self.state.dirty);
        let due: Vec<String> = dirty.into_iter().filter(|name| !self.is_blocked(name)).collect();
        if due.len() <= PART {
            return due;
        }
        for name in due {
            let first = self.state.pool_of(&name).is_some_and(|pool| changed.contains(pool));
            self.round.add(name, first);
        }
        Vec::new()
    }

    /// Whether a job is running for the node. Then it is looked at when that is done, and not over and over until then.
    fn is_blocked(&mut self, name: &str) -> bool {
        let busy = self.busy.contains(name);
        if busy {
            self.blocked.insert(name.to_owned());
        }
        busy
    }

    /// What follows for each of these nodes. Nothing of it is done yet: the brake looks at all of them together.
    fn plan(&mut self, names: &[String], settings: &Settings) -> Vec<Planned> {
        let mut planned = self.planned(names, settings, None);
        for planned in &mut planned {
            planned.asked |= self.brake.unfinished.contains(&planned.node);
        }
        self.metrics
            .decisions
            .inc_by(u64::try_from(planned.len()).unwrap_or_default());
        planned
    }

    /// What follows for each of these nodes, or would follow if their Berths were as the documents want them.
    pub(super) fn planned(
        &mut self,
        names: &[String],
        settings: &Settings,
        prospects: Option<&Prospects>,
    ) -> Vec<Planned> {
        let mut planned = Vec::with_capacity(names.len());
        for names in names.chunks(PART) {
            let mut items: Vec<Item> = names.iter().filter_map(|name| self.item(name, prospects)).collect();
            let answers = resolve_all(&mut self.definitions, &mut items);
            for (item, answer) in items.iter().zip(&answers).filter(|_| prospects.is_none()) {
                self.state.places_changed |= self.own_labels.note(&item.berth, answer, self.definitions.site());
            }
            let answered: Vec<Answered<'_>> = items
                .iter()
                .zip(&answers)
                .map(|(item, answer)| Answered {
                    item,
                    answer,
                    registers: answer.pool.as_deref().and_then(|pool| self.state.unit(pool)),
                })
                .collect();
            let decisions = decide_all(&self.definitions, &answered, settings, !self.knows_documents());
            drop(answered);
            let definitions = &self.definitions;
            let pairs = items.into_iter().zip(decisions);
            planned.extend(pairs.map(|(item, decision)| item.planned(decision, definitions, settings)));
        }
        planned
    }

    fn item(&mut self, name: &str, prospects: Option<&Prospects>) -> Option<Item> {
        let berths = self.state.berths.of(name);
        let (first, others) = berths.split_first()?;
        let (mut berth, others) = (first.berth(), others.iter().map(|berth| berth.berth()).collect());
        let live = self.state.live(name);
        // The Nodes that are in their places are remembered.
        if live
            .as_ref()
            .is_some_and(|node| is_in_place(&self.definitions, &berth, node))
        {
            self.witnessed.insert(text(name));
        }
        if let Some(prospects) = prospects {
            prospects.prepare(&mut berth);
        }
        // What a machine asks for while its kubelet runs is not about its Node. The kubelet of one that was created again may
        // have come before anybody saw what it asked for.
        let waits = berth.status.as_ref().is_some_and(|status| status.departure.is_some());
        let asks = live
            .as_ref()
            .is_none_or(|live| waits || !live.has_kubelet || live.silent_since.is_some());
        let now = self.options.clock.now();
        Some(Item {
            requests: if asks {
                self.state.requests_of(name, now)
            } else {
                Vec::new()
            },
            absence: live.is_none().then(|| self.state.absence(name)),
            gone: self.state.gone.get(name).map(KeptNode::view),
            berth,
            live,
            others,
            witnessed: self.witnessed.contains(name),
            pin: Pin::default(),
        })
    }

    /// Has the objects read that stand for the machines of Nodes that went, and gives the nodes that need not wait for that.
    fn look_at_machines(&mut self, names: Vec<String>) -> Vec<String> {
        let mut rest = Vec::with_capacity(names.len());
        for name in names {
            let objects = self.state.unread_machine(&name);
            if objects.is_empty() {
                rest.push(name);
                continue;
            }
            self.busy.insert(name.clone());
            self.jobs.push_back(Job {
                key: Key::Node(name),
                work: vec![Work::Machine(objects)],
            });
        }
        rest
    }

    fn enqueue(&mut self, planned: Planned) {
        self.brake.note(&planned, tokio::time::Instant::now());
        let name = planned.node;
        self.state.gone.remove(name.as_str());
        match planned.conflicts {
            0 => self.conflicts.remove(&name),
            count => self.conflicts.insert(name.clone(), count),
        };
        match planned.held_removals {
            0 => self.held.remove(&name),
            count => self.held.insert(name.clone(), count),
        };
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
}

impl Item {
    fn planned(self, decision: Decision, definitions: &Definitions, settings: &Settings) -> Planned {
        let mut planned = Planned {
            node: self.berth.node_name(),
            conflicts: decision.conflicts,
            wake_after: decision.wake_after,
            removals: decision.removals,
            asked: decision.asked,
            held_removals: decision.held_removals,
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
            let sight = self
                .live
                .map_or(Sight::Nothing, |node| Sight::Version(node.resource_version));
            planned.work.extend(apply(self.berth, decision, sight));
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
                requests: &[],
                absence: None,
                registers: None,
                duplicate_of: Some(&first),
            };
            let decision = decide(definitions, subject, &Pin::default(), &Answer::default(), settings);
            planned.work.extend(apply(other, decision, Sight::NotNeeded));
        }
        planned
    }
}

/// A job only where something is to be written.
fn apply(berth: Berth, decision: Decision, sight: Sight) -> Option<Work> {
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
        sight,
    })
}

/// Whether the status only repeats what the Node says itself: should it not be written, deciding anew gives it again. Then
/// labels of other Nodes come first.
fn is_only_a_record(berth: &Berth, after: &BerthStatus) -> bool {
    let before = berth.status.clone().unwrap_or_default();
    let mut recorded = after.clone();
    recorded.labels.clone_from(&before.labels);
    recorded.earlier_labels.clone_from(&before.earlier_labels);
    recorded.node_version.clone_from(&before.node_version);
    recorded.conditions.clone_from(&before.conditions);
    recorded.observed_generation = before.observed_generation;
    recorded == before
}

/// Resolves all items.
fn resolve_all(definitions: &mut Definitions, items: &mut [Item]) -> Vec<Answer> {
    let mut looks: Vec<Look<'_>> = items
        .iter()
        .map(|item| {
            let (live, gone) = (item.live.as_ref(), item.gone.as_ref());
            Look::new(definitions, &item.berth, live, gone, item.witnessed)
        })
        .collect();
    let answers = resolve(definitions, &mut looks);
    let pins: Vec<Pin> = looks.into_iter().map(|look| look.pin).collect();
    for (item, pin) in items.iter_mut().zip(pins) {
        item.pin = pin;
    }
    answers
}

/// A node with all that is known about it.
struct Answered<'a> {
    item: &'a Item,
    answer: &'a Answer,
    registers: Option<&'a KubeletLabels>,
}

/// Decides about all of them. While the documents are not known, nothing goes from nodes whose Berths come from them.
fn decide_all(
    definitions: &Definitions,
    nodes: &[Answered<'_>],
    settings: &Settings,
    without_documents: bool,
) -> Vec<Decision> {
    let decisions = nodes.iter().map(|node| {
        let Answered {
            item,
            answer,
            registers,
        } = *node;
        let subject = Subject {
            berth: &item.berth,
            node: item.live.as_ref(),
            requests: &item.requests,
            absence: item.absence.as_ref(),
            registers,
            duplicate_of: None,
        };
        if without_documents && made_by(&item.berth) == Some(names::BY_DOCUMENTS) {
            let held = Settings {
                hold_removals: true,
                ..*settings
            };
            let decision = decide(definitions, subject, &item.pin, answer, &held);
            if !decision.asked {
                return decision;
            }
        }
        decide(definitions, subject, &item.pin, answer, settings)
    });
    decisions.collect()
}
