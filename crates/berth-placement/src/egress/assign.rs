//! The best placement: as many addresses as possible, at most one of an object on a node, evenly spread.

use std::collections::HashMap;

use super::{Classes, Wanted};
use crate::{flow::Flow, node::PlacementNode};

/// Which class hosts each address, with so many nodes of each class.
#[derive(Debug)]
pub(super) struct ByClass {
    /// The class of each address that was asked for, in that order.
    pub(super) class: Vec<Option<usize>>,
    /// The classes of which more nodes would let more addresses in: every way to place another address takes one of them.
    pub(super) wanting: Vec<usize>,
}

/// Matches addresses, by number, to classes. `counts` says how many nodes of each class may be used.
///
/// Where a cloud counts the families apart, IPv4 goes first: the two limits of a node and the one address of an object on it are
/// more than a flow can say at once. Everywhere else the matching is a largest one.
pub(super) fn by_class(wanted: &[Wanted], classes: &Classes, counts: &[u32], numbers: &[usize]) -> ByClass {
    let mut matching = Matching {
        wanted,
        classes,
        counts,
        used: HashMap::new(),
        result: ByClass {
            class: vec![None; numbers.len()],
            wanting: Vec::new(),
        },
    };
    let all: Vec<(usize, usize)> = numbers.iter().copied().enumerate().collect();
    if classes.counts_families_apart() {
        let ipv4 = |number: usize| {
            wanted
                .get(number)
                .and_then(Wanted::usable)
                .is_some_and(|address| address.is_ipv4())
        };
        let (first, second): (Vec<_>, Vec<_>) = all.iter().partition(|(_, number)| ipv4(*number));
        matching.phase(&first, true);
        matching.phase(&second, false);
    } else {
        matching.phase(&all, true);
    }
    matching.result.wanting.sort_unstable();
    matching.result.wanting.dedup();
    matching.result
}

struct Matching<'a> {
    wanted: &'a [Wanted],
    classes: &'a Classes,
    counts: &'a [u32],
    /// How many addresses of each object each class has taken.
    used: HashMap<(usize, usize), u32>,
    result: ByClass,
}

impl Matching<'_> {
    /// One flow: source, address, object and class, class, sink. Each address comes with its place in the result.
    fn phase(&mut self, addresses: &[(usize, usize)], ipv4: bool) {
        let (source, sink) = (0, 1);
        let mut flow = Flow::new(2);
        let mut ends: HashMap<usize, usize> = HashMap::new();
        let mut pairs: HashMap<(usize, usize), usize> = HashMap::new();
        let mut choices: Vec<(usize, (usize, usize), usize)> = Vec::new();
        for &(place, number) in addresses {
            let vertex = flow.vertex();
            flow.edge(source, vertex, 1);
            let object = self.wanted[number].egress_ip;
            for &class in self.classes.hosting(number) {
                let count = self.counts[class];
                let end = *ends.entry(class).or_insert_with(|| {
                    let end = flow.vertex();
                    flow.edge(end, sink, self.classes.limit(class, ipv4).saturating_mul(count));
                    end
                });
                let key = (object, class);
                // The nodes of a class host one address of each object.
                let free = count.saturating_sub(self.used.get(&key).copied().unwrap_or_default());
                let pair = *pairs.entry(key).or_insert_with(|| {
                    let pair = flow.vertex();
                    flow.edge(pair, end, free);
                    pair
                });
                choices.push((place, key, flow.edge(vertex, pair, 1)));
            }
        }
        flow.run(source, sink);
        for (place, key, edge) in choices {
            if flow.is_used(edge) {
                self.result.class[place] = Some(key.1);
                *self.used.entry(key).or_default() += 1;
            }
        }
        let reachable = flow.reachable(source);
        let wanting = pairs.iter().filter(|(_, pair)| reachable[**pair]);
        self.result.wanting.extend(wanting.map(|((_, class), _)| *class));
    }
}

/// The best placement on the nodes that serve.
pub(super) fn best(
    nodes: &[PlacementNode],
    objects: usize,
    wanted: &[Wanted],
    classes: &Classes,
    serving: &impl Fn(usize) -> bool,
) -> Vec<Option<usize>> {
    let members: Vec<Vec<usize>> = classes
        .members
        .iter()
        .map(|members| members.iter().copied().filter(|node| serving(*node)).collect())
        .collect();
    let counts: Vec<u32> = members.iter().map(|members| super::small(members.len())).collect();
    let numbers: Vec<usize> = (0..wanted.len()).collect();
    let by_class = by_class(wanted, classes, &counts, &numbers);
    spread(nodes.len(), objects, wanted, &by_class.class, &members)
}

/// Gives each address a node of its class: of each object at most one on a node, the least loaded first.
///
/// Taking the least loaded keeps the loads of a class within one of each other, so that a limit that holds for the class
/// holds for each node.
pub(super) fn spread(
    nodes: usize,
    objects: usize,
    wanted: &[Wanted],
    class: &[Option<usize>],
    members: &[Vec<usize>],
) -> Vec<Option<usize>> {
    let mut load: Vec<u32> = vec![0; nodes];
    let mut result = vec![None; wanted.len()];
    let mut of_object: Vec<Vec<(usize, usize)>> = vec![Vec::new(); objects];
    for (number, class) in class.iter().enumerate() {
        if let Some(class) = class {
            of_object[wanted[number].egress_ip].push((*class, number));
        }
    }
    for mut addresses in of_object {
        addresses.sort_unstable();
        let mut rest = addresses.as_slice();
        while let Some((class, _)) = rest.first().copied() {
            let here = rest.partition_point(|(other, _)| *other == class);
            let (these, others) = rest.split_at(here);
            rest = others;
            let mut free: Vec<usize> = members[class].clone();
            free.sort_by_key(|node| (load[*node], *node));
            for ((_, number), node) in these.iter().zip(free) {
                load[node] += 1;
                result[*number] = Some(node);
            }
        }
    }
    result
}
