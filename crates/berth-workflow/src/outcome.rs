//! What came of one node.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::Conflict;
use serde::{Deserialize, Serialize};

use berth_decide::{LabelDiff, NodeState, Refusal, Strategy};
use berth_store::LabelMemory;

/// A value that was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueChange {
    /// The value before.
    pub from: String,
    /// The value now.
    pub to: String,
}

/// What came of one node, key by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Outcome {
    /// Whether the node has all that was asked for.
    pub success: bool,
    /// One sentence.
    pub message: String,
    /// Labels that were added.
    pub set: BTreeMap<String, String>,
    /// Labels whose value was changed.
    pub changed: BTreeMap<String, ValueChange>,
    /// Labels that were removed, with their last value.
    pub removed: BTreeMap<String, String>,
    /// Labels that were not asked for and stay, because they are somebody else's.
    pub protected: BTreeSet<String>,
    /// Labels that somebody else has set otherwise, as sentences.
    pub conflicts: BTreeMap<String, String>,
    /// Keys that could not be given, each with the reason.
    pub refused: Vec<Refusal>,
    /// All labels that the node has now; nothing when that is not known.
    pub labels: Option<BTreeMap<String, String>>,
}

impl Outcome {
    /// The outcome of a diff that was applied as a whole; or would be, in a dry run.
    pub fn of(diff: &LabelDiff, state: &NodeState) -> Self {
        let mut outcome = Self {
            labels: Some(diff.labels_after(state)),
            protected: diff.protected.clone(),
            refused: diff.refused.clone(),
            ..Self::default()
        };
        outcome.add(diff, state);
        for conflict in &diff.conflicts {
            outcome.conflicts.insert(conflict.key.clone(), told(conflict));
        }
        for key in &diff.withheld {
            let told = format!("{key} is not set, because an administrator removed it from the Node on purpose");
            outcome.conflicts.insert(key.clone(), told);
        }
        outcome.settle(conflicts(diff));
        outcome
    }

    /// A node with which nothing could be done.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// Whether anything was written.
    pub fn is_changed(&self) -> bool {
        !(self.set.is_empty() && self.changed.is_empty() && self.removed.is_empty())
    }

    /// Adds what was done.
    pub(crate) fn add(&mut self, diff: &LabelDiff, state: &NodeState) {
        let before = |key: &str| state.labels.get(key).cloned().unwrap_or_default();
        self.set.extend(diff.set.clone());
        self.changed.extend(diff.change.iter().map(|(key, to)| {
            let change = ValueChange {
                from: before(key),
                to: to.clone(),
            };
            (key.clone(), change)
        }));
        // A key that was not there cannot be said to have gone.
        let removed = diff.remove.iter().filter(|key| state.labels.contains_key(*key));
        self.removed.extend(removed.map(|key| (key.clone(), before(key))));
    }

    /// Adds how labels changed by somebody else's writes that were waited for.
    pub(crate) fn add_difference<'a>(
        &mut self,
        before: &BTreeMap<String, String>,
        after: &BTreeMap<String, String>,
        keys: impl Iterator<Item = &'a String>,
    ) {
        for key in keys {
            match (before.get(key), after.get(key)) {
                (None, Some(to)) => drop(self.set.insert(key.clone(), to.clone())),
                (Some(from), None) => drop(self.removed.insert(key.clone(), from.clone())),
                (Some(from), Some(to)) if from != to => {
                    let (from, to) = (from.clone(), to.clone());
                    self.changed.insert(key.clone(), ValueChange { from, to });
                }
                _ => {}
            }
        }
        let conflicting = !self.success && self.refused.is_empty();
        self.settle(conflicting);
    }

    /// What is to be remembered of it: which labels the Node has by it. Promenade's way notes nothing as Berth's.
    pub(crate) fn memory(&self, strategy: Strategy) -> LabelMemory {
        let changed = self.changed.iter().map(|(key, change)| (key, &change.to));
        let written = self.set.iter().chain(changed);
        let written: BTreeMap<String, String> = written.map(|(key, value)| (key.clone(), value.clone())).collect();
        LabelMemory {
            settled: written.keys().chain(self.removed.keys()).cloned().collect(),
            given: if strategy == Strategy::Promenade {
                BTreeMap::new()
            } else {
                written
            },
        }
    }

    /// Says in one sentence what the rest says.
    pub(crate) fn settle(&mut self, conflicting: bool) {
        self.success = self.refused.is_empty() && !conflicting;
        let mut parts = Vec::new();
        for (count, what) in [
            (self.set.len(), "set"),
            (self.changed.len(), "changed"),
            (self.removed.len(), "removed"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        if parts.is_empty() && self.refused.is_empty() && !conflicting {
            parts.push("nothing to change".to_owned());
        }
        if !self.refused.is_empty() {
            let reasons: Vec<String> = self
                .refused
                .iter()
                .map(|it| format!("{}: {}", it.key, it.reason))
                .collect();
            parts.push(format!("{} refused ({})", self.refused.len(), reasons.join("; ")));
        }
        if conflicting {
            let told: Vec<&str> = self.conflicts.values().map(String::as_str).collect();
            parts.push(told.join("; "));
        }
        self.message = parts.join(", ");
    }
}

/// Whether the Node does not have all that was asked for, because of somebody else.
pub(crate) fn conflicts(diff: &LabelDiff) -> bool {
    !diff.withheld.is_empty() || diff.conflicts.iter().any(|conflict| conflict.declared.is_some())
}

fn told(conflict: &Conflict) -> String {
    let live = conflict.live.as_deref().unwrap_or_default();
    match &conflict.declared {
        Some(declared) => format!("{} is {live} and not {declared}: somebody else set it", conflict.key),
        None => format!("{} is {live}, which Berth did not set", conflict.key),
    }
}
