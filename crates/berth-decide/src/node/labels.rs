//! Label upkeep of one Node: what to set, what to take away, what to leave, and what to remember about it.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::{Conflict, ConflictPolicy, Flavour, LabelKey, LabelSet, LabelValue, OwnershipDiff};
use berth_pools::{MASTER, MembershipError, WORKER};
use k8s_openapi::api::core::v1::Taint;

use super::{
    Pin, Settings,
    pool::{Cause, is_fresh, owned, record},
    reserve::made_by,
};
use crate::{
    definitions::{Answer, Definitions},
    names,
    patch::{MapPatch, NodePatch, patched},
    units::leave_to_kubelet,
    view::NodeView,
};
use berth_resources::{Berth, BerthStatus, PoolPolicy};

/// What happens to the labels of one Node.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a finding of its own")]
pub(super) struct LabelPlan {
    /// The labels part of the merge patch.
    labels: MapPatch,
    /// The labels afterwards.
    pub(super) after: BTreeMap<String, String>,
    /// What Berth owns afterwards.
    pub(super) owned: BTreeMap<String, String>,
    found: BTreeMap<String, String>,
    removed: BTreeMap<String, String>,
    retired: BTreeMap<String, String>,
    /// Every value of earlier writes that the Node may still have or get.
    earlier: BTreeMap<String, Vec<String>>,
    /// Somebody else's values.
    pub(super) conflicts: Vec<Conflict>,
    /// Removals that the brake holds back.
    pub(super) held: usize,
    /// The Node stays in the pool it is in, because the labels of that pool are held back.
    pub(super) stays: bool,
    /// Labels that somebody else used to move the Node were taken away, or what they took away was put back.
    pub(super) enforced: bool,
    /// A key of the pool's selector that an administrator removed on purpose.
    pub(super) withheld_pool_key: Option<String>,
    /// Declared keys that an administrator removed on purpose.
    pub(super) withheld: BTreeSet<String>,
    /// Labels that go.
    pub(super) removals: usize,
    /// A person asked for it by touching this very Node or Berth.
    pub(super) asked: bool,
    taints: bool,
}

impl LabelPlan {
    #[expect(clippy::too_many_arguments, reason = "everything that a plan depends on")]
    pub(super) fn new(
        definitions: &Definitions,
        berth: &Berth,
        status: &BerthStatus,
        node: &NodeView,
        pin: &Pin,
        answer: &Answer,
        unit: &BTreeMap<String, String>,
        settings: &Settings,
    ) -> Self {
        let fresh = is_fresh(berth, node);
        // A Node that came after its Berth has its labels from the flags of its kubelet, which may be stale.
        let registered = fresh && !is_older(node, berth);
        let mut owned_before = owned(berth, node);
        // What the machine's own unit registers is not Berth's to remove.
        leave_to_kubelet(&mut owned_before, |key| answer.labels.contains_key(key), unit);
        let empty = LabelSet::new();
        let demanded = answer
            .pool
            .as_deref()
            .and_then(|pool| definitions.implicit(pool))
            .unwrap_or(&empty);
        let enforce = berth.spec.pool_policy == PoolPolicy::Enforce;
        let declared_move = answer.pool.as_deref() != status.pool.as_deref() && pin.moved.is_none();

        let pool_changed = enforce || declared_move || pin.moved.is_some();
        let moved_by_hand = pin.moved.is_some() && pin.cause == Cause::Labels;
        let mut removed = removed_on_purpose(berth, status, node, answer, moved_by_hand);
        // A declared change of the pool counts more than an old removal of what the pool demands.
        removed.retain(|key, _| !(pool_changed && demanded.contains_key(key)));
        let withheld: BTreeSet<String> = removed
            .keys()
            .filter(|key| answer.labels.contains_key(key))
            .cloned()
            .collect();

        let policy = if registered {
            ConflictPolicy::TakeOver
        } else {
            settings.conflicts
        };
        let mut diff = OwnershipDiff::compute(&answer.labels, &owned_before, &node.labels, policy, &withheld);
        let mut retired = status.retired_labels.clone();
        if registered {
            // The place changed while the machine was away: what Berth gave it last is in its flags.
            retired.extend(status.labels.clone());
        }
        retired.retain(|key, _| !answer.labels.contains_key(key));

        let mut labels = diff.patch();
        let mut enforced = false;
        if enforce && !fresh {
            let mut foreign = foreign_pool_keys(definitions, node, answer);
            // On the word of a pool that is new nothing goes that Berth never wrote.
            foreign.retain(|key| {
                pin.cause == Cause::Labels || retired.get(key).is_some_and(|old| node.labels.get(key) == Some(old))
            });
            enforced = !foreign.is_empty()
                || demanded
                    .keys()
                    .any(|key| owned_before.contains_key(key.as_str()) && !node.labels.contains_key(key.as_str()));
            labels.extend(foreign.into_iter().map(|key| (key, None)));
        }
        let asked = moved_by_hand || (enforced && pin.cause == Cause::Labels) || is_edited(berth);
        let removals = labels.values().filter(|value| value.is_none()).count();
        let mut held = 0;
        let mut owned_after = BTreeMap::new();
        if settings.hold_removals && removals > 0 {
            if declared_move || pin.moved.is_some() || enforced {
                return Self::held(status, node, owned_before, removals, asked);
            }
            held = removals;
            for key in std::mem::take(&mut diff.remove) {
                labels.remove(&key);
                if let Some(value) = owned_before.get(&key) {
                    owned_after.insert(key, value.clone());
                }
            }
        }
        for key in &diff.remove {
            if let Some(value) = owned_before.get(key) {
                retired.insert(key.clone(), value.clone());
            }
        }
        if registered {
            let mut wrong = corrections(definitions, node, answer, &withheld, &removed, &retired);
            wrong.retain(|key, _| unit.get(key).is_none_or(|value| retired.get(key) != Some(value)));
            labels.extend(wrong);
        }

        owned_after.extend(still_owned(&diff, answer, &owned_before, node));
        // The labels of a pool that the Berth follows an administrator to are the pool's, not anybody's own.
        let followed = demanded.iter().filter(|_| moved_by_hand);
        owned_after.extend(present(followed, node));
        let found = present(answer.labels.iter(), node)
            .filter(|(key, _)| !owned_after.contains_key(key) && !labels.contains_key(key))
            .collect();
        let after = patched(&node.labels, &labels);
        Self {
            earlier: earlier(status, node, &owned_before, &owned_after),
            withheld_pool_key: withheld.iter().find(|key| demanded.contains_key(key)).cloned(),
            withheld,
            labels,
            after,
            owned: owned_after,
            found,
            removed,
            retired,
            conflicts: diff.conflicts,
            held,
            stays: false,
            enforced,
            removals,
            asked,
            taints: registered,
        }
    }

    /// The plan for a Node whose move to another pool the brake holds back. Half a move would put it into two pools, so that
    /// it stays as it is.
    fn held(
        status: &BerthStatus,
        node: &NodeView,
        owned: BTreeMap<String, String>,
        removals: usize,
        asked: bool,
    ) -> Self {
        Self {
            labels: BTreeMap::new(),
            after: node.labels.clone(),
            earlier: earlier(status, node, &owned, &owned),
            owned,
            found: status.found_labels.clone(),
            removed: status.removed_labels.clone(),
            retired: status.retired_labels.clone(),
            conflicts: Vec::new(),
            held: removals,
            stays: true,
            enforced: false,
            withheld_pool_key: None,
            withheld: BTreeSet::new(),
            removals,
            asked,
            taints: false,
        }
    }

    /// The merge patch for the Node; `None` when nothing is to be written.
    pub(super) fn patch(&self, node: &NodeView, berth: &Berth, pool: Option<&str>) -> Option<NodePatch> {
        let mut patch = NodePatch {
            uid: Some(node.uid.clone()),
            resource_version: Some(node.resource_version.clone()),
            labels: self.labels.clone(),
            taints: self.taints.then(|| missing_taints(node, berth)).flatten(),
            ..NodePatch::default()
        };
        if node.owned().as_ref() != Some(&self.owned) {
            let owned = berth_site::write_owned(&self.owned);
            patch.annotations.insert(names::OWNED_LABELS.to_owned(), Some(owned));
        }
        if node.given_pool() != pool {
            let pool = pool.map(str::to_owned);
            patch.annotations.insert(names::POOL.to_owned(), pool);
        }
        if node.annotations.contains_key(names::RELEASED) {
            patch.annotations.insert(names::RELEASED.to_owned(), None);
        }
        patch.non_empty()
    }

    /// Notes in the status what the Node will have, and what it may have until then.
    /// Nothing is written for the latter alone.
    pub(super) fn store(self, status: &mut BerthStatus, node: &NodeView) {
        if self.owned != status.labels {
            status.earlier_labels = self.earlier;
            status.node_version = Some(node.resource_version.clone());
        }
        status.labels = self.owned;
        status.found_labels = self.found;
        status.removed_labels = self.removed;
        status.retired_labels = self.retired;
    }
}

/// How many values of one key are remembered. Each is a change of the declaration whose write did not arrive.
const EARLIER_VALUES: usize = 16;

/// Every value of writes before this one that the Node may still have or get.
///
/// A write names the version of the Node that it was computed from. While the Node has that version, the write may still be on
/// its way, of a leader that is gone, and so may those before it for the same version. And a Node that does not say what was
/// noted last may be seen as it was long ago, by a watch that is late. Then nothing is forgotten. Once the Node has another
/// version and says what was noted last, no older write can arrive.
fn earlier(
    status: &BerthStatus,
    node: &NodeView,
    owned_before: &BTreeMap<String, String>,
    owned_after: &BTreeMap<String, String>,
) -> BTreeMap<String, Vec<String>> {
    let may_arrive = status.node_version.as_ref() == Some(&node.resource_version);
    if may_arrive || node.owned().as_ref() != Some(&status.labels) {
        return unforgotten(status, owned_before, owned_after);
    }
    unforgotten(&BerthStatus::default(), owned_before, owned_after)
}

/// Every value that the status knows and that is owned before a write, without what is owned after it.
pub(super) fn unforgotten(
    status: &BerthStatus,
    owned_before: &BTreeMap<String, String>,
    owned_after: &BTreeMap<String, String>,
) -> BTreeMap<String, Vec<String>> {
    let mut earlier = status.earlier_labels.clone();
    for (key, value) in status.labels.iter().chain(owned_before) {
        add(&mut earlier, key, value);
    }
    earlier.retain(|key, values| {
        values.retain(|value| owned_after.get(key) != Some(value));
        values.drain(..values.len().saturating_sub(EARLIER_VALUES));
        !values.is_empty()
    });
    earlier
}

fn add(earlier: &mut BTreeMap<String, Vec<String>>, key: &str, value: &str) {
    let values = earlier.entry(key.to_owned()).or_default();
    if !values.iter().any(|known| known == value) {
        values.push(value.to_owned());
    }
}

/// Whether a person changed this very Berth. What documents and adoption write, nobody asked for by touching it.
fn is_edited(berth: &Berth) -> bool {
    let observed = berth.status.as_ref().and_then(|status| status.observed_generation);
    let by_itself = match made_by(berth) {
        Some(names::BY_DOCUMENTS) => true,
        // Nobody wrote a Berth that was made for a Node; it may be edited later.
        Some(names::BY_ADOPTION) => observed.is_none(),
        _ => false,
    };
    observed != berth.metadata.generation && !by_itself
}

/// The labels that somebody removed on purpose, with the values they had: what Berth has a record of, is still declared
/// with that value (or went when the Node was moved), and is not there.
fn removed_on_purpose(
    berth: &Berth,
    status: &BerthStatus,
    node: &NodeView,
    answer: &Answer,
    moved: bool,
) -> BTreeMap<String, String> {
    let mut removed = status.removed_labels.clone();
    // On a Node that its kubelet created anew the labels show what its flags say, and nobody's purpose.
    if !is_fresh(berth, node) {
        removed.retain(|key, _| !node.labels.contains_key(key));
        for (key, value) in record(berth, node) {
            let declared = answer.labels.get(&key).is_some_and(|new| *new == *value.as_str());
            if !node.labels.contains_key(&key) && (declared || moved) {
                removed.insert(key, value);
            }
        }
    }
    // A newer declaration of another value counts more than the old removal.
    removed.retain(|key, value| answer.labels.get(key).is_none_or(|new| *new == *value.as_str()));
    removed
}

/// What Berth owns after the patch: what it writes now, and what it wrote before and nobody changed. A declared key that
/// somebody changed stays on record, so that it is ours again once it has our value.
fn still_owned(
    diff: &OwnershipDiff,
    answer: &Answer,
    owned: &BTreeMap<String, String>,
    node: &NodeView,
) -> BTreeMap<String, String> {
    let mut after = BTreeMap::new();
    for (key, value) in &answer.labels {
        let (key, value) = (key.as_str(), value.as_str());
        let written = diff.set.contains_key(key) || diff.change.contains_key(key);
        let is = |labels: &BTreeMap<String, String>| labels.get(key).is_some_and(|label| label == value);
        if written || (is(owned) && is(&node.labels)) {
            after.insert(key.to_owned(), value.to_owned());
        }
    }
    for conflict in diff.conflicts.iter().filter(|conflict| conflict.declared.is_some()) {
        if let Some(value) = owned.get(&conflict.key) {
            after.insert(conflict.key.clone(), value.clone());
        }
    }
    after
}

/// Those of the labels that the Node has.
fn present<'a>(
    labels: impl Iterator<Item = (&'a LabelKey, &'a LabelValue)>,
    node: &NodeView,
) -> impl Iterator<Item = (String, String)> {
    labels
        .map(|(key, value)| (key.as_str().to_owned(), value.as_str().to_owned()))
        .filter(|(key, value)| node.labels.get(key) == Some(value))
}

/// Whether the Node was there before its Berth.
fn is_older(node: &NodeView, berth: &Berth) -> bool {
    let adopted = made_by(berth) == Some(names::BY_ADOPTION);
    let first = berth.status.as_ref().is_none_or(|status| status.node_uid.is_none());
    let reserved = berth.metadata.creation_timestamp.as_ref().map(|time| time.0);
    first && (adopted || node.created.zip(reserved).is_some_and(|(node, berth)| node < berth))
}

/// What stale flags of a kubelet brought and must not be there. Nobody takes it away by that: it never was there.
fn corrections(
    definitions: &Definitions,
    node: &NodeView,
    answer: &Answer,
    withheld: &BTreeSet<String>,
    removed: &BTreeMap<String, String>,
    retired: &BTreeMap<String, String>,
) -> BTreeMap<String, Option<String>> {
    let unwanted = removed.iter().chain(retired).filter(|(key, value)| {
        let gone = withheld.contains(*key) || !answer.labels.contains_key(key);
        gone && node.labels.get(*key) == Some(value)
    });
    let foreign = foreign_pool_keys(definitions, node, answer);
    unwanted
        .map(|(key, _)| key.clone())
        .chain(foreign)
        .map(|key| (key, None))
        .collect()
}

/// The keys by which other pools select the Node, where the declared pool is to be enforced.
fn foreign_pool_keys(definitions: &Definitions, node: &NodeView, answer: &Answer) -> Vec<String> {
    let Some(pool) = answer.pool.as_deref() else {
        return Vec::new();
    };
    let others = match definitions.placement(&node.name, &node.labels) {
        Ok(placement) if placement.primary().is_none_or(|primary| **primary == *pool) => Vec::new(),
        Ok(placement) => placement.primary().cloned().into_iter().collect(),
        Err(MembershipError::SeveralCustomPools { pools, .. }) => pools,
    };
    // On OpenShift every machine of a custom pool is a worker as well.
    let is_base = |other: &str| definitions.flavour() == Flavour::Openshift && other == WORKER && pool != MASTER;
    let keys = others
        .iter()
        .filter(|other| ***other != *pool && !is_base(other))
        .filter_map(|other| definitions.implicit(other))
        .flat_map(LabelSet::keys);
    keys.filter(|key| !answer.labels.contains_key(key.as_str()))
        .map(|key| key.as_str().to_owned())
        .collect()
}

/// All taints, when one of the declared ones is missing.
fn missing_taints(node: &NodeView, berth: &Berth) -> Option<Vec<Taint>> {
    let is_missing = |taint: &&berth_resources::Taint| {
        let same = |live: &Taint| live.key == taint.key && live.effect == taint.effect.as_str();
        !node.taints.iter().any(same)
    };
    let missing = berth.spec.taints.iter().filter(is_missing).map(|taint| Taint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect.as_str().to_owned(),
        time_added: None,
    });
    let missing: Vec<Taint> = missing.collect();
    (!missing.is_empty()).then(|| node.taints.iter().cloned().chain(missing).collect())
}

/// A conflict in words.
pub(super) fn describe(conflict: &Conflict) -> String {
    let live = conflict.live.as_deref().unwrap_or_default();
    match &conflict.declared {
        Some(declared) => format!(
            "{} is declared as \"{declared}\" but somebody else set \"{live}\"",
            conflict.key
        ),
        None => format!(
            "{} is declared no more, but somebody else set it to \"{live}\"",
            conflict.key
        ),
    }
}
