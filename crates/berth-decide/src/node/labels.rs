//! Label upkeep of one Node: what to set, what to take away, what to leave, and what to remember about it.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::{Conflict, ConflictPolicy, LabelKey, LabelSet, LabelValue, OwnershipDiff};
use berth_pools::MembershipError;
use serde_json::{Map, Value, json};

use super::{
    Pin, Settings,
    pool::{Cause, is_fresh, owned, record},
    reserve::made_by,
};
use crate::{
    definitions::{Answer, Definitions},
    names,
    view::NodeView,
};
use berth_resources::{Berth, BerthStatus, PoolPolicy};

/// What happens to the labels of one Node.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a finding of its own")]
pub(super) struct LabelPlan {
    /// The labels part of the merge patch; `None` removes.
    labels: BTreeMap<String, Option<String>>,
    /// The labels afterwards.
    pub(super) after: BTreeMap<String, String>,
    /// What Berth owns afterwards.
    pub(super) owned: BTreeMap<String, String>,
    found: BTreeMap<String, String>,
    removed: BTreeMap<String, String>,
    retired: BTreeMap<String, String>,
    /// What Berth owned before and not afterwards.
    previous: BTreeMap<String, String>,
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
    pub(super) fn new(
        definitions: &Definitions,
        berth: &Berth,
        status: &BerthStatus,
        node: &NodeView,
        pin: &Pin,
        answer: &Answer,
        settings: &Settings,
    ) -> Self {
        let fresh = is_fresh(berth, node);
        // A Node that came after its Berth has its labels from the flags of its kubelet, which may be stale.
        let registered = fresh && !is_older(node, berth);
        let owned_before = owned(berth, node);
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
            labels.extend(corrections(definitions, node, answer, &withheld, &removed, &retired));
        }

        owned_after.extend(still_owned(&diff, answer, &owned_before, node));
        // The labels of a pool that the Berth follows an administrator to are the pool's, not anybody's own.
        let followed = demanded.iter().filter(|_| moved_by_hand);
        owned_after.extend(present(followed, node));
        let previous = owned_before
            .iter()
            .filter(|(key, value)| owned_after.get(*key) != Some(value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let found = present(answer.labels.iter(), node)
            .filter(|(key, _)| !owned_after.contains_key(key) && !labels.contains_key(key))
            .collect();
        let after = patched(&node.labels, &labels);
        Self {
            withheld_pool_key: withheld.iter().find(|key| demanded.contains_key(key)).cloned(),
            withheld,
            labels,
            after,
            owned: owned_after,
            found,
            removed,
            retired,
            previous,
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
            owned,
            found: status.found_labels.clone(),
            removed: status.removed_labels.clone(),
            retired: status.retired_labels.clone(),
            previous: BTreeMap::new(),
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
    ///
    /// It names the object by its uid, so that it cannot land on a Node that was created anew. Where it changes or
    /// removes what is there, in the note of what is Berth's too, it also names the version it was computed from.
    pub(super) fn patch(&self, node: &NodeView, berth: &Berth, pool: Option<&str>) -> Option<Value> {
        let mut metadata = Map::new();
        if !self.labels.is_empty() {
            metadata.insert("labels".to_owned(), json!(self.labels));
        }
        let mut annotations = Map::new();
        if node.owned().as_ref() != Some(&self.owned) {
            annotations.insert(
                names::OWNED_LABELS.to_owned(),
                json!(berth_site::write_owned(&self.owned)),
            );
        }
        if node.given_pool() != pool {
            annotations.insert(names::POOL.to_owned(), json!(pool));
        }
        if node.annotations.contains_key(names::RELEASED) {
            annotations.insert(names::RELEASED.to_owned(), Value::Null);
        }
        let loses =
            |noted: BTreeMap<String, String>| noted.iter().any(|(key, value)| self.owned.get(key) != Some(value));
        let mut replaces = annotations.values().any(Value::is_null) || node.owned().is_some_and(loses);
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), Value::Object(annotations));
        }
        let taints = self.taints.then(|| missing_taints(node, berth)).flatten();
        if metadata.is_empty() && taints.is_none() {
            return None;
        }
        metadata.insert("uid".to_owned(), json!(node.uid));
        replaces |= self.labels.iter().any(|(key, _)| node.labels.contains_key(key));
        if replaces || taints.is_some() {
            metadata.insert("resourceVersion".to_owned(), json!(node.resource_version));
        }
        let mut patch = json!({"metadata": metadata});
        if let Some(taints) = taints {
            patch["spec"] = json!({"taints": taints});
        }
        Some(patch)
    }

    /// Notes in the status what the Node will have. What it had before stays noted until another write takes its place:
    /// nothing is written for that alone.
    pub(super) fn store(self, status: &mut BerthStatus) {
        if !self.previous.is_empty() {
            status.previous_labels = self.previous;
        }
        status.labels = self.owned;
        status.found_labels = self.found;
        status.removed_labels = self.removed;
        status.retired_labels = self.retired;
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

fn patched(labels: &BTreeMap<String, String>, patch: &BTreeMap<String, Option<String>>) -> BTreeMap<String, String> {
    let mut after = labels.clone();
    for (key, value) in patch {
        match value {
            Some(value) => after.insert(key.clone(), value.clone()),
            None => after.remove(key),
        };
    }
    after
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
    let keys = others
        .iter()
        .filter(|other| ***other != *pool)
        .filter_map(|other| definitions.implicit(other))
        .flat_map(LabelSet::keys);
    keys.filter(|key| !answer.labels.contains_key(key.as_str()))
        .map(|key| key.as_str().to_owned())
        .collect()
}

/// All taints, when one of the declared ones is missing.
fn missing_taints(node: &NodeView, berth: &Berth) -> Option<Value> {
    let mut taints: Vec<Value> = node
        .taints
        .iter()
        .filter_map(|taint| serde_json::to_value(taint).ok())
        .collect();
    let before = taints.len();
    for taint in &berth.spec.taints {
        let there = node
            .taints
            .iter()
            .any(|live| live.key == taint.key && live.effect == taint.effect.as_str());
        if !there {
            taints.push(json!(taint));
        }
    }
    (taints.len() > before).then_some(Value::Array(taints))
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
