//! Task documents: an action as Drydock shows it, with the results of its nodes rolled up.

use berth_api::{
    ApiVersion, Empty, FilterSet, FilterType, NodeFilter, ResultStatus, StatusKind, Task, TaskApiVersion, TaskKind,
    TaskMessage, TaskOf, TaskResult, TaskResultDetails, TaskStatus,
};
use berth_store::{Action, ActionState, Note, Origin, Subtask, SubtaskState};

use crate::workflow::{node, option, outcome_of, python_time};

/// The bits of a task's identifier that number its subtasks, from 1. They are zero in the task's own.
const NUMBER: u128 = 0xffff_ffff;

/// The identifier of a node's subtask: that of the task with the node's number in its last bits.
pub(crate) fn subtask_id(task_id: &str, ordinal: u32) -> String {
    let digits: String = task_id.chars().filter(char::is_ascii_hexdigit).collect();
    let task = u128::from_str_radix(&digits, 16).unwrap_or_default();
    dashed(task & !NUMBER | u128::from(ordinal).saturating_add(1) & NUMBER)
}

/// The task of an identifier, and the place of the node if it is that of a subtask. `None` if it is not a UUID.
pub(super) fn parse_id(text: &str) -> Option<(String, Option<u32>)> {
    let lengths = text.split('-').map(str::len);
    if !lengths.eq([8, 4, 4, 4, 12]) || !text.is_ascii() {
        return None;
    }
    let bits = u128::from_str_radix(&text.replace('-', ""), 16).ok()?;
    let number = u32::try_from(bits & NUMBER).ok()?;
    Some((dashed(bits & !NUMBER), number.checked_sub(1)))
}

fn dashed(bits: u128) -> String {
    let text = format!("{bits:032x}");
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}

/// An action as a task, with what came of its nodes so far.
pub(super) fn task_document(action: &Action, subtasks: &[Subtask], held: &[Note]) -> Task {
    let names = |wanted: &[SubtaskState]| -> Vec<String> {
        let found = subtasks.iter().filter(|subtask| wanted.contains(&subtask.state));
        found.map(|subtask| subtask.node.clone()).collect()
    };
    let successes = names(&[SubtaskState::Succeeded]);
    let failures = names(&[SubtaskState::Failed, SubtaskState::Stopped]);
    let mut messages: Vec<TaskMessage> = subtasks.iter().filter_map(message).collect();
    if subtasks.is_empty() {
        let text = "No nodes in scope, nothing to relabel.".to_owned();
        messages.push(entry(text, false, "NA", "NA", action.created_at));
    }
    let why_paused = (action.state == ActionState::Paused).then(|| hold_message(action, held));
    if let Some(why) = &why_paused {
        messages.push(entry(why.clone(), false, "task", &action.task_id, action.updated_at));
    }
    let status = match (successes.is_empty(), failures.is_empty()) {
        _ if !action.state.is_final() => ResultStatus::Incomplete,
        (_, true) => ResultStatus::Success,
        (false, false) => ResultStatus::PartialSuccess,
        (true, false) => ResultStatus::Failure,
    };
    let ids = subtasks
        .iter()
        .map(|subtask| subtask_id(&action.task_id, subtask.ordinal));
    let is_terminated = action.stopped_by.is_some();
    Task {
        kind: TaskKind::Task,
        api_version: TaskApiVersion::V1,
        task_id: action.task_id.clone(),
        action: "relabel_nodes".to_owned(),
        parent_task_id: None,
        design_ref: option(action, "design_ref"),
        status: match action.state {
            ActionState::Pending => TaskStatus::Queued,
            // Nobody works on it until it is resumed.
            ActionState::Paused => TaskStatus::Requested,
            ActionState::Running => TaskStatus::Running,
            ActionState::Stopping => TaskStatus::Terminating,
            ActionState::Failed if is_terminated => TaskStatus::Terminated,
            ActionState::Success | ActionState::Failed => TaskStatus::Complete,
        },
        result: TaskResult {
            reason: why_paused.as_ref().map(|_| "Held".to_owned()),
            message: why_paused,
            ..result(status, successes, failures, messages)
        },
        node_filter: option(action, "node_filter"),
        subtask_id_list: ids.collect(),
        created: python_time(action.created_at),
        created_by: action.user.clone(),
        updated: python_time(action.updated_at),
        terminated: is_terminated.then(|| python_time(action.updated_at)),
        terminated_by: action.stopped_by.clone(),
        terminate: is_terminated,
        retry: action.attempt.saturating_sub(1).into(),
        of: TaskOf::Nodes {
            context_marker: action.context_marker.clone(),
            action_id: (action.origin == Origin::Action).then(|| action.id.to_string()),
            subtask_errors: None,
        },
    }
}

/// Why a task does not go on, and how it does.
fn hold_message(action: &Action, notes: &[Note]) -> String {
    let reason = notes.iter().rev().find(|note| note.note.kind == "held");
    let reason = reason.map_or("The task is paused.", |note| note.note.text.as_str());
    let id = &action.task_id;
    format!(
        "{reason} Resume it with POST /api/v1.0/actions/{id}/control/unpause, or end it with \
         POST /api/v1.0/actions/{id}/control/stop."
    )
}

/// One node of an action as a task of its own.
pub(super) fn subtask_document(action: &Action, subtask: &Subtask) -> Task {
    let name = || vec![subtask.node.clone()];
    let (status, result_status, successes, failures) = match subtask.state {
        SubtaskState::Queued => (TaskStatus::Queued, ResultStatus::Incomplete, Vec::new(), Vec::new()),
        SubtaskState::Running => (TaskStatus::Running, ResultStatus::Incomplete, Vec::new(), Vec::new()),
        SubtaskState::Succeeded => (TaskStatus::Complete, ResultStatus::Success, name(), Vec::new()),
        SubtaskState::Failed => (TaskStatus::Complete, ResultStatus::Failure, Vec::new(), name()),
        SubtaskState::Stopped => (TaskStatus::Terminated, ResultStatus::Failure, Vec::new(), name()),
    };
    let messages = message(subtask).into_iter().collect();
    let updated = subtask.finished_at.or(subtask.started_at).unwrap_or(action.created_at);
    let filter = NodeFilter {
        filter_set_type: FilterType::Intersection,
        filter_set: vec![FilterSet {
            node_names: Some(name()),
            ..FilterSet::any()
        }],
    };
    Task {
        kind: TaskKind::Task,
        api_version: TaskApiVersion::V1,
        task_id: subtask_id(&action.task_id, subtask.ordinal),
        action: "relabel_node".to_owned(),
        parent_task_id: Some(action.task_id.clone()),
        design_ref: option(action, "design_ref"),
        status,
        result: result(result_status, successes, failures, messages),
        node_filter: serde_json::to_value(filter).ok(),
        subtask_id_list: Vec::new(),
        created: python_time(action.created_at),
        created_by: action.user.clone(),
        updated: python_time(updated),
        terminated: None,
        terminated_by: None,
        terminate: false,
        retry: subtask.fence.saturating_sub(1),
        of: TaskOf::Node {
            outcome: Box::new(node(action, subtask)),
        },
    }
}

fn result(
    status: ResultStatus,
    successes: Vec<String>,
    failures: Vec<String>,
    messages: Vec<TaskMessage>,
) -> TaskResult {
    TaskResult {
        kind: StatusKind::Status,
        api_version: ApiVersion::V1,
        metadata: Empty {},
        message: None,
        reason: None,
        status,
        successes,
        failures,
        links: Vec::new(),
        details: TaskResultDetails {
            error_count: messages.iter().filter(|message| message.error).count(),
            message_list: messages,
        },
    }
}

/// What is said of a node that has an outcome.
fn message(subtask: &Subtask) -> Option<TaskMessage> {
    let time = subtask.finished_at?;
    let said = outcome_of(subtask).message;
    let (text, is_error) = match subtask.state {
        SubtaskState::Succeeded => (format!("Set labels for node {}: {said}", subtask.node), false),
        SubtaskState::Failed => (
            format!("Error relabeling node {} with label data: {said}", subtask.node),
            true,
        ),
        SubtaskState::Stopped => (
            format!("Node {} was not begun: the task was stopped", subtask.node),
            true,
        ),
        SubtaskState::Queued | SubtaskState::Running => return None,
    };
    Some(entry(text, is_error, "node", &subtask.node, time))
}

fn entry(message: String, error: bool, context_type: &str, context: &str, time: i64) -> TaskMessage {
    TaskMessage {
        message,
        error,
        context_type: context_type.to_owned(),
        context: context.to_owned(),
        ts: python_time(time),
        extra: "{}".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtasks_are_found_by_their_identifiers() {
        let task = "0f0e0d0c-0b0a-4908-8706-050400000000";
        assert_eq!(parse_id(task), Some((task.to_owned(), None)));
        for ordinal in [0, 1, 99_999] {
            let id = subtask_id(task, ordinal);
            assert_eq!(parse_id(&id), Some((task.to_owned(), Some(ordinal))), "{id}");
        }
        for text in [
            "",
            "x",
            "0f0e0d0c-0b0a-4908-8706-0504000000é",
            "0f0e0d0c0b0a49088706050400000000",
        ] {
            assert_eq!(parse_id(text), None, "{text}");
        }
    }
}
