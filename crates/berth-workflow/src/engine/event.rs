//! What happens, for those who do not want to ask again and again.

use std::sync::Arc;

use berth_api::Lifecycle;
use berth_store::{Action, Counts};
use serde::{Serialize, Serializer};

use crate::{lifecycle::lifecycle, outcome::Outcome};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// An action changed.
    Action {
        /// Its identifier.
        id: String,
        /// The identifier of its execution.
        task_id: String,
        /// Its name.
        name: String,
        /// How it stands, in Airflow's word.
        state: &'static str,
        /// How it stands, in Shipyard's word.
        lifecycle: Lifecycle,
        /// How many nodes are not begun.
        queued: u64,
        /// How many are worked on.
        running: u64,
        /// How many are done.
        succeeded: u64,
        /// How many failed.
        failed: u64,
        /// How many were not tried.
        stopped: u64,
    },
    /// A node has an outcome.
    Node {
        /// The action.
        action: String,
        /// The node.
        node: String,
        /// What came of it. All who listen share it.
        #[serde(serialize_with = "shared")]
        outcome: Arc<Outcome>,
    },
}

fn shared<S: Serializer>(outcome: &Arc<Outcome>, serializer: S) -> Result<S::Ok, S::Error> {
    outcome.as_ref().serialize(serializer)
}

impl Event {
    /// The event that an action is as it is.
    pub fn of(action: &Action) -> Self {
        let Counts {
            queued,
            running,
            succeeded,
            failed,
            stopped,
        } = action.counts;
        Self::Action {
            id: action.id.to_string(),
            task_id: action.task_id.clone(),
            name: action.name.clone(),
            state: action.state.as_str(),
            lifecycle: lifecycle(action.state),
            queued,
            running,
            succeeded,
            failed,
            stopped,
        }
    }

    /// The identifier of the action that it is about.
    pub fn action(&self) -> &str {
        match self {
            Self::Action { id, .. } => id,
            Self::Node { action, .. } => action,
        }
    }
}
