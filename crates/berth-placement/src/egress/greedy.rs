//! What OVN-Kubernetes' cluster manager would do: object by object, address by address, the first node that fits.

use super::{EgressIp, Wanted, classes::limit, leg, on_secondary};
use crate::node::PlacementNode;

/// Simulates the assignment of all objects, by name. An address that a node in `kept` hosts already stays there: OVN-Kubernetes
/// moves nothing that can stay.
pub(super) fn simulate(
    nodes: &[PlacementNode],
    egress: &[EgressIp],
    wanted: &[Wanted],
    serving: &impl Fn(usize) -> bool,
    kept: &[Option<usize>],
) -> Vec<Option<usize>> {
    let mut load: Vec<[u32; 2]> = vec![[0, 0]; nodes.len()];
    let mut result = vec![None; wanted.len()];
    for ((kept, want), result) in kept.iter().zip(wanted).zip(&mut result) {
        if let (Some(node), Some(address)) = (kept, want.usable()) {
            load[*node][usize::from(!address.is_ipv4())] += 1;
            *result = Some(*node);
        }
    }
    let eligible: Vec<usize> = (0..nodes.len()).filter(|node| serving(*node)).collect();
    let mut order: Vec<usize> = (0..egress.len()).collect();
    order.sort_by(|a, b| egress[*a].name.cmp(&egress[*b].name));
    let mut of_object: Vec<Vec<usize>> = vec![Vec::new(); egress.len()];
    for (number, want) in wanted.iter().enumerate() {
        of_object[want.egress_ip].push(number);
    }
    for object in order {
        // Sorted once for each object, by how much each node has already.
        let mut assignable = eligible.clone();
        assignable.sort_by_key(|node| load[*node].iter().sum::<u32>());
        let mut used: Vec<usize> = of_object[object].iter().filter_map(|number| result[*number]).collect();
        for &number in &of_object[object] {
            let Some(address) = wanted[number].usable().filter(|_| result[number].is_none()) else {
                continue;
            };
            // Nodes with the address on a further interface push all others out, for the rest of the object too.
            if assignable.iter().any(|node| on_secondary(&nodes[*node], address)) {
                assignable.retain(|node| on_secondary(&nodes[*node], address));
            }
            let family = usize::from(!address.is_ipv4());
            let found = assignable.iter().copied().find(|node| {
                let free = nodes[*node].capacity.is_none_or(|capacity| {
                    let has = match capacity.total {
                        Some(_) => load[*node].iter().sum(),
                        None => load[*node][family],
                    };
                    limit(capacity, address).is_none_or(|limit| has < limit)
                });
                free && !used.contains(node) && leg(&nodes[*node], address).is_some()
            });
            if let Some(node) = found {
                used.push(node);
                load[node][family] += 1;
                result[number] = Some(node);
            }
        }
    }
    result
}
