//! Which labels of a node actions gave it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Labels that actions gave a node and that it may still have: by key, every value that it may have. What is not among
/// them, no action wrote.
pub type GivenLabels = BTreeMap<String, BTreeSet<String>>;

/// What was done to the labels of a node, as far as it has to be remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelMemory {
    /// Keys of which nothing from before is on the node any more.
    pub settled: BTreeSet<String>,
    /// Labels that the node has or may have by this.
    pub given: BTreeMap<String, String>,
}

impl LabelMemory {
    /// Whether there is nothing to remember.
    pub fn is_empty(&self) -> bool {
        self.settled.is_empty() && self.given.is_empty()
    }

    pub(crate) fn add_to(&self, labels: &mut GivenLabels) {
        labels.retain(|key, _| !self.settled.contains(key));
        for (key, value) in &self.given {
            labels.entry(key.clone()).or_default().insert(value.clone());
        }
    }

    /// From the outcome of a node, as it was filed before labels were remembered beside it.
    pub(crate) fn of_outcome(outcome: &Value) -> Self {
        let part = |name: &str| outcome.get(name).and_then(Value::as_object).into_iter().flatten();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let set = part("set").filter_map(|(key, value)| Some((key.clone(), text(value)?)));
        let changed = part("changed").filter_map(|(key, change)| Some((key.clone(), text(change.get("to")?)?)));
        let given: BTreeMap<String, String> = set.chain(changed).collect();
        Self {
            settled: part("removed")
                .map(|(key, _)| key)
                .chain(given.keys())
                .cloned()
                .collect(),
            given,
        }
    }
}
