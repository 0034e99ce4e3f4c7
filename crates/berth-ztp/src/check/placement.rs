//! Ingress controllers, load balancers in front of them, and egress addresses among the manifests.
//!
//! What can run where is the business of `berth-placement`; here its problems get their place in the manifests.

use berth_documents::{Diagnostic, Document, Lint, Node, Severity, SourceId, Sources, Span};
use berth_placement::{
    DEFAULT_CONTROLLER, EgressContext, IngressAnswer, IngressContext, IngressController, PlacementNode,
    PlacementProblem, ProblemKind, check_backends, check_ingress, host_ports, plan_egress, stray_backends,
};
use berth_site::{IngressDocument, REMOTE_WORKER, Release, Site, egress_ips, load};

use super::{
    CheckOptions, Findings,
    manifests::hostname_value,
    model::{ClusterView, HostView, Hub, is_away, name},
    nodes::{Group, groups, placement_nodes},
};
use crate::lints;

pub(super) fn check(
    sources: &Sources,
    hub: &Hub<'_>,
    options: &CheckOptions,
    load_balancers: &[SourceId],
    findings: &mut Findings,
) {
    for group in groups(hub) {
        let kinds = ["IngressController", "EgressIP", "Network"];
        let wanted = group
            .extras
            .iter()
            .filter(|extra| kinds.contains(&extra.document.kind()));
        let documents: Vec<Document> = wanted.map(|extra| extra.document.clone()).collect();
        // What is wrong with the objects themselves is found by the reader that `berth lint` uses.
        let (site, wrong) = load(sources, &documents);
        findings.of_objects(wrong, Severity::Warning);
        let nodes = placement_nodes(hub, &group, options);
        for extra in group
            .extras
            .iter()
            .filter(|it| it.document.kind() == "IngressController")
        {
            let selector = [
                "spec",
                "nodePlacement",
                "nodeSelector",
                "matchLabels",
                "kubernetes.io/hostname",
            ];
            if let Some(value) = extra.document.root.at(&selector) {
                hostname_value(hub, value, findings);
            }
        }
        let release = group
            .cluster
            .and_then(|cluster| super::clusters::release(cluster, options));
        let ingress = Ingress::new(hub, &group, &site, &nodes, release.or(options.release));
        ingress.report(&group, &nodes, findings);
        for source in load_balancers {
            ingress.load_balancer(*source, sources.text(*source), &nodes, findings);
        }
        egress(&group, &site, &nodes, findings);
    }
}

/// The controllers of a cluster and where their routers can run. The default controller is there whether a manifest speaks of it or not.
struct Ingress<'s> {
    /// None for a default controller of which no manifest speaks.
    documents: Vec<Option<&'s IngressDocument>>,
    controllers: Vec<IngressController>,
    answers: Vec<IngressAnswer>,
    context: IngressContext,
}

impl<'s> Ingress<'s> {
    fn new(
        hub: &Hub<'_>,
        group: &Group<'_, '_>,
        site: &'s Site,
        nodes: &[PlacementNode],
        release: Option<Release>,
    ) -> Self {
        let mut documents: Vec<Option<&IngressDocument>> = site.ingress_controllers.iter().map(Some).collect();
        let mut controllers: Vec<IngressController> = site
            .ingress_controllers
            .iter()
            .map(|document| document.controller.clone())
            .collect();
        let named = controllers
            .iter()
            .any(|controller| controller.name == DEFAULT_CONTROLLER);
        if !named && group.cluster.is_some() && !nodes.is_empty() {
            documents.insert(0, None);
            let name = DEFAULT_CONTROLLER.to_owned();
            controllers.insert(
                0,
                IngressController {
                    name,
                    ..IngressController::default()
                },
            );
        }
        let no_remote_affinity = release.is_some_and(|release| release < Release::DETECTS_REMOTE);
        let context = match group.cluster {
            Some(cluster) => IngressContext {
                default_replicas: Some(topology_replicas(hub, cluster)),
                no_remote_affinity,
                vips: cluster.ingress.iter().filter_map(|vip| vip.text.parse().ok()).collect(),
                moves_vips: cluster.moves_vips(),
                apps_domain: cluster.apps_domain(),
                host_network: cluster.is_bare_metal() || cluster.platform == Some("None"),
            },
            None => IngressContext {
                host_network: true,
                no_remote_affinity,
                ..IngressContext::default()
            },
        };
        let answers = check_ingress(nodes, &controllers, &context);
        Self {
            documents,
            controllers,
            answers,
            context,
        }
    }

    fn report(&self, group: &Group<'_, '_>, nodes: &[PlacementNode], findings: &mut Findings) {
        for (index, (document, answer)) in self.documents.iter().zip(&self.answers).enumerate() {
            let Some(controller) = self.controllers.get(index) else {
                continue;
            };
            let anywhere = controller.name == DEFAULT_CONTROLLER && controller.node_selector.is_none();
            let remotely = anywhere && may_run_remotely(group, *document, findings);
            for problem in &answer.problems {
                let said = match problem.kind {
                    // Which routes are served, and by how many, is not a matter of the installation.
                    ProblemKind::IngressOverlap | ProblemKind::IngressUnserved => true,
                    // A selector on a name that no host has is a finding of its own.
                    ProblemKind::IngressNoNodes => document.is_none() || selects_a_name(controller),
                    ProblemKind::IngressOutsideVip => remotely,
                    // Counted with the cluster's workers, whatever manifests there are.
                    ProblemKind::IngressReplicas => anywhere,
                    _ => false,
                };
                if !said {
                    let span = document.map(|document| document.span_of(problem.kind));
                    let span = span.or_else(|| Some(group.cluster?.span));
                    report(&lints::ROUTER_PLACEMENT, span, problem, findings);
                }
            }
            if let Some(document) = document {
                self.shared_ports(index, document, nodes, findings);
            }
        }
    }

    /// Two controllers that can meet on a node, even where there are nodes enough to keep them apart.
    fn shared_ports(&self, index: usize, document: &IngressDocument, nodes: &[PlacementNode], findings: &mut Findings) {
        let Some(answer) = self.answers.get(index) else { return };
        if answer
            .problems
            .iter()
            .any(|problem| problem.kind == ProblemKind::IngressPorts)
        {
            return;
        }
        for (other, (name, theirs)) in self.documents.iter().zip(&self.answers).take(index).enumerate() {
            let ports = |index: usize| host_ports(self.controllers.get(index)?, &self.context);
            let (Some(name), Some(ours), Some(used)) = (name, ports(index), ports(other)) else {
                continue;
            };
            let port = ours.all().into_iter().find(|port| used.all().contains(port));
            let both = answer.usable.iter().find(|node| theirs.usable.contains(node));
            if let (Some(port), Some(node)) = (port, both.and_then(|node| nodes.get(*node))) {
                findings.add_related(
                    &lints::ROUTER_PLACEMENT,
                    document.span_of(ProblemKind::IngressPorts),
                    format!(
                        "`{}` and `{}` can meet on `{}`, and both take its port {port}: only one of them runs there",
                        document.name.value, name.name.value, node.name
                    ),
                    name.name.span,
                    "the other",
                );
            }
        }
    }

    /// A load balancer in front of the routers.
    fn load_balancer(&self, source: SourceId, text: &str, nodes: &[PlacementNode], findings: &mut Findings) {
        let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let each = self.controllers.iter().zip(&self.answers);
        let problems =
            each.flat_map(|(controller, answer)| check_backends(text, nodes, controller, answer, &self.context));
        let stray = stray_backends(text, nodes, &self.controllers, &self.answers, &self.context);
        for (range, problem) in problems.chain(stray) {
            let span = Span::new(source, small(range.start), small(range.end));
            report(&lints::BACKENDS, Some(span), &problem, findings);
        }
    }
}

fn selects_a_name(controller: &IngressController) -> bool {
    let selector = controller.node_selector.as_ref();
    selector.is_some_and(|selector| selector.match_labels.contains_key("kubernetes.io/hostname"))
}

fn report(lint: &'static Lint, span: Option<Span>, problem: &PlacementProblem, findings: &mut Findings) {
    let diagnostic = Diagnostic::new(lint, span, problem.message.clone());
    findings.0.push(match &problem.help {
        Some(help) => diagnostic.with_help(help.clone()),
        None => diagnostic,
    });
}

/// The default routers where nobody says which nodes they take: on remote machines whose label has a value, and on all of them where no
/// node calls itself remote, behind a user-managed load balancer.
fn may_run_remotely(group: &Group<'_, '_>, document: Option<&IngressDocument>, findings: &mut Findings) -> bool {
    let help =
        "place the default IngressController among the extra manifests, by a label of the nodes that it may have";
    let mut found = false;
    let workers = || group.hosts.iter().filter(|host| host.role() == "worker");
    for host in workers() {
        let label = host.labels.iter().find(|(key, _)| key.text == REMOTE_WORKER);
        let value = label.and_then(|(key, value)| Some((key, value.as_str()?)));
        if let Some((key, value)) = value.filter(|(_, value)| !value.is_empty()) {
            found = true;
            findings.add_with_help(
                &lints::ROUTER_PLACEMENT,
                document.map_or(key.span, |document| document.name.span),
                format!(
                    "the default routers may run on `{}`, whose {REMOTE_WORKER} is `{value}`: only an empty value keeps them away",
                    host.name.text
                ),
                help,
            );
        }
    }
    let Some(cluster) = group.cluster else { return found };
    let away: Vec<&&HostView<'_>> = workers().filter(|host| is_away(cluster, host)).collect();
    if let (Some(span), Some(host)) = (cluster.user_lb, away.first()) {
        found = true;
        let more = match away.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        findings.add_with_help(
            &lints::ROUTER_PLACEMENT,
            document.map_or(span, |document| document.name.span),
            format!(
                "behind a user-managed load balancer no node calls itself remote: the default routers may run on `{}`{more}, outside \
                 the network of the ingress address",
                host.name.text
            ),
            help,
        );
    }
    found
}

fn egress(group: &Group<'_, '_>, site: &Site, nodes: &[PlacementNode], findings: &mut Findings) {
    let mut reserved = Vec::new();
    for (what, vips) in group
        .cluster
        .into_iter()
        .flat_map(|cluster| [("the API VIP", &cluster.api), ("the ingress VIP", &cluster.ingress)])
    {
        let parsed = vips.iter().filter_map(|vip| vip.text.parse().ok());
        reserved.extend(parsed.map(|vip| (vip, what.to_owned())));
    }
    let context = EgressContext {
        reserved,
        timeout: site.egress_timeout,
    };
    let plan = plan_egress(nodes, &egress_ips(site), &context);
    let written = site.egress_ips.iter().flat_map(|document| &document.addresses);
    for (address, text) in plan.addresses.iter().zip(written) {
        // One node alone, and the order in which OVN-Kubernetes goes, are matters of a plan.
        // Without hosts the folder holds only a part of the set.
        let said = |kind: ProblemKind| {
            matches!(
                kind,
                ProblemKind::EgressSingleNode | ProblemKind::EgressGreedy | ProblemKind::EgressUnknown
            )
        };
        for problem in address.problems.iter().filter(|problem| !said(problem.kind)) {
            report(&lints::EGRESS, Some(text.span), problem, findings);
        }
    }
    for (object, problem) in &plan.problems {
        let Some(document) = object.and_then(|index| site.egress_ips.get(index)) else {
            continue;
        };
        report(&lints::EGRESS, Some(document.name.span), problem, findings);
    }
}

/// How many routers the default controller wants.
pub(super) fn default_replicas(hub: &Hub<'_>, cluster: &ClusterView<'_>) -> usize {
    let mut controllers = hub.extras_of("IngressController");
    let default = controllers.find(|extra| name(extra.document) == Some(DEFAULT_CONTROLLER));
    let replicas = default.and_then(|extra| extra.document.body()?.get("replicas").and_then(Node::as_u64));
    let replicas = replicas.unwrap_or_else(|| u64::from(topology_replicas(hub, cluster)));
    usize::try_from(replicas).unwrap_or(usize::MAX)
}

/// How many routers a controller without `replicas` has, by the machines that the cluster is installed with.
fn topology_replicas(hub: &Hub<'_>, cluster: &ClusterView<'_>) -> u32 {
    let at_first = || hub.hosts_of(cluster.name).filter(|host| !host.later);
    let of_role = |role: &str| at_first().filter(|host| host.role() == role).count();
    let said = |field: &str| {
        let count = cluster.requirements.and_then(|it| it.get(field)).and_then(Node::as_u64);
        count.and_then(|count| usize::try_from(count).ok())
    };
    let masters = said("controlPlaneAgents").unwrap_or_else(|| of_role("master"));
    let workers = match cluster.requirements {
        Some(_) => said("workerAgents").unwrap_or(0),
        None => of_role("worker"),
    };
    berth_placement::default_replicas(masters, workers)
}
