//! Counts, networks, VIPs and validations of a cluster.

use std::net::IpAddr;

use berth_documents::{Document, Node, Span};
use berth_site::Release;
use ipnet::IpNet;

use super::{
    CheckOptions, Findings,
    hosts::{config_files, config_role},
    model::{ClusterView, HostView, Hub, Kind, Text, annotation, name, text_at},
};
use crate::{
    lints,
    names::SERVICE_CONFIG,
    target::{DETECTS_REMOTE, USER_MANAGED_LB},
};

/// Host validations of the service.
const HOST_VALIDATIONS: &[&str] = &[
    "connected",
    "media-connected",
    "has-inventory",
    "inventory-not-fully-truncated",
    "has-min-cpu-cores",
    "has-min-valid-disks",
    "has-min-memory",
    "machine-cidr-defined",
    "has-cpu-cores-for-role",
    "has-memory-for-role",
    "hostname-unique",
    "hostname-valid",
    "belongs-to-machine-cidr",
    "belongs-to-majority-group",
    "valid-platform-network-settings",
    "ntp-synced",
    "time-synced-between-host-and-service",
    "container-images-available",
    "lso-requirements-satisfied",
    "ocs-requirements-satisfied",
    "odf-requirements-satisfied",
    "lvm-requirements-satisfied",
    "cnv-requirements-satisfied",
    "mce-requirements-satisfied",
    "mtv-requirements-satisfied",
    "osc-requirements-satisfied",
    "sufficient-installation-disk-speed",
    "sufficient-network-latency-requirement-for-role",
    "sufficient-packet-loss-requirement-for-role",
    "has-default-route",
    "api-domain-name-resolved-correctly",
    "api-int-domain-name-resolved-correctly",
    "apps-domain-name-resolved-correctly",
    "compatible-with-cluster-platform",
    "dns-wildcard-not-configured",
    "disk-encryption-requirements-satisfied",
    "non-overlapping-subnets",
    "vsphere-disk-uuid-enabled",
    "compatible-agent",
    "no-skip-installation-disk",
    "no-skip-missing-disk",
    "no-ip-collisions-in-network",
    "no-iscsi-nic-belongs-to-machine-cidr",
    "mtu-valid",
    "ignition-downloadable",
    "release-domain-name-resolved-correctly",
    "all",
];

/// Those that cannot be ignored.
const NEVER_IGNORED: &[&str] = &[
    "connected",
    "has-inventory",
    "inventory-not-fully-truncated",
    "machine-cidr-defined",
    "hostname-unique",
    "hostname-valid",
];

/// Cluster validations of the service. Those of single operators have one form: see [`is_of_an_operator`].
const CLUSTER_VALIDATIONS: &[&str] = &[
    "machine-cidr-defined",
    "cluster-cidr-defined",
    "service-cidr-defined",
    "no-cidrs-overlapping",
    "networks-same-address-families",
    "network-prefix-valid",
    "machine-cidr-equals-to-calculated-cidr",
    "api-vips-defined",
    "api-vips-valid",
    "ingress-vips-defined",
    "ingress-vips-valid",
    "all-hosts-are-ready-to-install",
    "sufficient-masters-count",
    "dns-domain-defined",
    "pull-secret-set",
    "ntp-server-configured",
    "network-type-valid",
    "platform-requirements-satisfied",
    "all",
];

/// New operators bring validations of their own with every release.
fn is_of_an_operator(id: &str) -> bool {
    id.ends_with("-requirements-satisfied")
}

const CLUSTER_NEVER_IGNORED: &[&str] = &[
    "api-vips-defined",
    "ingress-vips-defined",
    "all-hosts-are-ready-to-install",
    "sufficient-masters-count",
    "pull-secret-set",
];

pub(super) fn check(hub: &Hub<'_>, options: &CheckOptions, findings: &mut Findings) {
    for cluster in &hub.clusters {
        counts(hub, cluster, findings);
        networks(cluster, findings);
        vips(cluster, findings);
        load_balancer(hub, cluster, release(cluster, options), findings);
        hosts(hub, cluster, release(cluster, options), findings);
        ignored(cluster, findings);
    }
    service_wide(hub, findings);
}

pub(super) fn release(cluster: &ClusterView<'_>, options: &CheckOptions) -> Option<Release> {
    options.release.or(cluster.release)
}

fn counts(hub: &Hub<'_>, cluster: &ClusterView<'_>, findings: &mut Findings) {
    let count = |role: &str| hub.hosts_of(cluster.name).filter(|host| host.role() == role).count();
    let total = hub.hosts_of(cluster.name).count();
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
    } else if cluster.kind != Kind::Raw {
        let masters = count("master");
        let implied: Vec<Text<'_>> = hub
            .hosts_of(cluster.name)
            .filter(|host| host.role.is_none())
            .map(|host| host.name)
            .collect();
        if !matches!(masters, 1..=5)
            && let Some(host) = implied.first()
        {
            findings.add_with_help(
                &lints::COUNTS,
                host.span,
                format!(
                    "`{}` has no role and is counted as a master, the {masters}th one",
                    host.text
                ),
                "add `role: worker`",
            );
        }
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

fn networks(cluster: &ClusterView<'_>, findings: &mut Findings) {
    let mut all: Vec<(IpNet, Text<'_>)> = Vec::new();
    let machine_bits = if cluster.user_lb.is_some() { 2 } else { 4 };
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
        }
    }
    let families = |is_v6: bool| {
        let nets = cluster
            .machine
            .iter()
            .filter_map(|text| text.text.parse::<IpNet>().ok());
        nets.filter(|net| net.addr().is_ipv6() == is_v6).count()
    };
    let (v4, v6) = (families(false), families(true));
    if cluster.moves_vips()
        && (v4 == 0 || v6 == 0)
        && let (true, Some(second)) = (v4 + v6 > 1, cluster.machine.get(1))
    {
        findings.add(
            &lints::NETWORK,
            second.span,
            "Single-stack cluster cannot contain multiple Machine Networks",
        );
    }
}

fn vips(cluster: &ClusterView<'_>, findings: &mut Findings) {
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
    let dual =
        cluster.pods.iter().any(|(text, _)| is_v6(text.text)) && cluster.pods.iter().any(|(text, _)| !is_v6(text.text));
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
        let outside = !machine.iter().any(inside);
        if outside && host.role() == "master" && cluster.moves_vips() {
            findings.add(
                &lints::CONTROL_PLANE,
                host.name.span,
                format!(
                    "`{}` is of the control plane and in another network than the VIPs",
                    host.name.text
                ),
            );
        } else if !fits && !ignored {
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
        let detects = release.is_none_or(|release| release >= DETECTS_REMOTE)
            && matches!(cluster.platform, None | Some("BareMetal" | ""));
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

/// What a machine is told about its own address.
struct Hint {
    address: IpAddr,
    span: Span,
}

/// The file that `nodeip-configuration` reads.
const HINT_FILE: &str = "/etc/default/nodeip-configuration";

/// A hint in a network of the host: it counts as an address beside the VIP, so that the host is not remote.
fn hint(hub: &Hub<'_>, host: &HostView<'_>) -> Option<Hint> {
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
        let role = host.pool.map_or_else(|| host.role(), |pool| pool.text);
        hub.extras_of("MachineConfig").find_map(|extra| {
            let takes = [Some(role), Some("worker").filter(|_| host.role() == "worker")];
            if !takes.contains(&config_role(extra.document)) {
                return None;
            }
            config_files(extra.document)
                .iter()
                .filter(|file| text_at(file, &["path"]).is_some_and(|path| path.text == HINT_FILE))
                .find_map(|file| {
                    let source = text_at(file, &["contents", "source"])?;
                    let contents = berth_ignition::decode_data_url(source.text).ok()?;
                    read(&String::from_utf8_lossy(&contents), source.span)
                })
        })
    })
}

fn routers(hub: &Hub<'_>, cluster: &ClusterView<'_>, remote: usize, findings: &mut Findings) {
    const REPLICAS: usize = 2;
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
    if remote > 0
        && workers >= REPLICAS
        && workers - remote < REPLICAS
        && cluster.masters_schedulable != Some(true)
        && !placed
    {
        findings.add_with_help(
            &lints::ROUTERS,
            cluster.span,
            format!(
                "{workers} workers make the control plane unschedulable, and {} of them can run a router beside the VIP: {REPLICAS} \
                 routers are wanted",
                workers - remote
            ),
            "place the default IngressController among the extra manifests, or set mastersSchedulable",
        );
    }
}

fn ignored(cluster: &ClusterView<'_>, findings: &mut Findings) {
    if let Some(list) = cluster.ignored_host {
        ids(list, HOST_VALIDATIONS, NEVER_IGNORED, "host", findings);
        findings.add(
            &lints::VALIDATIONS_OFF,
            list.span,
            format!(
                "the cluster installs although these fail, which nobody supports: {}",
                list.text
            ),
        );
    }
    if let Some(list) = cluster.ignored_cluster {
        ids(list, CLUSTER_VALIDATIONS, CLUSTER_NEVER_IGNORED, "cluster", findings);
        findings.add(
            &lints::VALIDATIONS_OFF,
            list.span,
            format!(
                "the cluster installs although these fail, which nobody supports: {}",
                list.text
            ),
        );
    }
}

/// Looks at each id of a list.
fn ids(list: Text<'_>, known: &[&str], never: &[&str], what: &str, findings: &mut Findings) {
    let mut seen = Vec::new();
    for id in list.text.split(',') {
        let problem = if id.trim().is_empty() {
            "an item of the list is empty".to_owned()
        } else if never.contains(&id.trim()) {
            format!("unable to ignore the following {what} validations ({})", id.trim())
        } else if !known.contains(&id.trim()) && !is_of_an_operator(id.trim()) {
            format!("Validation ID '{}' is not a known {what} validation", id.trim())
        } else if seen.contains(&id.trim()) {
            format!("`{}` is here twice", id.trim())
        } else {
            seen.push(id.trim());
            continue;
        };
        findings.add(&lints::VALIDATIONS, list.span, problem);
    }
}

/// The lists that hold for the whole service, under this key.
fn service_lists<'a>(hub: &'a Hub<'_>, key: &'static str) -> impl Iterator<Item = Text<'a>> {
    let maps = hub.documents.iter().filter(|document| document.kind() == "ConfigMap");
    maps.filter_map(move |map: &Document| text_at(map.root.get("data")?, &[key]))
}

fn service_list<'a>(hub: &'a Hub<'_>) -> impl Iterator<Item = Text<'a>> {
    service_lists(hub, "DISABLED_HOST_VALIDATIONS")
}

type OfCluster = for<'a> fn(&ClusterView<'a>) -> Option<Text<'a>>;

fn service_wide(hub: &Hub<'_>, findings: &mut Findings) {
    let lists: [(&'static str, &[&str], &str, OfCluster); 2] = [
        ("DISABLED_HOST_VALIDATIONS", HOST_VALIDATIONS, "host", |cluster| {
            cluster.ignored_host
        }),
        (
            "DISABLED_CLUSTER_VALIDATIONS",
            CLUSTER_VALIDATIONS,
            "cluster",
            |cluster| cluster.ignored_cluster,
        ),
    ];
    for (key, known, what, of_cluster) in lists {
        for list in service_lists(hub, key) {
            ids(list, known, &[], what, findings);
            findings.add(
                &lints::VALIDATIONS_OFF,
                list.span,
                "these validations are off for every cluster of the hub, which nobody supports",
            );
            if let Some(own) = hub.clusters.iter().find_map(of_cluster) {
                findings.add_related(
                    &lints::VALIDATIONS,
                    list.span,
                    "a cluster has a list of its own, so this one does not count for it".to_owned(),
                    own.span,
                    "the cluster's",
                );
            }
        }
    }
    for config in hub.of_kind("AgentServiceConfig") {
        let Some(wanted) = annotation(config, SERVICE_CONFIG) else {
            continue;
        };
        let mut maps = hub.of_kind("ConfigMap");
        if !maps.any(|map| name(map) == Some(wanted.text)) && service_list(hub).next().is_some() {
            findings.add(
                &lints::VALIDATIONS,
                wanted.span,
                format!("there is no ConfigMap `{}`, so the list does not count", wanted.text),
            );
        }
    }
}
