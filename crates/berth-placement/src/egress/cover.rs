//! The smallest set of nodes to label, so that every address that can be placed is placed.
//!
//! Nodes of one class are alike, so the question is how many of each class. Where an address finds no place, every remedy takes one
//! more node of a class that the search for a place ran into; the search branches over those and nothing else. Where each node
//! is in one network there is never a choice, and the answer is found straight away.

use super::{Classes, Wanted, assign, small};
use crate::node::PlacementNode;

/// How many placements are tried before the best one found so far is taken. Small ones are those of a single object.
const BUDGET: usize = 64;
const SMALL_BUDGET: usize = 1_000;

/// The nodes to label.
#[derive(Debug)]
pub(super) struct Cover {
    /// By their place in the input.
    pub(super) nodes: Vec<usize>,
    /// Which of them hosts each address.
    pub(super) host: Vec<Option<usize>>,
    /// The search was cut short, so there may be a smaller set.
    pub(super) is_unsure: bool,
}

/// Finds the smallest set. Among sets of one size, the one with the most nodes that have the label already.
pub(super) fn smallest(nodes: &[PlacementNode], wanted: &[Wanted], classes: &Classes, labelled: &[bool]) -> Cover {
    // Within a class: those with the label first, then those that keep no pods away; masters are seldom meant.
    let members: Vec<Vec<usize>> = classes
        .members
        .iter()
        .map(|members| {
            let mut members: Vec<usize> = members.iter().copied().filter(|node| !nodes[*node].not_ready).collect();
            members.sort_by_key(|node| (!labelled[*node], !nodes[*node].taints.is_empty(), *node));
            members
        })
        .collect();
    let all: Vec<u32> = members.iter().map(|members| small(members.len())).collect();
    let numbers: Vec<usize> = (0..wanted.len()).collect();
    let placed = assign::by_class(wanted, classes, &all, &numbers).class;
    let goal: Vec<usize> = numbers.into_iter().filter(|number| placed[*number].is_some()).collect();
    let had: Vec<u32> = members
        .iter()
        .map(|members| small(members.iter().filter(|node| labelled[**node]).count()))
        .collect();
    // Without limits of a cloud objects do not get in each other's way, so that each is looked at by itself.
    let groups: Vec<Vec<usize>> = if classes.has_limits() {
        vec![goal.clone()]
    } else {
        goal.chunk_by(|a, b| wanted[*a].egress_ip == wanted[*b].egress_ip)
            .map(<[usize]>::to_vec)
            .collect()
    };
    let mut search = Search {
        wanted,
        classes,
        all: &all,
        had: &had,
        budget: if classes.has_limits() { BUDGET } else { SMALL_BUDGET },
        groups: &groups,
        best: None,
        is_cut_short: false,
    };
    search.descend(&mut vec![0; classes.len()], 0);
    let is_unsure = search.is_cut_short;
    let counts = search.best.map_or(all, |(_, counts)| counts);
    let chosen: Vec<Vec<usize>> = members
        .iter()
        .zip(&counts)
        .map(|(members, count)| members.iter().copied().take(*count as usize).collect())
        .collect();
    let mut class = vec![None; wanted.len()];
    for (number, found) in goal.iter().zip(assign::by_class(wanted, classes, &counts, &goal).class) {
        class[*number] = found;
    }
    let objects = wanted.iter().map(|want| want.egress_ip + 1).max().unwrap_or_default();
    Cover {
        host: assign::spread(nodes.len(), objects, wanted, &class, &chosen),
        nodes: chosen.into_iter().flatten().collect(),
        is_unsure,
    }
}

/// What a set of nodes costs: its size, then how many of them get the label anew.
type Cost = (u32, u32);

struct Search<'a> {
    wanted: &'a [Wanted],
    classes: &'a Classes,
    all: &'a [u32],
    had: &'a [u32],
    /// Addresses that are placed together.
    groups: &'a [Vec<usize>],
    /// How many more placements are tried.
    budget: usize,
    best: Option<(Cost, Vec<u32>)>,
    /// Something was not looked at for want of budget.
    is_cut_short: bool,
}

impl Search<'_> {
    fn cost(&self, counts: &[u32]) -> Cost {
        let anew = counts
            .iter()
            .zip(self.had)
            .map(|(count, had)| count.saturating_sub(*had));
        (counts.iter().sum(), anew.sum())
    }

    /// Whether a set this dear cannot win, with so many nodes still missing.
    fn is_hopeless(&self, counts: &[u32], more: u32) -> bool {
        let (size, anew) = self.cost(counts);
        self.best.as_ref().is_some_and(|(best, _)| (size + more, anew) >= *best)
    }

    /// Adds nodes until the groups from this one on are placed. More nodes never hurt, so that groups before it stay placed.
    fn descend(&mut self, counts: &mut Vec<u32>, mut group: usize) {
        let entered = counts.clone();
        loop {
            let Some(numbers) = self.groups.get(group) else {
                if !self.is_hopeless(counts, 0) {
                    self.best = Some((self.cost(counts), counts.clone()));
                }
                break;
            };
            if self.best.is_some() && self.budget == 0 {
                self.is_cut_short |= !self.is_hopeless(counts, 0);
                break;
            }
            self.budget = self.budget.saturating_sub(1);
            let found = assign::by_class(self.wanted, self.classes, counts, numbers);
            let unplaced: Vec<usize> = numbers
                .iter()
                .zip(&found.class)
                .filter(|(_, class)| class.is_none())
                .map(|(number, _)| *number)
                .collect();
            if unplaced.is_empty() {
                group += 1;
                continue;
            }
            if self.is_hopeless(counts, 1) {
                break;
            }
            match self.choices(counts, &found.wanting, &unplaced).as_slice() {
                [] => break,
                [only] => counts[*only] += 1,
                several => {
                    for class in several {
                        counts[*class] += 1;
                        self.descend(counts, group);
                        counts[*class] -= 1;
                    }
                    break;
                }
            }
        }
        *counts = entered;
    }

    /// The classes of which one more node can help, the most promising first. A class that can do all that another can is taken
    /// instead of it.
    fn choices(&self, counts: &[u32], wanting: &[usize], unplaced: &[usize]) -> Vec<usize> {
        let open: Vec<usize> = wanting
            .iter()
            .copied()
            .filter(|class| counts[*class] < self.all[*class])
            .collect();
        let has_label = |class: usize| counts[class] < self.had[class];
        let mut choices: Vec<usize> = open
            .iter()
            .copied()
            .filter(|class| {
                let better =
                    |other: &usize| self.classes.dominates(*other, *class) && (has_label(*other) || !has_label(*class));
                !open.iter().any(better)
            })
            .collect();
        choices.sort_by_key(|class| {
            let takes = unplaced
                .iter()
                .filter(|number| self.classes.class_hosts(*class, **number))
                .count();
            (usize::MAX - takes, !has_label(*class), *class)
        });
        choices
    }
}
