//! What all routes of the workflow have in common: the way to it, and its things in the words of the services.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header::RETRY_AFTER};
use berth_api::{FailedKey, LabelDiff, NodeOutcome, NodeResult, NodeState, Progress, StepSummary, ValueChange};
use berth_decide::Strategy;
use berth_repository::timestamp;
use berth_store::{Action, ActionStore, NewNote, Note, Subtask, SubtaskState};
use berth_workflow::{Caller as Submitter, Outcome, SubmitError, Workflow, lifecycle};
use serde::de::DeserializeOwned;
use uuid::Uuid;

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
        let marker = text("x-context-marker").filter(|marker| Uuid::try_parse(marker).is_ok());
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
    let problem = problem.with_messages(error.messages());
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

/// A strategy in the words of the API.
pub(super) const fn strategy_word(strategy: Strategy) -> berth_api::Strategy {
    match strategy {
        Strategy::Mirror => berth_api::Strategy::Mirror,
        Strategy::Owned => berth_api::Strategy::Owned,
        Strategy::Promenade => berth_api::Strategy::Promenade,
    }
}

/// What a request changes, key by key.
pub(super) fn diff(outcome: &Outcome) -> LabelDiff {
    let changed = outcome.changed.iter().map(|(key, change)| {
        let change = ValueChange {
            from: change.from.clone(),
            to: change.to.clone(),
        };
        (key.clone(), change)
    });
    LabelDiff {
        set: outcome.set.clone(),
        changed: changed.collect(),
        removed: outcome.removed.clone(),
    }
}

/// One node of an action: how it stands and what came of it.
pub(super) fn node(action: &Action, subtask: &Subtask) -> NodeResult {
    NodeResult {
        outcome: node_outcome(&subtask.node, subtask.state, outcome_of(subtask)),
        attempts: subtask.fence,
        task_id: super::tasks::subtask_id(&action.task_id, subtask.ordinal),
        updated: subtask.finished_at.or(subtask.started_at).map(python_time_utc),
    }
}

/// The outcome that is filed for a node; an empty one while there is none.
pub(super) fn outcome_of(subtask: &Subtask) -> Outcome {
    let filed = subtask.outcome.clone().unwrap_or_default();
    serde_json::from_value(filed).unwrap_or_default()
}

/// A node with its outcome. A success needs no words beside the difference.
pub(super) fn node_outcome(name: &str, state: SubtaskState, outcome: Outcome) -> NodeOutcome {
    let diff = diff(&outcome);
    let says_all = !outcome.refused.is_empty() && outcome.conflicts.is_empty();
    let refused = outcome.refused.into_iter().map(|refusal| FailedKey {
        key: refusal.key,
        message: refusal.reason,
    });
    NodeOutcome {
        name: name.to_owned(),
        state: match state {
            SubtaskState::Queued => NodeState::Pending,
            SubtaskState::Running => NodeState::Running,
            SubtaskState::Succeeded => NodeState::Success,
            SubtaskState::Failed => NodeState::Failure,
            SubtaskState::Stopped => NodeState::Skipped,
        },
        message: (state == SubtaskState::Failed && !says_all).then_some(outcome.message),
        diff,
        protected: outcome.protected,
        conflicts: outcome.conflicts,
        failed: refused.collect(),
        labels: outcome.labels,
    }
}

/// How far an action is.
pub(super) fn progress(action: &Action) -> Progress {
    let counts = action.counts;
    Progress {
        nodes: counts.total(),
        succeeded: counts.succeeded,
        failed: counts.failed,
        pending: counts.open(),
        skipped: counts.stopped,
    }
}

/// Notes up to a verbosity.
pub(super) fn notes(notes: &[Note], verbosity: u8) -> Vec<berth_api::Note> {
    let shown = notes.iter().filter(|note| note.note.verbosity <= verbosity);
    shown.map(note).collect()
}

/// Why each node failed.
pub(super) fn failures(subtasks: &[Subtask]) -> Vec<String> {
    let failed = subtasks.iter().filter(|subtask| subtask.state == SubtaskState::Failed);
    failed
        .map(|subtask| format!("{}: {}", subtask.node, outcome_of(subtask).message))
        .collect()
}

/// Why the step that relabels failed, as a note of that step; its details name every node.
pub(super) fn failure_note(action: &Action, subtasks: &[Subtask]) -> Option<berth_api::Note> {
    const NAMED: usize = 3;
    let failed = failures(subtasks);
    let first = failed
        .iter()
        .take(NAMED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("; ");
    let more = match failed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!failed.is_empty()).then(|| berth_api::Note {
        assoc_id: format!("step/{}/relabel_nodes", action.id),
        subject: "relabel_nodes".to_owned(),
        sub_type: "Failure".to_owned(),
        note_val: format!("{} of {} nodes failed: {first}{more}", failed.len(), subtasks.len()),
        verbosity: 1,
        note_id: action.id.to_string(),
        note_timestamp: python_time_utc(action.updated_at),
        resolved_url_value: Some(format!("/notedetails/{}", action.id)),
    })
}

/// A number as an identifier that Shipyard's command line takes: it asks for 26 letters and digits.
pub(super) fn long_id(number: impl Into<u64>) -> String {
    format!("{:026}", number.into())
}

fn note(note: &Note) -> berth_api::Note {
    let NewNote {
        about,
        subject,
        kind,
        text,
        verbosity,
        link,
    } = note.note.clone();
    berth_api::Note {
        assoc_id: about,
        subject,
        sub_type: kind,
        note_val: text,
        verbosity,
        note_id: long_id(note.id),
        note_timestamp: python_time_utc(note.created_at),
        resolved_url_value: link.map(|_| format!("/notedetails/{}", long_id(note.id))),
    }
}

/// `?verbosity=`, which was checked before.
pub(super) fn verbosity(parameters: &Parameters) -> u8 {
    let given = parameters.get("verbosity").and_then(|text| text.parse().ok());
    given.unwrap_or(1)
}

/// A value of an action's own settings.
pub(super) fn option<T: DeserializeOwned>(action: &Action, key: &str) -> Option<T> {
    let value = action.options.get(key).filter(|value| !value.is_null())?;
    serde_json::from_value(value.clone()).ok()
}

/// What a list of actions shows of one, with its steps and notes.
pub(super) fn action_summary(
    action: &Action,
    steps: Vec<StepSummary>,
    notes: Vec<berth_api::Note>,
) -> berth_api::Action {
    berth_api::Action {
        id: action.id.to_string(),
        name: action.name.clone(),
        parameters: action.parameters.clone(),
        dag_id: action.name.clone(),
        dag_execution_date: execution_date(action.created_at),
        user: action.user.clone(),
        datetime: python_time_utc(action.created_at),
        context_marker: action.context_marker.clone(),
        dag_status: action.state.to_string(),
        action_lifecycle: lifecycle(action.state),
        committed_rev_id: action.revision,
        allow_intermediate_commits: action.allow_intermediate_commits,
        strategy: option(action, "strategy"),
        task_id: action.task_id.clone(),
        attempt: action.attempt,
        progress: progress(action),
        steps,
        notes,
    }
}
