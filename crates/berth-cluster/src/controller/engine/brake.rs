//! The brake on mass removal: a change counts as a whole, however it is carried out.
//!
//! Documents reach Nodes by many small steps, one Berth after the other. So what they would take away is counted when they
//! come, from what the Berths are about to be. What was taken away lately counts too: several changes in a row are one to
//! those who lose their labels.
//!
//! One Berth that a person edits, or one Node that a person relabels, does not count. Several of them within that time do:
//! nobody can tell a thousand Berths that are applied at once from a mistake.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use berth_labels::Brake;
use berth_site::Site;
use tokio::time::Instant;
use tracing::warn;

use super::{Engine, plan::Planned};
use berth_decide::{Reservation, Settings, names};
use berth_resources::{Berth, BerthSpec};

/// So long what was taken away counts together with what is to go.
const LATELY: Duration = Duration::from_mins(10);

/// What the engine knows about the brake.
#[derive(Debug, Default)]
pub(super) struct BrakeState {
    /// Nothing is taken away.
    pub(super) on: bool,
    /// The documents are others than those for which the brake was put on or not.
    pub(super) recount: bool,
    /// The specs that Berths are about to get from the documents: what they take away counts before the first of them is
    /// written.
    prospects: Prospects,
    /// What was taken away lately.
    pub(super) ledger: Ledger,
    /// What is being taken away, by node. An attempt that fails took nothing.
    under_way: HashMap<String, usize>,
    /// What persons asked for lately.
    pub(super) asked: Asked,
    /// Nodes whose persons have not got yet what they asked for. An attempt that fails is made again, and is no less theirs.
    pub(super) unfinished: BTreeSet<String>,
    /// Nodes that persons asked for and that are held back as some of many. They are not exempt one by one later.
    among_many: BTreeSet<String>,
}

impl BrakeState {
    /// Takes note of what is about to be done.
    pub(super) fn note(&mut self, planned: &Planned, now: Instant) {
        let removals = planned.removals.saturating_sub(planned.held_removals);
        if planned.asked && planned.held_removals > 0 {
            self.among_many.insert(planned.node.clone());
        } else if planned.asked {
            if removals > 0 {
                self.unfinished.insert(planned.node.clone());
            }
            self.asked.note(&planned.node, removals, now);
        } else if removals > 0 {
            self.under_way.insert(planned.node.clone(), removals);
        }
    }

    /// Takes note of how an attempt ended.
    pub(super) fn ended(&mut self, node: &str, written: bool, now: Instant) {
        if written {
            self.unfinished.remove(node);
        }
        let removals = self.under_way.remove(node).filter(|_| written);
        self.ledger.note(removals.unwrap_or_default(), now);
    }

    /// What was taken away lately or is about to go, beside what the round has: what nobody asked for, and what persons did.
    fn lately<'a>(&mut self, asked: impl Iterator<Item = &'a str>, now: Instant) -> (usize, usize) {
        self.asked.forget(now);
        let unasked = self.ledger.lately(now) + self.under_way.values().sum::<usize>();
        (unasked, self.asked.lately(asked))
    }

    /// Releases the brake.
    pub(super) fn release(&mut self) {
        self.on = false;
        self.among_many.clear();
    }
}

/// The nodes that persons touched lately, and how many labels that took away from each.
#[derive(Debug, Default)]
pub(super) struct Asked(HashMap<String, (Instant, usize)>);

impl Asked {
    fn note(&mut self, node: &str, removals: usize, now: Instant) {
        if removals > 0 {
            let (at, count) = self.0.entry(node.to_owned()).or_insert((now, 0));
            *at = now;
            *count = removals.max(*count);
        }
    }

    fn forget(&mut self, now: Instant) {
        self.0.retain(|_, (at, _)| now.duration_since(*at) <= LATELY);
    }

    /// What counts beside the nodes that are asked for now: nothing where it is one node in all.
    fn lately<'a>(&self, now: impl Iterator<Item = &'a str>) -> usize {
        let now: HashSet<&str> = now.collect();
        let before = self.0.iter().filter(|(node, _)| !now.contains(node.as_str()));
        let (nodes, removals) = before.fold((0, 0), |(nodes, sum), (_, (_, count))| (nodes + 1, sum + count));
        if nodes + now.len() > 1 { removals } else { 0 }
    }
}

/// What was taken away lately.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// At most one entry for each second.
    entries: VecDeque<(Instant, usize)>,
}

impl Ledger {
    pub(super) fn note(&mut self, removals: usize, now: Instant) {
        if removals == 0 {
            return;
        }
        match self.entries.back_mut() {
            Some((at, count)) if now.duration_since(*at) < Duration::from_secs(1) => *count += removals,
            _ => self.entries.push_back((now, removals)),
        }
        self.lately(now);
    }

    pub(super) fn lately(&mut self, now: Instant) -> usize {
        while let Some((at, _)) = self.entries.front()
            && now.duration_since(*at) > LATELY
        {
            self.entries.pop_front();
        }
        self.entries.iter().map(|(_, count)| count).sum()
    }
}

/// What the Berths of some nodes are about to be, by the documents, and how many labels each of these changes takes away.
#[derive(Debug, Default)]
pub(super) struct Prospects(HashMap<String, (BerthSpec, usize)>);

impl Prospects {
    /// Gives the Berth what it is about to have.
    pub(super) fn prepare(&self, berth: &mut Berth) {
        if let Some((spec, _)) = self.0.get(&berth.node_name()) {
            berth.spec = spec.clone();
            let labels = berth.metadata.labels.get_or_insert_default();
            labels.insert(names::RESERVED_BY.to_owned(), names::BY_DOCUMENTS.to_owned());
        }
    }
}

impl Engine {
    /// Whether it is known what the documents declare. A source that has not spoken, or is empty, proves nothing: what it
    /// declared before may be half carried out.
    pub(super) fn knows_documents(&self) -> bool {
        let declares = |site: &Arc<Site>| !(site.nodes.is_empty() && site.berths.is_empty());
        self.options.documents.is_none() || self.documents.as_ref().is_some_and(declares)
    }

    /// Takes other documents. Should it be known only now what is declared, every node is looked at again.
    pub(super) fn documents_came(&mut self, site: Arc<Site>) {
        let known = self.knows_documents();
        // Routes, and so what is admitted, depend on whose kubelets run.
        self.documents = Some(site);
        self.state.definitions_changed |= self.flavour() != self.definitions.flavour();
        self.documents_changed = true;
        self.brake.recount = self.knows_documents();
        if !known {
            self.state.all_dirty();
        }
    }

    /// Takes note of what Berths are about to be, and puts the brake on where that would take away too much.
    pub(super) fn foresee(&mut self, reservations: &[Reservation]) {
        let updates = reservations.iter().filter_map(|reservation| match reservation {
            Reservation::Update { name, spec } => {
                let berth = self.state.berths.get(name)?;
                Some((berth.node_name().to_string(), ((**spec).clone(), 0)))
            }
            Reservation::Create(_) | Reservation::Delete { .. } => None,
        });
        self.brake.prospects = Prospects(updates.collect());
        self.count_prospects();
        if std::mem::take(&mut self.brake.recount) && self.brake.on {
            // Other documents: what is held back may be declared again. Every node counts anew, and nothing is taken away
            // before that is done.
            self.brake.release();
            self.state.all_dirty();
            self.state.dirty.extend(self.round.give_up());
        }
        self.check_brake();
    }

    /// Counts what the coming changes of Berths would take away.
    pub(super) fn count_prospects(&mut self) {
        let nodes: Vec<String> = self.open_prospects().0.into_iter().map(str::to_owned).collect();
        let mut prospects = std::mem::take(&mut self.brake.prospects);
        let settings = Settings {
            now: self.options.clock.now(),
            hold_removals: false,
            conflicts: self.options.conflicts,
        };
        for planned in self.planned(&nodes, &settings, Some(&prospects)) {
            if let Some((_, removals)) = prospects.0.get_mut(&planned.node) {
                *removals = planned.removals;
            }
        }
        self.brake.prospects = prospects;
    }

    /// Puts the brake on where too much would go. Whether it is on.
    pub(super) fn check_brake(&mut self) -> bool {
        if self.brake.on || self.options.allow_mass_removal {
            return self.brake.on;
        }
        let (open, coming) = self.open_prospects();
        let (unasked, asked) = self.round.removals(|node| !open.contains(node));
        let unasked = coming + unasked;
        if unasked + asked == 0 {
            return false;
        }
        let (unasked_lately, asked_lately) = self.brake.lately(self.round.asked(), Instant::now());
        let lately = unasked_lately + asked_lately;
        let of_all = |removed: usize| Brake {
            removed,
            owned: self.owned_labels() + lately,
        };
        let all = of_all(unasked + asked + lately);
        // Persons named their nodes: a handful of removals is what they meant.
        if of_all(unasked + unasked_lately).holds() || all.holds_named() {
            warn!(
                removed = all.removed,
                owned = all.owned,
                "too many labels would go at once; nothing is removed without --allow-mass-removal"
            );
            self.brake.on = true;
        }
        self.brake.on
    }

    /// The one node that does not count, because a person touched it and nobody touched another one lately.
    pub(super) fn exempt(&mut self, planned: &[Planned]) -> Option<String> {
        self.brake.asked.forget(Instant::now());
        let now = planned
            .iter()
            .filter(|planned| planned.asked && planned.removals > 0 && !self.brake.among_many.contains(&planned.node));
        let mut now = now.map(|planned| planned.node.as_str());
        let before = self.brake.asked.0.keys().map(String::as_str);
        let all: BTreeSet<&str> = now.clone().chain(self.round.asked()).chain(before).collect();
        (all.len() <= 1).then(|| now.next().map(str::to_owned)).flatten()
    }

    /// Releases the brake when there is nothing left to hold back.
    pub(super) fn release_brake(&mut self) {
        let idle = self.state.dirty.is_empty() && self.round.is_empty() && self.busy.is_empty();
        if self.brake.on && idle && self.held.is_empty() && self.open_prospects().1 == 0 {
            self.brake.release();
        }
    }

    /// The nodes whose Berths are yet to change, and how many labels that takes away in all.
    fn open_prospects(&self) -> (HashSet<&str>, usize) {
        let open = self.brake.prospects.0.iter().filter(|(node, (spec, _))| {
            let berth = self.state.berths.first_of(node);
            berth.is_some_and(|berth| !berth.declares(spec))
        });
        open.fold((HashSet::new(), 0), |(mut nodes, sum), (node, (_, removals))| {
            nodes.insert(node.as_str());
            (nodes, sum + removals)
        })
    }

    /// How many labels Berth owns on the Nodes of the cluster. The Berths say it: a Node's own word is its kubelet's.
    fn owned_labels(&self) -> usize {
        let berths = self.state.berths.values();
        berths
            .filter(|berth| self.state.nodes.contains_key(berth.node_name()))
            .filter_map(|berth| berth.status.as_ref())
            .map(|status| status.labels.len())
            .sum()
    }
}
