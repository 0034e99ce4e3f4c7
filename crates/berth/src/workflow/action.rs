//! An action as the server tells it.

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;
use serde_json::Value;

use crate::{failure::Failure, output::counted};

/// What is shown of an action. What a server leaves out is empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Action {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) user: Option<String>,
    pub(crate) datetime: Option<String>,
    pub(crate) parameters: Value,
    pub(crate) dag_status: Option<String>,
    #[serde(rename = "action_lifecycle")]
    pub(crate) stands: Option<String>,
    pub(crate) context_marker: Option<String>,
    pub(crate) committed_rev_id: Option<u64>,
    pub(crate) strategy: Option<String>,
    pub(crate) progress: Counts,
    pub(crate) steps: Vec<Step>,
    pub(crate) notes: Vec<Note>,
    pub(crate) command_audit: Vec<Command>,
    pub(crate) validations: Vec<Value>,
    pub(crate) nodes: Vec<NodeOutcome>,
}

/// How many nodes stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    pub(crate) nodes: usize,
    pub(crate) succeeded: usize,
    pub(crate) failed: usize,
    pub(crate) pending: usize,
}

/// One step of an action.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Step {
    pub(crate) id: String,
    pub(crate) index: u64,
    pub(crate) state: Option<String>,
    pub(crate) notes: Vec<Note>,
}

/// Something worth telling about an action or a step.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Note {
    pub(crate) note_val: String,
    pub(crate) note_timestamp: String,
}

/// Who did what to an action.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Command {
    #[serde(rename = "command")]
    pub(crate) verb: String,
    pub(crate) user: Option<String>,
    pub(crate) datetime: Option<String>,
}

/// What became of one node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NodeOutcome {
    pub(crate) name: String,
    pub(crate) state: NodeState,
    pub(crate) message: Option<String>,
    pub(crate) diff: Diff,
    pub(crate) protected: Vec<String>,
    pub(crate) failed: Vec<FailedKey>,
}

/// How a node stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NodeState {
    #[default]
    Pending,
    Running,
    Success,
    Failure,
    Skipped,
    /// A word of a newer server.
    #[serde(other)]
    Unknown,
}

impl NodeState {
    /// Whether nothing more will happen to the node.
    pub(crate) const fn is_final(self) -> bool {
        matches!(self, Self::Success | Self::Failure | Self::Skipped)
    }
}

impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "done",
            Self::Failure => "failed",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        })
    }
}

/// A key that could not be applied.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FailedKey {
    pub(crate) key: String,
    pub(crate) message: String,
}

/// How labels change.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Diff {
    pub(crate) set: BTreeMap<String, String>,
    pub(crate) changed: BTreeMap<String, Change>,
    pub(crate) removed: BTreeMap<String, String>,
}

/// A value and the one before it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Change {
    pub(crate) from: String,
    pub(crate) to: String,
}

impl Action {
    /// Reads the server's document.
    pub(crate) fn read(value: &Value) -> Result<Self, Failure> {
        Self::deserialize(value).map_err(|error| Failure::Format {
            format: "an action",
            source: Box::new(error),
        })
    }

    /// Whether it is over, well or not.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.lifecycle(), "Complete" | "Failed")
    }

    /// Where it stands, in Shipyard's word.
    pub(crate) fn lifecycle(&self) -> &str {
        self.stands.as_deref().unwrap_or("Pending")
    }

    /// `4 nodes: 2 done, 1 failed, 1 skipped`.
    pub(crate) fn summary(&self) -> String {
        let counts = self.counts();
        let mut parts = Vec::new();
        let told = [counts.succeeded, counts.failed, counts.pending];
        let skipped = told.into_iter().fold(counts.nodes, usize::saturating_sub);
        for (count, word) in [
            (counts.succeeded, "done"),
            (counts.failed, "failed"),
            (counts.pending, "to go"),
            (skipped, "skipped"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {word}"));
            }
        }
        let nodes = counted(counts.nodes, "node");
        if parts.is_empty() {
            return nodes;
        }
        format!("{nodes}: {}", parts.join(", "))
    }

    /// The counts, from the outcomes where they are told.
    pub(crate) fn counts(&self) -> Counts {
        if self.nodes.is_empty() {
            return self.progress;
        }
        let count = |wanted: &[NodeState]| self.nodes.iter().filter(|node| wanted.contains(&node.state)).count();
        let (succeeded, failed) = (count(&[NodeState::Success]), count(&[NodeState::Failure]));
        Counts {
            nodes: self.nodes.len(),
            succeeded,
            failed,
            pending: self
                .nodes
                .len()
                .saturating_sub(succeeded)
                .saturating_sub(failed)
                .saturating_sub(count(&[NodeState::Skipped])),
        }
    }
}

impl NodeOutcome {
    /// What happened, on one line: `+a=b ~c=old→new -d`, and why not.
    pub(crate) fn told(&self) -> String {
        let mut parts = vec![changes(&self.diff)];
        parts.extend(self.message.clone());
        parts.extend(
            self.failed
                .iter()
                .map(|failed| format!("{}: {}", failed.key, failed.message)),
        );
        parts.retain(|part| !part.is_empty());
        if parts.is_empty() && self.state == NodeState::Success {
            parts.push("nothing to change".to_owned());
        }
        parts.join("; ")
    }
}

/// A diff on one line: what is set, changed, and removed.
pub(crate) fn changes(diff: &Diff) -> String {
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
    use serde_json::json;

    use super::*;

    #[test]
    fn an_outcome_is_told_on_one_line() {
        let node: NodeOutcome = serde_json::from_value(json!({
            "name": "n1", "state": "failure", "message": null,
            "diff": {"set": {"a": "b"}, "changed": {"c": {"from": "1", "to": "2"}}, "removed": {"d": "x"}},
            "failed": [{"key": "e", "message": "forbidden"}],
        }))
        .unwrap();
        assert_eq!(node.told(), "+a=b ~c=1→2 -d; e: forbidden");
        let unchanged: NodeOutcome = serde_json::from_value(json!({"name": "n1", "state": "success"})).unwrap();
        assert_eq!(unchanged.told(), "nothing to change");
    }

    #[test]
    fn a_state_that_a_newer_server_knows_is_no_end() {
        let node: NodeOutcome = serde_json::from_value(json!({"name": "n1", "state": "postponed"})).unwrap();
        assert!(!node.state.is_final());
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
        let action = Action::read(&json!({
            "id": "x", "action_lifecycle": "Processing", "progress": {"nodes": 9, "pending": 9},
            "nodes": [{"name": "a", "state": "success"}, {"name": "b", "state": "failure"}, {"name": "c", "state": "running"}],
        }))
        .unwrap();
        assert_eq!(action.summary(), "3 nodes: 1 done, 1 failed, 1 to go");
        assert!(!action.is_over());
    }
}
