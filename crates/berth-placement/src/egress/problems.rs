//! What is wrong with egress addresses, in words.

use super::{AddressPlan, EGRESS_ASSIGNABLE, EgressContext, EgressIp, Refusal, classes::leg};
use crate::{
    node::PlacementNode,
    problem::{PlacementProblem, ProblemKind},
};

/// How many nodes a message names.
const NAMED: usize = 3;

pub(super) fn not_an_address(object: &EgressIp, text: &str) -> PlacementProblem {
    let message = format!(
        "egress IP: {text} for object EgressIP: {} is not a valid IP address",
        object.name
    );
    let problem = PlacementProblem::new(ProblemKind::EgressAddress, message);
    match text.split_once('/') {
        Some((address, _)) => problem.with_help(format!("write {address}, without a prefix")),
        None => problem.with_help("OVN-Kubernetes leaves out the whole object"),
    }
}

pub(super) fn conflict(text: &str, what: &str) -> PlacementProblem {
    PlacementProblem::new(ProblemKind::EgressConflict, format!("{text} is {what}"))
        .with_help("OVN-Kubernetes refuses it with the event EgressIPConflict; take a free address of the network")
}

pub(super) fn used_twice(object: &EgressIp, text: &str, other: &str) -> PlacementProblem {
    let message = if object.name == other {
        format!("{text} is there twice")
    } else {
        format!("{text} belongs to EgressIP `{other}` already")
    };
    PlacementProblem::new(ProblemKind::EgressConflict, message)
        .with_help("OVN-Kubernetes refuses the second one with the event UnsupportedRequest")
}

/// What can be said of one address once it has its nodes. `proposed` hosts it in the smallest set.
pub(super) fn of_address(
    nodes: &[PlacementNode],
    egress: &[EgressIp],
    context: &EgressContext,
    plan: &mut AddressPlan,
    proposed: Option<usize>,
) {
    if !plan.problems.is_empty() {
        return;
    }
    let name = egress.get(plan.egress_ip).map_or("", |object| object.name.as_str());
    let could = |reason: Refusal| -> Vec<&str> {
        plan.refused
            .iter()
            .filter(|(_, refusal)| *refusal == reason)
            .filter_map(|(node, _)| Some(nodes.get(*node as usize)?.name.as_str()))
            .collect()
    };
    let written = &plan.written;
    // Only where too few nodes can host the address do the others matter.
    let unlabelled = if plan.feasible.len() > 1 && plan.best.is_some() {
        Vec::new()
    } else {
        could(Refusal::NotLabelled)
    };
    if plan.feasible.is_empty()
        && plan
            .refused
            .iter()
            .all(|(_, refusal)| *refusal == Refusal::NetworksUnknown)
    {
        plan.problems.push(unknown(nodes, written));
        return;
    }
    let mut problems = Vec::new();
    let proposal = proposed.and_then(|node| nodes.get(node)).map(|node| node.name.as_str());
    match plan.feasible.as_slice() {
        [] if unlabelled.is_empty() && could(Refusal::NotReady).is_empty() => {
            problems.push(
                PlacementProblem::new(
                    ProblemKind::EgressNoNode,
                    format!("no node is in a network that contains {written}"),
                )
                .with_help("take an address of a network that nodes are in"),
            );
        }
        [] if unlabelled.is_empty() => problems.push(PlacementProblem::new(
            ProblemKind::EgressNoNode,
            format!("no node that could host {written} is ready"),
        )),
        [] => problems.push(
            PlacementProblem::new(
                ProblemKind::EgressUnlabelled,
                format!("no node that could host {written} is labelled {EGRESS_ASSIGNABLE}"),
            )
            .with_help(format!(
                "label {}: `berth egress plan --write` prints the rule",
                proposal.unwrap_or_else(|| unlabelled.first().copied().unwrap_or_default())
            )),
        ),
        feasible => {
            if plan.best.is_none() {
                let message = format!(
                    "there are more addresses than nodes: EgressIP `{name}` cannot place {written}, for a node hosts one address of an \
                     EgressIP"
                );
                let problem = PlacementProblem::new(ProblemKind::EgressUnplaced, message);
                problems.push(match proposal {
                    Some(_) if !unlabelled.is_empty() => {
                        problem.with_help(format!("label more: {}", named(&unlabelled)))
                    }
                    _ => problem.with_help("take fewer addresses, or add nodes to the network"),
                });
            } else if plan.greedy.is_none() {
                problems.push(
                    PlacementProblem::new(
                        ProblemKind::EgressGreedy,
                        format!("OVN-Kubernetes would not place {written}, though there is a placement of all addresses"),
                    )
                    .with_help(format!(
                        "it takes the first node that fits; label one node more, or put the addresses of EgressIP `{name}` in another order"
                    )),
                );
            }
            problems.extend(few_hosts(nodes, context, written, feasible, &unlabelled));
        }
    }
    plan.problems = problems;
}

/// Nobody can say whether a node fits.
fn unknown(nodes: &[PlacementNode], written: &str) -> PlacementProblem {
    if nodes.is_empty() {
        let message = format!("no node can host {written}: there are no nodes");
        return PlacementProblem::new(ProblemKind::EgressUnknown, message)
            .with_help("add the documents of the nodes, or `--nodes` with `oc get nodes -o yaml`");
    }
    let message = format!("whether a node can host {written} is unknown: no network of any node is known");
    PlacementProblem::new(ProblemKind::EgressUnknown, message)
        .with_help("add networks and addresses to the documents, or `--nodes` with `oc get nodes -o yaml`")
}

/// What can be said of the nodes that can host an address.
fn few_hosts(
    nodes: &[PlacementNode],
    context: &EgressContext,
    written: &str,
    feasible: &[u32],
    unlabelled: &[&str],
) -> Vec<PlacementProblem> {
    let mut problems = Vec::new();
    if let [only] = feasible
        && let Some(node) = nodes.get(*only as usize)
    {
        let problem = PlacementProblem::new(
            ProblemKind::EgressSingleNode,
            format!(
                "only `{}` can host {written}: without it the address is gone",
                node.name
            ),
        );
        problems.push(if unlabelled.is_empty() {
            problem.with_help("no other node is in the network")
        } else {
            problem.with_help(format!("label one more: {}", named(unlabelled)))
        });
    }
    let remote = |node: &u32| nodes.get(*node as usize).is_some_and(|node| node.remote_site.is_some());
    if context.timeout.is_none() && feasible.iter().all(remote) {
        problems.push(
                    PlacementProblem::new(
                        ProblemKind::EgressRemoteOnly,
                        format!("only nodes of remote sites can host {written}, and a node that does not answer within a second loses it"),
                    )
                    .with_help(
                        "raise spec.defaultNetwork.ovnKubernetesConfig.egressIPConfig.reachabilityTotalTimeoutSeconds of \
                         network.operator.openshift.io/cluster where the line is slow",
                    ),
                );
    }
    problems
}

/// What concerns whole objects, or nodes.
pub(super) fn beside(
    nodes: &[PlacementNode],
    egress: &[EgressIp],
    plans: &[AddressPlan],
    labelled: &[bool],
) -> Vec<(Option<usize>, PlacementProblem)> {
    let mut problems = Vec::new();
    for (number, object) in egress.iter().enumerate().filter(|(_, object)| object.all_namespaces) {
        problems.push((
            Some(number),
            PlacementProblem::new(
                ProblemKind::EgressAllNamespaces,
                format!(
                    "EgressIP `{}` is for the pods of every namespace: its namespaceSelector is empty",
                    object.name
                ),
            )
            .with_help("select namespaces by a label, such as matchLabels: {type: rwn}"),
        ));
    }
    for (node, labelled) in nodes.iter().zip(labelled) {
        // An address that is wrong in another way is still the one that the label is for.
        let serves = |plan: &AddressPlan| plan.address.is_some_and(|address| leg(node, address).is_some());
        if *labelled && node.has_networks() && !plans.iter().any(serves) {
            let message = format!(
                "node `{}` is labelled {EGRESS_ASSIGNABLE}, but no egress address is in its networks ({})",
                node.name,
                node.networks_in_words()
            );
            problems.push((
                None,
                PlacementProblem::new(ProblemKind::EgressUselessLabel, message).with_help("remove the label"),
            ));
        }
    }
    problems
}

/// The set of nodes to label may not be the smallest.
pub(super) fn unsure(size: usize) -> PlacementProblem {
    PlacementProblem::new(
        ProblemKind::EgressLabelSearch,
        format!("the set of {size} nodes to label may not be the smallest: the search was cut short"),
    )
    .with_help("the set is enough for every address that can be placed; fewer nodes may do too")
}

fn named(nodes: &[&str]) -> String {
    let first = nodes.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match nodes.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} or one of {more} more"),
    }
}
