//! Which pool to ask for: the declared one, or the one an administrator moved the Node to.

use std::collections::BTreeMap;

use berth_labels::{Flavour, narrowed};
use berth_pools::{BUILT_IN, MASTER, WORKER};
use jiff::Timestamp;

use super::reserve::made_by;
use crate::{definitions::Definitions, names, view::NodeView};
use berth_resources::{Berth, Followed, PoolPolicy};

/// What to ask the definitions for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// The pool to use in place of `spec.pool`.
    pub pool: Option<String>,
    /// What the Berth remembers about an administrator's move.
    pub followed: Option<Followed>,
    /// A move that was just found.
    pub moved: Option<Move>,
    /// Why the Node's labels say another pool than the one that Berth gave, should they do so.
    pub cause: Cause,
}

/// Why the labels of a Node say another pool than the one that Berth gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// Somebody changed the labels.
    Labels,
    /// The pools may have changed: nobody can say that the labels did.
    #[default]
    Definitions,
}

/// A move of a Node between pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The pool that Berth gave.
    pub from: String,
    /// The pool that the labels say now.
    pub to: String,
}

/// Finds the pool to ask for. `node` is the Node as it is, or as it was when it was deleted: a relabel directly before a
/// deletion counts. `witnessed` says that under these very definitions the Node [was in its place](is_in_place) before.
pub fn pin(definitions: &Definitions, berth: &Berth, node: Option<&NodeView>, witnessed: bool) -> Pin {
    let relabelled = witnessed || node.is_some_and(|node| lacks_its_pool(definitions, berth, node));
    let cause = if relabelled { Cause::Labels } else { Cause::Definitions };
    if berth.spec.pool_policy == PoolPolicy::Enforce {
        return Pin {
            cause,
            ..Pin::default()
        };
    }
    let declared = berth.spec.pool.as_deref();
    let followed = berth
        .status
        .as_ref()
        .and_then(|status| status.followed.clone())
        .filter(|followed| followed.declared.as_deref() == declared && definitions.has_pool(&followed.pool));
    let current = followed.as_ref().map(|followed| followed.pool.as_str()).or(declared);
    let moved = node.and_then(|node| find_move(definitions, berth, node, current));
    let followed = match &moved {
        // Moved back to where the declaration wants it: there is nothing to remember.
        Some(moved) if Some(moved.to.as_str()) == declared => None,
        Some(moved) => Some(Followed {
            pool: moved.to.clone(),
            declared: declared.map(str::to_owned),
        }),
        None => followed,
    };
    Pin {
        pool: followed.as_ref().map(|followed| followed.pool.clone()),
        followed,
        moved,
        cause,
    }
}

/// The pool in which the machine of a Berth has its place now: what the controllers decided for this very declaration; before
/// they have looked at it, the pool of an administrator's move that the Berth follows, or the declared one.
pub fn current_pool<'a>(definitions: &Definitions, berth: &'a Berth) -> Option<&'a str> {
    let status = berth.status.as_ref();
    let declared = berth.spec.pool.as_deref();
    let decided = status
        .filter(|status| status.observed_generation == berth.metadata.generation)
        .and_then(|status| status.pool.as_deref());
    let followed = status
        .and_then(|status| status.followed.as_ref())
        .filter(|followed| berth.spec.pool_policy != PoolPolicy::Enforce && followed.declared.as_deref() == declared)
        .map(|followed| followed.pool.as_str());
    let exists = |pool: &&str| definitions.has_pool(pool);
    decided.filter(exists).or_else(|| followed.filter(exists)).or(declared)
}

/// The Berth that counts for each node.
pub fn first_of(berths: &[Berth]) -> Vec<&Berth> {
    let mut of_nodes: BTreeMap<String, Vec<&Berth>> = BTreeMap::new();
    for berth in berths {
        of_nodes.entry(berth.node_name()).or_default().push(berth);
    }
    of_nodes.into_values().filter_map(holder).collect()
}

/// Of the Berths of one node the one that counts: the oldest that is not given up.
pub fn holder<'a>(berths: impl IntoIterator<Item = &'a Berth>) -> Option<&'a Berth> {
    let held = |berth: &&Berth| !berth.spec.release && berth.metadata.deletion_timestamp.is_none();
    let rank = |berth: &'a Berth| {
        let created = berth.metadata.creation_timestamp.as_ref().map(|time| time.0);
        seniority(false, created, berth.metadata.name.as_deref().unwrap_or_default())
    };
    berths.into_iter().filter(held).min_by_key(|berth| rank(berth))
}

/// Which of several Berths of one node counts: the one for which this is the smallest. One that is being deleted is given up, as
/// one that is released.
pub fn seniority(given_up: bool, created: Option<Timestamp>, name: &str) -> (bool, Option<Timestamp>, &str) {
    (given_up, created, name)
}

/// Whether the labels of the Node say the pool that Berth gave. Should they say another one later, under the same
/// definitions, somebody changed them.
pub fn is_in_place(definitions: &Definitions, berth: &Berth, node: &NodeView) -> bool {
    let given = berth.status.as_ref().and_then(|status| status.pool.as_deref());
    let says = |placement: &berth_pools::Placement| placement.primary().map(AsRef::as_ref) == given;
    !is_fresh(berth, node)
        && definitions
            .placement(&node.name, &node.labels)
            .is_ok_and(|placement| says(&placement))
}

/// Whether a label is missing that the Node's pool demands and that the Node had by Berth's own record: no definition takes
/// labels away.
fn lacks_its_pool(definitions: &Definitions, berth: &Berth, node: &NodeView) -> bool {
    let given = berth.status.as_ref().and_then(|status| status.pool.as_deref());
    let Some(demanded) = given.and_then(|given| definitions.implicit(given)) else {
        return false;
    };
    let record = record(berth, node);
    !is_fresh(berth, node)
        && demanded.iter().any(|(key, value)| {
            let is = |label: Option<&String>| label.is_some_and(|label| *value == *label.as_str());
            is(record.get(key.as_str())) && !is(node.labels.get(key.as_str()))
        })
}

/// A Node has been moved when it carried all that its pool demands, by Berth's own record, and its labels now say
/// another pool. A pool whose own selector changed moves nobody: its nodes get the labels it now demands.
fn find_move(definitions: &Definitions, berth: &Berth, node: &NodeView, current: Option<&str>) -> Option<Move> {
    if is_fresh(berth, node) {
        return None;
    }
    let status = berth.status.as_ref()?;
    let given = status.pool.as_deref()?;
    let demanded = definitions.implicit(given)?;
    // Where the Node says another pool, a write of Berth's own has not been noted yet, or somebody else wrote there. Only a Node
    // that was moved had its labels before that write: where they are gone, somebody has moved it again.
    let unnoted = node.given_pool().is_some_and(|noted| noted != given);
    let moved_before = status.followed.as_ref().is_some_and(|followed| followed.pool == given);
    let shows = |key: &str, value: &str| node.labels.get(key).is_some_and(|has| has == value);
    let mut pairs = demanded.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    if unnoted && !(moved_before && pairs.any(|(key, value)| !shows(key, value))) {
        return None;
    }
    if current.is_some_and(|current| current != given) {
        return None;
    }
    let placement = definitions.placement(&node.name, &node.labels).ok()?;
    let to = placement.primary().map(ToString::to_string);
    let to = to.or_else(|| base_pool(definitions, given))?;
    let record = record(berth, node);
    // People take the old label away first and set the new one later: in between the Node is in no pool.
    let had = |key: &str| record.get(key).or_else(|| status.removed_labels.get(key));
    let carried = demanded
        .iter()
        .all(|(key, value)| had(key.as_str()).is_some_and(|recorded| *value == *recorded.as_str()));
    ((carried || unnoted) && to != given).then(|| Move {
        from: given.to_owned(),
        to,
    })
}

/// The pool of a Node that somebody took the labels of its custom pool from. On OpenShift every machine of a custom pool is a
/// worker as well: its unit says so, whether or not its Node carries that role.
fn base_pool(definitions: &Definitions, given: &str) -> Option<String> {
    let custom = definitions.flavour() == Flavour::Openshift && given != WORKER && given != MASTER;
    (custom && definitions.has_pool(WORKER)).then(|| WORKER.to_owned())
}

/// Whether nobody reserved the place of a machine: it was found in the cluster, and its Berth was made for what was found.
pub(super) fn is_found(berth: &Berth) -> bool {
    made_by(berth) == Some(names::BY_ADOPTION)
        && berth.spec.pool.is_none()
        && berth.spec.pool_policy == PoolPolicy::Follow
}

/// The pool of a machine that was found and whose kubelet has created a Node anew, by its flags. On OpenShift a role of the control
/// plane is what it is installed for; every other machine registers as a worker, whatever custom pool it has its place in.
pub(crate) fn registered_in(definitions: &Definitions, berth: &Berth, node: &NodeView) -> Option<String> {
    let kept = berth.status.as_ref().and_then(|status| status.pool.as_deref())?;
    if definitions.flavour() != Flavour::Openshift || !is_found(berth) || !is_fresh(berth, node) {
        return None;
    }
    let placement = definitions.placement(&node.name, &node.labels).ok()?;
    let role = placement.primary()?.as_ref();
    let pool = match role {
        WORKER if !BUILT_IN.contains(&kept) && definitions.has_pool(kept) => kept,
        role if BUILT_IN.contains(&role) => role,
        _ => return None,
    };
    Some(pool.to_owned())
}

/// Whether Berth has not finished a write to this very object: it was created by its kubelet, or it is to be adopted. What
/// stands on the Node itself proves nothing about that, since a kubelet can write it.
pub(super) fn is_fresh(berth: &Berth, node: &NodeView) -> bool {
    let known = berth.status.as_ref().and_then(|status| status.node_uid.as_deref());
    known != Some(node.uid.as_str())
}

/// The declared labels that the Node last had, as far as Berth knows: those it set and those it found.
pub(super) fn record(berth: &Berth, node: &NodeView) -> BTreeMap<String, String> {
    let mut record = owned(berth, node);
    if let Some(status) = &berth.status
        && !is_fresh(berth, node)
    {
        record.extend(status.found_labels.clone());
    }
    record
}

/// The labels that Berth set: what its status says, which is written first, as far as the annotation agrees, which was
/// written together with the labels. Where somebody deleted the annotation, the status alone counts.
pub(super) fn owned(berth: &Berth, node: &NodeView) -> BTreeMap<String, String> {
    let Some(status) = &berth.status else {
        return BTreeMap::new();
    };
    match node.owned() {
        None if is_fresh(berth, node) => BTreeMap::new(),
        noted => narrowed(noted.as_ref(), &status.labels, &status.earlier_labels),
    }
}
