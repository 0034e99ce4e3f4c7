//! Networks, VIPs and load balancers of a cluster, as Assisted Service checks them.

use std::net::IpAddr;

use berth_site::Release;
use ipnet::IpNet;

use super::{
    Findings,
    model::{ClusterView, Hub, Text},
};
use crate::{lints, target::USER_MANAGED_LB};

/// The first release that supports the address families in any order, and two VIPs.
const ANY_ORDER: Release = Release { major: 4, minor: 12 };

pub(super) fn check(hub: &Hub<'_>, cluster: &ClusterView<'_>, release: Option<Release>, findings: &mut Findings) {
    networks(hub, cluster, findings);
    families(cluster, release, findings);
    vips(hub, cluster, release, findings);
    load_balancer(hub, cluster, release, findings);
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
    if net.network().is_unspecified() {
        findings.add(
            &lints::NETWORK,
            text.span,
            format!("CIDR {} is invalid: its prefix is the unspecified address", text.text),
        );
    } else if net.trunc() != net {
        findings.add_with_help(
            &lints::NETWORK,
            text.span,
            format!("{} is not a valid network CIDR", text.text),
            &format!("the network is {}", net.trunc()),
        );
    }
    Some(net)
}

/// How many machines the cluster is installed with.
fn size(hub: &Hub<'_>, cluster: &ClusterView<'_>) -> usize {
    if cluster.is_single {
        return 1;
    }
    hub.hosts_of(cluster.name).count()
}

fn networks(hub: &Hub<'_>, cluster: &ClusterView<'_>, findings: &mut Findings) {
    let mut all: Vec<(IpNet, Text<'_>)> = Vec::new();
    let hosts = size(hub, cluster);
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
            let most = net.max_prefix_len().saturating_sub(bits);
            if net.prefix_len() > most || net.prefix_len() == 0 {
                findings.add(
                    &lints::NETWORK,
                    text.span,
                    format!(
                        "the prefix of a {what} network must be between /1 and /{most}, not /{}",
                        net.prefix_len()
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
        // A single node may have the whole network.
        let wanted = if hosts == 1 { 1 } else { hosts.max(4) };
        if room < wanted {
            findings.add(
                &lints::NETWORK,
                text.span,
                format!("{net} has room for {room} nodes of /{prefix}: {wanted} are wanted"),
            );
        }
    }
}

/// One family, or two with exactly two networks of each kind.
fn families(cluster: &ClusterView<'_>, release: Option<Release>, findings: &mut Findings) {
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
        if let (None, Some(second)) = (cluster.user_lb, cluster.machine.get(1)) {
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
        let counts = what != "Machine" || cluster.user_lb.is_none();
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
    // The first VIP belongs to the first machine network, so it has to be there.
    if cluster.machine.is_empty() && cluster.moves_vips() {
        findings.add(
            &lints::NETWORK,
            cluster.span,
            "a dual-stack cluster needs its Machine Networks",
        );
    }
}

fn vips(hub: &Hub<'_>, cluster: &ClusterView<'_>, release: Option<Release>, findings: &mut Findings) {
    if !cluster.has_install {
        return;
    }
    if cluster.user_networking {
        for (what, list) in [("API", &cluster.api), ("Ingress", &cluster.ingress)] {
            if let Some(vip) = list.first() {
                findings.add(
                    &lints::NETWORK,
                    vip.span,
                    format!("{what} VIPs cannot be set with User Managed Networking"),
                );
            }
        }
        return;
    }
    lists(cluster, release, findings);
    for list in [&cluster.api, &cluster.ingress] {
        for (index, vip) in list.iter().enumerate() {
            address(hub, cluster, index, *vip, findings);
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

/// How many VIPs there are, and of which family.
fn lists(cluster: &ClusterView<'_>, release: Option<Release>, findings: &mut Findings) {
    let (api, ingress) = (&cluster.api, &cluster.ingress);
    // A user-managed load balancer has a finding of its own.
    for (what, list) in [("API", api), ("Ingress", ingress)] {
        if list.is_empty() && cluster.user_lb.is_none() {
            findings.add_with_help(
                &lints::NETWORK,
                cluster.span,
                format!("{what} virtual IPs are undefined and must be provided"),
                "set apiVIPs and ingressVIPs; a single node and user-managed networking need none",
            );
        }
    }
    if api.len() != ingress.len() && !api.is_empty() && !ingress.is_empty() {
        findings.add(
            &lints::NETWORK,
            ingress.first().map_or(cluster.span, |vip| vip.span),
            format!(
                "configuration must include the same number of apiVIPs (got {}) and ingressVIPs (got {})",
                api.len(),
                ingress.len()
            ),
        );
    }
    for (what, list) in [("apiVIPs", api), ("ingressVIPs", ingress)] {
        let [first, second] = list.as_slice() else { continue };
        let (Ok(one), Ok(other)) = (first.text.parse::<IpAddr>(), second.text.parse::<IpAddr>()) else {
            continue;
        };
        if one == other {
            findings.add(
                &lints::NETWORK,
                second.span,
                format!("{other} appears multiple times in {what}"),
            );
        } else if one.is_ipv4() == other.is_ipv4() {
            findings.add(
                &lints::NETWORK,
                second.span,
                format!("two {what} are one of IPv4 and one of IPv6; {one} and {other} are of the same family"),
            );
        } else if release.is_some_and(|release| release < ANY_ORDER) {
            findings.add(
                &lints::NETWORK,
                second.span,
                format!("dual-stack VIPs are supported from {ANY_ORDER} on"),
            );
        }
    }
}

/// One VIP and its machine network: the one of the same place in the list where the cluster moves its VIPs, any otherwise.
fn address(hub: &Hub<'_>, cluster: &ClusterView<'_>, index: usize, vip: Text<'_>, findings: &mut Findings) {
    let Ok(address) = vip.text.parse::<IpAddr>() else {
        findings.add(&lints::NETWORK, vip.span, format!("{} is not an IP address", vip.text));
        return;
    };
    let machine: Vec<Option<IpNet>> = cluster.machine.iter().map(|text| text.text.parse().ok()).collect();
    if machine.is_empty() {
        return;
    }
    let inside = |net: &IpNet| net.contains(&address);
    let any = machine.iter().flatten().find(|net| inside(net));
    let own = if cluster.user_lb.is_some() {
        any.copied()
    } else {
        match machine.get(index) {
            // What cannot be read is reported where it stands.
            Some(None) => return,
            Some(Some(net)) => Some(*net).filter(inside),
            None => None,
        }
    };
    let Some(net) = own else {
        let message = match (any, machine.get(index)) {
            (Some(other), Some(Some(net))) => format!(
                "VIP {address} does not belong to machine network {net}, the one of the same place in the list; it is in {other}"
            ),
            (Some(other), _) => format!(
                "VIP {address} is number {} of the list, and there is no machine network of that place; it is in {other}",
                index + 1
            ),
            (None, _) => format!("VIP {address} is in no machine network"),
        };
        findings.add(&lints::NETWORK, vip.span, message);
        return;
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
            format!(
                "VIP {address} is already in use: it is the address of `{}`",
                host.name.text
            ),
        );
    }
}

fn load_balancer(hub: &Hub<'_>, cluster: &ClusterView<'_>, release: Option<Release>, findings: &mut Findings) {
    let Some(span) = cluster.user_lb else { return };
    let mut refuse = |message: String| findings.add(&lints::LOAD_BALANCER, span, message);
    if release.is_some_and(|release| release < USER_MANAGED_LB) {
        refuse(format!(
            "a user-managed load balancer is supported from {USER_MANAGED_LB} on"
        ));
    }
    if !cluster.is_single && (cluster.api.is_empty() || cluster.ingress.is_empty()) {
        refuse("a user-managed load balancer needs apiVIPs and ingressVIPs too".to_owned());
    }
    if cluster.user_networking && !cluster.is_single {
        refuse("a user-managed load balancer is not supported with user-managed networking".to_owned());
    }
    if cluster.platform == Some("Nutanix") {
        refuse("a user-managed load balancer is not supported with platform Nutanix".to_owned());
    }
    let is_v6 = |text: &str| text.contains(':');
    let of_both = |texts: &[&str]| texts.iter().any(|text| is_v6(text)) && texts.iter().any(|text| !is_v6(text));
    let pods: Vec<&str> = cluster.pods.iter().map(|(text, _)| text.text).collect();
    let machine: Vec<&str> = cluster.machine.iter().map(|text| text.text).collect();
    if of_both(&pods) || of_both(&machine) {
        refuse("a user-managed load balancer is not supported with dual stack".to_owned());
    }
    if size(hub, cluster) == 1 {
        refuse("a user-managed load balancer is not supported with a single node".to_owned());
    }
}
