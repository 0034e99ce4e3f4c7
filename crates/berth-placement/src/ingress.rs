//! Ingress controllers: which nodes their routers may run on, and what stands in the way.

mod backends;
mod domain;
mod haproxy;
mod rewrite;
mod selectors;
mod shard;

use std::{collections::BTreeMap, net::IpAddr};

use berth_labels::LabelSelector;

use crate::{
    node::{PlacementNode, Taint},
    problem::{PlacementProblem, ProblemKind},
};

pub use self::{
    backends::{check_backends, stray_backends},
    haproxy::{Server, haproxy_config},
    rewrite::{HELPER_PREFIX, Rewrite, names_rule, rewrite},
    shard::{Shard, shard},
};

/// The label that keeps routers off a node, where its value is empty.
pub const REMOTE_WORKER: &str = "node.openshift.io/remote-worker";

/// The controller that serves the cluster's own routes, behind the ingress VIP.
pub const DEFAULT_CONTROLLER: &str = "default";

/// How many nodes a message names.
const NAMED: usize = 3;

/// An `IngressController`.
#[derive(Clone, Debug, Default)]
pub struct IngressController {
    /// `metadata.name`.
    pub name: String,
    /// `spec.domain`.
    pub domain: Option<String>,
    /// `spec.replicas`.
    pub replicas: Option<u32>,
    /// `spec.nodePlacement.nodeSelector`.
    pub node_selector: Option<LabelSelector>,
    /// `spec.nodePlacement.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.endpointPublishingStrategy`; the default depends on the platform.
    pub publishing: Option<Publishing>,
    /// `spec.routeSelector`.
    pub route_selector: Option<LabelSelector>,
    /// `spec.namespaceSelector`.
    pub namespace_selector: Option<LabelSelector>,
}

/// How routers are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publishing {
    /// On ports of the node itself.
    HostNetwork(Ports),
    /// In another way, which takes no port of a node.
    Other,
}

/// The ports that a router takes on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// `httpPort`.
    pub http: u16,
    /// `httpsPort`.
    pub https: u16,
    /// `statsPort`, where health is asked for.
    pub stats: u16,
}

impl Default for Ports {
    fn default() -> Self {
        Self {
            http: 80,
            https: 443,
            stats: 1936,
        }
    }
}

impl Ports {
    /// All three.
    pub fn all(self) -> [u16; 3] {
        [self.http, self.https, self.stats]
    }
}

/// A toleration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toleration {
    /// `key`; none with `Exists` tolerates everything.
    pub key: Option<String>,
    /// `operator`: `Exists`, or `Equal`, which is the default.
    pub exists: bool,
    /// `value`.
    pub value: String,
    /// `effect`; none is for every effect.
    pub effect: Option<String>,
}

impl Toleration {
    /// Whether the taint does not matter.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let effect = self.effect.as_deref().is_none_or(|effect| effect == taint.effect);
        let key = self.key.as_deref().filter(|key| !key.is_empty());
        effect
            && match key {
                None => self.exists,
                Some(key) => key == taint.key && (self.exists || self.value == taint.value),
            }
    }
}

/// What of the cluster matters for routers.
#[derive(Clone, Debug, Default)]
pub struct IngressContext {
    /// The ingress VIPs.
    pub vips: Vec<IpAddr>,
    /// Whether nodes of the cluster carry the VIPs themselves.
    pub moves_vips: bool,
    /// `apps.NAME.BASE`, which the default controller serves.
    pub apps_domain: Option<String>,
    /// Whether routers take ports of their nodes unless the controller says otherwise: bare metal, or no platform.
    pub host_network: bool,
    /// How many routers a controller without `replicas` has; see [`default_replicas`]. Two where it is not known.
    pub default_replicas: Option<u32>,
    /// The release does not know remote workers (before 4.13), so its operator gives routers no affinity against them.
    pub no_remote_affinity: bool,
}

impl IngressContext {
    /// How many routers the operator starts for a controller.
    pub fn replicas(&self, controller: &IngressController) -> u32 {
        controller.replicas.or(self.default_replicas).unwrap_or(2)
    }
}

/// How many routers a controller without `replicas` has: one where the cluster was installed with one worker, or with a single node,
/// and two otherwise.
pub fn default_replicas(masters: usize, workers: usize) -> u32 {
    match (masters, workers) {
        (_, 1) | (1, 0) => 1,
        _ => 2,
    }
}

/// The answer for one controller.
#[derive(Clone, Debug)]
pub struct IngressAnswer {
    /// The controller's name.
    pub controller: String,
    /// The node selector as the router's Deployment has it.
    pub map: Option<BTreeMap<String, String>>,
    /// Why there is none, in the operator's words.
    pub error: Option<String>,
    /// The nodes that it selects, by their place in the input.
    pub nodes: Vec<usize>,
    /// Those of them that a router can run on.
    pub usable: Vec<usize>,
    /// What is wrong.
    pub problems: Vec<PlacementProblem>,
}

/// The node selector of a controller as the router's Deployment gets it. Without one, workers that run Linux.
fn placement(controller: &IngressController) -> Result<BTreeMap<String, String>, String> {
    match &controller.node_selector {
        None => Ok([("kubernetes.io/os", "linux"), ("node-role.kubernetes.io/worker", "")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()),
        Some(selector) => selector.to_map().map_err(|error| {
            format!(
                "failed to ensure deployment: failed to build router deployment: ingresscontroller \"{}\" has invalid \
                 spec.nodePlacement.nodeSelector: {error}",
                controller.name
            )
        }),
    }
}

fn selects(map: &BTreeMap<String, String>, node: &PlacementNode) -> bool {
    map.iter().all(|(key, value)| node.labels.get(key) == Some(value))
}

/// Whether the affinity that the operator gives every router keeps it off the node.
fn affinity_refuses(node: &PlacementNode, context: &IngressContext) -> bool {
    !context.no_remote_affinity && node.labels.get(REMOTE_WORKER).is_some_and(String::is_empty)
}

/// The first taint that keeps the controller's routers off the node.
fn untolerated<'a>(controller: &IngressController, node: &'a PlacementNode) -> Option<&'a Taint> {
    node.taints
        .iter()
        .filter(|taint| taint.effect != "PreferNoSchedule")
        .find(|taint| {
            !controller
                .tolerations
                .iter()
                .any(|toleration| toleration.tolerates(taint))
        })
}

/// Checks every controller against the nodes, and the controllers against each other.
pub fn check_ingress(
    nodes: &[PlacementNode],
    controllers: &[IngressController],
    context: &IngressContext,
) -> Vec<IngressAnswer> {
    let mut answers: Vec<IngressAnswer> = controllers
        .iter()
        .map(|controller| check_one(nodes, controller, context))
        .collect();
    for index in 0..controllers.len() {
        let problems = between(nodes, controllers, &answers, index, context);
        if let Some(answer) = answers.get_mut(index) {
            answer.problems.extend(problems);
        }
    }
    let unserved = selectors::unserved(controllers);
    if let (Some(problem), Some(answer)) = (unserved, answers.first_mut()) {
        answer.problems.push(problem);
    }
    answers
}

fn check_one(nodes: &[PlacementNode], controller: &IngressController, context: &IngressContext) -> IngressAnswer {
    let name = &controller.name;
    let mut answer = IngressAnswer {
        controller: name.clone(),
        map: None,
        error: None,
        nodes: Vec::new(),
        usable: Vec::new(),
        problems: Vec::new(),
    };
    ports(controller, &mut answer.problems);
    answer.problems.extend(domain::problem(controller));
    let map = match placement(controller) {
        Ok(map) => map,
        Err(error) => {
            let message = format!("the ingress operator refuses this selector: {error}");
            answer.problems.push(
                PlacementProblem::new(ProblemKind::IngressSelector, message).with_help(
                    "`berth ingress rewrite` prints a selector that means the same and a rule for its label",
                ),
            );
            answer.error = Some(error);
            return answer;
        }
    };
    answer.nodes = indices(nodes, |node| selects(&map, node));
    if answer.nodes.is_empty() {
        if !nodes.is_empty() {
            answer.problems.push(no_nodes(nodes, controller, &map));
        }
    } else {
        usable(nodes, controller, context, &mut answer);
        beside_the_vip(nodes, controller, context, &mut answer);
    }
    answer.map = Some(map);
    answer
}

fn ports(controller: &IngressController, problems: &mut Vec<PlacementProblem>) {
    let Some(Publishing::HostNetwork(ports)) = controller.publishing else {
        return;
    };
    let [http, https, stats] = ports.all();
    if http == https || http == stats || https == stats {
        let message = format!(
            "the HTTP, HTTPS and stats ports of ingress controller `{}` are not distinct: {http}, {https}, {stats}",
            controller.name
        );
        problems.push(PlacementProblem::new(ProblemKind::IngressPorts, message));
    }
}

fn no_nodes(
    nodes: &[PlacementNode],
    controller: &IngressController,
    map: &BTreeMap<String, String>,
) -> PlacementProblem {
    let message = format!("ingress controller `{}` selects no node", controller.name);
    let problem = PlacementProblem::new(ProblemKind::IngressNoNodes, message);
    let Some(wanted) = map.get("kubernetes.io/hostname") else {
        let missing: Vec<String> = map
            .iter()
            .filter(|(key, value)| !nodes.iter().any(|node| node.labels.get(*key) == Some(*value)))
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        return if missing.is_empty() {
            problem.with_help("no node has all the labels of its selector together")
        } else {
            problem.with_help(format!("no node has {}", missing.join(", ")))
        };
    };
    // A short name where the node has a long one, or the other way round.
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    match nodes.iter().find(|node| first(&node.name) == first(wanted)) {
        Some(node) => problem.with_help(format!(
            "kubernetes.io/hostname has to be the node's whole name: write {}",
            node.name
        )),
        None => problem.with_help(format!("there is no node `{wanted}`")),
    }
}

/// Takes away what affinity and taints forbid, and compares with the replicas.
fn usable(
    nodes: &[PlacementNode],
    controller: &IngressController,
    context: &IngressContext,
    answer: &mut IngressAnswer,
) {
    let name = &controller.name;
    let (remote, rest): (Vec<usize>, Vec<usize>) = answer
        .nodes
        .iter()
        .partition(|index| nodes.get(**index).is_some_and(|node| affinity_refuses(node, context)));
    let (tainted, usable): (Vec<usize>, Vec<usize>) = rest.iter().partition(|index| {
        nodes
            .get(**index)
            .is_some_and(|node| untolerated(controller, node).is_some())
    });
    // A remote node among others is what the affinity is for; a controller that has no other node is not.
    if !remote.is_empty() && rest.is_empty() {
        let value = nodes
            .get(*remote.first().unwrap_or(&0))
            .and_then(|node| node.remote_site.clone())
            .unwrap_or_else(|| name.clone());
        let message = format!(
            "routers of ingress controller `{name}` stay Pending: {REMOTE_WORKER} is empty on {}, which the operator's own \
             affinity (NotIn [\"\"]) refuses",
            named(nodes, &remote)
        );
        answer.problems.push(
            PlacementProblem::new(ProblemKind::IngressRemoteLabel, message).with_help(format!(
                "give the nodes a value that is not empty, such as {REMOTE_WORKER}={value}, and let the default controller select other \
                 nodes"
            )),
        );
    }
    if let Some(taint) = tainted
        .first()
        .and_then(|index| nodes.get(*index))
        .and_then(|node| untolerated(controller, node))
        && usable.is_empty()
    {
        let message = format!(
            "routers of ingress controller `{name}` stay Pending: they do not tolerate the taint {} of {}",
            in_words(taint),
            named(nodes, &tainted)
        );
        answer.problems.push(
            PlacementProblem::new(ProblemKind::IngressTaint, message).with_help(format!(
                "add to nodePlacement.tolerations: {{key: {}, operator: Exists, effect: {}}}",
                taint.key, taint.effect
            )),
        );
    }
    let replicas = context.replicas(controller);
    let count = u32::try_from(usable.len()).unwrap_or(u32::MAX);
    if replicas > count && count > 0 {
        let what = if controller.replicas.is_some() {
            format!("{replicas} replicas")
        } else {
            format!("{replicas} replicas (the default)")
        };
        let message = format!(
            "ingress controller `{name}` wants {what}, and {} can run a router",
            counted(usable.len())
        );
        let problem = PlacementProblem::new(ProblemKind::IngressReplicas, message);
        answer.problems.push(match tainted.as_slice() {
            [] => problem.with_help(format!("write replicas: {count}, or select more nodes")),
            tainted => problem.with_help(format!(
                "{} of the nodes it selects have taints: {}",
                tainted.len(),
                named(nodes, tainted)
            )),
        });
    }
    answer.usable = usable;
}

/// Where nodes carry the VIP themselves, it can only be on a node of its network that runs a router.
fn beside_the_vip(
    nodes: &[PlacementNode],
    controller: &IngressController,
    context: &IngressContext,
    answer: &mut IngressAnswer,
) {
    if controller.name != DEFAULT_CONTROLLER || !context.moves_vips || context.vips.is_empty() {
        return;
    }
    let beside = |index: &usize| {
        nodes
            .get(*index)
            .is_some_and(|node| !node.has_networks() || context.vips.iter().any(|vip| node.is_beside(*vip)))
    };
    let (inside, outside): (Vec<usize>, Vec<usize>) = answer.usable.iter().partition(|index| beside(index));
    if outside.is_empty() {
        return;
    }
    let vips: Vec<String> = context.vips.iter().map(IpAddr::to_string).collect();
    let vips = vips.join(", ");
    let message = if inside.is_empty() {
        format!(
            "ingress is down: no node that the default controller's routers may run on is in the network of the VIP {vips}"
        )
    } else {
        format!(
            "the default controller's routers may run on {}, outside the network of the VIP {vips}, where nobody reaches them",
            named(nodes, &outside)
        )
    };
    answer.problems.push(
        PlacementProblem::new(ProblemKind::IngressOutsideVip, message)
            .with_help("select the nodes beside the VIP by a label of their own in nodePlacement.nodeSelector"),
    );
}

/// What concerns a controller and those before it.
fn between(
    nodes: &[PlacementNode],
    controllers: &[IngressController],
    answers: &[IngressAnswer],
    index: usize,
    context: &IngressContext,
) -> Vec<PlacementProblem> {
    let (Some(controller), Some(answer)) = (controllers.get(index), answers.get(index)) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    let domain = |controller: &IngressController| controller.domain.clone().or_else(|| context.apps_domain.clone());
    if let (Some(own), Some(apps)) = (&controller.domain, &context.apps_domain)
        && controller.name != DEFAULT_CONTROLLER
        && own.ends_with(&format!(".{apps}"))
    {
        let message =
            format!("the domain {own} is below {apps}, which the nodes' own DNS answers with the ingress VIP");
        problems.push(
            PlacementProblem::new(ProblemKind::IngressDomain, message).with_help(format!(
                "take a domain beside it, such as {}",
                beside_domain(apps, &controller.name)
            )),
        );
    }
    for (other, other_answer) in controllers.iter().zip(answers).take(index) {
        if domain(controller).is_some() && domain(controller) == domain(other) {
            let message = format!(
                "ingress controllers `{}` and `{}` both answer for {}; the operator admits the older one",
                other.name,
                controller.name,
                domain(controller).unwrap_or_default()
            );
            problems.push(PlacementProblem::new(ProblemKind::IngressDomain, message));
        }
        if let (Some(ours), Some(theirs)) = (host_ports(controller, context), host_ports(other, context)) {
            let port = ours.all().into_iter().find(|port| theirs.all().contains(port));
            let shared: Vec<usize> = answer
                .usable
                .iter()
                .copied()
                .filter(|node| other_answer.usable.contains(node))
                .collect();
            // With enough nodes for both, the scheduler keeps them apart.
            let need = context.replicas(controller).saturating_add(context.replicas(other));
            let mut union = answer.usable.clone();
            union.extend(other_answer.usable.iter().filter(|node| !answer.usable.contains(node)));
            if let Some(port) = port
                && !shared.is_empty()
                && (need as usize) > union.len()
            {
                let message = format!(
                    "routers of `{}` and `{}` want port {port} of the same nodes ({}), and there are too few for both: one stays Pending",
                    other.name,
                    controller.name,
                    named(nodes, &shared)
                );
                problems.push(PlacementProblem::new(ProblemKind::IngressPorts, message).with_help(
                    "give one of them other ports in endpointPublishingStrategy.hostNetwork, or other nodes",
                ));
            }
        }
        if let Some(problem) = selectors::overlap(other, controller) {
            problems.push(problem);
        }
    }
    problems
}

/// The ports that routers of a controller take on their nodes; none where they are reached otherwise.
pub fn host_ports(controller: &IngressController, context: &IngressContext) -> Option<Ports> {
    match controller.publishing {
        Some(Publishing::HostNetwork(ports)) => Some(ports),
        Some(Publishing::Other) => None,
        None => context.host_network.then(Ports::default),
    }
}

/// `apps-NAME.cluster.base` beside `apps.cluster.base`.
fn beside_domain(apps: &str, name: &str) -> String {
    let rest = apps.split_once('.').map_or("", |(_, rest)| rest);
    format!("apps-{name}.{rest}")
}

fn indices(nodes: &[PlacementNode], wanted: impl Fn(&PlacementNode) -> bool) -> Vec<usize> {
    let numbered = nodes.iter().enumerate();
    numbered
        .filter(|(_, node)| wanted(node))
        .map(|(index, _)| index)
        .collect()
}

fn counted(count: usize) -> String {
    match count {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    }
}

fn named(nodes: &[PlacementNode], indices: &[usize]) -> String {
    let names: Vec<&str> = indices
        .iter()
        .take(NAMED)
        .filter_map(|index| Some(nodes.get(*index)?.name.as_str()))
        .collect();
    match indices.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn in_words(taint: &Taint) -> String {
    if taint.value.is_empty() {
        format!("{}:{}", taint.key, taint.effect)
    } else {
        format!("{}={}:{}", taint.key, taint.value, taint.effect)
    }
}
