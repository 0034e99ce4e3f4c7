//! The smallest set of nodes to label, so that every address that can be placed is placed.
//!
//! Nodes of one class are alike, so the question is how many of each class. Where an address finds no place, every remedy takes one
//! more node of a class that the search for a place ran into; the search branches over those and nothing else. Where each node
//! is in one network there is never a choice, and the answer is found straight away.

use super::{Classes, Wanted, assign, small};
use crate::node::PlacementNode;

/// How many placements are tried before the best one found so far is taken.
const BUDGET: usize = 4_000;

/// The nodes to label.
#[derive(Debug)]
pub(super) struct Cover {
    /// By their place in the input.
    pub(super) nodes: Vec<usize>,
    /// Which of them hosts each address.
    pub(super) host: Vec<Option<usize>>,
}

/// Finds the smallest set. Among sets of one size, the one with the most nodes that have the label already.
pub(super) fn smallest(nodes: &[PlacementNode], wanted: &[Wanted], classes: &Classes, labelled: &[bool]) -> Cover {
    // Within a class: ready nodes before others, those with the label before others.
    let members: Vec<Vec<usize>> = classes
        .members
        .iter()
        .map(|members| {
            let mut members: Vec<usize> = members.iter().copied().filter(|node| !nodes[*node].not_ready).collect();
            members.sort_by_key(|node| (!labelled[*node], *node));
            members
        })
        .collect();
    let all: Vec<u32> = members.iter().map(|members| small(members.len())).collect();
    let reachable = assign::by_class(wanted, classes, &all, |_| true);
    let goal: Vec<bool> = reachable.class.iter().map(Option::is_some).collect();
    let had: Vec<u32> = members
        .iter()
        .map(|members| small(members.iter().filter(|node| labelled[**node]).count()))
        .collect();
    let mut search = Search {
        wanted,
        classes,
        all: &all,
        had: &had,
        goal: &goal,
        tried: 0,
        best: None,
    };
    let mut counts = vec![0; classes.len()];
    search.descend(&mut counts);
    let counts = search.best.map_or(all, |(_, counts)| counts);
    let chosen: Vec<Vec<usize>> = members
        .iter()
        .zip(&counts)
        .map(|(members, count)| members.iter().copied().take(*count as usize).collect())
        .collect();
    let by_class = assign::by_class(wanted, classes, &counts, |number| goal[number]);
    let objects = wanted.iter().map(|want| want.egress_ip + 1).max().unwrap_or_default();
    Cover {
        host: assign::spread(nodes.len(), objects, wanted, &by_class.class, &chosen),
        nodes: chosen.into_iter().flatten().collect(),
    }
}

/// What a set of nodes costs: its size, then how many of them get the label anew.
type Cost = (u32, u32);

struct Search<'a> {
    wanted: &'a [Wanted],
    classes: &'a Classes,
    all: &'a [u32],
    had: &'a [u32],
    goal: &'a [bool],
    tried: usize,
    best: Option<(Cost, Vec<u32>)>,
}

impl Search<'_> {
    fn cost(&self, counts: &[u32]) -> Cost {
        let anew = counts
            .iter()
            .zip(self.had)
            .map(|(count, had)| count.saturating_sub(*had));
        (counts.iter().sum(), anew.sum())
    }

    /// Whether a set this dear cannot win, `more` nodes still missing at least.
    fn is_hopeless(&self, counts: &[u32], more: u32) -> bool {
        let (size, anew) = self.cost(counts);
        self.best.as_ref().is_some_and(|(best, _)| (size + more, anew) >= *best)
    }

    fn descend(&mut self, counts: &mut Vec<u32>) {
        // Without a choice there is no need to come back here.
        let entered = counts.clone();
        loop {
            if self.is_hopeless(counts, 0) || (self.tried >= BUDGET && self.best.is_some()) {
                break;
            }
            self.tried += 1;
            let found = assign::by_class(self.wanted, self.classes, counts, |number| self.goal[number]);
            let missing = self
                .goal
                .iter()
                .zip(&found.class)
                .filter(|(goal, class)| **goal && class.is_none());
            let missing = small(missing.count());
            if missing == 0 {
                self.best = Some((self.cost(counts), counts.clone()));
                break;
            }
            let mut open: Vec<usize> = found
                .wanting
                .iter()
                .copied()
                .filter(|class| counts[*class] < self.all[*class])
                .collect();
            if self.is_hopeless(counts, 1) {
                break;
            }
            // First the class that takes most of what is missing, then those that have the label.
            let unplaced: Vec<usize> = (0..self.goal.len())
                .filter(|number| self.goal[*number] && found.class[*number].is_none())
                .collect();
            open.sort_by_key(|class| {
                let takes = unplaced
                    .iter()
                    .filter(|number| self.classes.class_hosts(*class, **number))
                    .count();
                let spare = counts[*class] < self.had[*class];
                (usize::MAX - takes, !spare, *class)
            });
            match open.as_slice() {
                [] => break,
                [only] => counts[*only] += 1,
                several => {
                    for class in several {
                        counts[*class] += 1;
                        self.descend(counts);
                        counts[*class] -= 1;
                    }
                    break;
                }
            }
        }
        *counts = entered;
    }
}
