//! Egress addresses: which nodes can host each, where OVN-Kubernetes would put them, and where they could best be.

mod assign;
mod classes;
mod cover;
mod greedy;
mod problems;

use std::{
    collections::{BTreeSet, HashMap},
    net::IpAddr,
};

use crate::{node::PlacementNode, problem::PlacementProblem};

use self::classes::{Classes, Leg, leg};

/// The label of nodes that may host egress addresses; only its key counts.
pub const EGRESS_ASSIGNABLE: &str = "k8s.ovn.org/egress-assignable";

/// An `EgressIP` object.
#[derive(Clone, Debug, Default)]
pub struct EgressIp {
    /// Its name.
    pub name: String,
    /// `spec.egressIPs`, as written.
    pub addresses: Vec<String>,
    /// Whether `spec.namespaceSelector` is empty, which selects every namespace.
    pub all_namespaces: bool,
}

/// What else matters for egress addresses.
#[derive(Clone, Debug, Default)]
pub struct EgressContext {
    /// Addresses that belong to something else, and to what: VIPs and gateways.
    pub reserved: Vec<(IpAddr, String)>,
    /// Seconds after which a node that does not answer loses its addresses, where somebody thought about it.
    pub timeout: Option<u32>,
}

/// Why a node cannot host an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// No network of the node contains the address.
    NoNetwork,
    /// Nothing is known of the node's networks.
    NetworksUnknown,
    /// It could, but it does not have the label.
    NotLabelled,
    /// It could, but it is not ready.
    NotReady,
    /// Its cloud allows it no address of this family.
    NoCapacity,
    /// The address is not to be had at all.
    Unusable,
}

/// The answer for one address.
#[derive(Clone, Debug)]
pub struct AddressPlan {
    /// The object, by its place in the input.
    pub egress_ip: usize,
    /// The address as written.
    pub written: String,
    /// The address.
    pub address: Option<IpAddr>,
    /// Nodes that can host it now, by their place in the input.
    pub feasible: Vec<u32>,
    /// All other nodes, and why.
    pub refused: Vec<(u32, Refusal)>,
    /// Where OVN-Kubernetes would put it.
    pub greedy: Option<u32>,
    /// Where it is in the best placement.
    pub best: Option<u32>,
    /// What is wrong with it.
    pub problems: Vec<PlacementProblem>,
}

/// The answer for all addresses.
#[derive(Clone, Debug, Default)]
pub struct EgressPlan {
    /// One entry for each address of each object, in the order of the input.
    pub addresses: Vec<AddressPlan>,
    /// The smallest set of nodes that has to have the label, by name. Those that have it already are preferred.
    pub label: Vec<String>,
    /// What is wrong beside single addresses: with the object of this place in the input, or with none.
    pub problems: Vec<(Option<usize>, PlacementProblem)>,
}

/// An address with what is known before nodes are looked at.
#[derive(Debug)]
struct Wanted {
    egress_ip: usize,
    address: Option<IpAddr>,
    /// It can be hosted by nobody, for this reason.
    problem: Option<PlacementProblem>,
}

impl Wanted {
    /// The address, where somebody can have it.
    fn usable(&self) -> Option<IpAddr> {
        self.address.filter(|_| self.problem.is_none())
    }
}

/// Plans the egress addresses of a cluster.
///
/// ```
/// use std::collections::BTreeMap;
/// use berth_placement::{EGRESS_ASSIGNABLE, EgressContext, EgressIp, PlacementNode, plan_egress};
///
/// let node = PlacementNode {
///     name: "w1".to_owned(),
///     labels: BTreeMap::from([(EGRESS_ASSIGNABLE.to_owned(), String::new())]),
///     primary: vec!["192.0.2.7/24".parse()?],
///     ..PlacementNode::default()
/// };
/// let egress = EgressIp {
///     name: "tenant".to_owned(),
///     addresses: vec!["192.0.2.100".to_owned(), "198.51.100.1".to_owned()],
///     ..EgressIp::default()
/// };
/// let plan = plan_egress(&[node], &[egress], &EgressContext::default());
/// let feasible: Vec<usize> = plan.addresses.iter().map(|address| address.feasible.len()).collect();
/// assert_eq!(feasible, [1, 0], "no network of the node contains the second");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan_egress(nodes: &[PlacementNode], egress: &[EgressIp], context: &EgressContext) -> EgressPlan {
    let wanted = wanted(nodes, egress, context);
    let addresses: Vec<Option<IpAddr>> = wanted.iter().map(Wanted::usable).collect();
    let classes = Classes::of(nodes, &addresses);
    let labelled: Vec<bool> = nodes
        .iter()
        .map(|node| node.labels.contains_key(EGRESS_ASSIGNABLE))
        .collect();
    let serving = |node: usize| labelled[node] && !nodes[node].not_ready;

    let greedy = greedy::simulate(nodes, egress, &wanted, &serving, &[]);
    let best = assign::best(nodes, egress.len(), &wanted, &classes, &serving);
    let chosen = cover::smallest(nodes, &wanted, &classes, &labelled);

    let mut plans: Vec<AddressPlan> = Vec::with_capacity(wanted.len());
    let written = egress.iter().flat_map(|object| &object.addresses);
    for (number, (wanted, written)) in wanted.iter().zip(written).enumerate() {
        let (mut feasible, mut refused) = (Vec::new(), Vec::with_capacity(nodes.len()));
        for (index, node) in nodes.iter().enumerate() {
            match refusal(node, classes.hosts(index, number), wanted, labelled[index]) {
                None => feasible.push(small(index)),
                Some(reason) => refused.push((small(index), reason)),
            }
        }
        plans.push(AddressPlan {
            egress_ip: wanted.egress_ip,
            written: written.clone(),
            address: wanted.address,
            feasible,
            refused,
            greedy: greedy[number].map(small),
            best: best[number].map(small),
            problems: wanted.problem.iter().cloned().collect(),
        });
    }
    let label: BTreeSet<&str> = chosen.nodes.iter().map(|node| nodes[*node].name.as_str()).collect();
    for (number, plan) in plans.iter_mut().enumerate() {
        problems::of_address(nodes, egress, context, plan, chosen.host[number]);
    }
    let mut problems = problems::beside(nodes, egress, &plans, &labelled);
    if chosen.is_unsure {
        problems.push((None, problems::unsure(label.len())));
    }
    EgressPlan {
        addresses: plans,
        label: label.into_iter().map(str::to_owned).collect(),
        problems,
    }
}

/// Where OVN-Kubernetes puts the addresses when those in `kept` (the address's place in [`EgressPlan::addresses`], the node's in
/// the input) are where they are already. One that its node cannot host any more is placed anew, and so are all addresses of an object
/// that share a node: OVN-Kubernetes takes such a status for broken and assigns them again.
pub(crate) fn replan(
    nodes: &[PlacementNode],
    egress: &[EgressIp],
    context: &EgressContext,
    plan: &EgressPlan,
    kept: &[Option<u32>],
) -> Vec<Option<u32>> {
    let wanted = wanted(nodes, egress, context);
    let serving = |node: usize| nodes[node].labels.contains_key(EGRESS_ASSIGNABLE) && !nodes[node].not_ready;
    let kept: Vec<Option<usize>> = plan
        .addresses
        .iter()
        .zip(kept)
        .enumerate()
        .map(|(number, (address, node))| {
            node.filter(|node| address.feasible.contains(node) && !shares_node(plan, kept, number))
                .map(|node| node as usize)
        })
        .collect();
    let placed = greedy::simulate(nodes, egress, &wanted, &serving, &kept);
    placed.into_iter().map(|node| node.map(small)).collect()
}

/// Whether another address of the same object is on the same node.
pub(crate) fn shares_node(plan: &EgressPlan, kept: &[Option<u32>], number: usize) -> bool {
    let of = |number: usize| Some((plan.addresses.get(number)?.egress_ip, (*kept.get(number)?)?));
    of(number).is_some_and(|own| (0..kept.len()).any(|other| other != number && of(other) == Some(own)))
}

/// Why a node cannot host an address, in words.
pub fn reason(refusal: Refusal, node: &PlacementNode, plan: &AddressPlan) -> String {
    match refusal {
        Refusal::NoNetwork => format!(
            "no network of the node contains {}: it is in {}",
            plan.written,
            node.networks_in_words()
        ),
        Refusal::NetworksUnknown => "nothing is known of its networks".to_owned(),
        Refusal::NotLabelled => format!("it is not labelled {EGRESS_ASSIGNABLE}"),
        Refusal::NotReady => "it is not ready".to_owned(),
        Refusal::NoCapacity => "its cloud allows it no egress address of this family".to_owned(),
        Refusal::Unusable => plan
            .problems
            .first()
            .map_or_else(String::new, |problem| problem.message.clone()),
    }
}

fn refusal(node: &PlacementNode, hosts: bool, wanted: &Wanted, labelled: bool) -> Option<Refusal> {
    let Some(address) = wanted.usable() else {
        return Some(Refusal::Unusable);
    };
    if hosts {
        return match (labelled, node.not_ready) {
            (false, _) => Some(Refusal::NotLabelled),
            (true, true) => Some(Refusal::NotReady),
            (true, false) => None,
        };
    }
    Some(if !node.has_networks() {
        Refusal::NetworksUnknown
    } else if node.capacity.is_some() && leg(node, address).is_some() {
        Refusal::NoCapacity
    } else {
        Refusal::NoNetwork
    })
}

/// Reads the addresses, and finds those that nobody can host.
fn wanted(nodes: &[PlacementNode], egress: &[EgressIp], context: &EgressContext) -> Vec<Wanted> {
    let mut taken: HashMap<IpAddr, String> = HashMap::new();
    for (address, what) in &context.reserved {
        taken
            .entry(address.to_canonical())
            .or_insert_with(|| format!("the address of {what}"));
    }
    for node in nodes {
        for address in node.host_addresses() {
            taken
                .entry(address.to_canonical())
                .or_insert_with(|| format!("the address of node `{}`", node.name));
        }
    }
    let mut first: HashMap<IpAddr, &str> = HashMap::new();
    let mut all = Vec::new();
    for (number, object) in egress.iter().enumerate() {
        for text in &object.addresses {
            let address = text.parse::<IpAddr>().ok().map(|address| address.to_canonical());
            let problem = match address {
                None => Some(problems::not_an_address(object, text)),
                Some(address) => match (taken.get(&address), first.get(&address)) {
                    (Some(what), _) => Some(problems::conflict(text, what)),
                    (None, Some(other)) => Some(problems::used_twice(object, text, other)),
                    (None, None) => {
                        first.insert(address, &object.name);
                        None
                    }
                },
            };
            all.push(Wanted {
                egress_ip: number,
                address,
                problem,
            });
        }
    }
    all
}

/// Four billion nodes do not fit in memory.
fn small(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Whether the node would carry the address on a further interface.
fn on_secondary(node: &PlacementNode, address: IpAddr) -> bool {
    leg(node, address) == Some(Leg::Secondary)
}
