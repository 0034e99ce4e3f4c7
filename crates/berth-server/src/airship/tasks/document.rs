//! Task documents: an action as Drydock shows it, with the results of its nodes rolled up.

use berth_store::{Action, ActionState, Subtask, SubtaskState};
use serde_json::{Value, json};

use crate::airship::workflow::{node, option, outcome_of, python_time};

/// The bits of a task's identifier that number its subtasks, from 1. They are zero in the task's own.
const NUMBER: u128 = 0xffff_ffff;

/// The identifier of a node's subtask: that of the task with the node's number in its last bits.
pub(in crate::airship) fn subtask_id(task_id: &str, ordinal: u32) -> String {
    let digits: String = task_id.chars().filter(char::is_ascii_hexdigit).collect();
    let task = u128::from_str_radix(&digits, 16).unwrap_or_default();
    dashed(task & !NUMBER | u128::from(ordinal).saturating_add(1) & NUMBER)
}

/// The task of an identifier, and the place of the node if it is that of a subtask. Nothing if it is no UUID.
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
pub(super) fn task_document(action: &Action, subtasks: &[Subtask]) -> Value {
    let names = |wanted: &[SubtaskState]| -> Vec<&str> {
        let found = subtasks.iter().filter(|subtask| wanted.contains(&subtask.state));
        found.map(|subtask| subtask.node.as_str()).collect()
    };
    let successes = names(&[SubtaskState::Succeeded]);
    let failures = names(&[SubtaskState::Failed, SubtaskState::Stopped]);
    let mut messages: Vec<Value> = subtasks.iter().filter_map(message).collect();
    if subtasks.is_empty() {
        let text = "No nodes in scope, nothing to relabel.";
        messages.push(entry(text, false, "NA", "NA", action.created_at));
    }
    let status = match (successes.is_empty(), failures.is_empty()) {
        _ if !action.state.is_final() => "incomplete",
        (_, true) => "success",
        (false, false) => "partial_success",
        (true, false) => "failure",
    };
    let ids = subtasks
        .iter()
        .map(|subtask| subtask_id(&action.task_id, subtask.ordinal));
    let is_terminated = action.stopped_by.is_some();
    json!({
        "kind": "Task",
        "apiVersion": "v1",
        "task_id": action.task_id,
        "action": "relabel_nodes",
        "parent_task_id": null,
        "design_ref": option(action, "design_ref"),
        "status": match action.state {
            ActionState::Pending => "queued",
            ActionState::Running | ActionState::Paused => "running",
            ActionState::Stopping => "terminating",
            ActionState::Failed if is_terminated => "terminated",
            ActionState::Success | ActionState::Failed => "complete",
        },
        "result": result(status, &successes, &failures, &messages),
        "node_filter": option(action, "node_filter"),
        "subtask_id_list": ids.collect::<Vec<_>>(),
        "created": python_time(action.created_at),
        "created_by": action.user,
        "updated": python_time(action.updated_at),
        "terminated": is_terminated.then(|| python_time(action.updated_at)),
        "terminated_by": action.stopped_by,
        "terminate": is_terminated,
        "retry": action.attempt.saturating_sub(1),
        "context_marker": action.context_marker,
        "action_id": (action.origin == berth_store::Origin::Action).then(|| action.id.as_str()),
    })
}

/// One node of an action as a task of its own.
pub(super) fn subtask_document(action: &Action, subtask: &Subtask) -> Value {
    let name = [subtask.node.as_str()];
    let none: [&str; 0] = [];
    let (status, result_status, successes, failures) = match subtask.state {
        SubtaskState::Queued => ("queued", "incomplete", &none[..], &none[..]),
        SubtaskState::Running => ("running", "incomplete", &none[..], &none[..]),
        SubtaskState::Succeeded => ("complete", "success", &name[..], &none[..]),
        SubtaskState::Failed => ("complete", "failure", &none[..], &name[..]),
        SubtaskState::Stopped => ("terminated", "failure", &none[..], &name[..]),
    };
    let messages: Vec<Value> = message(subtask).into_iter().collect();
    let updated = subtask.finished_at.or(subtask.started_at).unwrap_or(action.created_at);
    let filter = json!({
        "filter_set_type": "intersection",
        "filter_set": [{"filter_type": "union", "node_names": name}],
    });
    json!({
        "kind": "Task",
        "apiVersion": "v1",
        "task_id": subtask_id(&action.task_id, subtask.ordinal),
        "action": "relabel_node",
        "parent_task_id": action.task_id,
        "design_ref": option(action, "design_ref"),
        "status": status,
        "result": result(result_status, successes, failures, &messages),
        "node_filter": filter,
        "subtask_id_list": [],
        "created": python_time(action.created_at),
        "created_by": action.user,
        "updated": python_time(updated),
        "terminated": null,
        "terminated_by": null,
        "terminate": false,
        "retry": subtask.fence.saturating_sub(1),
        "outcome": node(action, subtask),
    })
}

fn result(status: &str, successes: &[&str], failures: &[&str], messages: &[Value]) -> Value {
    json!({
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "message": null,
        "reason": null,
        "status": status,
        "successes": successes,
        "failures": failures,
        "links": [],
        "details": {
            "errorCount": messages.iter().filter(|message| message["error"] == true).count(),
            "messageList": messages,
        },
    })
}

/// What is said of a node that has an outcome.
fn message(subtask: &Subtask) -> Option<Value> {
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
    Some(entry(&text, is_error, "node", &subtask.node, time))
}

fn entry(text: &str, is_error: bool, context_type: &str, context: &str, time: i64) -> Value {
    json!({
        "message": text,
        "error": is_error,
        "context_type": context_type,
        "context": context,
        "ts": python_time(time),
        "extra": "{}",
    })
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
