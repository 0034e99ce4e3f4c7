//! drydock's networks, Berth's `Cluster`, and what hosts say of their network.

use std::{net::IpAddr, str::FromStr};

use berth_documents::{Diagnostic, Node, Severity};
use ipnet::IpNet;

use super::Object;
use crate::{
    bmc::BmcAddress,
    fields::{Fields, Report, string},
    lints,
    model::Spanned,
    network::{
        Address, AddressRange, Addressing, Bmc, Cluster, ClusterNetwork, HostNetwork, Interface, LoadBalancer, Network,
        NetworkRoute, Oob, Platform, RangeKind, Release, RemoteSite,
    },
};

/// The highest VLAN that IEEE 802.1Q has.
const LAST_VLAN: i64 = 4094;

pub(super) fn read(object: &Object<'_>, report: &mut Report<'_>) -> Network {
    let mut fields = Fields::open(object.body, "Network", report);
    let cidr = match fields.string("cidr", report) {
        Some(text) => network_cidr(&text, report),
        None => {
            if object.body.and_then(|body| body.get("cidr")).is_none() {
                let message = format!("network `{}` has no `cidr`", object.name.value);
                report.push(Diagnostic::new(&lints::MISSING_FIELD, object.name.span, message));
            }
            None
        }
    };
    let routes: Vec<NetworkRoute> = items(&mut fields, "routes", report)
        .iter()
        .filter_map(|item| route(item, report))
        .collect();
    let default = routes.iter().find(|route| route.subnet.prefix_len() == 0);
    let gateway = fields
        .string("gateway", report)
        .and_then(|text| parsed(&text, "an IP address", report))
        .or_else(|| default.map(|route| route.gateway.clone()));
    let ranges = items(&mut fields, "ranges", report)
        .iter()
        .filter_map(|item| report.beyond_airship(|report| range(item, report)))
        .collect();
    let mut dns = fields.open_field("dns", report);
    let dns_servers = match dns.get("servers") {
        // Drydock writes one text with commas; a list says the same.
        Some(node) if node.as_seq().is_some() => dns.strings("servers", report),
        Some(node) => string(node, "`servers`", report).into_iter().collect(),
        None => Vec::new(),
    };
    let network = Network {
        name: object.name.clone(),
        cidr,
        gateway,
        vlan: report.beyond_airship(|report| vlan(&mut fields, report)),
        mtu: fields.int("mtu", report).and_then(|mtu| u16::try_from(mtu).ok()),
        routes,
        ranges,
        dns_servers: dns_servers
            .iter()
            .flat_map(|text| {
                text.value
                    .split(',')
                    .map(|one| Spanned::new(one.trim().to_owned(), text.span))
            })
            .filter(|text| !text.value.is_empty())
            .filter_map(|text| report.beyond_airship(|report| parsed(&text, "an IP address", report)))
            .collect(),
        dns_domain: dns.string("domain", report),
        routedomain: fields.string("routedomain", report),
    };
    dns.finish(report);
    fields.allow(&["labels", "dhcp_relay"]);
    fields.finish(report);
    network
}

pub(super) fn read_cluster(object: &Object<'_>, report: &mut Report<'_>) -> Cluster {
    const PLATFORMS: &[(&str, Platform)] = &[
        ("BareMetal", Platform::BareMetal),
        ("None", Platform::None),
        ("VSphere", Platform::VSphere),
        ("Nutanix", Platform::Nutanix),
        ("External", Platform::External),
    ];
    const LOAD_BALANCERS: &[(&str, LoadBalancer)] = &[
        ("ClusterManaged", LoadBalancer::ClusterManaged),
        ("UserManaged", LoadBalancer::UserManaged),
    ];
    let mut fields = Fields::open(object.body, "Cluster spec", report);
    let cluster = Cluster {
        name: object.name.clone(),
        base_domain: fields.string("baseDomain", report),
        release: fields
            .string("release", report)
            .and_then(|text| parsed::<Release>(&text, "a release such as 4.16", report)),
        platform: fields.choice("platform", PLATFORMS, report).unwrap_or_default(),
        load_balancer: fields
            .choice("loadBalancer", LOAD_BALANCERS, report)
            .unwrap_or_default(),
        api_vips: addresses(&mut fields, "apiVIPs", report),
        ingress_vips: addresses(&mut fields, "ingressVIPs", report),
        machine_networks: fields.names("machineNetworks", report),
        cluster_networks: items(&mut fields, "clusterNetworks", report)
            .iter()
            .filter_map(|item| cluster_network(item, report))
            .collect(),
        service_networks: fields
            .strings("serviceNetworks", report)
            .iter()
            .filter_map(|text| network_cidr(text, report))
            .collect(),
        masters_schedulable: fields.bool("mastersSchedulable", report),
        remote_sites: items(&mut fields, "remoteSites", report)
            .iter()
            .filter_map(|item| remote_site(item, report))
            .collect(),
    };
    fields.finish(report);
    cluster
}

/// The part of a host profile or node that is about its network; `metadata` holds the boot card's address.
pub(super) fn host_network(
    fields: &mut Fields<'_>,
    metadata: &mut Fields<'_>,
    credential_is_written: &dyn Fn(&Node) -> bool,
    report: &mut Report<'_>,
) -> HostNetwork {
    HostNetwork {
        primary: fields.name("primary_network", report),
        interfaces: interfaces(fields, report),
        oob: oob(fields, credential_is_written, report),
        bmc: bmc(fields, report),
        boot_mac: metadata
            .string("boot_mac", report)
            .and_then(|text| report.beyond_airship(|report| parsed(&text, "a MAC address", report))),
    }
}

pub(super) fn addressing(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Vec<Addressing> {
    items(fields, "addressing", report)
        .iter()
        .filter_map(|item| {
            let mut fields = Fields::open(Some(item), "addressing item", report);
            let (network, address) = (fields.name("network", report), fields.string("address", report));
            if !report.airship {
                fields.finish(report);
            }
            require(item, &["network", "address"], "this address", report);
            let address = address?;
            let value = match address.value.as_str() {
                "dhcp" => Address::Dhcp,
                _ => Address::Static(parsed(&address, "an IP address or `dhcp`", report)?.value),
            };
            Some(Addressing {
                network: network?,
                address: Spanned::new(value, address.span),
            })
        })
        .collect()
}

fn interfaces(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Vec<Interface> {
    let Some(node) = fields.get("interfaces") else {
        return Vec::new();
    };
    let Some(map) = node.as_map() else {
        report.wrong_type("`interfaces`", "a mapping of interfaces by name", node);
        return Vec::new();
    };
    let mut interfaces = Vec::with_capacity(map.len());
    for (key, node) in map.iter().filter(|(_, node)| !node.is_null()) {
        let mut fields = Fields::open(Some(node), format!("interface `{}`", key.as_str()), report);
        interfaces.push(Interface {
            name: Spanned::new(key.as_str().into(), key.span),
            mac: fields
                .string("mac", report)
                .and_then(|text| report.beyond_airship(|report| parsed(&text, "a MAC address", report))),
            networks: fields.names("networks", report),
            slaves: fields.strings("slaves", report),
        });
        fields.allow(&["device_link", "sriov"]);
        // Drydock takes further fields here, such as labels.
        if !report.airship {
            fields.finish(report);
        }
    }
    interfaces
}

fn oob(fields: &mut Fields<'_>, credential_is_written: &dyn Fn(&Node) -> bool, report: &mut Report<'_>) -> Oob {
    let mut oob = fields.open_field("oob", report);
    if let Some(credential) = oob.get("credential") {
        if !report.airship {
            password(credential, "`oob.credential`", report);
        } else if credential_is_written(credential) {
            // Drydock asks for it, so it has to be in the rendered document.
            let message = "`oob.credential` holds a password in clear text";
            let finding = Diagnostic::new(&lints::BMC_PASSWORD, credential.span, message)
                .with_help("substitute it from an encrypted deckhand/Passphrase/v1 document")
                .at_most(Severity::Warning);
            report.push(finding);
        }
    }
    // What else stands here depends on the type.
    Oob {
        kind: oob.string("type", report),
        network: oob.name("network", report),
    }
}

fn bmc(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Option<Bmc> {
    let node = fields.get("bmc")?;
    let mut fields = Fields::open(Some(node), "bmc", report);
    for key in ["username", "password"] {
        if let Some(value) = fields.get(key) {
            password(value, &format!("`bmc.{key}`"), report);
        }
    }
    let address = fields.string("address", report);
    if let Some(address) = &address {
        check_bmc_address(address, report);
    }
    let bmc = Bmc {
        address,
        credentials: fields.name("credentialsName", report),
        disable_certificate_verification: fields
            .bool("disableCertificateVerification", report)
            .unwrap_or_default(),
    };
    fields.finish(report);
    Some(bmc)
}

/// A password where only a reference may stand.
fn password(node: &Node, what: &str, report: &mut Report<'_>) {
    let message = format!("{what} holds a credential of a management controller");
    report.push(Diagnostic::new(&lints::BMC_PASSWORD, node.span, message).with_help(
        "put it in a Secret and write its name in `bmc.credentialsName`; change the password, it has been seen",
    ));
}

fn check_bmc_address(address: &Spanned<String>, report: &mut Report<'_>) {
    match address.value.parse::<BmcAddress>() {
        Err(error) => {
            report
                .push(Diagnostic::new(&lints::INVALID_VALUE, address.span, error.to_string()).with_help(error.help()));
        }
        Ok(read) if read.has_credentials() => {
            let message = "the address of the management controller holds its credentials";
            report.push(
                Diagnostic::new(&lints::BMC_PASSWORD, address.span, message)
                    .with_help("put them in a Secret and write its name in `bmc.credentialsName`"),
            );
        }
        Ok(_) => {}
    }
}

fn route(item: &Node, report: &mut Report<'_>) -> Option<NetworkRoute> {
    let mut fields = Fields::open(Some(item), "route", report);
    let (subnet, gateway) = (fields.string("subnet", report), fields.string("gateway", report));
    let metric = fields.int("metric", report);
    fields.allow(&["routedomain"]);
    fields.finish(report);
    // Drydock writes routes between networks of one routing domain without a gateway.
    Some(NetworkRoute {
        subnet: parsed::<IpNet>(&subnet?, "a network such as 10.0.0.0/8", report)?.value,
        gateway: parsed(&gateway?, "an IP address", report)?,
        metric: metric.and_then(|metric| u32::try_from(metric).ok()),
    })
}

fn range(item: &Node, report: &mut Report<'_>) -> Option<AddressRange> {
    const KINDS: &[(&str, RangeKind)] = &[
        ("static", RangeKind::Static),
        ("dhcp", RangeKind::Dhcp),
        ("reserved", RangeKind::Reserved),
    ];
    let mut fields = Fields::open(Some(item), "range", report);
    let kind = fields.choice("type", KINDS, report);
    let (start, end) = (fields.string("start", report), fields.string("end", report));
    fields.finish(report);
    require(item, &["type", "start", "end"], "this range", report);
    let (start, end) = (
        parsed::<IpAddr>(&start?, "an IP address", report)?,
        parsed(&end?, "an IP address", report)?,
    );
    Some(AddressRange {
        kind: kind?,
        start,
        end,
    })
}

fn vlan(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Option<Spanned<u16>> {
    let node = fields.get("vlan")?;
    // Drydock writes it as text.
    let number = node.as_i64().or_else(|| node.as_str()?.parse().ok());
    let vlan = number
        .filter(|number| (1..=LAST_VLAN).contains(number))
        .and_then(|number| u16::try_from(number).ok());
    if vlan.is_none() {
        let message = format!("`{}` is not a VLAN", report.sources.snippet(node.span));
        report.push(
            Diagnostic::new(&lints::INVALID_VALUE, node.span, message)
                .with_help("a VLAN is a number from 1 to 4094; leave it out where the network is untagged"),
        );
    }
    vlan.map(|vlan| Spanned::new(vlan, node.span))
}

/// The CIDR of a network, which has no bits behind its prefix.
fn network_cidr(text: &Spanned<String>, report: &mut Report<'_>) -> Option<Spanned<IpNet>> {
    let cidr = parsed::<IpNet>(text, "a network such as 10.0.0.0/24", report)?;
    if cidr.value.trunc() != cidr.value {
        let message = format!("`{}` is an address in a network, not a network", text.value);
        report.push(
            Diagnostic::new(&lints::INVALID_VALUE, text.span, message)
                .with_help(format!("write {}", cidr.value.trunc())),
        );
    }
    Some(Spanned::new(cidr.value.trunc(), cidr.span))
}

fn cluster_network(item: &Node, report: &mut Report<'_>) -> Option<ClusterNetwork> {
    let mut fields = Fields::open(Some(item), "clusterNetworks item", report);
    let cidr = fields.string("cidr", report);
    let host_prefix = fields.int("hostPrefix", report);
    fields.finish(report);
    require(item, &["cidr"], "this network", report);
    Some(ClusterNetwork {
        cidr: network_cidr(&cidr?, report)?,
        host_prefix: host_prefix.and_then(|prefix| u8::try_from(prefix).ok()),
    })
}

fn remote_site(item: &Node, report: &mut Report<'_>) -> Option<RemoteSite> {
    let mut fields = Fields::open(Some(item), "remoteSites item", report);
    let (name, networks) = (fields.name("name", report), fields.names("networks", report));
    fields.finish(report);
    require(item, &["name", "networks"], "this site", report);
    Some(RemoteSite { name: name?, networks })
}

fn addresses(fields: &mut Fields<'_>, key: &'static str, report: &mut Report<'_>) -> Vec<Spanned<IpAddr>> {
    fields
        .strings(key, report)
        .iter()
        .filter_map(|text| parsed(text, "an IP address", report))
        .collect()
}

pub(super) fn items<'a>(fields: &mut Fields<'a>, key: &'static str, report: &mut Report<'_>) -> &'a [Node] {
    let Some(node) = fields.get(key) else {
        return &[];
    };
    node.as_seq().unwrap_or_else(|| {
        report.wrong_type(&format!("`{key}`"), "a list", node);
        &[]
    })
}

fn require(item: &Node, keys: &[&str], what: &str, report: &mut Report<'_>) {
    if item.as_map().is_none() {
        return;
    }
    for key in keys.iter().filter(|key| item.get(key).is_none_or(Node::is_null)) {
        report.push(Diagnostic::new(
            &lints::MISSING_FIELD,
            item.span,
            format!("{what} has no `{key}`"),
        ));
    }
}

/// A text as the type it stands for.
pub(super) fn parsed<T: FromStr>(text: &Spanned<String>, what: &str, report: &mut Report<'_>) -> Option<Spanned<T>> {
    match text.value.parse() {
        Ok(value) => Some(Spanned::new(value, text.span)),
        Err(_) => {
            let message = format!("`{}` is not {what}", text.value);
            report.push(Diagnostic::new(&lints::INVALID_VALUE, text.span, message));
            None
        }
    }
}

/// Reports a Secret that holds the credentials of a management controller: the documents of a site are read by many.
pub(super) fn check_secret(document: &berth_documents::Document, report: &mut Report<'_>) {
    for part in ["data", "stringData"] {
        let Some(map) = document.root.get(part).and_then(Node::as_map) else {
            continue;
        };
        if let (Some(_), Some(value)) = (map.get("username"), map.get("password"))
            && !value.is_null()
        {
            let name = document.name().map_or("", |(name, _)| name);
            password(value, &format!("`{part}` of Secret `{name}`"), report);
        }
    }
}
