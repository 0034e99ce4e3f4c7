//! Nodes that can host the same addresses are alike, so that a thousand nodes in a few networks are a few classes.

use std::{collections::HashMap, net::IpAddr};

use crate::node::{Capacity, PlacementNode};

/// How a node would carry an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leg {
    /// In the network of its own address.
    Primary,
    /// In another network; not in a cloud.
    Secondary,
}

/// How a node would carry an address, if it can.
pub(super) fn leg(node: &PlacementNode, address: IpAddr) -> Option<Leg> {
    let address = address.to_canonical();
    let holds = |networks: &[ipnet::IpNet]| networks.iter().any(|network| network.contains(&address));
    if holds(&node.primary) || holds(&node.joined) {
        Some(Leg::Primary)
    } else if node.capacity.is_none() && holds(&node.secondary) {
        Some(Leg::Secondary)
    } else {
        None
    }
}

/// Nodes by what they can host, whether or not they have the label.
#[derive(Debug)]
pub(super) struct Classes {
    /// The class of each node.
    pub(super) of: Vec<usize>,
    /// The nodes of each class.
    pub(super) members: Vec<Vec<usize>>,
    /// The addresses that each class can host, by number, as bits.
    hosts: Vec<Vec<u64>>,
    /// The classes that can host each address.
    hosting: Vec<Vec<usize>>,
    /// What a cloud allows the nodes of each class. Such a class has one node.
    capacity: Vec<Option<Capacity>>,
}

impl Classes {
    pub(super) fn of(nodes: &[PlacementNode], addresses: &[Option<IpAddr>]) -> Self {
        let words = addresses.len().div_ceil(64);
        // Nodes of the same networks are many, so what they can host is found out once.
        let mut by_networks: HashMap<(Vec<ipnet::IpNet>, bool), Vec<u64>> = HashMap::new();
        let mut by_bits: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut classes = Self {
            of: Vec::with_capacity(nodes.len()),
            members: Vec::new(),
            hosts: Vec::new(),
            hosting: Vec::new(),
            capacity: Vec::new(),
        };
        for (index, node) in nodes.iter().enumerate() {
            let mut networks: Vec<ipnet::IpNet> = if node.capacity.is_some() {
                node.primary.iter().map(ipnet::IpNet::trunc).collect()
            } else {
                node.networks().collect()
            };
            networks.sort_unstable();
            let mut bits = by_networks
                .entry((networks, node.capacity.is_some()))
                .or_insert_with(|| {
                    let mut bits = vec![0; words];
                    for (number, address) in addresses.iter().enumerate() {
                        if address.is_some_and(|address| leg(node, address).is_some()) {
                            bits[number / 64] |= 1 << (number % 64);
                        }
                    }
                    bits
                })
                .clone();
            if let Some(capacity) = node.capacity {
                for (number, address) in addresses.iter().enumerate() {
                    if address.is_some_and(|address| limit(capacity, address) == Some(0)) {
                        bits[number / 64] &= !(1 << (number % 64));
                    }
                }
            }
            let next = classes.members.len();
            let class = match node.capacity {
                Some(_) => next,
                None => *by_bits.entry(bits.clone()).or_insert(next),
            };
            if class == next {
                classes.members.push(Vec::new());
                classes.hosts.push(bits);
                classes.capacity.push(node.capacity);
            }
            classes.members[class].push(index);
            classes.of.push(class);
        }
        classes.hosting = (0..addresses.len())
            .map(|address| {
                let all = 0..classes.members.len();
                all.filter(|class| classes.class_hosts(*class, address)).collect()
            })
            .collect();
        classes
    }

    /// The classes that can host an address.
    pub(super) fn hosting(&self, address: usize) -> &[usize] {
        self.hosting.get(address).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether one class can host all that the other can, and more.
    pub(super) fn dominates(&self, class: usize, other: usize) -> bool {
        let mut pairs = self.hosts[class].iter().zip(&self.hosts[other]);
        self.capacity[class].is_none()
            && self.hosts[class] != self.hosts[other]
            && pairs.all(|(ours, theirs)| ours & theirs == *theirs)
    }

    /// How many addresses each node of a class may have; of one family, where a cloud counts them apart.
    pub(super) fn limit(&self, class: usize, ipv4: bool) -> u32 {
        let Some(capacity) = self.capacity.get(class).copied().flatten() else {
            return u32::MAX;
        };
        let family = if ipv4 { capacity.ipv4 } else { capacity.ipv6 };
        capacity.total.or(family).unwrap_or(u32::MAX)
    }

    /// Whether a cloud limits the addresses of a node.
    pub(super) fn has_limits(&self) -> bool {
        self.capacity.iter().any(Option::is_some)
    }

    /// Whether a cloud limits the addresses of each family by itself.
    pub(super) fn counts_families_apart(&self) -> bool {
        self.capacity.iter().flatten().any(|capacity| capacity.total.is_none())
    }

    /// Whether a node can host an address, label or not.
    pub(super) fn hosts(&self, node: usize, address: usize) -> bool {
        self.class_hosts(self.of[node], address)
    }

    /// Whether the nodes of a class can host an address.
    pub(super) fn class_hosts(&self, class: usize, address: usize) -> bool {
        self.hosts[class]
            .get(address / 64)
            .is_some_and(|word| word & (1 << (address % 64)) != 0)
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }
}

/// How many addresses of this one's family a node may have.
pub(super) fn limit(capacity: Capacity, address: IpAddr) -> Option<u32> {
    let family = if address.is_ipv4() {
        capacity.ipv4
    } else {
        capacity.ipv6
    };
    capacity.total.or(family)
}
