//! What the labels of one Node need, by which strategy.

mod strategy;

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::{Conflict, Label, LabelSet, OwnershipDiff, narrowed, promenade_diff};
use berth_resources::Berth;
use berth_site::{OWNED_LABELS, read_owned, write_owned};
use serde::{Deserialize, Serialize};

use crate::{
    declared::BerthDeclaration,
    node::is_by_documents,
    patch::{MapPatch, NodePatch, patched},
    units::leave_to_kubelet,
};

pub use self::strategy::{LabelPolicy, Strategy, UnknownStrategy};

/// Requested labels; `None` asks for the key to be removed.
pub type Requested = BTreeMap<String, Option<String>>;

/// Labels that actions gave a Node, as they are remembered outside of the cluster: by key, every value that it may have.
pub type Given = BTreeMap<String, BTreeSet<String>>;

/// The labels of a Node, and which of them Berth set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeState {
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// The labels that are Berth's to change and to remove: by the word of the annotation, until that is
    /// [confirmed](Self::confirm).
    pub owned: BTreeMap<String, String>,
    /// The version that was read.
    pub resource_version: Option<String>,
    /// Which object it is: one that was created anew under the name is another one.
    pub uid: Option<String>,
    /// Keys that an administrator removed on purpose: the strategy `owned` does not set them again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub withheld: BTreeSet<String>,
    /// What the machine's own kubelet registers with. That is not Berth's to remove.
    #[serde(skip)]
    pub registered: BTreeMap<String, String>,
    /// Keys by which pools know their nodes. No strategy removes them from a Node unless Berth set them or they are named.
    #[serde(skip)]
    pub identifying: BTreeSet<String>,
    /// Keys that the controllers of the cluster keep: nobody else takes them away or changes them.
    #[serde(skip)]
    pub kept: BTreeSet<String>,
    /// Whether controllers keep the Node. The annotation is theirs then.
    #[serde(skip)]
    pub is_kept: bool,
    /// Whether the annotation was compared with what is remembered elsewhere.
    #[serde(skip)]
    pub confirmed: bool,
}

impl NodeState {
    /// From the labels and annotations of a Node. An annotation that cannot be read owns nothing; a list of keys owns
    /// them whatever their values are.
    pub fn new(labels: BTreeMap<String, String>, annotations: &BTreeMap<String, String>) -> Self {
        let noted = annotations.get(OWNED_LABELS);
        let owned = noted.and_then(|text| read_owned(text, &labels)).unwrap_or_default();
        Self {
            labels,
            owned,
            ..Self::default()
        }
    }

    /// Takes what is remembered of earlier writes. The annotation is the kubelet's to write too, so that it only narrows
    /// that.
    ///
    /// Without a Berth Berth's are the labels that actions gave (`given`). Where the Node has a Berth, the controllers keep the
    /// labels of its record, and what actions gave beside them is theirs. A Berth that is made for documents follows those that
    /// are asked about (`declared`): its labels get their values. As long as it does not declare what they say now, the
    /// controllers also take away what is not declared any more.
    pub fn confirm(&mut self, berth: Option<&Berth>, declared: Option<&BerthDeclaration>, given: &Given) {
        self.confirmed = true;
        self.registered = declared.map(|declared| declared.registered.clone()).unwrap_or_default();
        if let Some(declared) = declared {
            self.identifying.extend(declared.identifying.iter().cloned());
        }
        let is_given = |key: &String, value: &String| given.get(key).is_some_and(|values| values.contains(value));
        let Some(berth) = berth else {
            self.owned.retain(|key, value| is_given(key, value));
            return;
        };
        let status = berth.status.clone().unwrap_or_default();
        self.is_kept = true;
        self.withheld = status.removed_labels.into_keys().collect();
        let followed = declared.filter(|_| is_by_documents(berth));
        let recorded = followed.map(|_| narrowed(Some(&self.owned), &status.labels, &status.earlier_labels));
        if followed.is_some_and(|declared| !declared.is_that_of(berth)) {
            self.owned = recorded.unwrap_or_default();
            return;
        }
        self.kept = status
            .labels
            .into_keys()
            .chain(status.found_labels.into_keys())
            .collect();
        let owned = self
            .labels
            .iter()
            .filter(|(key, value)| is_given(key, value) && !self.kept.contains(*key));
        let owned = owned.map(|(key, value)| (key.clone(), value.clone()));
        self.owned = owned.chain(recorded.unwrap_or_default()).collect();
    }
}

/// A key that cannot be given, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The key.
    pub key: String,
    /// What is wrong with it or with its value.
    pub reason: String,
}

/// What a Node's labels need, key by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelDiff {
    /// To add.
    pub set: BTreeMap<String, String>,
    /// To change to these values.
    pub change: BTreeMap<String, String>,
    /// To remove.
    pub remove: BTreeSet<String>,
    /// Requested, and already right.
    pub keep: BTreeSet<String>,
    /// Not requested, and left because they belong to somebody else.
    pub protected: BTreeSet<String>,
    /// Requested otherwise than somebody else has set them; left as they are.
    pub conflicts: Vec<Conflict>,
    /// Requested, and absent because an administrator removed it on purpose; left so.
    pub withheld: BTreeSet<String>,
    /// Not legal; left out.
    pub refused: Vec<Refusal>,
    /// What the annotation is to say afterwards; nothing where the strategy keeps none.
    pub owned: Option<BTreeMap<String, String>>,
}

/// What to do to a Node so that it carries what is requested.
///
/// ```
/// use std::collections::BTreeMap;
/// use berth_decide::{LabelPolicy, NodeState, Requested, Strategy, label_diff};
///
/// // Somebody set this one; Berth did not.
/// let live = BTreeMap::from([("example.com/by-hand".to_owned(), "1".to_owned())]);
/// let node = NodeState::new(live, &BTreeMap::new());
/// let requested = Requested::from([("example.com/tier".to_owned(), Some("gold".to_owned()))]);
/// let diff = label_diff(&node, &requested, Strategy::Owned, &LabelPolicy::default());
/// assert!(diff.set.contains_key("example.com/tier") && diff.remove.is_empty());
/// let diff = label_diff(&node, &requested, Strategy::Mirror, &LabelPolicy::default());
/// assert!(diff.remove.contains("example.com/by-hand"));
/// ```
pub fn label_diff(state: &NodeState, requested: &Requested, strategy: Strategy, policy: &LabelPolicy) -> LabelDiff {
    let (legal, refused) = legal(requested);
    let mut diff = match strategy {
        Strategy::Mirror => mirror(state, &legal, policy),
        Strategy::Owned => owned(state, &legal, policy),
        Strategy::Promenade => promenade(state, &legal, policy),
    };
    // A key that is refused is asked for all the same: the one on the Node stays.
    for Refusal { key, .. } in &refused {
        diff.remove.remove(key);
        if state.labels.contains_key(key) {
            diff.keep.insert(key.clone());
        }
    }
    diff.refused = refused;
    spare(state, requested, &mut diff);
    if strategy != Strategy::Promenade && !state.is_kept {
        diff.owned = Some(owned_after(state, &diff));
    }
    diff
}

/// Leaves alone what the controllers of the cluster keep, unless its removal is asked for by name: they would put it back. Only
/// what they own by the documents that are asked about gets another value, which they write.
fn spare(state: &NodeState, requested: &Requested, diff: &mut LabelDiff) {
    for key in state.kept.iter().filter(|key| requested.get(*key) != Some(&None)) {
        if diff.remove.remove(key) {
            diff.protected.insert(key.clone());
        }
        if state.owned.contains_key(key) {
            continue;
        }
        if let Some(declared) = diff.change.remove(key) {
            diff.conflicts.push(Conflict {
                key: key.clone(),
                declared: Some(declared),
                live: state.labels.get(key).cloned(),
                owned: None,
            });
        }
    }
}

/// Parts what Kubernetes takes from what it does not. A removal of a key that cannot exist is refused as well.
fn legal(requested: &Requested) -> (Requested, Vec<Refusal>) {
    let (mut legal, mut refused) = (Requested::new(), Vec::new());
    for (key, value) in requested {
        match Label::parse_parts(key, value.as_deref().unwrap_or_default()) {
            Ok(_) => {
                legal.insert(key.clone(), value.clone());
            }
            Err(error) => refused.push(Refusal {
                key: key.clone(),
                reason: error.to_string(),
            }),
        }
    }
    (legal, refused)
}

fn mirror(state: &NodeState, requested: &Requested, policy: &LabelPolicy) -> LabelDiff {
    let mut diff = LabelDiff::default();
    for (key, value) in requested {
        match (value, state.labels.get(key)) {
            (Some(value), None) => {
                diff.set.insert(key.clone(), value.clone());
            }
            (Some(value), Some(live)) if value != live => {
                diff.change.insert(key.clone(), value.clone());
            }
            (Some(_), Some(_)) => {
                diff.keep.insert(key.clone());
            }
            (None, Some(_)) => {
                diff.remove.insert(key.clone());
            }
            (None, None) => {}
        }
    }
    let owned = owned_of(state, requested);
    for (key, live) in &state.labels {
        if requested.contains_key(key) {
            continue;
        }
        // What Berth set and nobody changed since is Berth's, whatever its domain.
        if is_somebodys(key, state, policy) && owned.get(key) != Some(live) {
            diff.protected.insert(key.clone());
        } else {
            diff.remove.insert(key.clone());
        }
    }
    diff
}

/// Whether a label that nobody asks for stays by its key: it tells the pool of its Node, or an operator keeps it.
fn is_somebodys(key: &str, state: &NodeState, policy: &LabelPolicy) -> bool {
    state.identifying.contains(key) || policy.is_protected(key)
}

/// The labels that are Berth's to change and to remove.
fn owned_of(state: &NodeState, requested: &Requested) -> BTreeMap<String, String> {
    let mut owned = state.owned.clone();
    leave_to_kubelet(&mut owned, |key| requested.contains_key(key), &state.registered);
    owned
}

fn owned(state: &NodeState, requested: &Requested, policy: &LabelPolicy) -> LabelDiff {
    let wanted: BTreeMap<String, String> = requested
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
        .collect();
    // Everything in it was found legal.
    let declared = LabelSet::try_from_map(&wanted).unwrap_or_default();
    let found = OwnershipDiff::compute(
        &declared,
        &owned_of(state, requested),
        &state.labels,
        policy.conflicts,
        &state.withheld,
    );
    let (keep, protected) = found.keep.into_iter().partition(|key| wanted.contains_key(key));
    LabelDiff {
        set: found.set.to_map(),
        change: found.change.to_map(),
        remove: found.remove,
        keep,
        protected,
        conflicts: found.conflicts,
        withheld: found.withheld,
        ..LabelDiff::default()
    }
}

fn promenade(state: &NodeState, requested: &Requested, policy: &LabelPolicy) -> LabelDiff {
    let mut diff = LabelDiff::default();
    let mut patch = promenade_diff(&state.labels, requested);
    // Promenade keeps no record of what it set, so what stays by its key stays whoever set it.
    patch.retain(|key, _| requested.contains_key(key) || !is_somebodys(key, state, policy));
    for (key, value) in &patch {
        match (value, state.labels.contains_key(key)) {
            (Some(value), false) => {
                diff.set.insert(key.clone(), value.clone());
            }
            (Some(value), true) => {
                diff.change.insert(key.clone(), value.clone());
            }
            // Promenade sends a null for a key that is not there too, which changes nothing.
            (None, _) => {
                diff.remove.insert(key.clone());
            }
        }
    }
    for key in state.labels.keys().filter(|key| !patch.contains_key(*key)) {
        let group = if requested.contains_key(key) {
            &mut diff.keep
        } else {
            &mut diff.protected
        };
        group.insert(key.clone());
    }
    diff
}

/// What Berth owns once the diff is applied: what it owned and still has its value, and what it writes now.
fn owned_after(state: &NodeState, diff: &LabelDiff) -> BTreeMap<String, String> {
    let still = state
        .owned
        .iter()
        .filter(|(key, value)| state.labels.get(*key) == Some(value) && !diff.remove.contains(*key));
    let written = diff.set.iter().chain(&diff.change);
    still
        .chain(written)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

impl LabelDiff {
    /// Whether nothing is to be written.
    pub fn is_noop(&self) -> bool {
        self.set.is_empty() && self.change.is_empty() && self.remove.is_empty()
    }

    /// How many labels that Berth owns would go.
    pub fn owned_removals(&self, state: &NodeState) -> usize {
        self.remove.iter().filter(|key| state.owned.contains_key(*key)).count()
    }

    /// Whether a label would go or change because the Node's annotation says that it is Berth's.
    pub fn rests_on_note(&self, state: &NodeState) -> bool {
        let mut keys = self.remove.iter().chain(self.change.keys());
        keys.any(|key| state.owned.contains_key(key))
    }

    /// The keys that would be written or removed.
    pub fn keys(&self) -> BTreeSet<String> {
        let written = self.set.keys().chain(self.change.keys());
        written.chain(&self.remove).cloned().collect()
    }

    /// The same diff for some of its keys alone.
    #[must_use]
    pub fn only(&self, state: &NodeState, keys: &BTreeSet<String>) -> Self {
        let part = |labels: &BTreeMap<String, String>| {
            let wanted = labels.iter().filter(|(key, _)| keys.contains(*key));
            wanted.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        let mut part = Self {
            set: part(&self.set),
            change: part(&self.change),
            remove: self.remove.intersection(keys).cloned().collect(),
            ..Self::default()
        };
        part.owned = self.owned.as_ref().map(|_| owned_after(state, &part));
        part
    }

    /// One merge patch that sets, changes and removes together, and says what Berth owns; nothing when nothing changes.
    pub fn patch(&self, state: &NodeState) -> Option<NodePatch> {
        if self.is_noop() {
            return None;
        }
        let noted = self.owned.as_ref().filter(|owned| **owned != state.owned);
        Some(NodePatch {
            uid: state.uid.clone(),
            resource_version: state.resource_version.clone(),
            labels: self.label_patch(),
            annotations: noted
                .map(|owned| (OWNED_LABELS.to_owned(), Some(write_owned(owned))))
                .into_iter()
                .collect(),
            ..NodePatch::default()
        })
    }

    /// The labels that would be written.
    pub fn written(&self) -> impl Iterator<Item = (String, String)> {
        let written = self.set.iter().chain(&self.change);
        written.map(|(key, value)| (key.clone(), value.clone()))
    }

    fn label_patch(&self) -> MapPatch {
        let written = self.written().map(|(key, value)| (key, Some(value)));
        written
            .chain(self.remove.iter().map(|key| (key.clone(), None)))
            .collect()
    }

    /// The labels of the Node afterwards.
    pub fn labels_after(&self, state: &NodeState) -> BTreeMap<String, String> {
        patched(&state.labels, &self.label_patch())
    }
}

#[cfg(test)]
mod tests;
