//! What to patch on a live Node so that it carries its declared labels, without touching what others own.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use thiserror::Error;

use crate::{set::LabelSet, value::LabelValue};

/// What Berth owns on a Node: what it remembers to have written (`remembered`, and in `earlier` every value of writes before
/// the last one that the Node may still have or get), as far as the note on the Node agrees.
///
/// The kubelet can write the note, so that it only ever narrows: a label that is only noted is not owned. Without a note that
/// can be read, what was written last is owned.
pub fn narrowed(
    noted: Option<&BTreeMap<String, String>>,
    remembered: &BTreeMap<String, String>,
    earlier: &BTreeMap<String, Vec<String>>,
) -> BTreeMap<String, String> {
    let Some(noted) = noted else {
        return remembered.clone();
    };
    let known = |key: &String, value: &String| {
        remembered.get(key) == Some(value) || earlier.get(key).is_some_and(|values| values.contains(value))
    };
    let owned = noted.iter().filter(|(key, value)| known(key, value));
    owned.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// What to do with a declared key that somebody else gave another value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum ConflictPolicy {
    /// Keep the other value and report it.
    #[default]
    Report,
    /// Set the declared value.
    TakeOver,
}

impl ConflictPolicy {
    /// The name on the command line and in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::TakeOver => "take-over",
        }
    }
}

impl fmt::Display for ConflictPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ConflictPolicy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        [Self::Report, Self::TakeOver]
            .into_iter()
            .find(|policy| policy.as_str() == text)
            .ok_or_else(|| UnknownPolicy(text.to_owned()))
    }
}

/// No conflict policy of this name exists.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown conflict policy \"{0}\": use report or take-over")]
pub struct UnknownPolicy(pub String);

/// A key on which somebody else has another opinion. Its live value is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Conflict {
    /// The key.
    pub key: String,
    /// The declared value; `None` when the key is declared no more and somebody changed what was applied.
    pub declared: Option<String>,
    /// The value on the Node.
    pub live: Option<String>,
    /// The value that was last applied; `None` when the key was never applied.
    pub owned: Option<String>,
}

/// What a Node's labels need, key by key. Every key that is declared or live is in exactly one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OwnershipDiff {
    /// Declared and absent: to add.
    pub set: LabelSet,
    /// Declared, and the live value differs and is ours to change.
    pub change: LabelSet,
    /// Declared no more, and the live value is the one that was applied.
    pub remove: BTreeSet<String>,
    /// Left as it is: already right, or never ours.
    pub keep: BTreeSet<String>,
    /// Declared and absent, because an administrator removed it on purpose.
    pub withheld: BTreeSet<String>,
    /// Somebody else's value: left as it is and reported. In the order of the keys.
    pub conflicts: Vec<Conflict>,
}

impl OwnershipDiff {
    /// Compares what is declared with what was last applied (`owned`) and with what the Node carries (`live`).
    ///
    /// Only a label that was applied and that nobody changed since is removed. A declared key whose live value is not
    /// the one last applied is somebody else's, and `policy` decides. Keys in `tombstones` were removed on purpose and
    /// are not brought back.
    ///
    /// ```
    /// use std::collections::{BTreeMap, BTreeSet};
    /// use berth_labels::{ConflictPolicy, LabelSet, OwnershipDiff};
    ///
    /// let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
    ///     pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    /// };
    /// let live = map(&[("tier", "gold"), ("rack", "r1"), ("disk", "by-hand")]);
    /// let owned = map(&[("tier", "gold"), ("rack", "r1")]);
    /// let declared = LabelSet::try_from_map(&map(&[("tier", "silver")]))?;
    /// let diff = OwnershipDiff::compute(&declared, &owned, &live, ConflictPolicy::Report, &BTreeSet::new());
    /// assert_eq!(diff.apply_to(&live), map(&[("tier", "silver"), ("disk", "by-hand")]));
    /// # Ok::<(), berth_labels::LabelError>(())
    /// ```
    pub fn compute(
        declared: &LabelSet,
        owned: &BTreeMap<String, String>,
        live: &BTreeMap<String, String>,
        policy: ConflictPolicy,
        tombstones: &BTreeSet<String>,
    ) -> Self {
        let mut diff = Self::default();
        for (key, value) in declared {
            let name = key.as_str();
            let applied = owned.get(name);
            match live.get(name) {
                None if tombstones.contains(name) => {
                    diff.withheld.insert(name.to_owned());
                }
                None => {
                    diff.set.insert(key.clone(), value.clone());
                }
                Some(current) if *value == *current.as_str() => {
                    diff.keep.insert(name.to_owned());
                }
                Some(current) if applied == Some(current) || policy == ConflictPolicy::TakeOver => {
                    diff.change.insert(key.clone(), value.clone());
                }
                Some(current) => diff.conflict(name, Some(value), current, applied),
            }
        }
        for (name, current) in live {
            if declared.contains_key(name) {
                continue;
            }
            match owned.get(name) {
                None => {
                    diff.keep.insert(name.clone());
                }
                Some(applied) if applied == current => {
                    diff.remove.insert(name.clone());
                }
                // Taking a key over means to set it. With nothing to set, whoever changed it keeps it.
                Some(applied) => diff.conflict(name, None, current, Some(applied)),
            }
        }
        diff.conflicts.sort_by(|left, right| left.key.cmp(&right.key));
        diff
    }

    fn conflict(&mut self, key: &str, declared: Option<&LabelValue>, live: &str, owned: Option<&String>) {
        self.conflicts.push(Conflict {
            key: key.to_owned(),
            declared: declared.map(|value| value.as_str().to_owned()),
            live: Some(live.to_owned()),
            owned: owned.cloned(),
        });
    }

    /// Whether nothing would be written.
    pub fn is_noop(&self) -> bool {
        self.set.is_empty() && self.change.is_empty() && self.remove.is_empty()
    }

    /// The labels part of one merge patch that adds, changes and removes together; `None` removes.
    pub fn patch(&self) -> BTreeMap<String, Option<String>> {
        let written = self
            .set
            .iter()
            .chain(&self.change)
            .map(|(key, value)| (key.as_str().to_owned(), Some(value.as_str().to_owned())));
        let removed = self.remove.iter().map(|key| (key.clone(), None));
        written.chain(removed).collect()
    }

    /// The Node's labels after the patch.
    pub fn apply_to(&self, live: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut after = live.clone();
        for (key, value) in self.patch() {
            match value {
                Some(value) => after.insert(key, value),
                None => after.remove(&key),
            };
        }
        after
    }
}
