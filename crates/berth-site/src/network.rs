//! What the site knows of networks: the networks themselves, the cluster's addresses, and each machine's place in them.
//!
//! Addresses are compared as addresses: `fd00::1` and `FD00:0::1` are one address, and a gateway lies in a network because
//! the prefix says so, not because the texts begin alike.

use std::{collections::BTreeMap, fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;
use thiserror::Error;

use crate::{
    model::{Name, Site, Spanned},
    names,
};

/// A `drydock/Network/v1`: one CIDR. Dual stack is two networks on one interface.
#[derive(Clone, Debug)]
pub struct Network {
    /// `metadata.name`.
    pub name: Name,
    /// `cidr`; missing when it cannot be read, which has been reported.
    pub cidr: Option<Spanned<IpNet>>,
    /// `gateway`, or the gateway of the default route in `routes`.
    pub gateway: Option<Spanned<IpAddr>>,
    /// `vlan`; none means untagged.
    pub vlan: Option<Spanned<u16>>,
    /// `mtu`.
    pub mtu: Option<u16>,
    /// `routes`, the default route included.
    pub routes: Vec<NetworkRoute>,
    /// `ranges`.
    pub ranges: Vec<AddressRange>,
    /// `dns.servers`.
    pub dns_servers: Vec<Spanned<IpAddr>>,
    /// `dns.domain`.
    pub dns_domain: Option<Spanned<String>>,
    /// `routedomain`: networks of different domains may overlap, for nothing routes between them.
    pub routedomain: Option<Spanned<String>>,
}

/// One route of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRoute {
    /// Where it leads.
    pub subnet: IpNet,
    /// By whom.
    pub gateway: Spanned<IpAddr>,
    /// Its metric.
    pub metric: Option<u32>,
}

/// A range of addresses inside a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressRange {
    /// Who gives out the addresses.
    pub kind: RangeKind,
    /// The first address.
    pub start: Spanned<IpAddr>,
    /// The last address.
    pub end: Spanned<IpAddr>,
}

/// Who gives out the addresses of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeKind {
    /// Documents do.
    Static,
    /// A DHCP server does.
    Dhcp,
    /// Nobody: they are kept free.
    Reserved,
}

impl AddressRange {
    /// Whether the address is in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.start.value.is_ipv4() && self.start.value <= address && address <= self.end.value
    }
}

impl Network {
    /// Whether the address lies in the network.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.cidr.as_ref().is_some_and(|cidr| cidr.value.contains(&address))
    }
}

/// The address of a network card.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress([u8; 6]);

/// A text that is not a MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a MAC address is six pairs of hexadecimal digits, such as 52:54:00:12:34:56")]
pub struct MacAddressError;

impl FromStr for MacAddress {
    type Err = MacAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().ok_or(MacAddressError)?;
            // `from_str_radix` takes a sign, a MAC address does not.
            if part.len() != 2 || !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(MacAddressError);
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| MacAddressError)?;
        }
        parts.next().is_none().then_some(Self(octets)).ok_or(MacAddressError)
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, octet) in self.0.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            write!(f, "{colon}{octet:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One entry of a node's `addressing`.
#[derive(Clone, Debug)]
pub struct Addressing {
    /// `network`.
    pub network: Name,
    /// `address`.
    pub address: Spanned<Address>,
}

/// An address, or who gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// Written in the document.
    Static(IpAddr),
    /// Given by DHCP, so not known here.
    Dhcp,
}

impl Address {
    /// The address, where it is known.
    pub fn known(self) -> Option<IpAddr> {
        match self {
            Self::Static(address) => Some(address),
            Self::Dhcp => None,
        }
    }
}

/// How a machine's management controller is reached. The password is never here.
#[derive(Clone, Debug)]
pub struct Bmc {
    /// `address`, as `BareMetalHost` writes it: `redfish-virtualmedia+https://10.0.0.1/redfish/v1/Systems/1`.
    pub address: Option<Spanned<String>>,
    /// `credentialsName`: the Secret with `username` and `password`.
    pub credentials: Option<Name>,
    /// `disableCertificateVerification`.
    pub disable_certificate_verification: bool,
}

/// Drydock's `oob`: the out-of-band management of a host.
#[derive(Clone, Debug, Default)]
pub struct Oob {
    /// `type`: `ipmi`, `redfish`, `libvirt` or `manual`.
    pub kind: Option<Spanned<String>>,
    /// `network`: the address of a node in this network is its controller's, not the machine's.
    pub network: Option<Name>,
}

/// A network interface of a host.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name.
    pub name: Name,
    /// `mac`.
    pub mac: Option<Spanned<MacAddress>>,
    /// `networks`: the names of the networks it carries.
    pub networks: Vec<Name>,
    /// `slaves`: the devices of a bond, or the one device itself.
    pub slaves: Vec<Spanned<String>>,
}

impl Interface {
    /// Takes over what the other says and this one does not.
    fn inherit(&mut self, weaker: &Self) {
        if self.mac.is_none() {
            self.mac.clone_from(&weaker.mac);
        }
        if self.networks.is_empty() {
            self.networks.clone_from(&weaker.networks);
        }
        if self.slaves.is_empty() {
            self.slaves.clone_from(&weaker.slaves);
        }
    }
}

/// What a host profile and a node say of the host's network.
#[derive(Clone, Debug, Default)]
pub struct HostNetwork {
    /// `primary_network`: the network of the node's own address.
    pub primary: Option<Name>,
    /// `interfaces`.
    pub interfaces: Vec<Interface>,
    /// `oob`.
    pub oob: Oob,
    /// `bmc`.
    pub bmc: Option<Bmc>,
    /// `metadata.boot_mac`.
    pub boot_mac: Option<Spanned<MacAddress>>,
}

/// A `Cluster`: the addresses that belong to no machine, and which sites are remote.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// `metadata.name`, the first part of the cluster's domain.
    pub name: Name,
    /// `baseDomain`.
    pub base_domain: Option<Spanned<String>>,
    /// `release`, such as `4.16`.
    pub release: Option<Spanned<Release>>,
    /// `platform`.
    pub platform: Platform,
    /// `loadBalancer`.
    pub load_balancer: LoadBalancer,
    /// `apiVIPs`.
    pub api_vips: Vec<Spanned<IpAddr>>,
    /// `ingressVIPs`.
    pub ingress_vips: Vec<Spanned<IpAddr>>,
    /// `machineNetworks`, by name.
    pub machine_networks: Vec<Name>,
    /// `clusterNetworks`.
    pub cluster_networks: Vec<ClusterNetwork>,
    /// `serviceNetworks`.
    pub service_networks: Vec<Spanned<IpNet>>,
    /// `mastersSchedulable`.
    pub masters_schedulable: Option<bool>,
    /// `remoteSites`.
    pub remote_sites: Vec<RemoteSite>,
}

impl Cluster {
    /// The cluster's domain, `NAME.BASE`.
    pub fn domain(&self) -> Option<String> {
        let base = self.base_domain.as_ref()?;
        Some(format!("{}.{}", self.name.value, base.value))
    }

    /// The domain of the default ingress controller, `apps.NAME.BASE`.
    pub fn apps_domain(&self) -> Option<String> {
        self.domain().map(|domain| format!("apps.{domain}"))
    }

    /// The API and ingress addresses.
    pub fn vips(&self) -> impl Iterator<Item = &Spanned<IpAddr>> {
        self.api_vips.iter().chain(&self.ingress_vips)
    }

    /// Whether nodes without an address in a VIP's network call themselves remote: keepalived sleeps there, and the kubelet
    /// registers with an empty `node.openshift.io/remote-worker`. OpenShift does so since 4.13, on bare metal, with the load
    /// balancer it manages itself. A cluster that does not say its release runs a current one.
    pub fn detects_remote_workers(&self) -> bool {
        !self.is_before_remote_workers()
            && self.platform == Platform::BareMetal
            && self.load_balancer == LoadBalancer::ClusterManaged
            && self.vips().next().is_some()
    }

    /// Whether the release is older than the detection of remote workers and the affinity of routers against them.
    pub fn is_before_remote_workers(&self) -> bool {
        let release = self.release.as_ref().map(|release| release.value);
        release.is_some_and(|release| release < Release::DETECTS_REMOTE)
    }

    /// A remote site by name.
    pub fn remote_site(&self, name: &str) -> Option<&RemoteSite> {
        self.remote_sites.iter().find(|site| &*site.name.value == name)
    }
}

/// A release of OpenShift, without its patch level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The number before the dot.
    pub major: u16,
    /// The number after it.
    pub minor: u16,
}

impl Release {
    /// The first release whose nodes find out by themselves that they are remote, and whose routers avoid them.
    pub const DETECTS_REMOTE: Self = Self { major: 4, minor: 13 };
}

/// A text that is not a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a release is two numbers, such as 4.16")]
pub struct ReleaseError;

impl FromStr for Release {
    type Err = ReleaseError;

    /// Takes `4.16` and `4.16.3`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '.').map(|part| part.parse::<u16>().ok());
        match (parts.next().flatten(), parts.next().flatten()) {
            (Some(major), Some(minor)) => Ok(Self { major, minor }),
            _ => Err(ReleaseError),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// One range of pod addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNetwork {
    /// `cidr`.
    pub cidr: Spanned<IpNet>,
    /// `hostPrefix`: the size of each node's share.
    pub host_prefix: Option<u8>,
}

/// Whose infrastructure the cluster is told it runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// `BareMetal`.
    #[default]
    BareMetal,
    /// `None`: user-managed networking.
    None,
    /// `VSphere`.
    VSphere,
    /// `Nutanix`.
    Nutanix,
    /// `External`.
    External,
}

/// Who moves the VIPs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadBalancer {
    /// `keepalived` and `HAProxy` on the nodes.
    #[default]
    ClusterManaged,
    /// A machine in front of the cluster.
    UserManaged,
}

/// A place whose machines have no leg in the networks of the VIPs.
#[derive(Clone, Debug)]
pub struct RemoteSite {
    /// `name`.
    pub name: Name,
    /// `networks`, by name.
    pub networks: Vec<Name>,
}

/// An address of a machine with the network that it lies in.
#[derive(Clone, Debug)]
pub struct MachineAddress<'a> {
    /// The network's name.
    pub network: &'a Name,
    /// The network, where a document describes it.
    pub described: Option<&'a Network>,
    /// The address.
    pub address: Address,
    /// Where the address is written.
    pub span: berth_documents::Span,
}

impl MachineAddress<'_> {
    /// The address with the prefix of its network, such as `10.19.3.21/24`.
    pub fn with_prefix(&self) -> Option<IpNet> {
        let address = self.address.known()?;
        let cidr = &self.described?.cidr.as_ref()?.value;
        cidr.contains(&address)
            .then(|| IpNet::new(address, cidr.prefix_len()).ok())?
    }
}

/// A machine as its document and its host profiles together describe its network.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    /// The node's name.
    pub name: &'a Name,
    /// The addresses of the machine itself, the one of its primary network first.
    pub addresses: Vec<MachineAddress<'a>>,
    /// The address of its management controller in the `oob` network.
    pub oob_address: Option<MachineAddress<'a>>,
    /// `oob.type`.
    pub oob_kind: Option<&'a Spanned<String>>,
    /// Its management controller, where `bmc` says more.
    pub bmc: Option<&'a Bmc>,
    /// Its interfaces by name: each field as the node or the nearest profile that has it says.
    pub interfaces: Vec<Interface>,
    /// The card it boots from.
    pub boot_mac: Option<&'a Spanned<MacAddress>>,
    /// The remote site it stands in.
    pub remote_site: Option<&'a RemoteSite>,
}

impl Machine<'_> {
    /// Whether the machine has an address in the network of one of the cluster's VIPs.
    ///
    /// Nothing is known of addresses that DHCP gives, but their networks are known.
    pub fn shares_a_network_with(&self, vip: IpAddr) -> bool {
        self.addresses
            .iter()
            .any(|address| address.described.is_some_and(|network| network.contains(vip)))
    }
}

impl Site {
    /// The cluster that the site describes.
    pub fn cluster(&self) -> Option<&Cluster> {
        self.clusters.first()
    }

    /// A network by name.
    pub fn network(&self, name: &str) -> Option<&Network> {
        self.networks.iter().find(|network| &*network.name.value == name)
    }

    /// The networks of the cluster's machines: those that the Cluster names, else those with a VIP in them.
    pub fn machine_networks(&self) -> Vec<&Network> {
        let Some(cluster) = self.cluster() else {
            return Vec::new();
        };
        if cluster.machine_networks.is_empty() {
            let holds = |network: &&Network| cluster.vips().any(|vip| network.contains(vip.value));
            return self.networks.iter().filter(holds).collect();
        }
        cluster
            .machine_networks
            .iter()
            .filter_map(|name| self.network(&name.value))
            .collect()
    }

    /// Every machine that a node document describes, in the order of the documents.
    pub fn machines(&self) -> Vec<Machine<'_>> {
        let chains = crate::profiles::Chains::new(self);
        let networks: BTreeMap<&str, &Network> = self
            .networks
            .iter()
            .rev()
            .map(|network| (&*network.name.value, network))
            .collect();
        self.nodes
            .iter()
            .map(|node| {
                let chain = node.data.profile.as_ref().and_then(|name| chains.get(name).ok());
                let profiles = chain.map(|chain| chain.profiles.as_slice()).unwrap_or_default();
                // Strongest first.
                let said: Vec<&HostNetwork> = std::iter::once(&node.data.network)
                    .chain(
                        profiles
                            .iter()
                            .rev()
                            .filter_map(|index| Some(&self.profiles.get(*index)?.data.network)),
                    )
                    .collect();
                self.machine(node, &said, &networks)
            })
            .collect()
    }

    fn machine<'a>(
        &'a self,
        node: &'a crate::model::BaremetalNode,
        said: &[&'a HostNetwork],
        networks: &BTreeMap<&str, &'a Network>,
    ) -> Machine<'a> {
        let oob_network = said.iter().find_map(|host| host.oob.network.as_ref());
        let primary = said.iter().find_map(|host| host.primary.as_ref());
        let (mut oob, mut addresses) = (None, Vec::with_capacity(node.addressing.len()));
        for entry in &node.addressing {
            let address = MachineAddress {
                network: &entry.network,
                described: networks.get(&*entry.network.value).copied(),
                address: entry.address.value,
                span: entry.address.span,
            };
            if oob_network.is_some_and(|name| name.value == entry.network.value) {
                oob.get_or_insert(address);
            } else {
                addresses.push(address);
            }
        }
        addresses.sort_by_key(|address| primary.is_none_or(|name| name.value != address.network.value));
        let mut interfaces: BTreeMap<&str, Interface> = BTreeMap::new();
        for weaker in said.iter().flat_map(|host| &host.interfaces) {
            match interfaces.get_mut(&*weaker.name.value) {
                Some(interface) => interface.inherit(weaker),
                None => {
                    interfaces.insert(&weaker.name.value, weaker.clone());
                }
            }
        }
        let remote_site = self.cluster().and_then(|cluster| {
            cluster.remote_sites.iter().find(|site| {
                addresses
                    .iter()
                    .any(|address| site.networks.iter().any(|name| name.value == address.network.value))
            })
        });
        Machine {
            name: &node.name,
            addresses,
            oob_address: oob,
            oob_kind: said.iter().find_map(|host| host.oob.kind.as_ref()),
            bmc: said.iter().find_map(|host| host.bmc.as_ref()),
            interfaces: interfaces.into_values().collect(),
            boot_mac: said.iter().find_map(|host| host.boot_mac.as_ref()),
            remote_site,
        }
    }

    /// Whether a machine will call itself a remote worker: the platform looks for one, and none of the machine's networks holds a
    /// VIP.
    pub fn predicts_remote(&self, machine: &Machine<'_>) -> bool {
        let Some(cluster) = self.cluster().filter(|cluster| cluster.detects_remote_workers()) else {
            return false;
        };
        // A machine of which no network is known is not judged.
        machine.addresses.iter().any(|address| address.described.is_some())
            && !cluster.vips().any(|vip| machine.shares_a_network_with(vip.value))
    }
}

/// What a Node object of a cluster says of its networks, by OVN-Kubernetes' annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedNetwork {
    /// `k8s.ovn.org/node-primary-ifaddr`: the node's own addresses, each with its prefix; IPv4 first.
    pub primary: Vec<IpNet>,
    /// `k8s.ovn.org/host-cidrs`: all addresses of the host, each with its prefix.
    pub host: Vec<IpNet>,
    /// `cloud.network.openshift.io/egress-ipconfig`: how many addresses a cloud lets the node have.
    pub cloud: Option<CloudEgress>,
    /// `status.addresses`, those that are addresses.
    pub addresses: Vec<IpAddr>,
}

/// What a cloud says of a node's first interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloudEgress {
    /// The networks of the interface.
    pub networks: Vec<IpNet>,
    /// How many addresses of both families, where they share a limit.
    pub capacity: Option<u32>,
    /// How many IPv4 addresses.
    pub capacity_ipv4: Option<u32>,
    /// How many IPv6 addresses.
    pub capacity_ipv6: Option<u32>,
}

impl ObservedNetwork {
    /// Reads the annotations. The second value names each annotation that cannot be read.
    pub fn from_annotations(annotations: &BTreeMap<String, String>) -> (Self, Vec<&'static str>) {
        let mut bad = Vec::new();
        let mut read = |key: &'static str| -> serde_json::Value {
            let Some(text) = annotations.get(key) else {
                return serde_json::Value::Null;
            };
            serde_json::from_str(text).unwrap_or_else(|_| {
                bad.push(key);
                serde_json::Value::Null
            })
        };
        let (primary, host, cloud) = (
            read(names::OVN_PRIMARY),
            read(names::OVN_HOST_CIDRS),
            read(names::CLOUD_EGRESS),
        );
        let primary = prefixes(["ipv4", "ipv6"].iter().filter_map(|family| primary.get(family)));
        let host = prefixes(host.as_array().into_iter().flatten());
        let cloud = match cloud.as_array().map(Vec::as_slice) {
            None => Ok(None),
            Some(interfaces) => cloud_egress(interfaces).map(Some),
        };
        for (key, failed) in [
            (names::OVN_PRIMARY, primary.is_err()),
            (names::OVN_HOST_CIDRS, host.is_err()),
            (names::CLOUD_EGRESS, cloud.is_err()),
        ] {
            if failed {
                bad.push(key);
            }
        }
        let network = Self {
            primary: primary.unwrap_or_default(),
            host: host.unwrap_or_default(),
            cloud: cloud.unwrap_or_default(),
            addresses: Vec::new(),
        };
        (network, bad)
    }

    /// Whether the cluster said anything about the node's networks.
    pub fn is_known(&self) -> bool {
        !self.primary.is_empty() || !self.host.is_empty() || self.cloud.is_some()
    }
}

/// A text in the place of an address.
#[derive(Debug)]
struct NotAPrefix;

fn prefixes<'a>(values: impl Iterator<Item = &'a serde_json::Value>) -> Result<Vec<IpNet>, NotAPrefix> {
    values
        .filter_map(|value| match value.as_str() {
            Some("") => None,
            Some(text) => Some(text.parse().map_err(|_| NotAPrefix)),
            None if value.is_null() => None,
            None => Some(Err(NotAPrefix)),
        })
        .collect()
}

/// Only the first interface carries egress addresses, as in OVN-Kubernetes.
fn cloud_egress(interfaces: &[serde_json::Value]) -> Result<CloudEgress, NotAPrefix> {
    let Some(interface) = interfaces.first() else {
        return Ok(CloudEgress::default());
    };
    let addresses = &interface["ifaddr"];
    let count = |key: &str| {
        interface["capacity"][key]
            .as_u64()
            .and_then(|count| u32::try_from(count).ok())
    };
    Ok(CloudEgress {
        networks: prefixes(["ipv4", "ipv6"].iter().filter_map(|family| addresses.get(family)))?,
        capacity: count("ip"),
        capacity_ipv4: count("ipv4"),
        capacity_ipv6: count("ipv6"),
    })
}
