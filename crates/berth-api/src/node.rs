//! What came of one node.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a node stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    /// It was not begun.
    #[default]
    Pending,
    /// It is being worked on.
    Running,
    /// It is as declared.
    Success,
    /// It was tried, and is not as declared.
    Failure,
    /// It was not tried, because the action was stopped before.
    Skipped,
    /// A word of a newer server. No server of this version says it.
    #[serde(other, skip_serializing)]
    Unknown,
}

impl NodeState {
    /// Whether nothing more will happen to the node.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Success | Self::Failure | Self::Skipped)
    }
}

/// How labels change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelDiff {
    /// Labels that are added.
    pub set: BTreeMap<String, String>,
    /// Labels whose value is changed.
    pub changed: BTreeMap<String, ValueChange>,
    /// Labels that are removed, with the values that they had.
    pub removed: BTreeMap<String, String>,
}

/// A value that is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValueChange {
    /// The value before.
    pub from: String,
    /// The value after.
    pub to: String,
}

/// A key that could not be given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedKey {
    /// The key.
    pub key: String,
    /// Why not.
    pub message: String,
}

/// What came of one node, or would come of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeOutcome {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub state: NodeState,
    /// Why it is not as declared, where the list of keys does not say it all.
    pub message: Option<String>,
    /// What changes.
    pub diff: LabelDiff,
    /// Labels that were not asked for and stay, because they are somebody else's.
    pub protected: BTreeSet<String>,
    /// Labels that somebody else has set otherwise, each with a sentence.
    pub conflicts: BTreeMap<String, String>,
    /// Keys that could not be given.
    pub failed: Vec<FailedKey>,
    /// All labels that the node has now, if that is known.
    pub labels: Option<BTreeMap<String, String>>,
}

/// What came of one node of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeResult {
    /// How it stands and what changed.
    #[serde(flatten)]
    pub outcome: NodeOutcome,
    /// How often it was begun.
    pub attempts: u64,
    /// The same as a task.
    pub task_id: String,
    /// When it was begun or ended.
    pub updated: Option<String>,
}
