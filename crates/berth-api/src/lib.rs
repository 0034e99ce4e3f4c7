//! The bodies of the Airship-compatible API as types: what a server answers with, what its description is made from, and what
//! a client reads.
//!
//! ```text
//!                  ┌── Serialize ───► answers of the server
//!  types ──────────┼── JsonSchema ──► /openapi.json
//!                  └── Deserialize ─► clients
//! ```
//!
//! A field that is not an `Option` is in every answer, and a client refuses an answer without it. An `Option` is `null` where
//! there is nothing, unless its description says that it is left out. Fields that a client does not know are passed over, so
//! that a newer server can say more.
//!
//! Requests are types for the description and for clients. The server reads them field by field, because it refuses them in
//! the words of the services that it stands for.

mod action;
mod configdocs;
mod document;
mod event;
mod labels;
mod node;
mod revision;
mod status;
mod task;
mod validation;
mod word;
mod workflow;

pub use action::{
    Action, ActionDetail, ActionPreview, ActionValidation, Actions, AuditEntry, CreatedAction, Lifecycle, MovesFrom,
    NewAction, Note, Progress, RelabelParameters, StepSummary, Strategy, TargetNodes,
};
pub use configdocs::{BaseStatus, BucketChange, Collection, Collections, Version};
pub use document::{
    Document, DocumentMetadata, DocumentStatus, Documents, Layering, LayeringAction, StoragePolicy, WrittenDocument,
};
pub use event::{ActionEvent, EndEvent, Events, NodeEvent};
pub use labels::{LabelChangeDetails, LabelStatus, Labels, NodeLabels};
pub use node::{FailedKey, LabelDiff, NodeOutcome, NodeResult, NodeState, ValueChange};
pub use revision::{
    BucketDiff, ChangedDocuments, DeepDiff, DeepDiffEntry, Diff, DocumentChange, List, NamedDocuments, PolicyStatus,
    Revision, RevisionList, RevisionStatus, RevisionSummary, TagData, Tags, ValidationStatus,
};
pub use status::{
    CommitRefusal, Diagnostic, DocumentName, Failure, FailureDetails, FailureKind, Findings, FoundIn, Level, Message,
    PlainMessage, Source, Status, StatusWord, ValidationMessage, Violation,
};
pub use task::{
    DesignReference, DesignRefusal, DesignStatus, FilterQuestion, FilterSet, FilterType, Names, NewTask, NodeFilter,
    NodeRow, NodeStatus, Nodes, Removed, ResultStatus, Task, TaskAnswer, TaskMessage, TaskOf, TaskResult,
    TaskResultDetails, TaskStatus, TaskTree, Tasks,
};
pub use validation::{
    ReportedStatus, ValidationDetails, ValidationEntries, ValidationEntry, ValidationEntrySummary, ValidationList,
    ValidationReceipt, ValidationReport, ValidationSummary, ValidationVerdict, Validator,
};
pub use word::{
    ApiVersion, DryRunKind, Empty, MessageKind, NodeLabelsKind, StatusKind, TaskApiVersion, TaskKind, Text,
    VersionInfo, Versions,
};
pub use workflow::{
    MachinePower, PowerState, ProvisionStatus, Provisioned, SiteStatuses, Step, Workflow, WorkflowDetail, Workflows,
};
