//! Counts, networks, VIPs and validations of a cluster.

use std::net::IpAddr;

use berth_documents::{Node, Span};
use berth_site::Release;
use ipnet::IpNet;

use super::{
    CheckOptions, Findings,
    ignition::pool_file,
    model::{ClusterView, HostView, Hub, Kind, Text, name},
    placement::default_replicas,
    validations::service_list,
};
use crate::{
    lints,
    target::{DETECTS_REMOTE, USER_MANAGED_LB},
};

pub(super) fn check(hub: &Hub<'_>, options: &CheckOptions, findings: &mut Findings) {
    for cluster in &hub.clusters {
        counts(hub, cluster, findings);
        networks(hub, cluster, findings);
        families(cluster, release(cluster, options), findings);
        vips(hub, cluster, findings);
        load_balancer(hub, cluster, release(cluster, options), findings);
        hosts(hub, cluster, release(cluster, options), findings);
    }
}

pub(super) fn release(cluster: &ClusterView<'_>, options: &CheckOptions) -> Option<Release> {
    options.release.or(cluster.release)
}

fn counts(hub: &Hub<'_>, cluster: &ClusterView<'_>, findings: &mut Findings) {
    let at_first = || hub.hosts_of(cluster.name).filter(|host| !host.later);
    let count = |role: &str| at_first().filter(|host| host.role() == role).count();
    let total = at_first().count();
    if total == 0 {
        return;
    }
    if let Some(requirements) = cluster.requirements {
        for (field, role) in [
            ("controlPlaneAgents", "master"),
            ("workerAgents", "worker"),
            ("arbiterAgents", "arbiter"),
        ] {
            let node = requirements.get(field);
            let wanted = node.and_then(Node::as_u64).unwrap_or(0);
            let there = count(role);
            if count("auto-assign") == 0 && usize::try_from(wanted).ok() != Some(there) {
                findings.add(
                    &lints::COUNTS,
                    node.map_or(requirements.span, |node| node.span),
                    format!(
                        "the cluster requires exactly {wanted} {role} agents, and there are {there} hosts of that role"
                    ),
                );
            }
        }
    }
    let (masters, arbiters) = (count("master"), count("arbiter"));
    let possible = matches!((masters, arbiters), (1 | 3..=5, 0) | (2, 1..));
    if cluster.kind != Kind::Raw {
        let written = hub
            .hosts_of(cluster.name)
            .any(|host| host.role.is_some_and(|role| role.text == "master"));
        let implied = hub.hosts_of(cluster.name).filter(|host| host.role.is_none());
        // Whoever writes the role of masters forgot it where there is none.
        let forgotten: Vec<&HostView<'_>> = implied
            .filter(|host| !possible || written || host.pool.is_some())
            .collect();
        for host in &forgotten {
            findings.add_with_help(
                &lints::COUNTS,
                host.name.span,
                format!(
                    "`{}` has no role and is counted as a master, one of {masters}",
                    host.name.text
                ),
                "add `role: worker`, or `role: master`",
            );
        }
        if !forgotten.is_empty() {
            return;
        }
    }
    // A folder of single objects may hold a part of them; there the cluster's own numbers count.
    let wanted = |field: &str| cluster.requirements.and_then(|it| it.get(field)).and_then(Node::as_u64);
    let (masters, arbiters) = match cluster.requirements {
        Some(_) => (
            wanted("controlPlaneAgents").unwrap_or(0),
            wanted("arbiterAgents").unwrap_or(0),
        ),
        None if cluster.kind == Kind::Raw => return,
        None => (masters as u64, arbiters as u64),
    };
    if !matches!((masters, arbiters), (1 | 3..=5, 0) | (2, 1..)) {
        let node = cluster.requirements.and_then(|it| it.get("controlPlaneAgents"));
        findings.add(
            &lints::COUNTS,
            node.map_or(cluster.span, |node| node.span),
            format!("a control plane of {masters}: the service takes 1, 3, 4 or 5, or 2 with an arbiter"),
        );
    }
}

fn parse_cidr(text: Text<'_>, findings: &mut Findings) -> Option<IpNet> {
    let Ok(net) = text.text.parse::<IpNet>() else {
        findings.add(
            &lints::NETWORK,
            text.span,
            format!("{} is not a valid network CIDR", text.text),
        );
        return None;
    };
    if net.trunc() != net {
        findings.add_with_help(
            &lints::NETWORK,
            text.span,
            format!("{} is not a valid network CIDR", text.text),
            &format!("the network is {}", net.trunc()),
        );
    }
    Some(net)
}

fn networks(hub: &Hub<'_>, cluster: &ClusterView<'_>, findings: &mut Findings) {
    let mut all: Vec<(IpNet, Text<'_>)> = Vec::new();
    let hosts = hub.hosts_of(cluster.name).count();
    let machine_bits = match (hosts, cluster.user_lb) {
        (1, _) => 1,
        (_, Some(_)) => 2,
        _ => 4,
    };
    let groups = [
        (&cluster.machine, machine_bits, "machine"),
        (&cluster.services, 7, "service"),
        (&cluster.pods.iter().map(|(text, _)| *text).collect(), 7, "cluster"),
    ];
    for (texts, bits, what) in groups {
        for text in texts {
            let Some(net) = parse_cidr(*text, findings) else {
                continue;
            };
            if net.prefix_len() > net.max_prefix_len().saturating_sub(bits) || net.prefix_len() == 0 {
                findings.add(
                    &lints::NETWORK,
                    text.span,
                    format!(
                        "a {what} network of /{} has no room: at most /{}",
                        net.prefix_len(),
                        net.max_prefix_len() - bits
                    ),
                );
            }
            if let Some((other, _)) = all
                .iter()
                .find(|(other, _)| other.contains(&net) || net.contains(other))
            {
                findings.add(&lints::NETWORK, text.span, format!("CIDRS {other} and {net} overlap"));
            }
            all.push((net, *text));
        }
    }
    for (text, host_prefix) in &cluster.pods {
        let (Ok(net), Some(prefix)) = (text.text.parse::<IpNet>(), host_prefix) else {
            continue;
        };
        if *prefix > i64::from(net.max_prefix_len()) - 7 || *prefix < i64::from(net.prefix_len()) {
            findings.add(
                &lints::NETWORK,
                text.span,
                format!("hostPrefix {prefix} does not fit {net}"),
            );
            continue;
        }
        let bits = u32::try_from(*prefix - i64::from(net.prefix_len())).unwrap_or(0);
        let room = 1_usize.checked_shl(bits).unwrap_or(usize::MAX);
        if room < hosts.max(4) {
            findings.add(
                &lints::NETWORK,
                text.span,
                format!(
                    "{net} has room for {room} nodes of /{prefix}: {} are wanted",
                    hosts.max(4)
                ),
            );
        }
    }
}

/// One family, or two with exactly two networks of each kind.
fn families(cluster: &ClusterView<'_>, release: Option<Release>, findings: &mut Findings) {
    /// The first release that takes the families in any order.
    const ANY_ORDER: Release = Release { major: 4, minor: 12 };
    let pods: Vec<Text<'_>> = cluster.pods.iter().map(|(text, _)| *text).collect();
    let lists = [
        ("Machine", &cluster.machine),
        ("Cluster", &pods),
        ("Service", &cluster.services),
    ];
    let is_v6 = |text: &Text<'_>| text.text.parse::<IpNet>().ok().map(|net| net.addr().is_ipv6());
    let both = |list: &[Text<'_>]| {
        let has = |v6: bool| list.iter().any(|text| is_v6(text) == Some(v6));
        has(false) && has(true)
    };
    if !lists.iter().any(|(_, list)| both(list)) {
        if let (true, Some(second)) = (cluster.moves_vips(), cluster.machine.get(1)) {
            findings.add(
                &lints::NETWORK,
                second.span,
                "Single-stack cluster cannot contain multiple Machine Networks",
            );
        }
        return;
    }
    for (what, list) in lists {
        let Some(first) = list.first() else { continue };
        let counts = what != "Machine" || cluster.moves_vips();
        if counts && (list.len() != 2 || !both(list)) {
            findings.add(
                &lints::NETWORK,
                first.span,
                format!(
                    "a dual-stack cluster has two {what} Networks, one of each family; here are {}",
                    list.len()
                ),
            );
        } else if is_v6(first) == Some(true) && release.is_some_and(|release| release < ANY_ORDER) {
            findings.add(
                &lints::NETWORK,
                first.span,
                format!("before {ANY_ORDER} the first of two {what} Networks is the one of IPv4"),
            );
        }
    }
}

fn vips(hub: &Hub<'_>, cluster: &ClusterView<'_>, findings: &mut Findings) {
    let machine: Vec<IpNet> = cluster
        .machine
        .iter()
        .filter_map(|text| text.text.parse().ok())
        .collect();
    if cluster.user_networking {
        if let Some(vip) = cluster.api.first().or_else(|| cluster.ingress.first()) {
            findings.add(
                &lints::NETWORK,
                vip.span,
                "API VIPs cannot be set with User Managed Networking",
            );
        }
        return;
    }
    for vip in cluster.api.iter().chain(&cluster.ingress) {
        let Ok(address) = vip.text.parse::<IpAddr>() else {
            findings.add(&lints::NETWORK, vip.span, format!("{} is no address", vip.text));
            continue;
        };
        let Some(net) = machine.iter().find(|net| net.contains(&address)) else {
            if !machine.is_empty() {
                findings.add(
                    &lints::NETWORK,
                    vip.span,
                    format!("VIP {address} is in no machine network"),
                );
            }
            continue;
        };
        if net.broadcast() == address && net.addr().is_ipv4() {
            findings.add(
                &lints::NETWORK,
                vip.span,
                format!("VIP {address} is the broadcast address of {net}"),
            );
        }
        let owner = hub
            .hosts_of(cluster.name)
            .find(|host| host.addresses.contains(&address));
        if let (Some(host), None) = (owner, cluster.user_lb) {
            findings.add(
                &lints::NETWORK,
                vip.span,
                format!("VIP {address} is in use: it is the address of `{}`", host.name.text),
            );
        }
    }
    if cluster.user_lb.is_none() {
        let parsed = |text: &Text<'_>| text.text.parse::<IpAddr>().ok();
        for vip in &cluster.ingress {
            if parsed(vip).is_some() && cluster.api.iter().any(|api| parsed(api) == parsed(vip)) {
                findings.add(
                    &lints::NETWORK,
                    vip.span,
                    format!("{} appears both in apiVIPs and ingressVIPs", vip.text),
                );
            }
        }
    }
}

fn load_balancer(hub: &Hub<'_>, cluster: &ClusterView<'_>, release: Option<Release>, findings: &mut Findings) {
    let Some(span) = cluster.user_lb else { return };
    if release.is_some_and(|release| release < USER_MANAGED_LB) {
        findings.add(
            &lints::LOAD_BALANCER,
            span,
            format!("a load balancer of your own is installed from {USER_MANAGED_LB} on"),
        );
    }
    if cluster.api.is_empty() || cluster.ingress.is_empty() {
        findings.add(
            &lints::LOAD_BALANCER,
            span,
            "the service asks for apiVIPs and ingressVIPs with a load balancer of your own too",
        );
    }
    if cluster.user_networking {
        findings.add(
            &lints::LOAD_BALANCER,
            span,
            "a load balancer of your own does not go with user-managed networking",
        );
    }
    let is_v6 = |text: &str| text.contains(':');
    let of_both = |texts: &[&str]| texts.iter().any(|text| is_v6(text)) && texts.iter().any(|text| !is_v6(text));
    let pods: Vec<&str> = cluster.pods.iter().map(|(text, _)| text.text).collect();
    let machine: Vec<&str> = cluster.machine.iter().map(|text| text.text).collect();
    let dual = of_both(&pods) || of_both(&machine);
    if dual {
        findings.add(
            &lints::LOAD_BALANCER,
            span,
            "a load balancer of your own does not go with dual stack",
        );
    }
    if hub.hosts_of(cluster.name).count() == 1 {
        findings.add(
            &lints::LOAD_BALANCER,
            span,
            "a load balancer of your own does not go with a single node",
        );
    }
}

fn hosts(hub: &Hub<'_>, cluster: &ClusterView<'_>, release: Option<Release>, findings: &mut Findings) {
    let machine: Vec<IpNet> = cluster
        .machine
        .iter()
        .filter_map(|text| text.text.parse().ok())
        .collect();
    let ignored = cluster.ignored_host.is_some_and(|list| {
        list.text
            .split(',')
            .any(|id| matches!(id, "all" | "belongs-to-machine-cidr"))
    });
    let ignored = ignored || service_list(hub).any(|list| list.text.contains("belongs-to-machine-cidr"));
    let mut remote_workers = 0_usize;
    for host in hub.hosts_of(cluster.name) {
        if machine.is_empty() || host.addresses.is_empty() {
            continue;
        }
        let inside = |net: &IpNet| host.addresses.iter().any(|address| net.contains(address));
        let fits = if cluster.user_networking {
            true
        } else if cluster.user_lb.is_some() {
            machine.iter().any(inside)
        } else {
            machine.iter().all(inside)
        };
        if hub.is_remote(host) && host.role() == "master" {
            findings.add(
                &lints::CONTROL_PLANE,
                host.name.span,
                format!(
                    "`{}` is of the control plane and in another network than the VIPs",
                    host.name.text
                ),
            );
        } else if !fits && !ignored && !host.later {
            findings.add_with_help(
                &lints::MACHINE_NETWORK,
                host.name.span,
                format!(
                    "`{}`: Host does not belong to machine network CIDRs. Verify that the host belongs to {} listed under machine \
                     networks",
                    host.name.text,
                    if cluster.user_lb.is_some() { "any CIDR" } else { "every CIDR" }
                ),
                "a load balancer of your own (from 4.16), user-managed networking, or day 2; ignored validations work and nobody \
                 supports them",
            );
        }
        let detects = release.is_none_or(|release| release >= DETECTS_REMOTE) && cluster.is_bare_metal();
        second_card(cluster, host, &machine, detects, findings);
        if hub.is_remote(host) && host.role() == "worker" {
            remote_workers += 1;
            if let Some(hint) = hint(hub, host).filter(|_| detects) {
                findings.add(
                    &lints::REMOTE,
                    hint.span,
                    format!(
                        "NODEIP_HINT={} is in a network of `{}` itself, so the node does not call itself remote: no label, and \
                         keepalived runs there",
                        hint.address, host.name.text
                    ),
                );
            } else if detects {
                findings.add(
                    &lints::REMOTE,
                    host.name.span,
                    format!(
                        "`{}` has no address in a VIP's network: it will register with node.openshift.io/remote-worker=",
                        host.name.text
                    ),
                );
            }
        }
    }
    routers(hub, cluster, remote_workers, findings);
}

/// A machine whose way out is elsewhere and which has a card beside the VIP all the same.
fn second_card(
    cluster: &ClusterView<'_>,
    host: &HostView<'_>,
    machine: &[IpNet],
    detects: bool,
    findings: &mut Findings,
) {
    let beside = |address: &IpAddr| {
        let mut networks = machine
            .iter()
            .filter(|net| cluster.vips().any(|vip| net.contains(&vip)));
        networks.any(|net| net.contains(address))
    };
    let card = host.addresses.iter().find(|address| beside(address));
    let elsewhere = !host.gateways.is_empty() && !host.gateways.iter().any(beside);
    if let (Some(card), true, true, "worker") = (card, elsewhere, detects && cluster.moves_vips(), host.role()) {
        findings.add(
            &lints::REMOTE,
            host.name.span,
            format!(
                "`{}` leaves by another network and has {card} in a VIP's network: it does not call itself remote, no label, and \
                 keepalived runs there",
                host.name.text
            ),
        );
    }
}

/// What a machine is told about its own address.
pub(super) struct Hint {
    address: IpAddr,
    span: Span,
}

/// The file that `nodeip-configuration` reads.
const HINT_FILE: &str = "/etc/default/nodeip-configuration";

/// A hint in a network of the host: it counts as an address beside the VIP, so that the host is not remote.
pub(super) fn hint(hub: &Hub<'_>, host: &HostView<'_>) -> Option<Hint> {
    let read = |contents: &str, span: Span| {
        let line = contents
            .lines()
            .find_map(|line| line.trim().strip_prefix("NODEIP_HINT="))?;
        let address: IpAddr = line.trim_matches(['"', '\'']).parse().ok()?;
        let near = host.networks.iter().any(|network| network.contains(&address));
        near.then_some(Hint { address, span })
    };
    let by_override = host.ignition.and_then(|text| {
        let value: serde_json::Value = serde_json::from_str(text.text).ok()?;
        let config = berth_ignition::parse(&value).config?;
        let contents = berth_ignition::file_contents(config.find_file(HINT_FILE)?).ok()?;
        read(&String::from_utf8_lossy(&contents), text.span)
    });
    by_override.or_else(|| {
        let (contents, span) = pool_file(hub, host, HINT_FILE)?;
        read(&String::from_utf8_lossy(&contents), span)
    })
}

fn routers(hub: &Hub<'_>, cluster: &ClusterView<'_>, remote: usize, findings: &mut Findings) {
    let replicas = default_replicas(hub);
    let workers = hub
        .hosts_of(cluster.name)
        .filter(|host| host.role() == "worker")
        .count();
    let placed = hub.extras_of("IngressController").any(|extra| {
        name(extra.document) == Some("default")
            && extra
                .document
                .body()
                .is_some_and(|spec| spec.get("nodePlacement").is_some())
    });
    if remote > 0 && workers >= 2 && workers - remote < replicas && cluster.masters_schedulable != Some(true) && !placed
    {
        findings.add_with_help(
            &lints::ROUTERS,
            cluster.span,
            format!(
                "{workers} workers make the control plane unschedulable, and {} of them can run a router beside the VIP: {replicas} \
                 routers are wanted",
                workers - remote
            ),
            "place the default IngressController among the extra manifests, or set mastersSchedulable",
        );
    }
}
