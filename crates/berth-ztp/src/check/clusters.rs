//! How many hosts a cluster has, and where they are.

use std::net::IpAddr;

use berth_documents::{Node, Span};
use berth_site::Release;
use ipnet::IpNet;

use super::{
    CheckOptions, Findings,
    ignition::pool_file,
    model::{ClusterView, HostView, Hub, Kind, name},
    networks,
    placement::default_replicas,
    platform,
    validations::service_list,
};
use crate::{lints, target::DETECTS_REMOTE};

/// The first release that is installed with four or five machines of the control plane.
const LARGE_CONTROL_PLANE: Release = Release { major: 4, minor: 18 };

/// The first release that is installed with two machines of the control plane and an arbiter.
const ARBITER: Release = Release { major: 4, minor: 19 };

/// The first release that is installed with two machines of the control plane that fence each other.
const FENCING: Release = Release { major: 4, minor: 20 };

pub(super) fn check(hub: &Hub<'_>, options: &CheckOptions, findings: &mut Findings) {
    for cluster in &hub.clusters {
        counts(hub, cluster, release(cluster, options), findings);
        networks::check(hub, cluster, release(cluster, options), findings);
        platform::check(cluster, findings);
        hosts(hub, cluster, release(cluster, options), findings);
    }
}

pub(super) fn release(cluster: &ClusterView<'_>, options: &CheckOptions) -> Option<Release> {
    options.release.or(cluster.release)
}

fn counts(hub: &Hub<'_>, cluster: &ClusterView<'_>, release: Option<Release>, findings: &mut Findings) {
    let at_first = || hub.hosts_of(cluster.name).filter(|host| !host.later);
    let count = |role: &str| at_first().filter(|host| host.role() == role).count();
    if cluster.is_hosted() {
        hosted(cluster, count("master"), count("arbiter"), findings);
        return;
    }
    if at_first().next().is_none() {
        sizes(hub, cluster, None, release, findings);
        return;
    }
    cluster_type(cluster, count("master"), count("arbiter"), findings);
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
    let possible = is_control_plane(masters, arbiters);
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
    sizes(hub, cluster, Some((masters, arbiters)), release, findings);
}

/// Whether the service installs a control plane of this size. `there` is how many masters and arbiters the manifests have, if they have
/// hosts.
fn sizes(
    hub: &Hub<'_>,
    cluster: &ClusterView<'_>,
    there: Option<(usize, usize)>,
    release: Option<Release>,
    findings: &mut Findings,
) {
    // A folder of single objects may hold a part of them; there the cluster's own numbers count.
    let wanted = |field: &str| {
        let number = cluster.requirements.and_then(|it| it.get(field)).and_then(Node::as_u64);
        number.map_or(0, |number| usize::try_from(number).unwrap_or(usize::MAX))
    };
    let (masters, arbiters) = match (cluster.requirements, there) {
        (Some(_), _) => (wanted("controlPlaneAgents"), wanted("arbiterAgents")),
        (None, Some(there)) if cluster.kind != Kind::Raw => there,
        (None, _) => return,
    };
    let node = cluster.requirements.and_then(|it| it.get("controlPlaneAgents"));
    let mut refuse =
        |message: String| findings.add(&lints::COUNTS, node.map_or(cluster.span, |node| node.span), message);
    let before = |first: Release| release.is_some_and(|release| release < first);
    // Two machines that fence each other need no arbiter. Who has no machine here may have those elsewhere.
    let fenced = hub.hosts_of(cluster.name).filter(|host| host.is_fenced).count();
    let may_fence = masters == 2 && arbiters == 0 && (fenced == 2 || hub.hosts_of(cluster.name).next().is_none());
    if !is_control_plane(masters, arbiters) && !may_fence {
        refuse(format!(
            "a control plane of {masters} is not supported: use 1, 3, 4 or 5 machines, or 2 with an arbiter or fencing"
        ));
    } else if arbiters > 0 && before(ARBITER) {
        refuse(format!("arbiters are supported from {ARBITER} on"));
    } else if masters == 2 && arbiters == 0 && before(FENCING) {
        refuse(format!(
            "a control plane of 2 without an arbiter is supported from {FENCING} on"
        ));
    }
    if masters > 3 && before(LARGE_CONTROL_PLANE) {
        refuse(format!(
            "a control plane of {masters} is supported from {LARGE_CONTROL_PLANE} on; before, use 1 or 3 machines"
        ));
    }
}

/// The sizes of a control plane that the service installs.
fn is_control_plane(masters: usize, arbiters: usize) -> bool {
    matches!((masters, arbiters), (1 | 3..=5, 0) | (2..=5, 1..))
}

/// The control plane of such a cluster runs elsewhere.
fn hosted(cluster: &ClusterView<'_>, masters: usize, arbiters: usize, findings: &mut Findings) {
    let span = cluster.cluster_type.map_or(cluster.span, |kind| kind.span);
    for (count, what) in [(masters, "control-plane agents"), (arbiters, "arbiter agents")] {
        if count > 0 {
            findings.add_with_help(
                &lints::COUNTS,
                span,
                format!("hosted control plane clusters must not have {what}, and there are {count}"),
                "write `role: worker`: a node without a role is a master",
            );
        }
    }
}

/// What the type of a `ClusterInstance` says about its nodes.
fn cluster_type(cluster: &ClusterView<'_>, masters: usize, arbiters: usize, findings: &mut Findings) {
    let kind = cluster.cluster_type;
    let name = kind.map_or("", |kind| kind.text);
    let span = kind.map_or(cluster.span, |kind| kind.span);
    if cluster.kind == Kind::Instance && masters == 0 {
        findings.add(&lints::COUNTS, span, "at least 1 control-plane agent is required");
    }
    if name == "SNO" && masters > 1 {
        findings.add(
            &lints::COUNTS,
            span,
            format!("cluster type SNO must have exactly 1 control-plane agent, and there are {masters}"),
        );
    }
    if name == "HighlyAvailableArbiter" && (arbiters == 0 || masters < 2) {
        findings.add(
            &lints::COUNTS,
            span,
            format!(
                "cluster type HighlyAvailableArbiter must have at least 1 arbiter agent and 2 control-plane agents, and there are \
                 {arbiters} and {masters}"
            ),
        );
    }
    if cluster.kind == Kind::Instance && arbiters > 0 && name != "HighlyAvailableArbiter" {
        findings.add_with_help(
            &lints::COUNTS,
            span,
            "arbiter nodes need cluster type HighlyAvailableArbiter",
            "write `clusterType: HighlyAvailableArbiter`",
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
        let fits = if cluster.user_networking && !cluster.is_single {
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
                "a user-managed load balancer (from 4.16), user-managed networking, or day 2; ignored validations work and are not \
                 supported",
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
    let replicas = default_replicas(hub, cluster);
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
