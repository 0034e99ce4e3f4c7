//! What would change on a cluster as observed: a value that can be printed, compared and reviewed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use berth_labels::{Brake, Conflict};
use berth_pools::{Membership, MembershipError};
use berth_site::{ObservedNode, Resolution, Resolver, Site, Subject};

use crate::{
    costs::Costs,
    relabel::{LabelDiff, LabelPolicy, NodeState, Strategy, label_diff},
    units::UnitLabels,
};

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Declared, and its Node object is there.
    Registered,
    /// Declared, but there is no Node object yet.
    Awaited,
    /// There is a Node object, but no document or Berth for it.
    Undeclared,
}

/// What would happen to one node.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// The node's name.
    pub node: Arc<str>,
    /// Where it stands.
    pub presence: Presence,
    /// Labels to write, new and changed ones.
    pub set: BTreeMap<String, String>,
    /// Which of [`Self::set`] replace a live value.
    pub changed: BTreeSet<String>,
    /// Labels to remove.
    pub remove: BTreeSet<String>,
    /// Live labels that stay as they are.
    pub keep: BTreeSet<String>,
    /// Labels that somebody else set: reported, not touched.
    pub conflicts: Vec<Conflict>,
    /// The pool by the live labels.
    pub pool_before: Option<Arc<str>>,
    /// The pool by the labels afterwards.
    pub pool_after: Option<Arc<str>>,
    /// What a move between pools costs.
    pub reboot: Reboot,
}

/// Whether a change costs a reboot, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reboot {
    /// The machine has to reboot.
    pub needed: bool,
    /// One sentence.
    pub reason: String,
}

/// The plan for all nodes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By node name.
    pub nodes: Vec<NodePlan>,
    /// The sums.
    pub totals: Totals,
}

/// Sums over a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Nodes in the plan.
    pub nodes: usize,
    /// Nodes whose labels change.
    pub changing: usize,
    /// Nodes declared but not registered.
    pub awaited: usize,
    /// Nodes observed but not declared.
    pub undeclared: usize,
    /// Labels added.
    pub set: usize,
    /// Labels whose value changes.
    pub changed: usize,
    /// Labels removed.
    pub removed: usize,
    /// Conflicts.
    pub conflicts: usize,
    /// Nodes that move to another pool.
    pub moves: usize,
    /// Nodes that reboot.
    pub reboots: usize,
    /// Labels that Berth owns on the observed nodes.
    pub owned: usize,
}

impl Totals {
    /// Whether so many owned labels would go that a person has to agree first.
    pub fn is_mass_removal(&self) -> bool {
        let Self { removed, owned, .. } = *self;
        Brake { removed, owned }.holds()
    }
}

/// Plans the change from the observed Nodes of the site to its resolutions. Which labels are Berth's is what
/// [`Site::owned_labels`] says.
pub fn plan(resolver: &Resolver<'_>, resolutions: &[Resolution], strategy: Strategy, policy: &LabelPolicy) -> Plan {
    let site = resolver.site();
    let observed: HashMap<&str, &ObservedNode> = site
        .observed
        .iter()
        .map(|node| (node.name.value.as_ref(), node))
        .collect();
    let mut totals = Totals::default();
    let mut units = UnitLabels::new(site, resolver.flavour());
    let costs = Costs::new(site);
    let identifying = resolver.membership().selector_keys();
    let nodes: Vec<NodePlan> = resolutions
        .iter()
        .map(|resolution| {
            let live = observed.get(resolution.node.as_ref()).copied();
            let mut state = live.map(|node| state(site, node)).unwrap_or_default();
            state.identifying.clone_from(&identifying);
            // To render a pool takes its time, and only where a label would go it matters what the kubelet says.
            if state.owned.keys().any(|key| resolution.label(key).is_none()) {
                state.registered = units.of(resolution.pool_name());
            }
            totals.owned += state.owned.len();
            let declared = resolver.subject(&resolution.node).is_some_and(Subject::is_declared);
            let diff = if declared || strategy == Strategy::Owned {
                let requested = resolution.labels.iter();
                let requested = requested.map(|label| (label.key.to_string(), Some(label.value.to_string())));
                label_diff(&state, &requested.collect(), strategy, policy)
            } else {
                // The other strategies remove what is not declared. A node that nobody declared would lose all its labels.
                LabelDiff {
                    keep: state.labels.keys().cloned().collect(),
                    ..LabelDiff::default()
                }
            };
            let presence = match (live, declared) {
                (None, _) => Presence::Awaited,
                (Some(_), true) => Presence::Registered,
                (Some(_), false) => Presence::Undeclared,
            };
            node_plan(resolver, &costs, resolution, presence, &state, diff)
        })
        .collect();
    for node in &nodes {
        totals.nodes += 1;
        totals.changing += usize::from(!node.set.is_empty() || !node.remove.is_empty());
        totals.awaited += usize::from(node.presence == Presence::Awaited);
        totals.undeclared += usize::from(node.presence == Presence::Undeclared);
        totals.set += node.set.len() - node.changed.len();
        totals.changed += node.changed.len();
        totals.removed += node.remove.len();
        totals.conflicts += node.conflicts.len();
        totals.moves += usize::from(node.presence != Presence::Awaited && node.pool_before != node.pool_after);
        totals.reboots += usize::from(node.reboot.needed);
    }
    Plan { nodes, totals }
}

/// An observed Node as a change finds it.
fn state(site: &Site, node: &ObservedNode) -> NodeState {
    NodeState {
        labels: node.labels.clone(),
        owned: site.owned_labels(node),
        withheld: site.withheld_labels(node),
        ..NodeState::default()
    }
}

fn node_plan(
    resolver: &Resolver<'_>,
    costs: &Costs<'_>,
    resolution: &Resolution,
    presence: Presence,
    state: &NodeState,
    diff: LabelDiff,
) -> NodePlan {
    let after = diff.labels_after(state);
    let pool = |labels: &BTreeMap<String, String>| primary(resolver.membership(), &resolution.node, labels);
    let (pool_before, pool_after) = (pool(&state.labels), pool(&after));
    let registered = presence != Presence::Awaited;
    let mut keep = diff.keep;
    keep.extend(diff.protected);
    NodePlan {
        node: resolution.node.clone(),
        presence,
        reboot: reboot(costs, registered, &pool_before, &pool_after),
        changed: diff.change.keys().cloned().collect(),
        set: diff.set.into_iter().chain(diff.change).collect(),
        remove: diff.remove,
        keep,
        conflicts: diff.conflicts,
        pool_before: pool_before.ok().flatten(),
        pool_after: pool_after.ok().flatten(),
    }
}

fn primary(
    membership: &Membership,
    node: &str,
    labels: &BTreeMap<String, String>,
) -> Result<Option<Arc<str>>, MembershipError> {
    membership
        .of(node, labels)
        .map(|placement| placement.primary().cloned())
}

type PoolOrError = Result<Option<Arc<str>>, MembershipError>;

fn reboot(costs: &Costs<'_>, registered: bool, before: &PoolOrError, after: &PoolOrError) -> Reboot {
    let say = |needed: bool, reason: String| Reboot { needed, reason };
    match (before, after) {
        (_, Err(error)) => say(false, error.to_string()),
        (_, Ok(Some(pool))) if !registered => {
            say(false, format!("not registered yet: it boots straight into pool {pool}"))
        }
        (_, Ok(None)) if !registered => say(false, "not registered yet".to_owned()),
        (Ok(before), Ok(after)) if before == after => match after {
            Some(pool) => say(false, format!("stays in pool {pool}")),
            None => say(false, "is in no pool".to_owned()),
        },
        (Ok(Some(before)), Ok(Some(after))) if !costs.move_reboots(Some(before), Some(after)) => say(
            false,
            format!(
                "moves from pool {before} to pool {after}: nothing in their configurations differs that needs a reboot"
            ),
        ),
        (Ok(Some(before)), Ok(Some(after))) => say(true, format!("moves from pool {before} to pool {after}")),
        (Err(_), Ok(Some(after))) => say(true, format!("was in several custom pools, moves to pool {after}")),
        (Ok(None), Ok(Some(after))) => say(true, format!("joins pool {after}")),
        (Ok(Some(before)), Ok(None)) => say(false, format!("leaves pool {before} and is managed by none")),
        (_, Ok(None)) => say(false, "is managed by no pool".to_owned()),
    }
}
