//! The best placement: as many addresses as possible, at most one of an object on a node, evenly spread.

use std::collections::HashMap;

use super::{Classes, Wanted};
use crate::{
    flow::Flow,
    node::{Capacity, PlacementNode},
};

/// Which class hosts each address, with so many nodes of each class.
#[derive(Debug)]
pub(super) struct ByClass {
    /// The class of each address.
    pub(super) class: Vec<Option<usize>>,
    /// The classes of which more nodes would let more addresses in: every way to place another address takes one of them.
    pub(super) wanting: Vec<usize>,
}

/// Matches addresses to classes. `counts` says how many nodes of each class may be used, `wants` which addresses count.
///
/// Where a cloud counts the families apart, IPv4 goes first: the two limits of a node and the one address of an object on it are
/// more than a flow can say at once. Everywhere else the matching is a largest one.
pub(super) fn by_class(wanted: &[Wanted], classes: &Classes, counts: &[u32], wants: impl Fn(usize) -> bool) -> ByClass {
    let apart = classes
        .capacity
        .iter()
        .flatten()
        .any(|capacity| capacity.total.is_none());
    let mut result = ByClass {
        class: vec![None; wanted.len()],
        wanting: Vec::new(),
    };
    let mut used: HashMap<(usize, usize), u32> = HashMap::new();
    let phases: &[Option<bool>] = if apart { &[Some(true), Some(false)] } else { &[None] };
    for &phase in phases {
        let counted = |number: usize| {
            let address = wanted.get(number).and_then(Wanted::usable).filter(|_| wants(number));
            address.is_some_and(|address| phase.is_none_or(|ipv4| address.is_ipv4() == ipv4))
        };
        let limit = |class: usize| match classes.capacity.get(class).copied().flatten() {
            None => u32::MAX,
            Some(Capacity { total: Some(total), .. }) => total,
            Some(capacity) => match phase {
                Some(false) => capacity.ipv6.unwrap_or(u32::MAX),
                _ => capacity.ipv4.unwrap_or(u32::MAX),
            },
        };
        match_phase(wanted, classes, counts, &counted, &limit, &mut used, &mut result);
    }
    result.wanting.sort_unstable();
    result.wanting.dedup();
    result
}

/// One flow: source, address, object and class, class, sink.
fn match_phase(
    wanted: &[Wanted],
    classes: &Classes,
    counts: &[u32],
    counted: &impl Fn(usize) -> bool,
    limit: &impl Fn(usize) -> u32,
    used: &mut HashMap<(usize, usize), u32>,
    result: &mut ByClass,
) {
    let (source, sink) = (0, 1);
    let mut flow = Flow::new(2);
    let ends: Vec<usize> = counts
        .iter()
        .enumerate()
        .map(|(class, count)| {
            let end = flow.vertex();
            flow.edge(end, sink, limit(class).saturating_mul(*count));
            end
        })
        .collect();
    let mut pairs: HashMap<(usize, usize), usize> = HashMap::new();
    let mut choices: Vec<(usize, usize, usize)> = Vec::new();
    for (number, want) in wanted.iter().enumerate().filter(|(number, _)| counted(*number)) {
        let vertex = flow.vertex();
        flow.edge(source, vertex, 1);
        for (class, end) in ends.iter().enumerate() {
            if classes.class_hosts(class, number) {
                let key = (want.egress_ip, class);
                // The nodes of a class host one address of each object.
                let free = counts[class].saturating_sub(used.get(&key).copied().unwrap_or_default());
                let pair = *pairs.entry(key).or_insert_with(|| {
                    let pair = flow.vertex();
                    flow.edge(pair, *end, free);
                    pair
                });
                choices.push((number, class, flow.edge(vertex, pair, 1)));
            }
        }
    }
    flow.run(source, sink);
    for (number, class, edge) in choices {
        if flow.is_used(edge) {
            result.class[number] = Some(class);
            *used.entry((wanted[number].egress_ip, class)).or_default() += 1;
        }
    }
    let reachable = flow.reachable(source);
    let wanting = pairs
        .iter()
        .filter(|(_, pair)| reachable[**pair])
        .map(|((_, class), _)| *class);
    result.wanting.extend(wanting);
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
    let by_class = by_class(wanted, classes, &counts, |_| true);
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
