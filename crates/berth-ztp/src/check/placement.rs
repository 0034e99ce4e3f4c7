//! Ingress controllers and egress addresses among the manifests.

use std::net::IpAddr;

use berth_documents::{Document, Node};
use berth_site::{EGRESS_ASSIGNABLE, REMOTE_WORKER};
use ipnet::IpNet;

use super::{
    CheckOptions, Findings,
    clusters::release,
    hosts::{selector, selects},
    manifests::hostname_value,
    model::{HostView, Hub, name, text_at, texts},
};
use crate::{lints, target::DETECTS_REMOTE};

pub(super) fn check(hub: &Hub<'_>, options: &CheckOptions, findings: &mut Findings) {
    let controllers: Vec<&Document> = hub.extras_of("IngressController").map(|extra| extra.document).collect();
    for (index, controller) in controllers.iter().enumerate() {
        ingress(hub, controller, options, findings);
        for other in controllers.iter().take(index) {
            between(hub, controller, other, findings);
        }
    }
    let egress: Vec<&Document> = hub.extras_of("EgressIP").map(|extra| extra.document).collect();
    egress_ips(hub, &egress, findings);
}

fn ingress(hub: &Hub<'_>, document: &Document, options: &CheckOptions, findings: &mut Findings) {
    let own = name(document).unwrap_or_default();
    let Some(spec) = document.body() else { return };
    domain_and_ports(hub, document, spec, findings);
    match spec.at(&["nodePlacement", "nodeSelector"]) {
        Some(node) => placed(hub, document, spec, node, options, findings),
        None if own == "default" => unplaced(hub, document, findings),
        None => {}
    }
}

/// The default routers where nobody says which nodes they take.
fn unplaced(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    for host in hub.hosts.iter().filter(|host| host.role() == "worker") {
        let label = host.labels.iter().find(|(key, _)| key.text == REMOTE_WORKER);
        let value = label.and_then(|(_, value)| value.as_str());
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            findings.add(
                &lints::ROUTER_PLACEMENT,
                document.span(),
                format!(
                    "the default routers may run on `{}`, whose remote-worker label is `{value}`",
                    host.name.text
                ),
            );
        }
    }
}

fn domain_and_ports(hub: &Hub<'_>, document: &Document, spec: &Node, findings: &mut Findings) {
    let own = name(document).unwrap_or_default();
    if let Some(domain) = text_at(spec, &["domain"])
        && own != "default"
    {
        for cluster in &hub.clusters {
            let apps = cluster.base_domain.map(|base| format!(".apps.{}.{base}", cluster.name));
            if apps.is_some_and(|apps| domain.text.ends_with(&apps)) {
                findings.add(
                    &lints::ROUTER_PLACEMENT,
                    domain.span,
                    "nodes answer names below the default apps domain with the ingress VIP, not with this shard's address",
                );
            }
        }
    }
    let [http, https, stats] = ports(spec);
    if http == https || http == stats || https == stats {
        findings.add(
            &lints::ROUTER_PLACEMENT,
            spec.get("endpointPublishingStrategy")
                .map_or_else(|| document.span(), |node| node.span),
            format!("the specified HTTPS, HTTP and Stats ports {https}, {http}, {stats} are not unique"),
        );
    }
}

fn placed(
    hub: &Hub<'_>,
    document: &Document,
    spec: &Node,
    node: &Node,
    options: &CheckOptions,
    findings: &mut Findings,
) {
    let own = name(document).unwrap_or_default();
    let Some(selector) = selector(Some(node)) else { return };
    if let Err(error) = selector.to_map() {
        findings.add_with_help(
            &lints::ROUTER_PLACEMENT,
            node.span,
            format!("ingresscontroller \"{own}\" has invalid spec.nodePlacement.nodeSelector: {error}"),
            "`berth ingress rewrite` gives the nodes a label that the operator takes",
        );
        return;
    }
    if let Some(value) = node.at(&["matchLabels", "kubernetes.io/hostname"]) {
        hostname_value(hub, value, findings);
    }
    let detects = |host: &HostView<'_>| {
        let cluster = hub.cluster_of(host);
        cluster.is_none_or(|cluster| release(cluster, options).is_none_or(|release| release >= DETECTS_REMOTE))
    };
    let chosen: Vec<&HostView<'_>> = hub
        .hosts
        .iter()
        .filter(|host| selects(&selector, host, hub.is_remote(host)))
        .collect();
    let avoided = |host: &&HostView<'_>| {
        let value = host
            .labels
            .iter()
            .find(|(key, _)| key.text == REMOTE_WORKER)
            .map(|(_, value)| value.as_str());
        match value {
            Some(value) => value == Some(""),
            None => hub.is_remote(host) && detects(host),
        }
    };
    if !chosen.is_empty() && chosen.iter().all(avoided) {
        findings.add_with_help(
            &lints::ROUTER_PLACEMENT,
            node.span,
            format!("`{own}` selects only nodes with an empty {REMOTE_WORKER}, which routers avoid: it stays Pending"),
            "give these nodes the label with a value, such as the site's name",
        );
    }
    let replicas = spec.get("replicas").and_then(Node::as_u64);
    if let Some(replicas) = replicas
        && !hub.hosts.is_empty()
        && usize::try_from(replicas).is_ok_and(|replicas| replicas > chosen.len())
    {
        findings.add(
            &lints::ROUTER_PLACEMENT,
            spec.get("replicas").map_or_else(|| document.span(), |node| node.span),
            format!("`{own}` wants {replicas} routers and selects {} nodes", chosen.len()),
        );
    }
    let outside = chosen.iter().find(|host| own == "default" && hub.is_remote(host));
    if let Some(host) = outside {
        findings.add(
            &lints::ROUTER_PLACEMENT,
            node.span,
            format!(
                "the default routers may run on `{}`, outside the ingress VIP's network",
                host.name.text
            ),
        );
    }
    if !chosen.is_empty() && chosen.iter().all(|host| host.role() == "master") {
        on_control_plane(hub, own, spec, node, findings);
    }
}

/// Routers on the control plane, which has a taint unless it is schedulable.
fn on_control_plane(hub: &Hub<'_>, own: &str, spec: &Node, node: &Node, findings: &mut Findings) {
    let schedulable = hub
        .clusters
        .iter()
        .any(|cluster| cluster.masters_schedulable == Some(true));
    let tolerates = spec
        .at(&["nodePlacement", "tolerations"])
        .and_then(Node::as_seq)
        .unwrap_or_default();
    let tolerates = tolerates.iter().any(|it| {
        text_at(it, &["key"]).is_none_or(|key| key.text.ends_with("/master") || key.text.ends_with("/control-plane"))
    });
    let workers = hub.hosts.iter().filter(|host| host.role() == "worker").count();
    if !schedulable && !tolerates && workers >= 2 {
        findings.add_with_help(
            &lints::ROUTER_PLACEMENT,
            node.span,
            format!("`{own}` runs on the control plane, whose taint it does not tolerate: it stays Pending"),
            "add a toleration of node-role.kubernetes.io/master, or set mastersSchedulable",
        );
    }
}

fn ports(spec: &Node) -> [i64; 3] {
    let port = |key: &str, otherwise: i64| {
        let node = spec.at(&["endpointPublishingStrategy", "hostNetwork", key]);
        node.and_then(Node::as_i64)
            .filter(|port| *port != 0)
            .unwrap_or(otherwise)
    };
    [port("httpPort", 80), port("httpsPort", 443), port("statsPort", 1936)]
}

fn between(hub: &Hub<'_>, controller: &Document, other: &Document, findings: &mut Findings) {
    let (Some(spec), Some(other_spec)) = (controller.body(), other.body()) else {
        return;
    };
    let (own, others) = (name(controller).unwrap_or_default(), name(other).unwrap_or_default());
    if let (Some(domain), Some(same)) = (text_at(spec, &["domain"]), text_at(other_spec, &["domain"]))
        && domain.text == same.text
    {
        findings.add_related(
            &lints::ROUTER_PLACEMENT,
            domain.span,
            format!("`{own}` conflicts with: {others}"),
            same.span,
            "the same domain",
        );
    }
    let host_network = |spec: &Node| {
        let kind = text_at(spec, &["endpointPublishingStrategy", "type"]);
        kind.is_none_or(|kind| kind.text == "HostNetwork")
    };
    let node = |spec: &Node| selector(spec.at(&["nodePlacement", "nodeSelector"]));
    if !host_network(spec) || !host_network(other_spec) {
        return;
    }
    let shared = ports(spec).iter().any(|port| ports(other_spec).contains(port));
    let (Some(a), Some(b)) = (node(spec), node(other_spec)) else {
        return;
    };
    let both = hub.hosts.iter().find(|host| {
        let remote = hub.is_remote(host);
        selects(&a, host, remote) && selects(&b, host, remote)
    });
    if let (true, Some(host)) = (shared, both) {
        findings.add_related(
            &lints::ROUTER_PLACEMENT,
            controller.span(),
            format!(
                "`{own}` and `{others}` can both run on `{}` and take the same ports: one stays Pending",
                host.name.text
            ),
            other.span(),
            "the other",
        );
    }
}

/// Whether a host is in a network that holds the address. Where nobody writes the length of its own network, that of the machine
/// network counts, or else a network of 256.
fn is_near(machine: &[IpNet], host: &HostView<'_>, address: IpAddr) -> bool {
    let written = host.networks.iter().any(|network| network.contains(&address));
    written
        || host.addresses.iter().any(|own| {
            let known = host.networks.iter().any(|network| network.contains(own));
            let net = machine.iter().find(|net| net.contains(own)).copied();
            let net = net.or_else(|| IpNet::new(*own, if own.is_ipv4() { 24 } else { 64 }).ok());
            !known && net.is_some_and(|net| net.contains(&address))
        })
}

/// A node hosts one address of an object.
fn outnumbered(
    hub: &Hub<'_>,
    machine: &[IpNet],
    assignable: &[&HostView<'_>],
    spec: &Node,
    own: &str,
    findings: &mut Findings,
) {
    let list = texts(spec.get("egressIPs"));
    let placeable: Vec<IpAddr> = list.iter().filter_map(|text| text.text.parse().ok()).collect();
    let near = |host: &&&HostView<'_>| placeable.iter().any(|address| is_near(machine, host, *address));
    let hosts = assignable.iter().filter(near).count();
    if let Some(text) = list.get(hosts)
        && hosts > 0
        && placeable.len() > hosts
        && !hub.hosts.is_empty()
    {
        findings.add_with_help(
            &lints::EGRESS,
            text.span,
            format!(
                "EgressIP `{own}` has {} addresses and {hosts} labelled host(s) for them: a host takes one of an EgressIP",
                placeable.len()
            ),
            "label more hosts, or take fewer addresses",
        );
    }
}

fn egress_ips(hub: &Hub<'_>, documents: &[&Document], findings: &mut Findings) {
    let mut seen: Vec<(IpAddr, berth_documents::Span)> = Vec::new();
    let machine: Vec<IpNet> = hub
        .clusters
        .iter()
        .flat_map(|cluster| &cluster.machine)
        .filter_map(|text| text.text.parse().ok())
        .collect();
    for document in documents {
        let Some(spec) = document.body() else { continue };
        let own = name(document).unwrap_or_default();
        let namespaces = spec.get("namespaceSelector");
        if namespaces
            .and_then(Node::as_map)
            .is_some_and(|map| map.iter().len() == 0)
        {
            findings.add(
                &lints::EGRESS,
                namespaces.map_or_else(|| document.span(), |node| node.span),
                format!("EgressIP `{own}` takes the pods of every namespace"),
            );
        }
        let assignable: Vec<&HostView<'_>> = hub
            .hosts
            .iter()
            .filter(|host| host.labels.iter().any(|(key, _)| key.text == EGRESS_ASSIGNABLE))
            .collect();
        outnumbered(hub, &machine, &assignable, spec, own, findings);
        for text in texts(spec.get("egressIPs")) {
            let Ok(address) = text.text.parse::<IpAddr>() else {
                findings.add(
                    &lints::EGRESS,
                    text.span,
                    format!(
                        "egress IP: {} for object EgressIP: {own} is not a valid IP address",
                        text.text
                    ),
                );
                continue;
            };
            let host = hub.hosts.iter().find(|host| host.addresses.contains(&address));
            if let Some(host) = host {
                findings.add(
                    &lints::EGRESS,
                    text.span,
                    format!("{address} is the address of `{}`", host.name.text),
                );
            } else if hub
                .clusters
                .iter()
                .any(|cluster| cluster.vips().any(|vip| vip == address))
            {
                findings.add(&lints::EGRESS, text.span, format!("{address} is a VIP of the cluster"));
            }
            match seen.iter().find(|(other, _)| *other == address) {
                Some((_, first)) => findings.add_related(
                    &lints::EGRESS,
                    text.span,
                    format!("{address} is given out twice"),
                    *first,
                    "first here",
                ),
                None => seen.push((address, text.span)),
            }
            if hub.hosts.is_empty() {
                continue;
            }
            let near = |host: &&&HostView<'_>| is_near(&machine, host, address);
            if assignable.iter().filter(near).count() == 0 {
                findings.add_with_help(
                    &lints::EGRESS,
                    text.span,
                    format!("no host with the label {EGRESS_ASSIGNABLE} has an address in the network of {address}"),
                    "label a host whose network holds the address; `berth egress plan` names one",
                );
            } else if assignable.iter().filter(near).all(|host| hub.is_remote(host)) {
                findings.add(
                    &lints::EGRESS,
                    text.span,
                    format!(
                        "only remote hosts can have {address}, and one that does not answer within a second loses it: raise \
                         reachabilityTotalTimeoutSeconds"
                    ),
                );
            }
        }
    }
}
