//! The hosts of a cluster as placement sees nodes.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement::{PlacementNode, REMOTE_WORKER, Taint};
use ipnet::IpNet;

use super::{
    CheckOptions,
    clusters::{hint, release},
    model::{ClusterView, Extra, HostView, Hub},
};
use crate::target::DETECTS_REMOTE;

/// A cluster with its hosts and what goes into it.
#[derive(Debug)]
pub(super) struct Group<'h, 'a> {
    /// None where nothing describes the cluster.
    pub(super) cluster: Option<&'h ClusterView<'a>>,
    pub(super) hosts: Vec<&'h HostView<'a>>,
    pub(super) extras: Vec<Extra<'a>>,
}

/// Sorts hosts and objects by cluster. With one cluster, or none, everything is its own; with several, extra manifests belong to the
/// cluster of their `ConfigMap`'s namespace.
pub(super) fn groups<'h, 'a>(hub: &'h Hub<'a>) -> Vec<Group<'h, 'a>> {
    let names: BTreeSet<&str> = hub.clusters.iter().map(|cluster| cluster.name).collect();
    if names.len() <= 1 {
        return vec![Group {
            cluster: hub.clusters.first(),
            hosts: hub.hosts.iter().collect(),
            extras: hub.extras.clone(),
        }];
    }
    let of = |extra: &Extra<'a>| extra.file.map(|file| file.namespace.as_str());
    let mut groups: Vec<Group<'h, 'a>> = names
        .iter()
        .map(|name| Group {
            cluster: hub.clusters.iter().find(|cluster| cluster.name == *name),
            hosts: hub.hosts_of(name).collect(),
            extras: hub.extras.iter().copied().filter(|it| of(it) == Some(*name)).collect(),
        })
        .collect();
    let known = |extra: &Extra<'a>| of(extra).is_some_and(|namespace| names.contains(namespace));
    groups.push(Group {
        cluster: None,
        hosts: hub.hosts.iter().collect(),
        extras: hub.extras.iter().copied().filter(|extra| !known(extra)).collect(),
    });
    groups
}

/// Whether the host registers with an empty label for remote workers, nobody having given it another.
pub(super) fn calls_itself_remote(hub: &Hub<'_>, host: &HostView<'_>, options: &CheckOptions) -> bool {
    let Some(cluster) = hub.cluster_of(host) else {
        return false;
    };
    cluster.is_bare_metal()
        && release(cluster, options).is_none_or(|release| release >= DETECTS_REMOTE)
        && hub.is_remote(host)
        && hint(hub, host).is_none()
}

/// The hosts of a group, each with the labels, taints and networks that its node will have.
pub(super) fn placement_nodes(hub: &Hub<'_>, group: &Group<'_, '_>, options: &CheckOptions) -> Vec<PlacementNode> {
    let workers = group
        .hosts
        .iter()
        .filter(|host| !matches!(host.role(), "master" | "arbiter"))
        .count();
    let said = group.cluster.and_then(|cluster| cluster.masters_schedulable);
    let schedulable = said == Some(true) || workers < 2;
    group
        .hosts
        .iter()
        .map(|host| node(hub, group, host, schedulable, options))
        .collect()
}

fn node(
    hub: &Hub<'_>,
    group: &Group<'_, '_>,
    host: &HostView<'_>,
    masters_schedulable: bool,
    options: &CheckOptions,
) -> PlacementNode {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    let mut label = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
    label("kubernetes.io/hostname", host.name.text);
    label("kubernetes.io/os", "linux");
    let role = host.role();
    let roles: &[&str] = match role {
        "master" if masters_schedulable => &["master", "control-plane", "worker"],
        "master" => &["master", "control-plane"],
        "arbiter" => &["arbiter"],
        _ => &["worker"],
    };
    for role in roles {
        label(&format!("node-role.kubernetes.io/{role}"), "");
    }
    let remote = calls_itself_remote(hub, host, options);
    if remote {
        label(REMOTE_WORKER, "");
    }
    for (key, value) in &host.labels {
        label(key.text, value.as_str().unwrap_or_default());
    }
    let tainted = role == "arbiter" || (role == "master" && !masters_schedulable);
    let mut node = PlacementNode {
        name: host.name.text.to_owned(),
        labels,
        taints: tainted
            .then(|| Taint {
                key: format!("node-role.kubernetes.io/{role}"),
                value: String::new(),
                effect: "NoSchedule".to_owned(),
            })
            .into_iter()
            .collect(),
        remote_site: hub.is_remote(host).then(|| "remote".to_owned()),
        ..PlacementNode::default()
    };
    for address in networks(group, host) {
        let family = |other: &IpNet| other.addr().is_ipv4() == address.addr().is_ipv4();
        if node.primary.iter().any(family) {
            node.secondary.push(address);
        } else {
            node.primary.push(address);
        }
    }
    node
}

/// The addresses of a host with the length of their network. Where nobody writes it, that of the machine network counts, or else a
/// network of 256.
fn networks(group: &Group<'_, '_>, host: &HostView<'_>) -> Vec<IpNet> {
    let machine = group.cluster.into_iter().flat_map(|cluster| &cluster.machine);
    let machine: Vec<IpNet> = machine.filter_map(|text| text.text.parse().ok()).collect();
    let length = |address: &std::net::IpAddr| {
        let written = host.networks.iter().find(|network| network.addr() == *address);
        let around = machine.iter().find(|network| network.contains(address));
        let otherwise = if address.is_ipv4() { 24 } else { 64 };
        written.or(around).map_or(otherwise, IpNet::prefix_len)
    };
    host.addresses
        .iter()
        .filter_map(|address| IpNet::new(*address, length(address)).ok())
        .collect()
}
