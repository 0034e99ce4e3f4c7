//! Clusters, hosts and extra manifests, whatever form they are written in.

use std::net::IpAddr;

use berth_documents::{Document, Node, Span};
use berth_site::Release;

use super::nested::NestedFile;
use crate::names::{BMAC, NODE_LABEL};

/// A text and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
    pub(super) span: Span,
}

/// The form of a host or cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Raw,
    Instance,
    SiteConfig,
}

/// A machine.
#[derive(Debug)]
pub(super) struct HostView<'a> {
    pub(super) kind: Kind,
    /// The cluster's name, or the namespace.
    pub(super) cluster: &'a str,
    pub(super) name: Text<'a>,
    pub(super) role: Option<Text<'a>>,
    pub(super) mac: Option<Text<'a>>,
    pub(super) bmc: Option<Text<'a>>,
    pub(super) pool: Option<Text<'a>>,
    /// Keys of labels and their values.
    pub(super) labels: Vec<(Text<'a>, &'a Node)>,
    pub(super) ignition: Option<Text<'a>>,
    /// MAC addresses of its static network.
    pub(super) cards: Vec<Text<'a>>,
    pub(super) addresses: Vec<IpAddr>,
    /// The same with the length of their network, where it is written.
    pub(super) networks: Vec<ipnet::IpNet>,
    /// Next hops of the default routes.
    pub(super) gateways: Vec<IpAddr>,
    pub(super) annotations_size: usize,
    /// It names credentials with which others fence it.
    pub(super) is_fenced: bool,
    /// Whether the hub has installed it, where its object says so.
    pub(super) installed: Option<bool>,
    /// It joins when the cluster is installed.
    pub(super) later: bool,
}

impl HostView<'_> {
    /// The role; a `ClusterInstance` and a `SiteConfig` take a master where none is written.
    pub(super) fn role(&self) -> &str {
        let otherwise = if self.kind == Kind::Raw {
            "auto-assign"
        } else {
            "master"
        };
        self.role.map_or(otherwise, |role| role.text)
    }
}

/// A cluster.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a statement of the manifests, and they combine freely"
)]
pub(super) struct ClusterView<'a> {
    pub(super) kind: Kind,
    pub(super) name: &'a str,
    pub(super) span: Span,
    pub(super) machine: Vec<Text<'a>>,
    pub(super) pods: Vec<(Text<'a>, Option<i64>)>,
    pub(super) services: Vec<Text<'a>>,
    pub(super) api: Vec<Text<'a>>,
    pub(super) ingress: Vec<Text<'a>>,
    pub(super) user_lb: Option<Span>,
    /// Whether the user brings load balancing and DNS: as it is said, by the platform, or with a single node.
    pub(super) user_networking: bool,
    /// `userManagedNetworking`, where it is written.
    pub(super) user_networking_said: Option<bool>,
    pub(super) platform: Option<&'a str>,
    pub(super) platform_span: Option<Span>,
    /// `external.platformName` is there.
    pub(super) has_external: bool,
    /// One machine of the control plane and no worker.
    pub(super) is_single: bool,
    /// `clusterType` of a `ClusterInstance`.
    pub(super) cluster_type: Option<Text<'a>>,
    /// Whether Assisted Service gets an `AgentClusterInstall` of the form that is known here.
    pub(super) has_install: bool,
    pub(super) masters_schedulable: Option<bool>,
    pub(super) requirements: Option<&'a Node>,
    pub(super) ignored_host: Option<Text<'a>>,
    pub(super) ignored_cluster: Option<Text<'a>>,
    pub(super) references: Vec<Text<'a>>,
    pub(super) release: Option<Release>,
    pub(super) base_domain: Option<&'a str>,
    /// The name in the cluster's domain, where it is not the namespace's.
    pub(super) domain_name: Option<&'a str>,
    /// Where it is written that the cluster is installed already.
    pub(super) installed: Option<Span>,
}

impl ClusterView<'_> {
    /// Draws the conclusion from what is said.
    fn settle(&mut self) {
        self.user_networking = self.user_networking_said == Some(true)
            || matches!(self.platform, Some("None" | "External"))
            || self.is_single;
    }

    /// Whether nodes of the cluster move the VIPs.
    pub(super) fn moves_vips(&self) -> bool {
        self.user_lb.is_none() && !self.user_networking && !self.api.is_empty()
    }

    /// Whether its control plane runs on another cluster.
    pub(super) fn is_hosted(&self) -> bool {
        self.cluster_type.is_some_and(|kind| kind.text == "HostedControlPlane")
    }

    /// `apps.NAME.BASE`.
    pub(super) fn apps_domain(&self) -> Option<String> {
        let name = self.domain_name.unwrap_or(self.name);
        self.base_domain.map(|base| format!("apps.{name}.{base}"))
    }

    /// Whether its platform finds out which nodes are remote.
    pub(super) fn is_bare_metal(&self) -> bool {
        matches!(self.platform, None | Some("BareMetal" | ""))
    }

    pub(super) fn vips(&self) -> impl Iterator<Item = IpAddr> {
        self.api
            .iter()
            .chain(&self.ingress)
            .filter_map(|vip| vip.text.parse().ok())
    }
}

/// An object that goes into the new cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extra<'a> {
    pub(super) document: &'a Document,
    /// The file it is in, where it is in a `ConfigMap`.
    pub(super) file: Option<&'a NestedFile>,
    /// Whether it is the first of its file.
    pub(super) first: bool,
}

/// Everything.
#[derive(Debug)]
pub(super) struct Hub<'a> {
    pub(super) documents: &'a [Document],
    pub(super) files: &'a [NestedFile],
    pub(super) clusters: Vec<ClusterView<'a>>,
    pub(super) hosts: Vec<HostView<'a>>,
    pub(super) extras: Vec<Extra<'a>>,
}

/// Kinds that belong into the cluster and not on the hub.
const CLUSTER_KINDS: &[&str] = &[
    "MachineConfigPool",
    "MachineConfig",
    "KubeletConfig",
    "IngressController",
    "EgressIP",
    "Network",
    "Node",
];

impl<'a> Hub<'a> {
    pub(super) fn read(documents: &'a [Document], files: &'a [NestedFile]) -> Self {
        let mut hub = Self {
            documents,
            files,
            clusters: Vec::new(),
            hosts: Vec::new(),
            extras: Vec::new(),
        };
        for document in documents {
            match (document.kind(), document.api_group()) {
                ("AgentClusterInstall", _) => hub.raw_cluster(document),
                ("BareMetalHost", _) => hub.bare_metal_host(document),
                ("ClusterInstance", _) => hub.instance(document),
                ("SiteConfig", "ran.openshift.io") => hub.site_config(document),
                (kind, _) if CLUSTER_KINDS.contains(&kind) => hub.extras.push(Extra {
                    document,
                    file: None,
                    first: document.index == 0,
                }),
                _ => {}
            }
        }
        for file in files {
            hub.extras.extend(file.documents.iter().map(|document| Extra {
                document,
                file: Some(file),
                first: document.index == 0,
            }));
        }
        hub
    }

    pub(super) fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &'a Document> {
        self.documents.iter().filter(move |document| document.kind() == kind)
    }

    pub(super) fn extras_of(&self, kind: &'static str) -> impl Iterator<Item = Extra<'a>> {
        self.extras
            .iter()
            .copied()
            .filter(move |extra| extra.document.kind() == kind)
    }

    pub(super) fn hosts_of(&self, cluster: &str) -> impl Iterator<Item = &HostView<'a>> {
        self.hosts.iter().filter(move |host| host.cluster == cluster)
    }

    pub(super) fn cluster_of(&self, host: &HostView<'_>) -> Option<&ClusterView<'a>> {
        self.clusters.iter().find(|cluster| cluster.name == host.cluster)
    }

    /// Whether the host will call itself remote, if the release lets it.
    pub(super) fn is_remote(&self, host: &HostView<'_>) -> bool {
        let cluster = self.cluster_of(host).filter(|cluster| cluster.moves_vips());
        cluster.is_some_and(|cluster| is_away(cluster, host))
    }

    fn raw_cluster(&mut self, document: &'a Document) {
        let Some(spec) = document.body() else { return };
        let mut cluster = networks(spec, Kind::Raw);
        cluster.name = namespace(document).or_else(|| name(document)).unwrap_or_default();
        cluster.span = document.name().map_or_else(|| document.span(), |(_, span)| span);
        if let Some(networking) = spec.get("networking") {
            let below = networks(networking, Kind::Raw);
            (cluster.machine, cluster.pods, cluster.services) = (below.machine, below.pods, below.services);
            cluster.user_networking_said = networking.get("userManagedNetworking").and_then(Node::as_bool);
        }
        let agents = |field: &str| spec.at(&["provisionRequirements", field]).and_then(Node::as_u64);
        cluster.is_single = agents("controlPlaneAgents") == Some(1)
            && agents("workerAgents").unwrap_or(0) == 0
            && agents("arbiterAgents").unwrap_or(0) == 0;
        cluster.has_external = text_at(spec, &["external", "platformName"]).is_some_and(|name| !name.text.is_empty());
        cluster.settle();
        cluster.user_lb = spec
            .at(&["loadBalancer", "type"])
            .filter(|node| node.as_str() == Some("UserManaged"))
            .map(|node| node.span);
        cluster.requirements = spec.get("provisionRequirements");
        cluster.ignored_host = annotation(document, crate::names::IGNORED_HOST);
        cluster.ignored_cluster = annotation(document, crate::names::IGNORED_CLUSTER);
        cluster.release = text_at(spec, &["imageSetRef", "name"]).and_then(|text| release_in(text.text));
        cluster.references = names(spec.get("manifestsConfigMapRefs"));
        cluster
            .references
            .extend(text_at(spec, &["manifestsConfigMapRef", "name"]));
        let deployment = self
            .of_kind("ClusterDeployment")
            .find(|it| namespace(it) == namespace(document));
        let deployment = deployment.and_then(Document::body);
        let of_deployment = |key: &str| Some(text_at(deployment?, &[key])?.text);
        cluster.base_domain = of_deployment("baseDomain");
        cluster.domain_name = of_deployment("clusterName");
        cluster.installed = deployment
            .and_then(|spec| spec.get("installed"))
            .filter(|node| node.as_bool() == Some(true))
            .map(|node| node.span);
        self.clusters.push(cluster);
    }

    fn bare_metal_host(&mut self, document: &'a Document) {
        let (Some(own), Some(spec)) = (document.name(), document.body()) else {
            return;
        };
        let own = Text {
            text: own.0,
            span: own.1,
        };
        let bmac = |what: &str| annotation(document, &format!("{BMAC}/{what}"));
        let annotations = document.annotations();
        let labels = annotations.into_iter().flatten().filter_map(|(key, node)| {
            let text = key.text.strip_prefix(NODE_LABEL)?;
            Some((Text { text, span: key.span }, node))
        });
        let mac = text_at(spec, &["bootMACAddress"]);
        let network = self.of_kind("NMStateConfig").find(|config| {
            namespace(config) == namespace(document)
                && (cards(config.body()).iter().any(|card| same_mac(Some(*card), mac))
                    || name(config) == Some(own.text))
        });
        let network = network.and_then(Document::body);
        self.hosts.push(HostView {
            kind: Kind::Raw,
            cluster: namespace(document).unwrap_or_default(),
            name: bmac("hostname").unwrap_or(own),
            role: bmac("role"),
            mac,
            bmc: text_at(spec, &["bmc", "address"]),
            pool: bmac("machine-config-pool"),
            labels: labels.collect(),
            ignition: bmac("ignition-config-overrides"),
            cards: cards(network),
            addresses: addresses(network.and_then(|spec| spec.get("config"))),
            networks: host_networks(network.and_then(|spec| spec.get("config"))),
            gateways: gateways(network.and_then(|spec| spec.get("config"))),
            later: false,
            is_fenced: bmac("fencing-credentials-secret-name").is_some()
                || bmac("create-fencing-credentials-secret").is_some(),
            installed: text_at(&document.root, &["status", "provisioning", "state"])
                .map(|state| matches!(state.text, "provisioned" | "externally provisioned")),
            annotations_size: annotations
                .into_iter()
                .flatten()
                .map(|(key, node)| key.text.len() + node.as_str().map_or(0, str::len))
                .sum(),
        });
    }

    fn instance(&mut self, document: &'a Document) {
        let Some(spec) = document.body() else { return };
        let mut cluster = networks(spec, Kind::Instance);
        cluster.name = text_at(spec, &["clusterName"])
            .map(|it| it.text)
            .or_else(|| name(document))
            .unwrap_or_default();
        cluster.span = document.name().map_or_else(|| document.span(), |(_, span)| span);
        cluster.cluster_type = text_at(spec, &["clusterType"]);
        cluster.is_single = cluster.cluster_type.is_some_and(|kind| kind.text == "SNO") || is_single(spec);
        cluster.settle();
        let annotations = spec.at(&["extraAnnotations", "AgentClusterInstall"]);
        let ignored = |key: &str| annotations.and_then(|map| text_at(map, &[key]));
        cluster.ignored_host = ignored(crate::names::IGNORED_HOST);
        cluster.ignored_cluster = ignored(crate::names::IGNORED_CLUSTER);
        cluster.release = text_at(spec, &["clusterImageSetNameRef"]).and_then(|text| release_in(text.text));
        cluster.references = names(spec.get("extraManifestsRefs"));
        cluster.base_domain = text_at(spec, &["baseDomain"]).map(|text| text.text);
        let name = cluster.name;
        // An AgentClusterInstall that stands beside it in place of the suppressed one says more.
        let suppressed = texts(spec.get("suppressedManifests"))
            .iter()
            .any(|kind| kind.text == "AgentClusterInstall");
        let beside = self
            .of_kind("AgentClusterInstall")
            .any(|install| namespace(install) == Some(name));
        let templates = spec.get("templateRefs").and_then(Node::as_seq).unwrap_or_default();
        let is_default =
            |template: &Node| text_at(template, &["name"]).is_some_and(|name| name.text == DEFAULT_TEMPLATES);
        cluster.has_install = !suppressed && !cluster.is_hosted() && templates.iter().any(is_default);
        if !(suppressed && beside) {
            self.clusters.push(cluster);
        }
        let installed = match Progress::of_instance(document) {
            Progress::Unknown => None,
            progress => Some(progress == Progress::Done),
        };
        self.nodes(spec, name, Kind::Instance, installed);
    }

    fn site_config(&mut self, document: &'a Document) {
        let Some(spec) = document.body() else { return };
        for entry in spec.get("clusters").and_then(Node::as_seq).unwrap_or_default() {
            let mut cluster = networks(entry, Kind::SiteConfig);
            let named = text_at(entry, &["clusterName"]);
            cluster.name = named.map(|it| it.text).unwrap_or_default();
            cluster.span = named.map_or(entry.span, |it| it.span);
            cluster.release = text_at(entry, &["clusterImageSetNameRef"])
                .or_else(|| text_at(spec, &["clusterImageSetNameRef"]))
                .and_then(|text| release_in(text.text));
            cluster.base_domain = text_at(spec, &["baseDomain"]).map(|text| text.text);
            // The generator counts no workers there, so that a single node can get some later.
            cluster.is_single = masters(entry) == 1;
            cluster.settle();
            let name = cluster.name;
            self.clusters.push(cluster);
            self.nodes(entry, name, Kind::SiteConfig, None);
        }
    }

    fn nodes(&mut self, spec: &'a Node, cluster: &'a str, kind: Kind, installed: Option<bool>) {
        let pool_key = format!("{BMAC}/machine-config-pool");
        for node in spec.get("nodes").and_then(Node::as_seq).unwrap_or_default() {
            let Some(name) = text_at(node, &["hostName"]) else {
                continue;
            };
            let labels = node.get("nodeLabels").and_then(Node::as_map).into_iter().flatten();
            let network = node.get("nodeNetwork");
            self.hosts.push(HostView {
                kind,
                cluster,
                name,
                role: text_at(node, &["role"]),
                mac: text_at(node, &["bootMACAddress"]),
                bmc: text_at(node, &["bmcAddress"]),
                pool: text_at(node, &["extraAnnotations", "BareMetalHost", &pool_key])
                    .or_else(|| text_at(node, &["crAnnotations", "add", "BareMetalHost", &pool_key])),
                labels: labels
                    .map(|(key, value)| {
                        let text = key.as_str();
                        (Text { text, span: key.span }, value)
                    })
                    .collect(),
                ignition: text_at(node, &["ignitionConfigOverride"]),
                cards: cards(network),
                addresses: addresses(network.and_then(|network| network.get("config"))),
                networks: host_networks(network.and_then(|network| network.get("config"))),
                gateways: gateways(network.and_then(|network| network.get("config"))),
                annotations_size: annotations_size(spec, node),
                is_fenced: false,
                later: false,
                installed,
            });
        }
    }
}

/// Whether a host has addresses, and none in a network of a VIP.
pub(super) fn is_away(cluster: &ClusterView<'_>, host: &HostView<'_>) -> bool {
    let networks: Vec<ipnet::IpNet> = cluster
        .machine
        .iter()
        .filter_map(|network| network.text.parse().ok())
        .filter(|network: &ipnet::IpNet| cluster.vips().any(|vip| network.contains(&vip)))
        .collect();
    let inside = |address: &IpAddr| networks.iter().any(|network| network.contains(address));
    !networks.is_empty() && !host.addresses.is_empty() && !host.addresses.iter().any(inside)
}

/// The cluster templates of the siteconfig operator whose objects are known.
const DEFAULT_TEMPLATES: &str = "ai-cluster-templates-v1";

/// Whether a list of nodes has one of the control plane and no other.
fn is_single(spec: &Node) -> bool {
    let nodes = spec.get("nodes").and_then(Node::as_seq).unwrap_or_default();
    nodes.len() == 1 && masters(spec) == 1
}

/// How many nodes of a list are of the control plane; one without a role is.
pub(super) fn masters(spec: &Node) -> usize {
    let nodes = spec.get("nodes").and_then(Node::as_seq).unwrap_or_default();
    let is_master = |node: &&Node| text_at(node, &["role"]).is_none_or(|role| matches!(role.text, "" | "master"));
    nodes.iter().filter(is_master).count()
}

/// What all three forms write alike. `span` is filled in by the caller.
fn networks(spec: &Node, kind: Kind) -> ClusterView<'_> {
    let vips = |plural: &str, singular: &str| {
        let list = texts(spec.get(plural));
        if list.is_empty() {
            text_at(spec, &[singular]).into_iter().collect()
        } else {
            list
        }
    };
    let pods = spec.get("clusterNetwork").and_then(Node::as_seq).unwrap_or_default();
    ClusterView {
        kind,
        name: "",
        span: spec.span,
        machine: texts(spec.get("machineNetwork")),
        pods: pods
            .iter()
            .filter_map(|entry| {
                Some((
                    text_at(entry, &["cidr"])?,
                    entry.get("hostPrefix").and_then(Node::as_i64),
                ))
            })
            .collect(),
        services: texts(spec.get("serviceNetwork")),
        api: vips("apiVIPs", "apiVIP"),
        ingress: vips("ingressVIPs", "ingressVIP"),
        user_lb: None,
        user_networking: false,
        user_networking_said: None,
        platform: text_at(spec, &["platformType"]).map(|text| text.text),
        platform_span: text_at(spec, &["platformType"]).map(|text| text.span),
        has_external: false,
        is_single: false,
        cluster_type: None,
        has_install: true,
        masters_schedulable: spec.get("mastersSchedulable").and_then(Node::as_bool),
        requirements: None,
        ignored_host: None,
        ignored_cluster: None,
        references: Vec::new(),
        release: None,
        base_domain: None,
        domain_name: None,
        installed: None,
    }
}

pub(super) fn name(document: &Document) -> Option<&str> {
    document.name().map(|(name, _)| name)
}

pub(super) fn namespace(document: &Document) -> Option<&str> {
    document.root.at(&["metadata", "namespace"]).and_then(Node::as_str)
}

pub(super) fn text_at<'a>(node: &'a Node, path: &[&str]) -> Option<Text<'a>> {
    let node = node.at(path)?;
    let text = node.as_str()?;
    Some(Text { text, span: node.span })
}

pub(super) fn annotation<'a>(document: &'a Document, key: &str) -> Option<Text<'a>> {
    let node = document.annotations()?.get(key)?;
    let text = node.as_str()?;
    Some(Text { text, span: node.span })
}

/// Texts of a list, plain or as `cidr` of objects.
pub(super) fn texts(node: Option<&Node>) -> Vec<Text<'_>> {
    let items = node.and_then(Node::as_seq).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| match item.as_str() {
            Some(text) => Some(Text { text, span: item.span }),
            None => text_at(item, &["cidr"]),
        })
        .collect()
}

fn names(node: Option<&Node>) -> Vec<Text<'_>> {
    let items = node.and_then(Node::as_seq).unwrap_or_default();
    items.iter().filter_map(|item| text_at(item, &["name"])).collect()
}

fn cards(network: Option<&Node>) -> Vec<Text<'_>> {
    let list = network.and_then(|spec| spec.get("interfaces")).and_then(Node::as_seq);
    let list = list.unwrap_or_default();
    list.iter().filter_map(|item| text_at(item, &["macAddress"])).collect()
}

/// How far an installation is, as its object says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The object has no status: it was not read from a hub.
    Unknown,
    /// Nothing keeps it from being changed.
    Free,
    /// It is under way.
    Running,
    /// It is installed.
    Done,
}

impl Progress {
    /// A cluster that is not installed can be changed by nobody, unless it is held.
    pub(super) fn of_instance(document: &Document) -> Self {
        let reinstall = |path: &[&str]| text_at(document.root.get("status")?.get("reinstall")?, path);
        let under_way = reinstall(&["inProgressGeneration"]).is_some_and(|it| !it.text.is_empty())
            && reinstall(&["requestEndTime"]).is_none();
        match condition(document, "Provisioned") {
            Some(("True", _) | (_, "Completed")) if !under_way => Self::Done,
            None if document.root.get("status").is_none() => Self::Unknown,
            _ => Self::Running,
        }
    }

    pub(super) fn of_install(document: &Document) -> Self {
        match condition(document, "Completed") {
            Some((_, "InstallationCompleted" | "InstallationFailed")) => Self::Done,
            Some((_, "InstallationInProgress" | "ClusterAlreadyInstalling")) => Self::Running,
            None if document.root.get("status").is_none() => Self::Unknown,
            _ => Self::Free,
        }
    }
}

/// Status and reason of a condition.
pub(super) fn condition<'a>(document: &'a Document, kind: &str) -> Option<(&'a str, &'a str)> {
    let conditions = document.root.at(&["status", "conditions"]).and_then(Node::as_seq)?;
    let text = |item: &'a Node, key: &str| item.get(key).and_then(Node::as_str).unwrap_or_default();
    let found = conditions.iter().find(|item| text(item, "type") == kind)?;
    Some((text(found, "status"), text(found, "reason")))
}

/// What the default templates make annotations of, in bytes: labels, override, installer arguments and further annotations.
fn annotations_size(cluster: &Node, node: &Node) -> usize {
    let pairs = |map: Option<&Node>, prefix: usize| -> usize {
        let map = map.and_then(Node::as_map).into_iter().flatten();
        map.map(|(key, value)| prefix + key.as_str().len() + value.as_str().map_or(0, str::len))
            .sum()
    };
    let length = |key: &str| text_at(node, &[key]).map_or(0, |text| text.text.len());
    let extra = ["extraAnnotations", "BareMetalHost"];
    pairs(node.get("nodeLabels"), NODE_LABEL.len())
        + pairs(node.at(&extra).or_else(|| cluster.at(&extra)), 0)
        + length("ignitionConfigOverride")
        + length("installerArgs")
}

/// Next hops of the default routes of an nmstate config.
fn gateways(config: Option<&Node>) -> Vec<IpAddr> {
    let routes = config.and_then(|config| config.at(&["routes", "config"]));
    let routes = routes.and_then(Node::as_seq).unwrap_or_default();
    let default =
        |route: &&Node| text_at(route, &["destination"]).is_some_and(|text| matches!(text.text, "0.0.0.0/0" | "::/0"));
    routes
        .iter()
        .filter(default)
        .filter_map(|route| text_at(route, &["next-hop-address"])?.text.parse().ok())
        .collect()
}

/// The entries of the static addresses of an nmstate config.
fn address_entries(config: Option<&Node>) -> impl Iterator<Item = (&Node, IpAddr)> {
    let interfaces = config
        .and_then(|config| config.get("interfaces"))
        .and_then(Node::as_seq);
    interfaces
        .unwrap_or_default()
        .iter()
        .flat_map(|interface| ["ipv4", "ipv6"].map(|family| interface.at(&[family, "address"])))
        .flat_map(|list| list.and_then(Node::as_seq).unwrap_or_default())
        .filter_map(|entry| Some((entry, text_at(entry, &["ip"])?.text.parse().ok()?)))
}

fn addresses(config: Option<&Node>) -> Vec<IpAddr> {
    address_entries(config).map(|(_, address)| address).collect()
}

fn host_networks(config: Option<&Node>) -> Vec<ipnet::IpNet> {
    address_entries(config)
        .filter_map(|(entry, address)| {
            let prefix = entry.get("prefix-length").and_then(Node::as_u64)?;
            ipnet::IpNet::new(address, u8::try_from(prefix).ok()?).ok()
        })
        .collect()
}

pub(super) fn same_mac(a: Option<Text<'_>>, b: Option<Text<'_>>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a.text.eq_ignore_ascii_case(b.text))
}

/// The release in a name such as `openshift-v4.9.12` or `img4.18-x86`.
fn release_in(name: &str) -> Option<Release> {
    let at = name.find("4.")?;
    let rest = name.get(at..)?;
    let length = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    rest.get(..length)?.trim_end_matches('.').parse().ok()
}
