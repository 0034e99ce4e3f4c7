//! The site as placement sees it: documents and observed nodes become its input, its problems become findings.

mod live;

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    ops::Range,
};

use berth_documents::{Diagnostic, Lint, SourceId, Span};
use berth_labels::{ConflictPolicy, OwnershipDiff};
use berth_placement::{
    EgressContext, EgressIp, EgressPlan, Hosting, IngressAnswer, IngressContext, IngressController, LabelChanges,
    Moves, PlacementNode, PlacementProblem, ProblemKind, Taint, Traffic, check_backends, check_ingress,
    default_replicas, moves, plan_egress, relabelled, stray_backends,
};

use crate::{
    lints,
    model::{Name, ObservedNode, Site, Spanned},
    names,
    network::{LoadBalancer, Machine, Platform},
    resolve::{Resolution, Resolver, kubelet_labels},
};

pub use self::live::{LiveTraffic, ROUTER_LABEL};
use self::live::{observed_networks, observed_taints};

/// An `IngressController` and where its fields are.
#[derive(Clone, Debug)]
pub struct IngressDocument {
    /// `metadata.name`.
    pub name: Name,
    /// What matters for places.
    pub controller: IngressController,
    /// The whole manifest, without its status.
    pub document: serde_json::Value,
    pub(crate) spans: IngressSpans,
}

/// Where an `IngressController` says what.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IngressSpans {
    pub(crate) selector: Option<Span>,
    pub(crate) domain: Option<Span>,
    pub(crate) replicas: Option<Span>,
    pub(crate) ports: Option<Span>,
    pub(crate) routes: Option<Span>,
}

/// An `EgressIP`.
#[derive(Clone, Debug)]
pub struct EgressIpDocument {
    /// `metadata.name`.
    pub name: Name,
    /// `spec.egressIPs`.
    pub addresses: Vec<Spanned<String>>,
    /// Whether `spec.namespaceSelector` selects every namespace.
    pub all_namespaces: bool,
    /// `status.items`: the node, and the address it hosts.
    pub status: Vec<(String, Spanned<String>)>,
}

/// The nodes of a site with what decides about places.
#[derive(Debug)]
pub struct Placement<'a> {
    site: &'a Site,
    /// The nodes, by name, with the labels they will have.
    pub nodes: Vec<PlacementNode>,
    /// The pool of each node.
    pub pools: Vec<Option<String>>,
    /// Where each node is described, and where its egress label comes from.
    spans: Vec<(Span, Option<Span>)>,
}

/// The plan of egress addresses with its findings.
#[derive(Debug)]
pub struct EgressFindings {
    /// The plan.
    pub plan: EgressPlan,
    /// The findings about each address.
    pub addresses: Vec<Vec<Diagnostic>>,
    /// The other findings.
    pub beside: Vec<Diagnostic>,
}

impl<'a> Placement<'a> {
    /// Gathers the nodes of a site. A live node has the labels that it will have once the site is applied, and the networks that
    /// the cluster found there.
    pub fn new(resolver: &Resolver<'a>, resolutions: &[Resolution]) -> Self {
        Self::gather(resolver, resolutions, true)
    }

    /// The same as long as the site is not applied: a live node has the labels that it has, and where live nodes are known, one that
    /// is only in the documents is not there yet.
    pub fn now(resolver: &Resolver<'a>, resolutions: &[Resolution]) -> Self {
        Self::gather(resolver, resolutions, false)
    }

    fn gather(resolver: &Resolver<'a>, resolutions: &[Resolution], applied: bool) -> Self {
        let site = resolver.site();
        let observed: HashMap<&str, &ObservedNode> =
            site.observed.iter().map(|node| (&*node.name.value, node)).collect();
        let machines: HashMap<&str, Machine<'_>> = site
            .machines()
            .into_iter()
            .map(|machine| (&*machine.name.value, machine))
            .collect();
        let schedulable = masters_schedulable(site, resolutions);
        let mut placement = Self {
            site,
            nodes: Vec::with_capacity(resolutions.len()),
            pools: Vec::with_capacity(resolutions.len()),
            spans: Vec::with_capacity(resolutions.len()),
        };
        for resolution in resolutions {
            let live = observed.get(&*resolution.node).copied();
            let machine = machines.get(&*resolution.node);
            let labels = match live {
                Some(node) if applied => labels_after(site, node, resolution),
                Some(node) => node.labels.clone(),
                None => resolution.label_set().to_map(),
            };
            let mut node = placement.node(&resolution.node, labels, live, machine, schedulable);
            node.not_ready |= !applied && live.is_none() && !site.observed.is_empty();
            placement.nodes.push(node);
            placement.pools.push(resolution.pool_name().map(str::to_owned));
            let label = resolution.label(names::EGRESS_ASSIGNABLE).map(|label| label.span);
            placement.spans.push((resolution.span, label));
        }
        placement
    }

    fn node(
        &self,
        name: &str,
        mut labels: BTreeMap<String, String>,
        live: Option<&ObservedNode>,
        machine: Option<&Machine<'_>>,
        masters_schedulable: bool,
    ) -> PlacementNode {
        for (key, value) in kubelet_labels(name) {
            labels.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
        if live.is_none() && machine.is_some_and(|machine| self.site.predicts_remote(machine)) {
            labels.entry(names::REMOTE_WORKER.to_owned()).or_default();
        }
        let mut node = PlacementNode {
            name: name.to_owned(),
            taints: self.taints(name, &labels, live, masters_schedulable),
            labels,
            not_ready: live.is_some_and(|node| node.ready == Some(false)),
            remote_site: machine
                .and_then(|machine| machine.remote_site)
                .map(|site| site.name.value.to_string()),
            ..PlacementNode::default()
        };
        match live.map(|node| &node.network).filter(|network| network.is_known()) {
            Some(network) => observed_networks(&mut node, network),
            None => documented_networks(&mut node, live, machine),
        }
        if node.remote_site.is_none() {
            node.remote_site = self.site_of(&node);
        }
        node
    }

    /// The remote site in whose networks a node is that no document describes.
    fn site_of(&self, node: &PlacementNode) -> Option<String> {
        let cluster = self.site.cluster()?;
        let found = cluster.remote_sites.iter().find(|site| {
            let networks = site.networks.iter().filter_map(|name| self.site.network(&name.value));
            let mut addresses = node.primary.iter().map(ipnet::IpNet::addr);
            networks
                .into_iter()
                .any(|network| addresses.any(|address| network.contains(address)))
        })?;
        Some(found.name.value.to_string())
    }

    fn taints(
        &self,
        name: &str,
        labels: &BTreeMap<String, String>,
        live: Option<&ObservedNode>,
        masters_schedulable: bool,
    ) -> Vec<Taint> {
        if let Some(live) = live {
            return observed_taints(live);
        }
        let berth = self
            .site
            .berths
            .iter()
            .find(|berth| &*berth.node_name.value == name && !berth.release);
        let declared = berth.into_iter().flat_map(|berth| &berth.taints).map(|taint| Taint {
            key: taint.key.to_string(),
            value: taint.value.to_string(),
            effect: taint.effect.clone(),
        });
        let master = "node-role.kubernetes.io/master";
        let control_plane = (labels.contains_key(master) && !masters_schedulable).then(|| Taint {
            key: master.to_owned(),
            value: String::new(),
            effect: "NoSchedule".to_owned(),
        });
        declared.chain(control_plane).collect()
    }

    /// The site.
    pub fn site(&self) -> &'a Site {
        self.site
    }

    /// Whether a label of a node is on its live Node and not Berth's: what the documents say of it is a conflict, which changes nothing.
    pub fn is_foreign_label(&self, node: &str, key: &str, value: &str) -> bool {
        let live = self.site.observed.iter().find(|live| &*live.name.value == node);
        live.is_some_and(|live| {
            live.labels.get(key).is_some_and(|own| own == value) && !self.site.owned_labels(live).contains_key(key)
        })
    }

    /// Checks the ingress controllers, each with its findings.
    pub fn ingress(&self) -> Vec<(IngressAnswer, Vec<Diagnostic>)> {
        let controllers: Vec<IngressController> = self
            .site
            .ingress_controllers
            .iter()
            .map(|document| document.controller.clone())
            .collect();
        let answers = check_ingress(&self.nodes, &controllers, &self.ingress_context());
        answers
            .into_iter()
            .zip(&self.site.ingress_controllers)
            .map(|(answer, document)| {
                let findings = answer
                    .problems
                    .iter()
                    .map(|problem| finding(problem, document.span_of(problem.kind)))
                    .collect();
                (answer, findings)
            })
            .collect()
    }

    /// Compares an `HAProxy` configuration with the nodes that may run the routers of a controller, by its place among the site's
    /// controllers.
    pub fn load_balancer(
        &self,
        controller: usize,
        answer: &IngressAnswer,
        source: SourceId,
        text: &str,
    ) -> Vec<Diagnostic> {
        let Some(document) = self.site.ingress_controllers.get(controller) else {
            return Vec::new();
        };
        check_backends(text, &self.nodes, &document.controller, answer, &self.ingress_context())
            .into_iter()
            .map(|(range, problem)| finding(&problem, span_in(source, &range)))
            .collect()
    }

    /// Sections of an `HAProxy` configuration that reach no router of any controller.
    pub fn stray_backends(&self, answers: &[IngressAnswer], source: SourceId, text: &str) -> Vec<Diagnostic> {
        let documents = self.site.ingress_controllers.iter();
        let controllers: Vec<IngressController> = documents.map(|document| document.controller.clone()).collect();
        let problems = stray_backends(text, &self.nodes, &controllers, answers, &self.ingress_context());
        problems
            .into_iter()
            .map(|(range, problem)| finding(&problem, span_in(source, &range)))
            .collect()
    }

    /// Everything that carries traffic: egress addresses and routers.
    pub fn traffic(&self) -> Traffic {
        let controllers = self.site.ingress_controllers.iter();
        Traffic {
            egress: egress_ips(self.site),
            egress_context: egress_context(self.site),
            controllers: controllers.map(|document| document.controller.clone()).collect(),
            ingress_context: self.ingress_context(),
        }
    }

    /// Which egress addresses and routers move when nodes are relabelled, beginning with the nodes as they are here. What runs
    /// where comes from the cluster, or without it from OVN-Kubernetes' assignment simulated.
    pub fn moves(&self, changes: &BTreeMap<String, LabelChanges>, hosting: Option<&Hosting>) -> Moves {
        moves(&self.nodes, &relabelled(&self.nodes, changes), &self.traffic(), hosting)
    }

    /// Notes in the changes which nodes come into another pool by them whose config makes them reboot: that is for `reboots` to say of the
    /// pools before and after.
    pub fn note_reboots(
        &self,
        changes: &mut BTreeMap<String, LabelChanges>,
        reboots: impl Fn(Option<&str>, Option<&str>) -> bool,
    ) {
        let membership = self.site.membership();
        let pool = |node: &PlacementNode| {
            let placement = membership.of(&node.name, &node.labels).ok()?;
            placement.primary().cloned()
        };
        for (before, after) in self.nodes.iter().zip(relabelled(&self.nodes, changes)) {
            if let Some(change) = changes.get_mut(&before.name) {
                change.reboots = reboots(pool(before).as_deref(), pool(&after).as_deref());
            }
        }
    }

    /// What of the cluster matters for routers.
    pub fn ingress_context(&self) -> IngressContext {
        let of_role = |node: &&PlacementNode, role: &str| {
            let key = format!("node-role.kubernetes.io/{role}");
            node.labels.contains_key(&key)
        };
        let masters = self.nodes.iter().filter(|node| of_role(node, "master")).count();
        let workers = self.nodes.iter().filter(|node| !of_role(node, "master")).count();
        // Of a cluster without known nodes nobody can say.
        let default_replicas = (!self.nodes.is_empty()).then(|| default_replicas(masters, workers));
        let Some(cluster) = self.site.cluster() else {
            return IngressContext {
                host_network: true,
                default_replicas,
                ..IngressContext::default()
            };
        };
        IngressContext {
            vips: cluster.ingress_vips.iter().map(|vip| vip.value).collect(),
            moves_vips: cluster.load_balancer == LoadBalancer::ClusterManaged,
            apps_domain: cluster.apps_domain(),
            host_network: matches!(cluster.platform, Platform::BareMetal | Platform::None),
            default_replicas,
            no_remote_affinity: cluster.is_before_remote_workers(),
        }
    }

    /// Plans the egress addresses, with all findings.
    pub fn egress(&self) -> EgressFindings {
        let documents = &self.site.egress_ips;
        let plan = plan_egress(&self.nodes, &egress_ips(self.site), &egress_context(self.site));
        let written = documents.iter().flat_map(|document| &document.addresses);
        let addresses = plan
            .addresses
            .iter()
            .zip(written)
            .map(|(address, text)| {
                address
                    .problems
                    .iter()
                    .map(|problem| finding(problem, text.span))
                    .collect()
            })
            .collect();
        let mut useless = self
            .nodes
            .iter()
            .zip(&self.spans)
            .map(|(node, (span, label))| (node.name.as_str(), label.unwrap_or(*span)));
        let beside = plan
            .problems
            .iter()
            .filter_map(|(object, problem)| {
                let span = match object {
                    Some(index) => documents.get(*index)?.name.span,
                    None if problem.kind == ProblemKind::EgressLabelSearch => documents.first()?.name.span,
                    // In the order of the nodes, so each is looked for behind the one before.
                    None => {
                        useless
                            .find(|(name, _)| problem.message.starts_with(&format!("node `{name}` ")))?
                            .1
                    }
                };
                Some(finding(problem, span))
            })
            .collect();
        EgressFindings {
            plan,
            addresses,
            beside,
        }
    }
}

impl IngressDocument {
    /// The place of what a problem of this kind is about.
    pub fn span_of(&self, kind: ProblemKind) -> Span {
        let spans = self.spans;
        let span = match kind {
            ProblemKind::IngressReplicas => spans.replicas.or(spans.selector),
            ProblemKind::IngressDomain | ProblemKind::IngressDomainName => spans.domain,
            ProblemKind::IngressPorts => spans.ports.or(spans.selector),
            ProblemKind::IngressOverlap | ProblemKind::IngressUnserved => spans.routes,
            _ => spans.selector,
        };
        span.unwrap_or(self.name.span)
    }
}

/// The egress addresses of a site.
pub fn egress_ips(site: &Site) -> Vec<EgressIp> {
    let objects = site.egress_ips.iter().map(|document| EgressIp {
        name: document.name.value.to_string(),
        addresses: document.addresses.iter().map(|text| text.value.clone()).collect(),
        all_namespaces: document.all_namespaces,
    });
    objects.collect()
}

/// The addresses that are not egress addresses: VIPs and gateways.
pub fn egress_context(site: &Site) -> EgressContext {
    let mut reserved: Vec<(IpAddr, String)> = Vec::new();
    for cluster in &site.clusters {
        for (what, vips) in [("API", &cluster.api_vips), ("ingress", &cluster.ingress_vips)] {
            reserved.extend(vips.iter().map(|vip| (vip.value, format!("the {what} VIP"))));
        }
    }
    for network in &site.networks {
        let gateway = network.gateway.iter();
        reserved.extend(gateway.map(|gateway| {
            (
                gateway.value,
                format!("the gateway of network `{}`", network.name.value),
            )
        }));
    }
    EgressContext {
        reserved,
        timeout: site.egress_timeout,
    }
}

/// Every finding about places in a site.
pub(crate) fn check_placement(resolver: &Resolver<'_>, resolutions: &[Resolution]) -> Vec<Diagnostic> {
    let site = resolver.site();
    // Places are judged with all nodes or not at all: who asks for some only would see the others as missing.
    let some = resolutions.len() < resolver.subjects().len();
    if some || (site.ingress_controllers.is_empty() && site.egress_ips.is_empty()) {
        return Vec::new();
    }
    let placement = Placement::new(resolver, resolutions);
    let mut findings: Vec<Diagnostic> = placement
        .ingress()
        .into_iter()
        .flat_map(|(_, findings)| findings)
        .collect();
    if !site.egress_ips.is_empty() {
        let egress = placement.egress();
        findings.extend(egress.addresses.into_iter().flatten());
        findings.extend(egress.beside);
    }
    findings
}

/// Networks as documents describe them, where the cluster has not said anything.
fn documented_networks(node: &mut PlacementNode, live: Option<&ObservedNode>, machine: Option<&Machine<'_>>) {
    if let Some(live) = live {
        node.addresses.clone_from(&live.network.addresses);
    }
    for address in machine.into_iter().flat_map(|machine| &machine.addresses) {
        let family =
            |other: &ipnet::IpNet| Some(other.addr().is_ipv4()) == address.address.known().map(|ip| ip.is_ipv4());
        match (
            address.with_prefix(),
            address.described.and_then(|network| network.cidr.as_ref()),
        ) {
            // The first address of each family is the node's own.
            (Some(prefix), _) if !node.primary.iter().any(family) => node.primary.push(prefix),
            (Some(prefix), _) => node.secondary.push(prefix),
            (None, Some(cidr)) if address.address.known().is_none() => node.joined.push(cidr.value),
            _ => node.addresses.extend(address.address.known()),
        }
    }
}

/// Masters take other pods where the cluster says so, or has too few workers.
fn masters_schedulable(site: &Site, resolutions: &[Resolution]) -> bool {
    let said = site.cluster().and_then(|cluster| cluster.masters_schedulable);
    said.unwrap_or_else(|| {
        let workers = resolutions
            .iter()
            .filter(|resolution| resolution.pool_name() != Some("master"))
            .count();
        workers < 2
    })
}

fn span_in(source: SourceId, range: &Range<usize>) -> Span {
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(source, small(range.start), small(range.end))
}

fn finding(problem: &PlacementProblem, span: Span) -> Diagnostic {
    let diagnostic = Diagnostic::new(lint(problem.kind), span, problem.message.clone());
    match &problem.help {
        Some(help) => diagnostic.with_help(help.clone()),
        None => diagnostic,
    }
}

fn lint(kind: ProblemKind) -> &'static Lint {
    match kind {
        ProblemKind::IngressSelector => &lints::INGRESS_SELECTOR,
        ProblemKind::IngressNoNodes => &lints::INGRESS_NO_NODES,
        ProblemKind::IngressRemoteLabel => &lints::INGRESS_REMOTE_LABEL,
        ProblemKind::IngressOutsideVip => &lints::INGRESS_OUTSIDE_VIP,
        ProblemKind::IngressReplicas => &lints::INGRESS_REPLICAS,
        ProblemKind::IngressTaint => &lints::INGRESS_TAINT,
        ProblemKind::IngressPorts => &lints::INGRESS_PORTS,
        ProblemKind::IngressDomain => &lints::INGRESS_DOMAIN,
        ProblemKind::IngressDomainName => &lints::INGRESS_DOMAIN_NAME,
        ProblemKind::IngressOverlap => &lints::INGRESS_OVERLAP,
        ProblemKind::IngressUnserved => &lints::INGRESS_UNSERVED,
        ProblemKind::IngressBackends => &lints::INGRESS_BACKENDS,
        ProblemKind::EgressAddress => &lints::EGRESS_ADDRESS,
        ProblemKind::EgressConflict => &lints::EGRESS_CONFLICT,
        ProblemKind::EgressNoNode => &lints::EGRESS_NO_NODE,
        ProblemKind::EgressUnknown => &lints::EGRESS_UNKNOWN,
        ProblemKind::EgressUnlabelled => &lints::EGRESS_UNLABELLED,
        ProblemKind::EgressUnplaced => &lints::EGRESS_UNPLACED,
        ProblemKind::EgressGreedy => &lints::EGRESS_GREEDY,
        ProblemKind::EgressSingleNode => &lints::EGRESS_SINGLE_NODE,
        ProblemKind::EgressRemoteOnly => &lints::EGRESS_REMOTE_ONLY,
        ProblemKind::EgressAllNamespaces => &lints::EGRESS_ALL_NAMESPACES,
        ProblemKind::EgressUselessLabel => &lints::EGRESS_USELESS_LABEL,
        ProblemKind::EgressLabelSearch => &lints::EGRESS_LABEL_SEARCH,
    }
}

/// The labels of a live node once the site is applied.
fn labels_after(site: &Site, node: &ObservedNode, resolution: &Resolution) -> BTreeMap<String, String> {
    let declared = resolution.label_set();
    let (owned, withheld) = (site.owned_labels(node), site.withheld_labels(node));
    OwnershipDiff::compute(&declared, &owned, &node.labels, ConflictPolicy::default(), &withheld).apply_to(&node.labels)
}
