//! An action in words.

use berth_api::{ActionDetail, LabelDiff, NodeOutcome, NodeState, Progress};

use crate::{failure::Failure, output::counted};

/// How a node stands, for people.
pub(crate) const fn state_word(state: NodeState) -> &'static str {
    match state {
        NodeState::Pending => "pending",
        NodeState::Running => "running",
        NodeState::Success => "done",
        NodeState::Failure => "failed",
        NodeState::Skipped => "skipped",
        NodeState::Unknown => "unknown",
    }
}

/// `4 nodes: 2 done, 1 failed, 1 skipped`.
pub(crate) fn summary(counts: Progress) -> String {
    let mut parts = Vec::new();
    for (count, word) in [
        (counts.succeeded, "done"),
        (counts.failed, "failed"),
        (counts.pending, "to go"),
        (counts.skipped, "skipped"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    let nodes = counted(usize::try_from(counts.nodes).unwrap_or(usize::MAX), "node");
    if parts.is_empty() {
        return nodes;
    }
    format!("{nodes}: {}", parts.join(", "))
}

/// The counts of an action, from the outcomes where they are told.
pub(crate) fn counts(action: &ActionDetail) -> Progress {
    if action.nodes.is_empty() {
        return action.action.progress;
    }
    let mut counts = Progress::default();
    for node in &action.nodes {
        counts.nodes += 1;
        match node.outcome.state {
            NodeState::Success => counts.succeeded += 1,
            NodeState::Failure => counts.failed += 1,
            NodeState::Skipped => counts.skipped += 1,
            NodeState::Pending | NodeState::Running | NodeState::Unknown => counts.pending += 1,
        }
    }
    counts
}

/// What happened to a node, on one line: `+a=b ~c=old→new -d`, and why not.
pub(crate) fn told(node: &NodeOutcome) -> String {
    let mut parts = vec![changes(&node.diff)];
    parts.extend(node.message.clone());
    parts.extend(
        node.failed
            .iter()
            .map(|failed| format!("{}: {}", failed.key, failed.message)),
    );
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() && node.state == NodeState::Success {
        parts.push("nothing to change".to_owned());
    }
    parts.join("; ")
}

/// A diff on one line: what is set, changed, and removed.
pub(crate) fn changes(diff: &LabelDiff) -> String {
    let set = diff.set.iter().map(|(key, value)| format!("+{key}={value}"));
    let changed = diff
        .changed
        .iter()
        .map(|(key, change)| format!("~{key}={}→{}", change.from, change.to));
    let removed = diff.removed.keys().map(|key| format!("-{key}"));
    set.chain(changed).chain(removed).collect::<Vec<_>>().join(" ")
}

/// The id that was typed, as `action/ID` or `ID`.
pub(crate) fn action_id(typed: &str) -> Result<String, Failure> {
    let id = typed.strip_prefix("action/").unwrap_or(typed);
    if id.len() == 26 && id.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Ok(id.to_ascii_uppercase());
    }
    Err(Failure::Argument {
        message: format!("`{typed}` is not an action: its id has 26 letters and digits"),
        hint: Some("`berth actions` lists them".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A node as a server shows it.
    fn node(name: &str, state: &str) -> Value {
        json!({
            "name": name, "state": state, "message": null, "diff": {"set": {}, "changed": {}, "removed": {}},
            "protected": [], "conflicts": {}, "failed": [], "labels": null, "attempts": 1, "task_id": "x", "updated": null,
        })
    }

    #[test]
    fn an_outcome_is_told_on_one_line() {
        let mut document = node("n1", "failure");
        document["diff"] =
            json!({"set": {"a": "b"}, "changed": {"c": {"from": "1", "to": "2"}}, "removed": {"d": "x"}});
        document["failed"] = json!([{"key": "e", "message": "forbidden"}]);
        let failed: NodeOutcome = serde_json::from_value(document).unwrap();
        assert_eq!(told(&failed), "+a=b ~c=1→2 -d; e: forbidden");
        let unchanged: NodeOutcome = serde_json::from_value(node("n1", "success")).unwrap();
        assert_eq!(told(&unchanged), "nothing to change");
    }

    #[test]
    fn a_state_that_a_newer_server_knows_is_no_end() {
        let node: NodeOutcome = serde_json::from_value(node("n1", "postponed")).unwrap();
        assert!(!node.state.is_final());
    }

    #[test]
    fn an_outcome_without_a_field_is_refused() {
        let whole = node("n1", "success");
        for field in ["name", "state", "diff", "protected", "conflicts", "failed"] {
            let mut document = whole.clone();
            document.as_object_mut().unwrap().remove(field);
            assert!(serde_json::from_value::<NodeOutcome>(document).is_err(), "{field}");
        }
    }

    #[test]
    fn ids_are_taken_in_both_forms() {
        let id = "01BTTMFVDKZFRJM80FGD7J1AKN";
        for typed in [id, "action/01BTTMFVDKZFRJM80FGD7J1AKN", "01bttmfvdkzfrjm80fgd7j1akn"] {
            assert_eq!(action_id(typed).unwrap(), id);
        }
        for typed in [
            "",
            "action/",
            "01BTT",
            "../../../etc/passwd/0000000",
            "01BTTMFVDKZFRJM80FGD7J1A/N",
        ] {
            assert!(action_id(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn what_is_counted_comes_from_the_outcomes() {
        let action: ActionDetail = serde_json::from_value(json!({
            "id": "x", "name": "update_labels", "parameters": {}, "dag_id": "update_labels",
            "dag_execution_date": "2017-09-24T19:05:49", "user": "somebody", "datetime": "2017-09-24 19:05:49",
            "context_marker": "", "dag_status": "running", "action_lifecycle": "Processing", "committed_rev_id": 1,
            "allow_intermediate_commits": null, "strategy": "owned", "task_id": "x", "attempt": 1,
            "progress": {"nodes": 9, "succeeded": 0, "failed": 0, "pending": 9, "skipped": 0},
            "steps": [], "notes": [], "validations": [], "command_audit": [],
            "nodes": [node("a", "success"), node("b", "failure"), node("c", "running")],
        }))
        .unwrap();
        assert_eq!(summary(counts(&action)), "3 nodes: 1 done, 1 failed, 1 to go");
        assert!(!action.action.action_lifecycle.is_over());
    }
}
