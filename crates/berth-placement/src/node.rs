//! A node as placement sees it.

use std::{collections::BTreeMap, net::IpAddr};

use ipnet::IpNet;

/// A node with what decides about routers and egress addresses.
#[derive(Clone, Debug, Default)]
pub struct PlacementNode {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// It is not ready. A node of which nothing is known counts as ready.
    pub not_ready: bool,
    /// Its own addresses, each with the prefix of the network.
    pub primary: Vec<IpNet>,
    /// Further addresses, each with the prefix of the network.
    pub secondary: Vec<IpNet>,
    /// Addresses of which the network is not known.
    pub addresses: Vec<IpAddr>,
    /// Networks that it is in without a known address, by DHCP.
    pub joined: Vec<IpNet>,
    /// What a cloud allows; `None` on bare metal.
    pub capacity: Option<Capacity>,
    /// The remote site it stands in.
    pub remote_site: Option<String>,
}

/// How many egress addresses a cloud lets a node have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capacity {
    /// Of both families together; where it is given the others do not count.
    pub total: Option<u32>,
    /// IPv4.
    pub ipv4: Option<u32>,
    /// IPv6.
    pub ipv6: Option<u32>,
}

/// A taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Key.
    pub key: String,
    /// Value.
    pub value: String,
    /// Effect.
    pub effect: String,
}

impl PlacementNode {
    /// Every network the node is in.
    pub fn networks(&self) -> impl Iterator<Item = IpNet> {
        let all = self.primary.iter().chain(&self.joined).chain(&self.secondary);
        all.map(IpNet::trunc)
    }

    /// Every address the node has.
    pub fn host_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let known = self.primary.iter().chain(&self.secondary).map(IpNet::addr);
        known.chain(self.addresses.iter().copied())
    }

    /// Whether anything is known of its networks.
    pub fn has_networks(&self) -> bool {
        !(self.primary.is_empty() && self.joined.is_empty() && self.secondary.is_empty())
    }

    /// Whether the node is in a network that contains the address.
    pub fn is_beside(&self, address: IpAddr) -> bool {
        self.networks().any(|network| network.contains(&address))
    }

    /// The networks as text, for messages.
    pub(crate) fn networks_in_words(&self) -> String {
        let mut names: Vec<String> = self.networks().map(|network| network.to_string()).collect();
        names.dedup();
        if names.is_empty() {
            "none that is known".to_owned()
        } else {
            names.join(", ")
        }
    }
}
