//! A machine's network in nmstate's words, from the networks of the site.

use std::{collections::BTreeMap, net::IpAddr};

use berth_site::{Address, Interface, Machine, MachineAddress};
use ipnet::IpNet;
use serde_json::{Map, Value, json};

/// A machine's network.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NmState {
    /// Names of cards with their MAC addresses.
    pub(crate) interfaces: Vec<(String, String)>,
    /// The `config`.
    pub(crate) config: Value,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
}

/// Writes the network of a machine; none where the documents know no card of it.
pub(crate) fn nmstate(machine: &Machine<'_>) -> Option<NmState> {
    let mut writer = Writer::default();
    let mut placed = Vec::new();
    for interface in &machine.interfaces {
        writer.interface(machine, interface, &mut placed);
    }
    for address in &machine.addresses {
        if !placed.contains(&&*address.network.value) {
            writer.state.notes.push(format!(
                "`{}` has an address in network `{}`, which none of its interfaces carries: it is left to the machine",
                machine.name.value, address.network.value
            ));
        }
    }
    if writer.state.interfaces.is_empty() || placed.is_empty() {
        return None;
    }
    Some(writer.finish())
}

#[derive(Debug, Default)]
struct Writer {
    state: NmState,
    interfaces: Vec<Value>,
    routes: Vec<Value>,
    servers: Vec<String>,
    domains: Vec<String>,
}

impl Writer {
    fn interface<'a>(&mut self, machine: &'a Machine<'_>, interface: &'a Interface, placed: &mut Vec<&'a str>) {
        let name = &*interface.name.value;
        let bond = interface.slaves.len() > 1;
        if bond {
            self.bond(machine, interface);
        } else if let Some(mac) = interface.mac.as_ref().or_else(|| only_card(machine)) {
            self.state.interfaces.push((name.to_owned(), mac.value.to_string()));
        } else {
            self.state.notes.push(format!(
                "interface `{name}` of `{}` has no `mac`, so no address can be tied to it",
                machine.name.value
            ));
            return;
        }
        // Networks with one VLAN are one interface: dual stack is two networks.
        let mut by_vlan: BTreeMap<Option<u16>, Vec<&MachineAddress<'_>>> = BTreeMap::new();
        for network in &interface.networks {
            for address in machine.addresses.iter().filter(|it| it.network.value == network.value) {
                placed.push(&address.network.value);
                let vlan = address.described.and_then(|network| network.vlan.as_ref());
                by_vlan.entry(vlan.map(|vlan| vlan.value)).or_default().push(address);
            }
        }
        let untagged = by_vlan.remove(&None).unwrap_or_default();
        if !bond {
            let mut card = base(name, "ethernet");
            addresses(&mut card, &untagged);
            mtu(&mut card, untagged.iter().chain(by_vlan.values().flatten()).copied());
            self.interfaces.push(Value::Object(card));
        } else if let Some(Value::Object(bond)) = self.interfaces.last_mut() {
            addresses(bond, &untagged);
            mtu(bond, untagged.iter().chain(by_vlan.values().flatten()).copied());
        }
        self.beyond(name, &untagged);
        for (vlan, tagged) in &by_vlan {
            let Some(vlan) = vlan else { continue };
            let tagged_name = format!("{name}.{vlan}");
            let mut card = base(&tagged_name, "vlan");
            card.insert("vlan".to_owned(), json!({"base-iface": name, "id": vlan}));
            addresses(&mut card, tagged);
            mtu(&mut card, tagged.iter().copied());
            self.interfaces.push(Value::Object(card));
            self.beyond(&tagged_name, tagged);
        }
    }

    fn bond(&mut self, machine: &Machine<'_>, interface: &Interface) {
        let mut ports = Vec::new();
        for slave in &interface.slaves {
            ports.push(slave.value.clone());
            let own = machine
                .interfaces
                .iter()
                .find(|other| *other.name.value == *slave.value);
            match own.and_then(|own| own.mac.as_ref()) {
                Some(mac) => {
                    self.state.interfaces.push((slave.value.clone(), mac.value.to_string()));
                }
                None => self.state.notes.push(format!(
                    "card `{}` of bond `{}` of `{}` has no `mac`: the service refuses a card without one",
                    slave.value, interface.name.value, machine.name.value
                )),
            }
            if own.is_none() {
                self.interfaces.push(Value::Object(base(&slave.value, "ethernet")));
            }
        }
        let mut bond = base(&interface.name.value, "bond");
        bond.insert(
            "link-aggregation".to_owned(),
            json!({"mode": "active-backup", "port": ports, "options": {"miimon": "100"}}),
        );
        self.interfaces.push(Value::Object(bond));
    }

    /// Routes and name servers.
    fn beyond(&mut self, interface: &str, addresses: &[&MachineAddress<'_>]) {
        for address in addresses {
            let Some(network) = address.described else { continue };
            if address.address.known().is_some() {
                let default = network
                    .gateway
                    .as_ref()
                    .filter(|_| !network.routes.iter().any(|route| route.subnet.prefix_len() == 0));
                if let Some(gateway) = default {
                    self.route(interface, any(gateway.value), gateway.value, None);
                }
                for route in &network.routes {
                    self.route(interface, route.subnet, route.gateway.value, route.metric);
                }
                for server in &network.dns_servers {
                    let text = server.value.to_string();
                    if !self.servers.contains(&text) {
                        self.servers.push(text);
                    }
                }
            }
            if let Some(domain) = &network.dns_domain
                && !self.domains.contains(&domain.value)
            {
                self.domains.push(domain.value.clone());
            }
        }
    }

    fn route(&mut self, interface: &str, to: IpNet, by: IpAddr, metric: Option<u32>) {
        let mut route = json!({
            "destination": to.to_string(),
            "next-hop-address": by.to_string(),
            "next-hop-interface": interface,
        });
        if let (Some(metric), Value::Object(route)) = (metric, &mut route) {
            route.insert("metric".to_owned(), json!(metric));
        }
        self.routes.push(route);
    }

    fn finish(mut self) -> NmState {
        let mut config = Map::new();
        config.insert("interfaces".to_owned(), Value::Array(self.interfaces));
        if !self.routes.is_empty() {
            config.insert("routes".to_owned(), json!({"config": self.routes}));
        }
        let mut resolver = Map::new();
        for (key, texts) in [("server", &self.servers), ("search", &self.domains)] {
            if !texts.is_empty() {
                resolver.insert(key.to_owned(), json!(texts));
            }
        }
        if !self.servers.is_empty() {
            config.insert("dns-resolver".to_owned(), json!({"config": resolver}));
        }
        self.state.config = Value::Object(config);
        self.state
    }
}

/// A machine with one interface boots from it.
fn only_card<'a>(machine: &Machine<'a>) -> Option<&'a berth_site::Spanned<berth_site::MacAddress>> {
    machine.boot_mac.filter(|_| machine.interfaces.len() == 1)
}

fn base(name: &str, kind: &str) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("name".to_owned(), json!(name));
    map.insert("type".to_owned(), json!(kind));
    map.insert("state".to_owned(), json!("up"));
    map
}

fn addresses(card: &mut Map<String, Value>, addresses: &[&MachineAddress<'_>]) {
    for (family, is_v6) in [("ipv4", false), ("ipv6", true)] {
        let of_family = || {
            addresses.iter().filter(move |address| match address.address {
                Address::Static(known) => known.is_ipv6() == is_v6,
                Address::Dhcp => address
                    .described
                    .and_then(|network| network.cidr.as_ref())
                    .map_or(!is_v6, |cidr| cidr.value.addr().is_ipv6() == is_v6),
            })
        };
        let fixed: Vec<Value> = of_family()
            .filter_map(|address| address.with_prefix())
            .map(|net| json!({"ip": net.addr().to_string(), "prefix-length": net.prefix_len()}))
            .collect();
        let dhcp = of_family().any(|address| address.address == Address::Dhcp);
        let mut settings = Map::new();
        settings.insert("enabled".to_owned(), json!(dhcp || !fixed.is_empty()));
        if dhcp || !fixed.is_empty() {
            settings.insert("dhcp".to_owned(), json!(dhcp));
            if is_v6 {
                settings.insert("autoconf".to_owned(), json!(dhcp));
            }
        }
        if !fixed.is_empty() {
            settings.insert("address".to_owned(), Value::Array(fixed));
        }
        card.insert(family.to_owned(), Value::Object(settings));
    }
}

/// A card carries what its largest network needs.
fn mtu<'a>(card: &mut Map<String, Value>, addresses: impl Iterator<Item = &'a MachineAddress<'a>>) {
    if let Some(mtu) = addresses.filter_map(|address| address.described?.mtu).max() {
        card.insert("mtu".to_owned(), json!(mtu));
    }
}

fn any(gateway: IpAddr) -> IpNet {
    match gateway {
        IpAddr::V4(_) => IpNet::V4(ipnet::Ipv4Net::default()),
        IpAddr::V6(_) => IpNet::V6(ipnet::Ipv6Net::default()),
    }
}
