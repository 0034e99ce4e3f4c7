//! What all routes of the workflow have in common: the way to it, and its things in the words of the services.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header::RETRY_AFTER};
use berth_decide::Strategy;
use berth_repository::timestamp;
use berth_store::{Action, ActionStore, Note, Subtask, SubtaskState};
use berth_workflow::{Caller as Submitter, Outcome, SubmitError, Workflow};
use serde_json::{Map, Value, json};

use super::{
    auth::Caller,
    body::Parameters,
    endpoint::Family,
    problem::Problem,
    state::{ApiState, Relabelling},
};

impl ApiState {
    /// Where actions are kept.
    pub(super) fn actions(&self, family: Family) -> Result<&Arc<dyn ActionStore>, Problem> {
        match &self.relabelling {
            Relabelling::Nowhere => Err(no_workflow(family, "this server keeps no actions")),
            Relabelling::Stored { store, .. } => Ok(store),
            Relabelling::Running(workflow) => Ok(workflow.store()),
        }
    }

    /// What carries them out. Without a cluster nothing does.
    pub(super) fn workflow(&self, family: Family) -> Result<&Arc<Workflow>, Problem> {
        match &self.relabelling {
            Relabelling::Nowhere => Err(no_workflow(family, "this server keeps no actions")),
            Relabelling::Stored { why, .. } => Err(no_workflow(family, why)),
            Relabelling::Running(workflow) => Ok(workflow),
        }
    }

    /// Who submits a request, with what its identifiers are made of.
    pub(super) fn submitter(&self, caller: &Caller, headers: &HeaderMap) -> Result<Submitter, Problem> {
        let mut random = [0; 26];
        getrandom::fill(&mut random).map_err(|_| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Problem::shipyard(status, "Internal Server Error", "The system gives no random numbers").retry()
        })?;
        // The last bytes of a task's identifier number its subtasks.
        random[22..].fill(0);
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let marker = text("x-context-marker").filter(|marker| is_uuid(marker));
        let marker = marker.or_else(|| text("x-request-id")).unwrap_or_default();
        Ok(Submitter {
            user: caller.user().to_owned(),
            context_marker: marker.to_owned(),
            now: self.now(),
            random,
        })
    }
}

fn no_workflow(family: Family, why: &str) -> Problem {
    let description = format!("No cluster is at hand: {why}");
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let problem = match family {
        Family::Drydock => Problem::drydock(status, description),
        _ => Problem::shipyard(status, "Kubernetes API Error", description),
    };
    problem.retry().with_header(RETRY_AFTER, HeaderValue::from_static("30"))
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// A refusal of the workflow.
pub(super) fn refused(family: Family, error: &SubmitError) -> Problem {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status.is_server_error() {
        tracing::error!(
            error = error as &dyn std::error::Error,
            "a request of the workflow failed"
        );
    }
    let problem = match family {
        Family::Drydock => Problem::drydock(status, error.description()),
        _ => Problem::shipyard(status, error.title(), error.description()),
    };
    let mut messages = error.messages();
    if let SubmitError::UnknownNodes { names, .. } = error {
        let unknown = |name: &String| json!({"message": format!("Unknown node: {name}"), "error": true, "name": name});
        messages = names.iter().map(unknown).collect();
    }
    let problem = problem.with_messages(messages);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        return problem.retry().with_header(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    problem
}

/// A refusal of the store.
pub(super) fn store_refused(family: Family, error: berth_store::Error) -> Problem {
    refused(family, &SubmitError::from(error))
}

/// `?strategy=`.
pub(super) fn strategy(parameters: &Parameters, family: Family) -> Result<Option<Strategy>, Problem> {
    let Some(text) = parameters.get("strategy") else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        let description = format!("The strategy parameter should be mirror, owned or promenade, not '{text}'");
        match family {
            Family::Drydock => Problem::drydock(StatusCode::BAD_REQUEST, description),
            _ => Problem::shipyard(StatusCode::BAD_REQUEST, "Invalid strategy parameter", description),
        }
    })
}

/// `2017-09-23 02:42:06.860597`, as Python prints a time.
pub(super) fn python_time(microseconds: i64) -> String {
    let text = timestamp(microseconds).replace('T', " ");
    text.trim_end_matches('Z').to_owned()
}

/// The same with its zone.
pub(super) fn python_time_utc(microseconds: i64) -> String {
    format!("{}+00:00", python_time(microseconds))
}

/// `2017-09-24T19:05:49`, as Airflow names a run.
pub(super) fn execution_date(microseconds: i64) -> String {
    let text = timestamp(microseconds);
    text.split('.').next().unwrap_or_default().to_owned()
}

/// What a request changes, key by key.
pub(super) fn diff(outcome: &Outcome) -> Value {
    json!({"set": outcome.set, "changed": outcome.changed, "removed": outcome.removed})
}

/// One node of an action: how it stands and what came of it.
pub(super) fn node(action: &Action, subtask: &Subtask) -> Value {
    let outcome = outcome_of(subtask);
    let mut node = outcome_json(&subtask.node, subtask.state, &outcome);
    if let Value::Object(fields) = &mut node {
        fields.insert("attempts".to_owned(), json!(subtask.fence));
        let id = super::tasks::subtask_id(&action.task_id, subtask.ordinal);
        fields.insert("task_id".to_owned(), json!(id));
        let updated = subtask.finished_at.or(subtask.started_at).map(python_time_utc);
        fields.insert("updated".to_owned(), json!(updated));
    }
    node
}

/// The outcome that is filed for a node; an empty one while there is none.
pub(super) fn outcome_of(subtask: &Subtask) -> Outcome {
    let filed = subtask.outcome.clone().unwrap_or_default();
    serde_json::from_value(filed).unwrap_or_default()
}

/// A node with its outcome. A success needs no words beside the difference.
pub(super) fn outcome_json(name: &str, state: SubtaskState, outcome: &Outcome) -> Value {
    let failed: Vec<Value> = outcome
        .refused
        .iter()
        .map(|refusal| json!({"key": refusal.key, "message": refusal.reason}))
        .collect();
    let says_all = !failed.is_empty() && outcome.conflicts.is_empty();
    let message = (state == SubtaskState::Failed && !says_all).then_some(&outcome.message);
    json!({
        "name": name,
        "state": match state {
            SubtaskState::Queued => "pending",
            SubtaskState::Running => "running",
            SubtaskState::Succeeded => "success",
            SubtaskState::Failed => "failure",
            SubtaskState::Stopped => "skipped",
        },
        "message": message,
        "diff": diff(outcome),
        "protected": outcome.protected,
        "conflicts": outcome.conflicts,
        "failed": failed,
        "labels": outcome.labels,
    })
}

/// How far an action is.
pub(super) fn progress(action: &Action) -> Value {
    let counts = action.counts;
    json!({
        "nodes": counts.total(),
        "succeeded": counts.succeeded,
        "failed": counts.failed,
        "pending": counts.open(),
        "skipped": counts.stopped,
    })
}

/// Notes up to a verbosity.
pub(super) fn notes(notes: &[Note], verbosity: u8) -> Vec<Value> {
    let shown = notes.iter().filter(|note| note.note.verbosity <= verbosity);
    shown.map(note).collect()
}

fn note(note: &Note) -> Value {
    json!({
        "assoc_id": note.note.about,
        "subject": note.note.subject,
        "sub_type": note.note.kind,
        "note_val": note.note.text,
        "verbosity": note.note.verbosity,
        "note_id": note.id.to_string(),
        "note_timestamp": python_time_utc(note.created_at),
        "resolved_url_value": note.note.link.as_ref().map(|_| format!("/notedetails/{}", note.id)),
    })
}

/// `?verbosity=`, which was checked before.
pub(super) fn verbosity(parameters: &Parameters) -> u8 {
    let given = parameters.get("verbosity").and_then(|text| text.parse().ok());
    given.unwrap_or(1)
}

/// A text of an action's own settings.
pub(super) fn option<'a>(action: &'a Action, key: &str) -> Option<&'a Value> {
    action.options.get(key).filter(|value| !value.is_null())
}

/// Everything that a list of actions shows of one.
pub(super) fn action_fields(action: &Action) -> Map<String, Value> {
    let state = action.state.as_str();
    let fields = json!({
        "id": action.id.as_str(),
        "name": action.name,
        "parameters": action.parameters,
        "dag_id": action.name,
        "dag_execution_date": execution_date(action.created_at),
        "user": action.user,
        "datetime": python_time_utc(action.created_at),
        "context_marker": action.context_marker,
        "dag_status": state,
        "action_lifecycle": berth_workflow::lifecycle(state),
        "committed_rev_id": action.revision,
        "allow_intermediate_commits": action.allow_intermediate_commits,
        "strategy": option(action, "strategy"),
        "task_id": action.task_id,
        "attempt": action.attempt,
        "progress": progress(action),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
