//! Runs of actions with their steps, and how the site stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Note;

/// A step as Airflow records one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its name.
    pub task_id: String,
    /// The name of its action.
    pub dag_id: String,
    /// How it stands; nothing when it was not begun.
    pub state: Option<String>,
    /// When it was begun.
    pub start_date: Option<String>,
    /// When it ended.
    pub end_date: Option<String>,
    /// How long it took, in seconds.
    pub duration: Option<f64>,
    /// When the action was made, as Airflow names a run.
    pub execution_date: String,
    /// How often it was tried.
    pub try_number: u32,
    /// What does it.
    pub operator: String,
    /// When it was queued.
    pub queued_dttm: String,
    /// Its place, from 1.
    pub index: u32,
    /// What is worth telling about it.
    pub notes: Vec<Note>,
}

/// The runs of actions, newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Workflows(pub Vec<Workflow>);

/// The run of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workflow {
    /// The same as `workflow_id`.
    pub id: String,
    /// The name and the identifier of the action.
    pub workflow_id: String,
    /// The name of the action.
    pub dag_id: String,
    /// The identifier of the action.
    pub run_id: String,
    /// The identifier of the action.
    pub action_id: String,
    /// How it stands, in Airflow's words.
    pub dag_status: String,
    /// The same, under the name that Shipyard's command line reads.
    pub state: String,
    /// When the action was made, as Airflow names a run.
    pub execution_date: String,
    /// When it was begun.
    pub start_date: Option<String>,
    /// When it ended.
    pub end_date: Option<String>,
    /// Always true: somebody asked for it.
    pub external_trigger: bool,
}

/// One run with its steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowDetail {
    /// What a list shows of it.
    #[serde(flatten)]
    pub workflow: Workflow,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// How the declared nodes stand. What was not asked for is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiteStatuses {
    /// Whether they have joined the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes_provision_status: Option<Vec<ProvisionStatus>>,
    /// Whether they have power.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines_powerstate: Option<Vec<MachinePower>>,
}

/// Whether a node has joined the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProvisionStatus {
    /// Its name.
    pub hostname: String,
    /// Whether it has.
    pub status: Provisioned,
}

/// Whether a node has joined the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Provisioned {
    /// It has.
    Deployed,
    /// It has not.
    #[serde(rename = "Not deployed")]
    NotDeployed,
}

impl Provisioned {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployed => "Deployed",
            Self::NotDeployed => "Not deployed",
        }
    }
}

/// Whether a machine has power.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachinePower {
    /// Its name.
    pub hostname: String,
    /// What is known of it.
    pub power_state: PowerState,
}

/// What is known of the power of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PowerState {
    /// Nothing.
    Unknown,
}

impl PowerState {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
        }
    }
}
