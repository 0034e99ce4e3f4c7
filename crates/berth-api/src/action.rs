//! Actions: asked for, previewed, listed, shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    node::{NodeOutcome, NodeResult},
    word::{ApiVersion, DryRunKind},
};

/// How labels follow the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// What is not declared goes.
    Mirror,
    /// What Berth set goes.
    Owned,
    /// Exactly as Promenade did it.
    Promenade,
}

impl Strategy {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Owned => "owned",
            Self::Promenade => "promenade",
        }
    }
}

/// How far an action is, in Shipyard's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Lifecycle {
    /// It was not begun.
    Pending,
    /// It is carried out.
    Processing,
    /// It waits for somebody.
    Paused,
    /// It ended, and every node is as declared.
    Complete,
    /// It ended, and some nodes are not, or it was stopped.
    Failed,
}

impl Lifecycle {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Processing,
        Self::Paused,
        Self::Complete,
        Self::Failed,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Processing => "Processing",
            Self::Paused => "Paused",
            Self::Complete => "Complete",
            Self::Failed => "Failed",
        }
    }

    /// Whether nothing more will happen unless somebody asks for it.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Complete | Self::Failed)
    }
}

/// An action that is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewAction {
    /// What to do.
    #[schemars(extend("enum" = ["update_labels", "relabel_nodes"]))]
    pub name: String,
    /// On what, and how.
    #[schemars(with = "RelabelParameters")]
    pub parameters: Map<String, Value>,
}

/// The parameters of a relabelling. Others are kept and change nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelabelParameters {
    /// The nodes.
    pub target_nodes: TargetNodes,
    /// How labels follow; the server's own way unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Whether more than a tenth of all labels that Berth set may go: true, false, or one of the words.
    #[serde(rename = "allow-mass-removal", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = ["boolean", "string"]))]
    pub allow_mass_removal: Option<Value>,
}

/// Names of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TargetNodes {
    /// One by one.
    List(Vec<String>),
    /// With commas between.
    Text(String),
}

/// An action right after it was made; other fields than later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedAction {
    /// A ULID: 26 letters and digits that sort by time.
    pub id: String,
    /// What it does.
    pub name: String,
    /// The parameters that were given.
    pub parameters: Value,
    /// Who asked for it.
    pub user: String,
    /// When it was made.
    pub timestamp: String,
    /// The caller's own mark.
    pub context_marker: String,
    /// The same as the name.
    pub dag_id: String,
    /// The revision from which the labels come.
    pub committed_rev_id: Option<u64>,
    /// What was said of intermediate commits.
    pub allow_intermediate_commits: Option<bool>,
    /// When it was made, as Airflow names a run.
    pub dag_execution_date: String,
    /// Always `SCHEDULED`.
    pub dag_status: String,
    /// The same as a task, with a subtask for each node.
    pub task_id: String,
}

/// What an action would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionPreview {
    /// Always `DryRun`.
    pub kind: DryRunKind,
    /// The version of this form.
    #[serde(rename = "apiVersion")]
    pub api_version: ApiVersion,
    /// What it does.
    pub name: String,
    /// The parameters that were given.
    pub parameters: Value,
    /// The revision from which the labels come.
    pub committed_rev_id: u64,
    /// How labels would follow.
    pub strategy: Strategy,
    /// What would come of each node.
    pub nodes: Vec<NodeOutcome>,
    /// Why it would stop and ask before its first node.
    pub findings: Vec<String>,
    /// Which egress addresses and routers would move, one sentence each.
    pub moves: Vec<String>,
    /// How it is known what would move.
    pub moves_from: MovesFrom,
}

/// From where it is known what would move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "source", rename_all = "lowercase")]
pub enum MovesFrom {
    /// The cluster: the status of its `EgressIP`s, its ingress controllers and router pods, the networks of its Nodes.
    Cluster,
    /// The documents: OVN-Kubernetes' own assignment, simulated.
    Simulation {
        /// Why the cluster does not say it.
        reason: String,
    },
}

/// Actions, newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Actions(pub Vec<Action>);

/// An action in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    /// A ULID: 26 letters and digits that sort by time.
    pub id: String,
    /// What it does.
    pub name: String,
    /// The parameters that were given.
    pub parameters: Value,
    /// The same as the name.
    pub dag_id: String,
    /// When it was made, as Airflow names a run.
    pub dag_execution_date: String,
    /// Who asked for it.
    pub user: String,
    /// When it was made.
    pub datetime: String,
    /// The caller's own mark.
    pub context_marker: String,
    /// How it stands, in Airflow's words.
    pub dag_status: String,
    /// How it stands, in Shipyard's words.
    pub action_lifecycle: Lifecycle,
    /// The revision from which the labels come.
    pub committed_rev_id: Option<u64>,
    /// What was said of intermediate commits.
    pub allow_intermediate_commits: Option<bool>,
    /// How labels follow.
    pub strategy: Option<Strategy>,
    /// The same as a task, with a subtask for each node.
    pub task_id: String,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// How far it is.
    pub progress: Progress,
    /// Its steps.
    pub steps: Vec<StepSummary>,
    /// What is worth telling about it.
    pub notes: Vec<Note>,
}

/// One action, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionDetail {
    /// What a list shows of it.
    #[serde(flatten)]
    pub action: Action,
    /// What was found before it began.
    pub validations: Vec<ActionValidation>,
    /// Who asked what of it.
    pub command_audit: Vec<AuditEntry>,
    /// What came of each node.
    pub nodes: Vec<NodeResult>,
}

/// How many nodes stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// All of them.
    pub nodes: u64,
    /// As declared.
    pub succeeded: u64,
    /// Tried, and not as declared.
    pub failed: u64,
    /// Without an outcome yet.
    pub pending: u64,
    /// Not tried, because the action was stopped before.
    pub skipped: u64,
}

/// A step as an action shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepSummary {
    /// Its name.
    pub id: String,
    /// Its place, from 1.
    pub index: u32,
    /// How it stands; nothing when it was not begun.
    pub state: Option<String>,
    /// Its address below the API's.
    pub url: String,
    /// What is worth telling about it.
    pub notes: Vec<Note>,
}

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// What it is about, such as `action/01B…`.
    pub assoc_id: String,
    /// Whom it concerns.
    pub subject: String,
    /// What kind of note it is.
    pub sub_type: String,
    /// The text.
    pub note_val: String,
    /// From which verbosity on it is shown.
    pub verbosity: u8,
    /// Its number.
    pub note_id: String,
    /// When it was written.
    pub note_timestamp: String,
    /// Where more is to be read, below the API's address.
    pub resolved_url_value: Option<String>,
}

/// What was found before an action began, and did not keep it from beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionValidation {
    /// Its number.
    pub id: String,
    /// The action.
    pub action_id: String,
    /// Whose validation it is.
    pub validation_name: String,
    /// What was found.
    pub details: Value,
}

/// Who asked what of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// Its number.
    pub id: String,
    /// The action.
    pub action_id: String,
    /// `invoke`, `stop`, `pause`, `unpause` or `retry`.
    pub command: String,
    /// Who asked.
    pub user: String,
    /// When.
    pub datetime: String,
}
