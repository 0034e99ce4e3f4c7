//! Egress addresses: tables from OVN-Kubernetes' behaviour, and properties against brute force.

#![expect(clippy::unwrap_used, reason = "helpers of tests: what cannot be read fails the test")]

use std::collections::{BTreeMap, HashMap};

use berth_placement::{
    Capacity, EGRESS_ASSIGNABLE, EgressContext, EgressIp, EgressPlan, PlacementNode, ProblemKind, Refusal, plan_egress,
};
use proptest::prelude::*;

fn node(name: &str, addresses: &[&str]) -> PlacementNode {
    let parsed = addresses.iter().map(|text| text.parse().unwrap());
    let (mut primary, mut secondary) = (Vec::new(), Vec::new());
    for address in parsed {
        let address: ipnet::IpNet = address;
        let taken = primary
            .iter()
            .any(|other: &ipnet::IpNet| other.addr().is_ipv4() == address.addr().is_ipv4());
        if taken {
            secondary.push(address);
        } else {
            primary.push(address);
        }
    }
    PlacementNode {
        name: name.to_owned(),
        primary,
        secondary,
        ..PlacementNode::default()
    }
}

fn labelled(name: &str, addresses: &[&str]) -> PlacementNode {
    PlacementNode {
        labels: BTreeMap::from([(EGRESS_ASSIGNABLE.to_owned(), String::new())]),
        ..node(name, addresses)
    }
}

fn egress(name: &str, addresses: &[&str]) -> EgressIp {
    EgressIp {
        name: name.to_owned(),
        addresses: addresses.iter().map(|&text| text.to_owned()).collect(),
        all_namespaces: false,
    }
}

fn plan(nodes: &[PlacementNode], objects: &[EgressIp]) -> EgressPlan {
    plan_egress(nodes, objects, &EgressContext::default())
}

fn kinds(plan: &EgressPlan, address: usize) -> Vec<ProblemKind> {
    plan.addresses[address]
        .problems
        .iter()
        .map(|problem| problem.kind)
        .collect()
}

#[test]
fn an_address_goes_only_where_its_network_is() {
    let nodes = [
        labelled("central", &["10.19.3.21/24"]),
        labelled("remote", &["10.19.142.21/24"]),
    ];
    let plan = plan(&nodes, &[egress("a", &["10.19.142.253"])]);
    let address = &plan.addresses[0];
    assert_eq!(address.feasible, [1]);
    assert_eq!(address.refused, [(0, Refusal::NoNetwork)]);
    assert_eq!((address.greedy, address.best), (Some(1), Some(1)));
    assert_eq!(kinds(&plan, 0), [ProblemKind::EgressSingleNode]);
    assert_eq!(plan.label, ["remote"]);
    // The other label serves nothing.
    assert_eq!(plan.problems.len(), 1);
    assert_eq!(plan.problems[0].1.kind, ProblemKind::EgressUselessLabel);
}

#[test]
fn addresses_are_compared_as_addresses() {
    let nodes = [
        labelled("a", &["fd00:19::21/64"]),
        labelled("b", &["fd00:19::22/64", "10.0.0.2/24"]),
    ];
    let objects = [egress("x", &["FD00:0019:0::0021", "fd00:19::0:50", "::ffff:10.0.0.9"])];
    let plan = plan(&nodes, &objects);
    assert_eq!(
        kinds(&plan, 0),
        [ProblemKind::EgressConflict],
        "another spelling of a's own address"
    );
    assert_eq!(plan.addresses[1].feasible, [0, 1]);
    assert_eq!(plan.addresses[2].feasible, [1], "an IPv4 address in IPv6 clothes");
}

#[test]
fn what_is_no_address_is_refused_in_ovns_words() {
    let plan = plan(
        &[labelled("a", &["10.0.0.1/24"])],
        &[egress("x", &["10.0.0.9/24", "nonsense"])],
    );
    for (address, text) in plan.addresses.iter().zip(["10.0.0.9/24", "nonsense"]) {
        assert_eq!(
            address.problems[0].message,
            format!("egress IP: {text} for object EgressIP: x is not a valid IP address")
        );
        assert_eq!(address.refused, [(0, Refusal::Unusable)]);
    }
}

#[test]
fn one_address_of_an_object_on_a_node() {
    let nodes = [labelled("a", &["10.0.0.1/24"]), labelled("b", &["10.0.0.2/24"])];
    let plan = plan(&nodes, &[egress("x", &["10.0.0.11", "10.0.0.12", "10.0.0.13"])]);
    let placed: Vec<Option<u32>> = plan.addresses.iter().map(|address| address.best).collect();
    assert_eq!(placed.iter().flatten().count(), 2);
    assert_eq!(
        plan.addresses.iter().filter(|address| address.greedy.is_some()).count(),
        2
    );
    let unplaced = placed.iter().position(Option::is_none).unwrap();
    assert_eq!(kinds(&plan, unplaced), [ProblemKind::EgressUnplaced]);
}

#[test]
fn the_greedy_order_can_fail_where_a_placement_exists() {
    // `a` is in both networks and comes first; the first address takes it, and the second has nowhere else to go.
    let nodes = [
        labelled("a", &["10.0.0.1/24", "10.0.1.1/24"]),
        labelled("b", &["10.0.0.2/24"]),
    ];
    let plan = plan(&nodes, &[egress("x", &["10.0.0.50", "10.0.1.50"])]);
    assert_eq!(plan.addresses[0].greedy, Some(0));
    assert_eq!(plan.addresses[1].greedy, None);
    assert_eq!(plan.addresses[0].best, Some(1));
    assert_eq!(plan.addresses[1].best, Some(0));
    assert!(kinds(&plan, 1).contains(&ProblemKind::EgressGreedy));
}

#[test]
fn a_secondary_network_narrows_the_nodes_for_the_rest_of_the_object() {
    let nodes = [
        labelled("a", &["10.0.0.1/24", "10.0.1.1/24"]),
        labelled("b", &["10.0.0.2/24"]),
    ];
    // After the address of the further network only `a` is left, and it has its address already.
    let plan = plan(&nodes, &[egress("x", &["10.0.1.50", "10.0.0.50"])]);
    assert_eq!(plan.addresses[0].greedy, Some(0));
    assert_eq!(plan.addresses[1].greedy, None);
}

#[test]
fn clouds_limit_addresses_and_have_no_secondary_networks() {
    let mut cloud = labelled("a", &["10.0.0.1/24", "10.0.1.1/24"]);
    cloud.capacity = Some(Capacity {
        ipv4: Some(1),
        ..Capacity::default()
    });
    let objects = [
        egress("x", &["10.0.0.50"]),
        egress("y", &["10.0.0.51"]),
        egress("z", &["10.0.1.50"]),
    ];
    let plan = plan(&[cloud], &objects);
    assert_eq!(plan.addresses.iter().filter_map(|address| address.best).count(), 1);
    assert_eq!(plan.addresses.iter().filter_map(|address| address.greedy).count(), 1);
    assert_eq!(plan.addresses[2].refused, [(0, Refusal::NoNetwork)]);
}

#[test]
fn nodes_to_label_are_as_few_as_possible_and_those_with_the_label_first() {
    let nodes = [
        node("a", &["10.0.0.1/24"]),
        labelled("b", &["10.0.0.2/24"]),
        node("c", &["10.0.1.3/24"]),
        // In both networks: one node for what `b` and `c` do together.
        node("d", &["10.0.0.4/24", "10.0.1.4/24"]),
    ];
    let two = [egress("x", &["10.0.0.50"]), egress("y", &["10.0.1.50"])];
    assert_eq!(plan(&nodes, &two).label, ["d"]);
    assert_eq!(plan(&nodes[..3], &two).label, ["b", "c"]);
    let both = [egress("x", &["10.0.0.50", "10.0.1.50"])];
    assert_eq!(plan(&nodes, &both).label.len(), 2);
    assert_eq!(plan(&nodes, &two).addresses[1].refused[2], (2, Refusal::NotLabelled));
}

#[test]
fn a_node_that_is_not_ready_hosts_nothing() {
    let mut down = labelled("a", &["10.0.0.1/24"]);
    down.not_ready = true;
    let plan = plan(&[down], &[egress("x", &["10.0.0.50"])]);
    assert_eq!(plan.addresses[0].refused, [(0, Refusal::NotReady)]);
    assert_eq!(plan.addresses[0].best, None);
    assert_eq!(plan.problems, [], "its label serves the address once it is ready");
}

/// A small cluster: for each node its networks and whether it is labelled; for each object the networks of its addresses.
fn small() -> impl Strategy<Value = (Vec<PlacementNode>, Vec<EgressIp>)> {
    let nodes = prop::collection::vec(
        (prop::collection::btree_set(0_u8..4, 1..3), any::<bool>(), 0_u8..5),
        0..6,
    );
    let objects = prop::collection::vec(prop::collection::vec(0_u8..5, 1..4), 0..4);
    (nodes, objects).prop_map(|(nodes, objects)| {
        let nodes = nodes
            .into_iter()
            .enumerate()
            .map(|(index, (networks, is_labelled, limit))| {
                let addresses: Vec<String> = networks
                    .iter()
                    .map(|network| format!("10.0.{network}.{}/24", index + 1))
                    .collect();
                let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
                let name = format!("n{index}");
                let mut made = if is_labelled {
                    labelled(&name, &addresses)
                } else {
                    node(&name, &addresses)
                };
                if limit > 2 {
                    made.capacity = Some(Capacity {
                        total: Some(u32::from(limit) - 3),
                        ..Capacity::default()
                    });
                }
                made
            })
            .collect();
        let mut used: HashMap<u8, u32> = HashMap::new();
        let objects = objects
            .into_iter()
            .enumerate()
            .map(|(index, networks)| {
                let addresses: Vec<String> = networks
                    .into_iter()
                    .map(|network| {
                        let count = used.entry(network).or_insert(100);
                        *count += 1;
                        format!("10.0.{network}.{count}")
                    })
                    .collect();
                let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
                egress(&format!("e{index}"), &addresses)
            })
            .collect();
        (nodes, objects)
    })
}

/// Whether the node can carry the address, said again in the plainest way.
fn can_host(node: &PlacementNode, address: &str) -> bool {
    let address: std::net::IpAddr = address.parse().unwrap();
    let networks: Vec<_> = match node.capacity {
        Some(capacity) if capacity.total == Some(0) => return false,
        Some(_) => node.primary.clone(),
        None => node.primary.iter().chain(&node.secondary).copied().collect(),
    };
    networks.iter().any(|network| network.contains(&address))
}

/// The most addresses that can be placed on these nodes, by trying everything.
fn brute_force(nodes: &[PlacementNode], objects: &[EgressIp], allowed: &dyn Fn(usize) -> bool) -> usize {
    fn descend(
        rest: &[(usize, &str)],
        nodes: &[PlacementNode],
        allowed: &dyn Fn(usize) -> bool,
        placed: &mut Vec<(usize, usize)>,
    ) -> usize {
        let Some(((object, address), rest)) = rest.split_first() else {
            return placed.len();
        };
        let mut best = descend(rest, nodes, allowed, placed);
        for (index, node) in nodes.iter().enumerate() {
            let load = placed.iter().filter(|(other, _)| *other == index).count();
            let free = node
                .capacity
                .and_then(|capacity| capacity.total)
                .is_none_or(|total| load < total as usize);
            if allowed(index) && free && can_host(node, address) && !placed.contains(&(index, *object)) {
                placed.push((index, *object));
                best = best.max(descend(rest, nodes, allowed, placed));
                placed.pop();
            }
        }
        best
    }
    let addresses: Vec<(usize, &str)> = objects
        .iter()
        .enumerate()
        .flat_map(|(index, object)| object.addresses.iter().map(move |address| (index, address.as_str())))
        .collect();
    descend(&addresses, nodes, allowed, &mut Vec::new())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_address_is_placed_where_it_cannot_be((nodes, objects) in small()) {
        let plan = plan(&nodes, &objects);
        for choose in [(|address| address.greedy) as fn(&berth_placement::AddressPlan) -> Option<u32>, |address| address.best] {
            let mut seen = Vec::new();
            let mut load = vec![0_u32; nodes.len()];
            for address in &plan.addresses {
                let Some(host) = choose(address) else { continue };
                prop_assert!(address.feasible.contains(&host));
                let node = &nodes[host as usize];
                prop_assert!(can_host(node, &address.written));
                prop_assert!(node.labels.contains_key(EGRESS_ASSIGNABLE));
                prop_assert!(!seen.contains(&(host, address.egress_ip)), "two of one object on a node");
                seen.push((host, address.egress_ip));
                load[host as usize] += 1;
            }
            for (node, load) in nodes.iter().zip(load) {
                let limit = node.capacity.and_then(|capacity| capacity.total).unwrap_or(u32::MAX);
                prop_assert!(load <= limit);
            }
        }
        for address in &plan.addresses {
            prop_assert_eq!(address.feasible.len() + address.refused.len(), nodes.len());
        }
    }

    #[test]
    fn the_matching_is_a_largest_one((nodes, objects) in small()) {
        let plan = plan(&nodes, &objects);
        let placed = plan.addresses.iter().filter(|address| address.best.is_some()).count();
        let greedy = plan.addresses.iter().filter(|address| address.greedy.is_some()).count();
        let is_labelled = |index: usize| nodes[index].labels.contains_key(EGRESS_ASSIGNABLE);
        prop_assert_eq!(placed, brute_force(&nodes, &objects, &is_labelled));
        prop_assert!(greedy <= placed);
    }

    #[test]
    fn no_smaller_set_of_labels_does((nodes, objects) in small()) {
        let plan = plan(&nodes, &objects);
        let chosen = |index: usize| plan.label.contains(&nodes[index].name);
        let possible = brute_force(&nodes, &objects, &|_| true);
        prop_assert_eq!(brute_force(&nodes, &objects, &chosen), possible);
        let smallest = (0_u32..1 << nodes.len())
            .filter(|set| brute_force(&nodes, &objects, &|index| set & (1 << index) != 0) == possible)
            .map(u32::count_ones)
            .min()
            .unwrap();
        // Which addresses are given up where not all fit can matter; where all fit the set is a smallest one.
        let all: usize = objects.iter().map(|object| object.addresses.len()).sum();
        if possible == all {
            prop_assert_eq!(plan.label.len(), smallest as usize);
        }
    }
}

#[test]
fn a_search_that_is_cut_short_says_so() {
    // Every machine is in two of forty networks, and every network has an address: the smallest set is a hard question.
    let networks = 40_u32;
    let nodes: Vec<PlacementNode> = (0..160_u32)
        .map(|number| {
            let one = number % networks;
            let other = (one + [1, 5, 11, 17][(number / networks) as usize]) % networks;
            node(
                &format!("n{number:03}"),
                &[
                    &format!("10.1.{one}.{}/24", number % 200 + 1),
                    &format!("10.1.{other}.{}/24", number % 200 + 1),
                ],
            )
        })
        .collect();
    let objects: Vec<EgressIp> = (0..networks)
        .map(|network| egress(&format!("e{network:02}"), &[&format!("10.1.{network}.250")]))
        .collect();
    let hard = plan(&nodes, &objects);
    let found: Vec<ProblemKind> = hard.problems.iter().map(|(_, problem)| problem.kind).collect();
    assert_eq!(found, [ProblemKind::EgressLabelSearch]);
    // The set that is proposed does nevertheless.
    let chosen: Vec<PlacementNode> = nodes
        .iter()
        .map(|node| PlacementNode {
            labels: if hard.label.contains(&node.name) {
                BTreeMap::from([(EGRESS_ASSIGNABLE.to_owned(), String::new())])
            } else {
                BTreeMap::new()
            },
            ..node.clone()
        })
        .collect();
    assert!(
        plan(&chosen, &objects)
            .addresses
            .iter()
            .all(|address| address.best.is_some())
    );
}

/// Where nobody knows whether a node fits, that is said.
#[test]
fn an_address_without_a_node_that_fits_is_never_silent() {
    let objects = [egress("a", &["10.19.142.253"])];
    assert_eq!(kinds(&plan(&[], &objects), 0), [ProblemKind::EgressUnknown]);
    assert_eq!(
        kinds(&plan(&[labelled("a", &[])], &objects), 0),
        [ProblemKind::EgressUnknown]
    );
    let elsewhere = [labelled("a", &[]), labelled("b", &["10.19.3.21/24"])];
    assert_eq!(kinds(&plan(&elsewhere, &objects), 0), [ProblemKind::EgressNoNode]);
}
