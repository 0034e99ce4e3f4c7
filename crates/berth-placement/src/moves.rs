//! What a change of labels moves: egress addresses, routers, and the connections through them.
//!
//! ```text
//! nodes before ──► who hosts what (as observed, else simulated) ─┐
//! nodes after  ──► who can host what ────────────────────────────┴──► what stays, what moves, where to and why
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use crate::{
    egress::{AddressPlan, EgressContext, EgressIp, EgressPlan, plan_egress, reason, replan, shares_node},
    ingress::{IngressAnswer, IngressContext, IngressController, check_ingress},
    node::PlacementNode,
};

/// What carries traffic, as objects of the cluster ask for it.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// The `EgressIP` objects.
    pub egress: Vec<EgressIp>,
    /// What else matters for their addresses.
    pub egress_context: EgressContext,
    /// The `IngressController` objects.
    pub controllers: Vec<IngressController>,
    /// What else matters for their routers.
    pub ingress_context: IngressContext,
}

/// What runs where, as the cluster shows it.
#[derive(Clone, Debug, Default)]
pub struct Hosting {
    /// `status.items` of the `EgressIP` objects.
    pub addresses: Vec<HostedAddress>,
    /// The router pods.
    pub routers: Vec<RunningRouter>,
}

/// An egress address on its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostedAddress {
    /// The `EgressIP`.
    pub egress_ip: String,
    /// The address, as written.
    pub address: String,
    /// The node that hosts it.
    pub node: String,
}

/// A router pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningRouter {
    /// The pod.
    pub pod: String,
    /// The ingress controller it belongs to.
    pub controller: String,
    /// The node it runs on, if it runs.
    pub node: Option<String>,
}

/// What happens to the labels of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelChanges {
    /// Labels that it gets.
    pub set: BTreeMap<String, String>,
    /// Keys that it loses.
    pub remove: BTreeSet<String>,
    /// It is away for a while: a change of its pool makes it reboot.
    pub reboots: bool,
}

/// What becomes of an egress address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressMove {
    /// The `EgressIP`.
    pub egress_ip: String,
    /// The address, as written.
    pub address: String,
    /// Who hosts it before.
    pub from: Option<String>,
    /// Who hosts it after; the same node where it stays.
    pub to: Option<String>,
    /// Why it does not stay.
    pub reason: Option<String>,
}

/// What becomes of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterMove {
    /// The pod.
    pub pod: String,
    /// The ingress controller it belongs to.
    pub controller: String,
    /// The node it runs on.
    pub from: Option<String>,
    /// Where it can go if it does not stay: nodes that its controller may use and that run none of its routers.
    pub to: Vec<String>,
    /// Why it does not stay.
    pub reason: Option<String>,
}

/// How the nodes of an ingress controller change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerMove {
    /// The ingress controller.
    pub controller: String,
    /// Nodes on which its routers cannot run any more.
    pub lost: Vec<String>,
    /// Nodes on which they can run from now on.
    pub gained: Vec<String>,
    /// How many nodes it has afterwards.
    pub left: usize,
}

/// What a change of labels moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Every egress address, also those that stay, by object and address.
    pub addresses: Vec<AddressMove>,
    /// Every router, also those that stay, by controller and pod.
    pub routers: Vec<RouterMove>,
    /// The ingress controllers whose nodes change.
    pub controllers: Vec<ControllerMove>,
}

impl AddressMove {
    /// Whether nothing happens to it. An address that nobody hosts, before or after, does not stay: it is nowhere.
    pub fn stays(&self) -> bool {
        self.from.is_some() && self.from == self.to
    }
}

impl RouterMove {
    /// Whether nothing happens to it.
    pub fn stays(&self) -> bool {
        self.reason.is_none()
    }
}

impl Moves {
    /// Whether no connection breaks: what carries traffic stays where it is.
    pub fn is_quiet(&self) -> bool {
        let addresses = self.addresses.iter().all(|address| address.from == address.to);
        addresses && self.routers.iter().all(RouterMove::stays)
    }

    /// What moves, one sentence each, for people who decide whether to go on.
    pub fn sentences(&self) -> Vec<String> {
        let because = |reason: &Option<String>| reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        let addresses = self.addresses.iter().filter(|address| address.from != address.to);
        let addresses = addresses.map(|address| {
            let name = format!("egress address {} (EgressIP `{}`)", address.address, address.egress_ip);
            let why = because(&address.reason);
            match (&address.from, &address.to) {
                (Some(from), Some(to)) => {
                    format!("{name} moves from {from} to {to}{why}; connections through it break")
                }
                (Some(from), None) => {
                    format!("{name} leaves {from} and finds no other node{why}; its pods reach nothing outside by it")
                }
                (None, Some(to)) => format!("{name} gets a node: {to}"),
                (None, None) => format!("{name} has no node{why}"),
            }
        });
        let routers = self.routers.iter().filter(|router| !router.stays()).map(|router| {
            let to = match router.to.as_slice() {
                [] => "there is no other node for it".to_owned(),
                nodes => format!("it can go to {}", some(nodes)),
            };
            format!(
                "router {} (ingress controller `{}`) does not stay on {}{}; {to}",
                router.pod,
                router.controller,
                router.from.as_deref().unwrap_or("any node"),
                because(&router.reason),
            )
        });
        let controllers = self.controllers.iter().map(|controller| {
            let part = |word: &str, nodes: &[String]| match nodes {
                [] => String::new(),
                nodes => format!("{word} {}, ", some(nodes)),
            };
            format!(
                "ingress controller `{}` {}{}has {} left for its routers",
                controller.controller,
                part("loses", &controller.lost),
                part("gets", &controller.gained),
                match controller.left {
                    1 => "1 node".to_owned(),
                    left => format!("{left} nodes"),
                },
            )
        });
        addresses.chain(routers).chain(controllers).collect()
    }
}

/// The nodes with their labels changed. Names that no node has are ignored.
pub fn relabelled(nodes: &[PlacementNode], changes: &BTreeMap<String, LabelChanges>) -> Vec<PlacementNode> {
    let change = |node: &PlacementNode| {
        let mut node = node.clone();
        if let Some(change) = changes.get(&node.name) {
            node.labels.retain(|key, _| !change.remove.contains(key));
            let set = change.set.iter().map(|(key, value)| (key.clone(), value.clone()));
            node.labels.extend(set);
            node.not_ready |= change.reboots;
        }
        node
    };
    nodes.iter().map(change).collect()
}

/// Says what moves when the nodes become what they are `after`.
///
/// Where `hosting` says nothing of an address, OVN-Kubernetes' own assignment on the nodes `before` is taken. An address stays
/// where it is as long as its node can host it; others are placed anew around those that stay. Routers are not evicted by
/// labels: one whose node is not selected any more runs on until it is started again, which a reboot does.
pub fn moves(before: &[PlacementNode], after: &[PlacementNode], traffic: &Traffic, hosting: Option<&Hosting>) -> Moves {
    let empty = Hosting::default();
    let observed = hosting.unwrap_or(&empty);
    let answers = check_ingress(after, &traffic.controllers, &traffic.ingress_context);
    let mut moves = Moves {
        addresses: addresses(before, after, traffic, hosting),
        routers: observed
            .routers
            .iter()
            .map(|router| judge_router(before, after, &answers, router, &observed.routers))
            .collect(),
        controllers: controllers(before, after, traffic, &answers),
    };
    moves
        .addresses
        .sort_by(|a, b| (&a.egress_ip, &a.address).cmp(&(&b.egress_ip, &b.address)));
    moves
        .routers
        .sort_by(|a, b| (&a.controller, &a.pod).cmp(&(&b.controller, &b.pod)));
    moves
}

fn canonical(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

fn addresses(
    before: &[PlacementNode],
    after: &[PlacementNode],
    traffic: &Traffic,
    hosting: Option<&Hosting>,
) -> Vec<AddressMove> {
    let Traffic {
        egress, egress_context, ..
    } = traffic;
    let plan = plan_egress(after, egress, egress_context);
    let hosted = hosting.map_or(&[][..], |hosting| &hosting.addresses);
    let from = match hosting {
        Some(_) => plan
            .addresses
            .iter()
            .map(|address| host_of(hosted, egress, address))
            .collect(),
        None => assigned(before, &plan_egress(before, egress, egress_context)),
    };
    let at = |name: &str| after.iter().position(|node| node.name == name);
    let kept: Vec<Option<u32>> = from
        .iter()
        .map(|name| name.as_deref().and_then(at).and_then(|index| u32::try_from(index).ok()))
        .collect();
    let to = replan(after, egress, egress_context, &plan, &kept);
    let name = |index: u32| after.get(index as usize).map(|node| node.name.clone());
    let mut found: Vec<AddressMove> = Vec::new();
    for (number, ((address, from), to)) in plan.addresses.iter().zip(from).zip(to).enumerate() {
        let to = to.and_then(name);
        let kept_at = kept.get(number).copied().flatten();
        let reason = if from.is_some() && from == to {
            None
        } else if let (Some(from), true) = (&from, shares_node(&plan, &kept, number)) {
            Some(format!(
                "the status has two addresses of the EgressIP on {from}: OVN-Kubernetes assigns one to a node and assigns both again"
            ))
        } else {
            Some(why(before, after, address, from.as_deref(), kept_at))
        };
        found.push(AddressMove {
            egress_ip: object_name(egress, address),
            address: address.written.clone(),
            from,
            to,
            reason,
        });
    }
    // What the cluster hosts, and nobody asks for.
    let known = |hosted: &HostedAddress| {
        let address = canonical(&hosted.address);
        let same = |plan: &AddressPlan| plan.address == address && object_name(egress, plan) == hosted.egress_ip;
        plan.addresses.iter().any(same)
    };
    found.extend(hosted.iter().filter(|hosted| !known(hosted)).map(|hosted| AddressMove {
        egress_ip: hosted.egress_ip.clone(),
        address: hosted.address.clone(),
        from: Some(hosted.node.clone()),
        to: None,
        reason: Some("no EgressIP of the site has the address".to_owned()),
    }));
    found
}

fn object_name(egress: &[EgressIp], address: &AddressPlan) -> String {
    egress
        .get(address.egress_ip)
        .map(|object| object.name.clone())
        .unwrap_or_default()
}

fn host_of(hosted: &[HostedAddress], egress: &[EgressIp], address: &AddressPlan) -> Option<String> {
    let object = object_name(egress, address);
    hosted
        .iter()
        .find(|hosted| {
            hosted.egress_ip == object && address.address.is_some() && canonical(&hosted.address) == address.address
        })
        .map(|hosted| hosted.node.clone())
}

fn assigned(nodes: &[PlacementNode], plan: &EgressPlan) -> Vec<Option<String>> {
    let name = |index: u32| nodes.get(index as usize).map(|node| node.name.clone());
    plan.addresses
        .iter()
        .map(|address| address.greedy.and_then(name))
        .collect()
}

/// Why an address is not where it was.
fn why(
    before: &[PlacementNode],
    after: &[PlacementNode],
    address: &AddressPlan,
    from: Option<&str>,
    index: Option<u32>,
) -> String {
    let Some(from) = from else {
        let unusable = address.address.is_none() || address.feasible.is_empty();
        return match address.problems.first() {
            Some(problem) if unusable => problem.message.clone(),
            _ => "no node hosts it now".to_owned(),
        };
    };
    let Some((index, node)) = index.and_then(|index| Some((index, after.get(index as usize)?))) else {
        return format!("there is no node `{from}`");
    };
    if let Some(away) = away(before, node) {
        return away;
    }
    let refusal = address.refused.iter().find(|(refused, _)| *refused == index);
    refusal.map_or_else(
        || "another address takes its place".to_owned(),
        |(_, refusal)| reason(*refusal, node, address),
    )
}

/// The node was ready, and is not.
fn away(before: &[PlacementNode], after: &PlacementNode) -> Option<String> {
    let was_ready = before.iter().any(|node| node.name == after.name && !node.not_ready);
    (was_ready && after.not_ready).then(|| "the node reboots".to_owned())
}

fn judge_router(
    before: &[PlacementNode],
    after: &[PlacementNode],
    answers: &[IngressAnswer],
    router: &RunningRouter,
    routers: &[RunningRouter],
) -> RouterMove {
    let answer = answers.iter().find(|answer| answer.controller == router.controller);
    let index = router
        .node
        .as_deref()
        .and_then(|name| after.iter().position(|node| node.name == name));
    let node = index.and_then(|index| after.get(index));
    let reason = match (answer, router.node.as_deref(), index.zip(node)) {
        (_, None, _) => Some("it runs on no node yet".to_owned()),
        (None, ..) => Some("no IngressController of the site is its controller".to_owned()),
        (Some(_), Some(name), None) => Some(format!("there is no node `{name}`")),
        (Some(answer), _, Some((index, node))) => away(before, node).or_else(|| router_refusal(answer, index)),
    };
    let free = |node: &PlacementNode| {
        let same = |other: &RunningRouter| {
            other.controller == router.controller && other.node.as_deref() == Some(node.name.as_str())
        };
        !node.not_ready && !routers.iter().any(same)
    };
    let to = match (&reason, answer) {
        (Some(_), Some(answer)) => named(after, &answer.usable, free),
        _ => Vec::new(),
    };
    RouterMove {
        pod: router.pod.clone(),
        controller: router.controller.clone(),
        from: router.node.clone(),
        to,
        reason,
    }
}

fn router_refusal(answer: &IngressAnswer, index: usize) -> Option<String> {
    if answer.usable.contains(&index) {
        None
    } else if let Some(error) = &answer.error {
        Some(error.clone())
    } else if answer.nodes.contains(&index) {
        Some("taints or the remote-worker label keep it off the node once it is started again".to_owned())
    } else {
        Some("its controller does not select the node; it runs on until it is started again".to_owned())
    }
}

fn controllers(
    before: &[PlacementNode],
    after: &[PlacementNode],
    traffic: &Traffic,
    answers: &[IngressAnswer],
) -> Vec<ControllerMove> {
    let was = check_ingress(before, &traffic.controllers, &traffic.ingress_context);
    let mut found = Vec::new();
    for (was, is) in was.iter().zip(answers) {
        let had = named(before, &was.usable, |node| !node.not_ready);
        let has = named(after, &is.usable, |node| !node.not_ready);
        let missing = |from: &[String], other: &[String]| -> Vec<String> {
            from.iter().filter(|name| !other.contains(name)).cloned().collect()
        };
        let (lost, gained) = (missing(&had, &has), missing(&has, &had));
        if !lost.is_empty() || !gained.is_empty() {
            found.push(ControllerMove {
                controller: is.controller.clone(),
                lost,
                gained,
                left: has.len(),
            });
        }
    }
    found
}

fn named(nodes: &[PlacementNode], indices: &[usize], keep: impl Fn(&PlacementNode) -> bool) -> Vec<String> {
    let found = indices.iter().filter_map(|index| nodes.get(*index));
    found.filter(|node| keep(node)).map(|node| node.name.clone()).collect()
}

/// The first names of a list, and how many more there are.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let first = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
