//! The labels of one node.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    action::Strategy,
    node::LabelDiff,
    status::{PlainMessage, Status},
    word::{ApiVersion, NodeLabelsKind},
};

/// Labels that a node is to have; null asks for a key to be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, Option<String>>);

/// The labels of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeLabels {
    /// Always `NodeLabels`.
    pub kind: NodeLabelsKind,
    /// The version of this form.
    #[serde(rename = "apiVersion")]
    pub api_version: ApiVersion,
    /// The node.
    pub node: String,
    /// All its labels.
    pub labels: BTreeMap<String, String>,
    /// The keys that Berth set.
    pub owned: Vec<String>,
    /// What the committed documents declare for it.
    pub declared: Option<BTreeMap<String, String>>,
}

/// What came of a request for labels.
pub type LabelStatus = Status<LabelChangeDetails>;

/// What was changed, and what was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelChangeDetails {
    /// Always 0.
    pub error_count: usize,
    /// Labels that somebody else has set otherwise.
    pub message_list: Vec<PlainMessage>,
    /// What changes.
    pub diff: LabelDiff,
    /// Labels that were not asked for and stay.
    pub protected: BTreeSet<String>,
    /// All labels that the node has now.
    pub labels: Option<BTreeMap<String, String>>,
    /// How labels follow.
    pub strategy: Strategy,
    /// Whether nothing was written.
    pub dry_run: bool,
}
