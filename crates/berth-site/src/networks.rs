//! Findings about networks and addresses: what contradicts itself, and what no machine could have.

use std::{collections::HashMap, net::IpAddr};

use berth_documents::{Diagnostic, Span};
use ipnet::IpNet;

use crate::{
    lints,
    model::{Name, Site},
    network::{Address, LoadBalancer, MacAddress, Machine, MachineAddress, Network},
    suggest::nearest,
};

/// Checks the networks of a site, its cluster's addresses and those of its machines.
pub(crate) fn check_networks(site: &Site) -> Vec<Diagnostic> {
    let machines = site.machines();
    let mut findings = Findings {
        site,
        diagnostics: Vec::new(),
    };
    findings.clusters();
    findings.references();
    findings.networks();
    findings.overlaps();
    findings.vips();
    for machine in &machines {
        findings.machine(machine);
    }
    findings.addresses_used_twice(&machines);
    findings.macs_used_twice(&machines);
    findings.diagnostics
}

struct Findings<'a> {
    site: &'a Site,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Findings<'a> {
    fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// A finding about something that Drydock does not refuse.
    fn push_beyond(&mut self, diagnostic: Diagnostic) {
        self.push(self.site.beyond_airship(diagnostic));
    }

    fn clusters(&mut self) {
        let Some((first, others)) = self.site.clusters.split_first() else {
            return;
        };
        for other in others {
            let message = format!(
                "the site describes cluster `{}`, and here a second one",
                first.name.value
            );
            self.push(
                Diagnostic::new(&lints::SEVERAL_CLUSTERS, other.name.span, message)
                    .with_help("the first one is used; keep each cluster's documents in a folder of their own")
                    .with_related(first.name.span, "the first one"),
            );
        }
    }

    /// Names of networks that no document describes. A site without networks describes none, and says nothing wrong.
    fn references(&mut self) {
        let site = self.site;
        if !site.networks.is_empty() {
            let hosts = site
                .nodes
                .iter()
                .map(|node| &node.data)
                .chain(site.profiles.iter().map(|profile| &profile.data))
                .map(|data| &data.network);
            for host in hosts {
                let interfaces = host.interfaces.iter().flat_map(|interface| &interface.networks);
                let names = interfaces.chain(&host.primary).chain(&host.oob.network);
                // `!name` removes what a profile says.
                names
                    .filter(|name| !name.value.starts_with('!'))
                    .for_each(|name| self.reference(name));
            }
            let addressing = site.nodes.iter().flat_map(|node| &node.addressing);
            for entry in addressing {
                // Drydock, too, wants to know the network of an address; where DHCP gives it, it asks nobody.
                match self.unknown(&entry.network) {
                    Some((diagnostic, _)) if entry.address.value != Address::Dhcp => self.push(diagnostic),
                    _ => self.reference(&entry.network),
                }
            }
            let racks = site.racks.iter().flat_map(|rack| &rack.local_networks);
            racks.for_each(|name| self.reference(name));
        }
        for cluster in &site.clusters {
            let remote = cluster.remote_sites.iter().flat_map(|site| &site.networks);
            cluster
                .machine_networks
                .iter()
                .chain(remote)
                .for_each(|name| self.reference(name));
        }
    }

    fn reference(&mut self, name: &Name) {
        if let Some((diagnostic, is_close)) = self.unknown(name) {
            self.push(self.site.unasked_reference(diagnostic, is_close));
        }
    }

    /// The finding about a name that no network has, and whether one has nearly that name.
    fn unknown(&self, name: &Name) -> Option<(Diagnostic, bool)> {
        if self.site.network(&name.value).is_some() {
            return None;
        }
        let message = format!("there is no network `{}`", name.value);
        let diagnostic = Diagnostic::new(&lints::UNKNOWN_NETWORK, name.span, message);
        let known = self.site.networks.iter().map(|network| &*network.name.value);
        Some(match nearest(&name.value, known) {
            Some(near) => (diagnostic.with_help(format!("did you mean `{near}`?")), true),
            None => (diagnostic, false),
        })
    }

    /// What a network says of itself has to lie in it.
    fn networks(&mut self) {
        for network in &self.site.networks {
            let Some(cidr) = network.cidr.as_ref().map(|cidr| cidr.value) else {
                continue;
            };
            let name = &network.name.value;
            if let Some(gateway) = &network.gateway
                && !cidr.contains(&gateway.value)
            {
                let message = format!(
                    "the gateway {} is not in network `{name}`, which is {cidr}",
                    gateway.value
                );
                self.push(Diagnostic::new(&lints::UNUSABLE_ADDRESS, gateway.span, message));
            }
            for range in &network.ranges {
                for end in [&range.start, &range.end] {
                    if !cidr.contains(&end.value) {
                        let message = format!("{} is not in network `{name}`, which is {cidr}", end.value);
                        self.push_beyond(Diagnostic::new(&lints::UNUSABLE_ADDRESS, end.span, message));
                    }
                }
                if range.start.value > range.end.value {
                    let message = format!("the range ends at {} before it starts", range.end.value);
                    self.push_beyond(Diagnostic::new(&lints::UNUSABLE_ADDRESS, range.end.span, message));
                }
            }
        }
    }

    fn overlaps(&mut self) {
        // What, the domain it is routed in, and where it is written.
        let mut all: Vec<(String, Option<&str>, IpNet, Span)> = Vec::new();
        for network in &self.site.networks {
            if let Some(cidr) = &network.cidr {
                let domain = network.routedomain.as_ref().map(|domain| domain.value.as_str());
                all.push((
                    format!("network `{}`", network.name.value),
                    domain,
                    cidr.value,
                    cidr.span,
                ));
            }
        }
        let own = all.len();
        for cluster in &self.site.clusters {
            for network in &cluster.cluster_networks {
                all.push((
                    "the cluster network".to_owned(),
                    None,
                    network.cidr.value,
                    network.cidr.span,
                ));
            }
            for network in &cluster.service_networks {
                all.push(("the service network".to_owned(), None, network.value, network.span));
            }
        }
        for (index, (what, domain, cidr, span)) in all.iter().enumerate() {
            for (number, (other, other_domain, other_cidr, other_span)) in all.iter().enumerate().take(index) {
                // Pods and services meet every domain that a node routes.
                let apart = index < own && number < own && domain != other_domain;
                if apart || !overlap(cidr, other_cidr) {
                    continue;
                }
                let message = format!("{what} is {cidr}, which overlaps {other_cidr} of {other}");
                let finding = Diagnostic::new(&lints::OVERLAPPING_NETWORKS, *span, message)
                    .with_related(*other_span, format!("{other} is described here"));
                self.diagnostics.push(self.site.beyond_airship(finding));
            }
        }
    }

    fn vips(&mut self) {
        let site = self.site;
        for cluster in &site.clusters {
            let named = !cluster.machine_networks.is_empty();
            let networks: Vec<&Network> = if named {
                site.machine_networks()
            } else {
                site.networks.iter().collect()
            };
            for vip in cluster.vips() {
                let Some(network) = networks.iter().find(|network| network.contains(vip.value)) else {
                    let which = if named { "machine network" } else { "network" };
                    let known: Vec<String> = networks
                        .iter()
                        .filter_map(|network| {
                            Some(format!("{} ({})", network.name.value, network.cidr.as_ref()?.value))
                        })
                        .collect();
                    let message = format!("the VIP {} is in no {which} of the site", vip.value);
                    let mut diagnostic = Diagnostic::new(&lints::VIP_WITHOUT_NETWORK, vip.span, message);
                    if !known.is_empty() {
                        diagnostic = diagnostic.with_help(format!("there are: {}", known.join(", ")));
                    }
                    self.push(diagnostic);
                    continue;
                };
                if let Some(problem) = unusable(network, vip.value) {
                    let message = format!("the VIP {} is {problem}", vip.value);
                    self.push(Diagnostic::new(&lints::UNUSABLE_ADDRESS, vip.span, message));
                }
            }
        }
    }

    fn machine(&mut self, machine: &Machine<'_>) {
        let name = &machine.name.value;
        if machine.addresses.is_empty() && !self.site.networks.is_empty() {
            let message = format!("node `{name}` has no address in any network");
            let finding = Diagnostic::new(&lints::NODE_WITHOUT_ADDRESS, machine.name.span, message)
                .with_help("give it an entry in `addressing`: a network and an address, or `dhcp`");
            // Drydock is content with the address of the management controller.
            if machine.oob_address.is_some() {
                self.push_beyond(finding);
            } else {
                self.push(finding);
            }
        }
        for address in machine.addresses.iter().chain(&machine.oob_address) {
            let (Some(network), Some(value)) = (address.described, address.address.known()) else {
                continue;
            };
            let finding = |problem: String| {
                let message = format!("the address {value} of node `{name}` is {problem}");
                Diagnostic::new(&lints::UNUSABLE_ADDRESS, address.span, message)
            };
            match &network.cidr {
                Some(cidr) if !cidr.value.contains(&value) => self.push(finding(format!(
                    "not in network `{}`, which is {}",
                    network.name.value, cidr.value
                ))),
                _ => {
                    if let Some(problem) = unusable(network, value) {
                        self.push_beyond(finding(problem));
                    }
                }
            }
        }
        self.remoteness(machine);
    }

    /// A site that is said to be remote and is not, or the other way round.
    fn remoteness(&mut self, machine: &Machine<'_>) {
        let Some(cluster) = self.site.cluster() else {
            return;
        };
        let name = &machine.name.value;
        match machine.remote_site {
            Some(site) if cluster.detects_remote_workers() && !self.site.predicts_remote(machine) => {
                let message = format!(
                    "node `{name}` stands in the remote site `{}`, but has an address in the network of a VIP, so it will not call itself a \
                     remote worker",
                    site.name.value
                );
                self.push(
                    Diagnostic::new(&lints::REMOTE_MISMATCH, machine.name.span, message)
                        .with_related(site.name.span, "the site is remote here"),
                );
            }
            None if self.site.predicts_remote(machine) => {
                let message = format!(
                    "node `{name}` has no address in the network of a VIP, so it will call itself a remote worker, but it stands in no \
                     remote site"
                );
                self.push(
                    Diagnostic::new(&lints::REMOTE_MISMATCH, machine.name.span, message)
                        .with_help(
                            "name its network in `remoteSites` of the Cluster, or give it an address beside the VIP",
                        )
                        .with_related(cluster.name.span, "the cluster and its remote sites"),
                );
            }
            _ => {}
        }
    }

    fn addresses_used_twice(&mut self, machines: &[Machine<'_>]) {
        let mut users: Vec<(Option<&str>, IpAddr, String, Span)> = Vec::new();
        for network in &self.site.networks {
            if let Some(gateway) = &network.gateway {
                users.push((
                    domain(network),
                    gateway.value,
                    format!("the gateway of network `{}`", network.name.value),
                    gateway.span,
                ));
            }
        }
        for cluster in &self.site.clusters {
            for (what, vips) in [("API", &cluster.api_vips), ("ingress", &cluster.ingress_vips)] {
                // One machine in front may serve both.
                let shared = cluster.load_balancer == LoadBalancer::UserManaged && what == "ingress";
                for vip in vips {
                    if !(shared && cluster.api_vips.iter().any(|api| same(api.value, vip.value))) {
                        let of = format!("the {what} VIP of cluster `{}`", cluster.name.value);
                        users.push((self.vip_domain(vip.value), vip.value, of, vip.span));
                    }
                }
            }
        }
        for machine in machines {
            let name = &machine.name.value;
            for address in &machine.addresses {
                user(&mut users, address, format!("node `{name}`"));
            }
            if let Some(address) = &machine.oob_address {
                user(
                    &mut users,
                    address,
                    format!("the management controller of node `{name}`"),
                );
            }
            if let Some((address, span)) = machine.bmc.and_then(controller_address)
                && machine
                    .oob_address
                    .as_ref()
                    .is_none_or(|oob| oob.address != Address::Static(address))
            {
                let of = format!("the management controller of node `{name}`");
                users.push((None, address, of, span));
            }
        }
        let mut seen: HashMap<(Option<&str>, IpAddr), (String, Span)> = HashMap::new();
        for (domain, address, what, span) in users {
            let key = (domain, address.to_canonical());
            match seen.get(&key) {
                // The same words at the same place are one statement, seen twice.
                Some((_, first)) if *first == span => {}
                Some((other, first)) => {
                    let message = format!("{address} is the address of {what} and of {other}");
                    let finding = Diagnostic::new(&lints::DUPLICATE_ADDRESS, span, message)
                        .with_related(*first, format!("the address of {other}"));
                    // Drydock compares the addresses of nodes, and nothing else.
                    let of_nodes = [&what, other].iter().all(|what| what.contains("node `"));
                    self.diagnostics.push(if of_nodes {
                        finding
                    } else {
                        self.site.beyond_airship(finding)
                    });
                }
                None => {
                    seen.insert(key, (what, span));
                }
            }
        }
    }

    fn vip_domain(&self, vip: IpAddr) -> Option<&'a str> {
        let network = self.site.networks.iter().find(|network| network.contains(vip));
        network.and_then(domain)
    }

    fn macs_used_twice(&mut self, machines: &[Machine<'_>]) {
        let mut users: Vec<(MacAddress, &str, Span)> = Vec::new();
        for machine in machines {
            let interfaces = machine.interfaces.iter().filter_map(|interface| interface.mac.as_ref());
            let macs = machine.boot_mac.into_iter().chain(interfaces);
            users.extend(macs.map(|mac| (mac.value, &*machine.name.value, mac.span)));
        }
        for berth in self.site.berths.iter().filter(|berth| !berth.release) {
            let macs = berth
                .mac_addresses
                .iter()
                .filter_map(|mac| Some((mac.value.parse().ok()?, &*berth.node_name.value, mac.span)));
            users.extend(macs);
        }
        let mut seen: HashMap<MacAddress, (&str, Span)> = HashMap::new();
        for (mac, node, span) in users {
            match seen.get(&mac) {
                // A machine boots from one of its own cards.
                Some((other, _)) if *other == node => {}
                Some((other, first)) => {
                    let message = format!("{mac} is the MAC address of node `{node}` and of node `{other}`");
                    let finding = Diagnostic::new(&lints::DUPLICATE_MAC, span, message)
                        .with_related(*first, format!("the card of `{other}`"));
                    self.diagnostics.push(self.site.beyond_airship(finding));
                }
                None => {
                    seen.insert(mac, (node, span));
                }
            }
        }
    }
}

fn user<'a>(users: &mut Vec<(Option<&'a str>, IpAddr, String, Span)>, address: &MachineAddress<'a>, what: String) {
    if let Some(value) = address.address.known() {
        users.push((address.described.and_then(domain), value, what, address.span));
    }
}

fn domain(network: &Network) -> Option<&str> {
    network.routedomain.as_ref().map(|domain| domain.value.as_str())
}

fn same(a: IpAddr, b: IpAddr) -> bool {
    a.to_canonical() == b.to_canonical()
}

fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// Why no machine can have an address that lies in the network.
fn unusable(network: &Network, address: IpAddr) -> Option<String> {
    let cidr = network.cidr.as_ref()?.value;
    let IpNet::V4(v4) = cidr else {
        return None;
    };
    // A point-to-point network has neither.
    if v4.prefix_len() >= 31 {
        return None;
    }
    let of = format!("of network `{}`, which is {cidr}", network.name.value);
    if address == IpAddr::V4(v4.network()) {
        Some(format!("the network address {of}"))
    } else if address == IpAddr::V4(v4.broadcast()) {
        Some(format!("the broadcast address {of}"))
    } else {
        None
    }
}

/// The address inside `redfish-virtualmedia+https://[fd00::1]:8443/redfish/v1/Systems/1`, where it is one and not a name.
fn controller_address(bmc: &crate::network::Bmc) -> Option<(IpAddr, Span)> {
    let address = bmc.address.as_ref()?;
    let rest = address
        .value
        .split_once("://")
        .map_or(address.value.as_str(), |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // One address with several ports is a simulator with a machine behind each.
    let host = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.strip_suffix(']')?,
        None => host,
    };
    // A chassis has one address for several machines, told apart by the path.
    let path = rest.get(authority.len()..).unwrap_or_default().trim_end_matches('/');
    let alone =
        path.is_empty() || path.ends_with("/1") || path.ends_with("/Self") || path.ends_with("System.Embedded.1");
    alone.then(|| Some((host.parse().ok()?, address.span)))?
}
