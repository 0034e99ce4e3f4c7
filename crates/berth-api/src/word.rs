//! Words that are always the same, and the smallest bodies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes a type for a word that never changes.
macro_rules! word {
    ($(#[$about:meta])* $name:ident, $variant:ident, $word:literal) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            /// The word.
            #[default]
            #[serde(rename = $word)]
            $variant,
        }
    };
}

word!(
    /// The version of the documents that Shipyard, Deckhand and Promenade answer with.
    ApiVersion, V1, "v1.0"
);
word!(
    /// The version of Drydock's documents.
    TaskApiVersion, V1, "v1"
);
word!(
    /// What a status document is.
    StatusKind, Status, "Status"
);
word!(
    /// What a preview is.
    DryRunKind, DryRun, "DryRun"
);
word!(
    /// What a task is.
    TaskKind, Task, "Task"
);
word!(
    /// What the labels of a node are.
    NodeLabelsKind, NodeLabels, "NodeLabels"
);
word!(
    /// What a finding is.
    MessageKind, ValidationMessage, "ValidationMessage"
);

/// An object without fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}

/// Lines of text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Text(pub String);

/// The versions of the API by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Versions(pub BTreeMap<String, VersionInfo>);

/// One version of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionInfo {
    /// What its paths begin with.
    pub path: String,
    /// How settled it is.
    pub status: String,
}
