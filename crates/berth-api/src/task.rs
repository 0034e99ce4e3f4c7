//! Tasks, node filters and nodes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    node::NodeResult,
    status::{Failure, Findings, StatusWord},
    word::{ApiVersion, Empty, StatusKind, TaskApiVersion, TaskKind},
};

/// A task that is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewTask {
    /// What to do.
    #[schemars(extend("const" = "relabel_nodes"))]
    pub action: String,
    /// Where the documents are.
    pub design_ref: String,
    /// Which nodes; null means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_filter: Option<NodeFilter>,
}

/// A design to validate, as Shipyard sends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DesignReference {
    /// Always `design`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rel: Option<String>,
    /// Where the documents are, such as `deckhand+http://HOST/api/v1.0/revisions/3/rendered-documents`.
    pub href: String,
    /// The type of the documents.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

/// What the validation of a design found. Drydock has a number where others have the status line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DesignStatus {
    /// Always `Status`.
    pub kind: StatusKind,
    /// The version of this form.
    pub api_version: ApiVersion,
    /// Always empty.
    pub metadata: Empty,
    /// Whether the design is sound.
    pub status: StatusWord,
    /// The result in a sentence.
    pub message: String,
    /// Where to look.
    pub reason: String,
    /// What was found.
    pub details: Findings,
    /// The HTTP status.
    pub code: u16,
}

/// Why a design is not sound, or was not validated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DesignRefusal {
    /// The design is not sound.
    Findings(DesignStatus),
    /// The request was refused.
    Failure(Failure),
}

/// Which nodes a filter selects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilterQuestion {
    /// Where the documents are.
    pub design_ref: String,
    /// The filter; null means all nodes. A client may send one that somebody wrote: the server says what is wrong with it.
    #[schemars(with = "Option<NodeFilter>")]
    pub node_filter: Value,
}

/// How criteria are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FilterType {
    /// One of them is enough.
    Union,
    /// All of them must be met.
    Intersection,
}

/// Which nodes are meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeFilter {
    /// How the sets are joined.
    pub filter_set_type: FilterType,
    /// The sets.
    pub filter_set: Vec<FilterSet>,
}

/// One set of criteria.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilterSet {
    /// How they are joined.
    pub filter_type: FilterType,
    /// Names of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_names: Option<Vec<String>>,
    /// Tags of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_tags: Option<Vec<String>>,
    /// Labels of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_labels: Option<BTreeMap<String, String>>,
    /// Names of racks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack_names: Option<Vec<String>>,
    /// Labels of racks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack_labels: Option<BTreeMap<String, String>>,
}

impl FilterSet {
    /// A set without criteria, one of which is enough.
    pub const fn any() -> Self {
        Self {
            filter_type: FilterType::Union,
            node_names: None,
            node_tags: None,
            node_labels: None,
            rack_names: None,
            rack_labels: None,
        }
    }
}

/// Names of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Names(pub Vec<String>);

/// Tasks, newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Tasks(pub Vec<Task>);

/// One task, or all tasks below it by identifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TaskAnswer {
    /// One task.
    Task(Box<Task>),
    /// A task and its subtasks.
    Tree(TaskTree),
}

/// A task and its subtasks, each under its identifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskTree {
    /// The task.
    pub init_task_id: String,
    /// All of them.
    #[serde(flatten)]
    pub tasks: BTreeMap<String, Task>,
}

/// An action, or one node of it, as Drydock shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Always `Task`.
    pub kind: TaskKind,
    /// The version of this form.
    #[serde(rename = "apiVersion")]
    pub api_version: TaskApiVersion,
    /// Its identifier.
    pub task_id: String,
    /// What it does: `relabel_nodes`, or `relabel_node` for one of them.
    pub action: String,
    /// The task that it is a part of.
    pub parent_task_id: Option<String>,
    /// Where the documents are, as the request said it.
    pub design_ref: Option<String>,
    /// How it stands.
    pub status: TaskStatus,
    /// What came of it.
    pub result: TaskResult,
    /// Which nodes, as the request said it.
    #[schemars(with = "Option<NodeFilter>")]
    pub node_filter: Option<Value>,
    /// Its parts.
    pub subtask_id_list: Vec<String>,
    /// When it was made.
    pub created: String,
    /// Who asked for it.
    pub created_by: String,
    /// When something about it changed last.
    pub updated: String,
    /// When it was stopped.
    pub terminated: Option<String>,
    /// Who stopped it.
    pub terminated_by: Option<String>,
    /// Whether it was stopped.
    pub terminate: bool,
    /// How often it was tried again.
    pub retry: u64,
    /// What only one kind of task has.
    #[serde(flatten)]
    pub of: TaskOf,
}

/// What only one kind of task has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TaskOf {
    /// One node.
    Node {
        /// What came of it.
        outcome: Box<NodeResult>,
    },
    /// Several nodes.
    Nodes {
        /// The caller's own mark.
        context_marker: String,
        /// The action that it belongs to, if it was not asked for as a task.
        action_id: Option<String>,
        /// The results of the nodes that failed, by task; left out unless asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        subtask_errors: Option<BTreeMap<String, TaskResult>>,
    },
}

/// How a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskStatus {
    /// It waits for a person: the result says why.
    Requested,
    /// It was not begun.
    Queued,
    /// It is carried out.
    Running,
    /// It is being stopped.
    Terminating,
    /// It was stopped.
    Terminated,
    /// It ended.
    Complete,
}

/// What came of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// Nothing yet.
    Incomplete,
    /// Every node is as declared.
    Success,
    /// Some nodes are.
    PartialSuccess,
    /// No node is.
    Failure,
}

/// What came of a task, node by node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskResult {
    /// Always `Status`.
    pub kind: StatusKind,
    /// The version of this form.
    #[serde(rename = "apiVersion")]
    pub api_version: ApiVersion,
    /// Always empty.
    pub metadata: Empty,
    /// Always null.
    pub message: Option<String>,
    /// Always null.
    pub reason: Option<String>,
    /// How it went.
    pub status: ResultStatus,
    /// Nodes that are as declared.
    pub successes: Vec<String>,
    /// Nodes that are not.
    pub failures: Vec<String>,
    /// Always empty.
    pub links: Vec<String>,
    /// What is said of each node.
    pub details: TaskResultDetails,
}

/// What is said of each node of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskResultDetails {
    /// How many of the messages are errors.
    pub error_count: usize,
    /// The messages.
    pub message_list: Vec<TaskMessage>,
}

/// What is said of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskMessage {
    /// What there is to say.
    pub message: String,
    /// Whether it is an error.
    pub error: bool,
    /// `node`, or `NA` where there is none.
    pub context_type: String,
    /// The node.
    pub context: String,
    /// When.
    pub ts: String,
    /// Always `{}`, as text.
    pub extra: String,
}

/// How many tasks and actions were removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// The number.
    pub removed: u64,
}

/// The declared nodes in the order of their documents, then the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Nodes(pub Vec<NodeRow>);

/// A node: what is declared, and what the cluster shows of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeRow {
    /// Its name.
    pub hostname: String,
    /// Whether the cluster has it.
    pub status_name: NodeStatus,
    /// Whether the committed documents have it.
    pub is_declared: bool,
    /// Its pool.
    pub pool: Option<String>,
    /// Its rack.
    pub rack: Option<String>,
    /// Its labels in the cluster.
    pub labels: Option<BTreeMap<String, String>>,
    /// Always null: nothing is known of it.
    pub memory: Option<u64>,
    /// Always null.
    pub cpu_count: Option<u64>,
    /// Always null.
    pub boot_mac: Option<String>,
    /// Always null.
    pub boot_ip: Option<String>,
    /// Always null.
    pub power_state: Option<String>,
    /// Always null.
    pub power_address: Option<String>,
}

/// Whether the cluster has a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum NodeStatus {
    /// It has.
    Present,
    /// It has not.
    Absent,
}
