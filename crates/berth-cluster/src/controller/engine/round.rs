//! Many nodes at once, in parts: what the first ones need is written while the others wait to be looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Planned;

/// How many nodes are resolved together. More would be hardly faster, and after a restart all of them are due at once:
/// what is needed to resolve ten thousand takes more memory than what is kept of them.
pub(super) const PART: usize = 256;

/// With so many jobs the writers have enough to do. Looking at further nodes would only take time from them.
pub(super) const ENOUGH_JOBS: usize = 64;

/// The nodes that are looked at in parts, because too many were due at once.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Nodes of pools that somebody changed: there a change is waited for.
    first: BTreeSet<String>,
    rest: BTreeSet<String>,
    /// What takes labels away, by node. The brake looks at all of the round together, so none of it is done before the end.
    withheld: BTreeMap<String, Planned>,
}

impl Round {
    /// Nodes that have not been looked at, and plans that are not carried out yet.
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.rest.len() + self.withheld.len()
    }

    /// Whether there is nothing to look at and no plan to carry out.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every node has been looked at.
    pub(super) fn is_over(&self) -> bool {
        self.first.is_empty() && self.rest.is_empty()
    }

    /// Whether something about this node is still to be decided or done.
    pub(super) fn has(&self, node: &str) -> bool {
        self.first.contains(node) || self.rest.contains(node) || self.withheld.contains_key(node)
    }

    pub(super) fn add(&mut self, node: String, first: bool) {
        if first {
            self.rest.remove(&node);
            self.first.insert(node);
        } else if !self.first.contains(&node) {
            self.rest.insert(node);
        }
    }

    /// The next part.
    pub(super) fn next_part(&mut self) -> Vec<String> {
        let mut part = Vec::new();
        while part.len() < PART
            && let Some(node) = self.first.pop_first().or_else(|| self.rest.pop_first())
        {
            part.push(node);
        }
        part
    }

    /// Takes a plan, and gives back what may be done at once: what takes nothing away, or does not count. A newer plan for a
    /// node takes the place of the one before.
    pub(super) fn withhold(&mut self, planned: Planned, counts: bool) -> Option<Planned> {
        if planned.removals == 0 || !counts {
            self.withheld.remove(&planned.node);
            return Some(planned);
        }
        self.withheld.insert(planned.node.clone(), planned);
        None
    }

    /// How many labels of some nodes would go: those that nobody asked for by touching the very node, and the others.
    pub(super) fn removals(&self, counts: impl Fn(&str) -> bool) -> (usize, usize) {
        let withheld = self.withheld.values().filter(|planned| counts(&planned.node));
        withheld.fold((0, 0), |(unasked, asked), planned| {
            if planned.asked {
                (unasked, asked + planned.removals)
            } else {
                (unasked + planned.removals, asked)
            }
        })
    }

    /// The nodes whose plans are withheld and that persons asked for.
    pub(super) fn asked(&self) -> impl Iterator<Item = &str> {
        let asked = self.withheld.values().filter(|planned| planned.asked);
        asked.map(|planned| planned.node.as_str())
    }

    /// The plans that waited for the end.
    pub(super) fn finish(&mut self) -> BTreeMap<String, Planned> {
        std::mem::take(&mut self.withheld)
    }

    /// Gives up the round. All its nodes have to be looked at anew.
    pub(super) fn give_up(&mut self) -> impl Iterator<Item = String> + use<> {
        let Self { first, rest, withheld } = std::mem::take(self);
        first.into_iter().chain(rest).chain(withheld.into_keys())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(node: &str, removals: usize) -> Planned {
        Planned {
            node: node.to_owned(),
            conflicts: 0,
            wake_after: None,
            removals,
            asked: false,
            held_removals: 0,
            work: Vec::new(),
        }
    }

    #[test]
    fn nodes_of_changed_pools_come_first_and_each_comes_once() {
        let mut round = Round::default();
        for index in 0..PART {
            round.add(format!("a{index:03}"), false);
        }
        round.add("z1".to_owned(), false);
        round.add("z1".to_owned(), true);
        round.add("z1".to_owned(), false);
        let part = round.next_part();
        assert_eq!((part.len(), part[0].as_str()), (PART, "z1"));
        assert!(!round.is_over() && round.has("a255"));
        assert_eq!(round.next_part(), ["a255"]);
        assert!(round.is_over());
    }

    #[test]
    fn removals_wait_for_the_end_and_are_counted_together() {
        let mut round = Round::default();
        round.add("c".to_owned(), false);
        assert!(round.withhold(planned("a", 2), true).is_none());
        assert!(round.withhold(planned("b", 3), true).is_none());
        assert!(round.withhold(planned("d", 0), true).is_some(), "nothing goes there");
        assert!(round.withhold(planned("e", 7), false).is_some(), "it does not count");
        assert_eq!(round.removals(|_| true), (5, 0));
        assert_eq!(round.removals(|node| node != "a"), (3, 0));
        assert!(round.withhold(planned("a", 0), true).is_some(), "a newer plan counts");
        assert_eq!(round.removals(|_| true), (3, 0));
        assert!(round.has("b") && !round.has("a"));
        assert_eq!(round.len(), 2);
        let again: Vec<String> = round.give_up().collect();
        assert_eq!(again, ["c", "b"], "what waits and what is withheld is looked at anew");
        assert_eq!(round.len(), 0);
    }
}
