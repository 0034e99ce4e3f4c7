//! Actions in the words of Shipyard.

use berth_api::Lifecycle;
use berth_store::{Action, ActionState};

/// The lifecycle that Shipyard shows for an action.
pub const fn lifecycle(state: ActionState) -> Lifecycle {
    match state {
        ActionState::Pending => Lifecycle::Pending,
        ActionState::Running => Lifecycle::Processing,
        ActionState::Paused => Lifecycle::Paused,
        ActionState::Success => Lifecycle::Complete,
        ActionState::Stopping | ActionState::Failed => Lifecycle::Failed,
    }
}

/// One step of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub id: &'static str,
    /// Its place, from 1.
    pub index: u32,
    /// How it stands; nothing when it was not begun.
    pub state: Option<&'static str>,
    /// When it was begun, in microseconds since 1970.
    pub started_at: Option<i64>,
    /// When it ended.
    pub finished_at: Option<i64>,
    /// How often it was tried.
    pub tries: u32,
    /// What does it, in the place where Airflow names a class.
    pub operator: &'static str,
}

/// The steps of an action, in their order. All but the last are done before the action is kept, so they have succeeded.
pub fn steps(action: &Action) -> Vec<Step> {
    let before = [
        ("dag_concurrency_check", "ConcurrencyCheck"),
        ("get_rendered_doc", "RenderedDocuments"),
        ("validate_site_design", "ValidateSiteDesign"),
    ];
    let mut steps: Vec<Step> = before
        .into_iter()
        .zip(1..)
        .map(|((id, operator), index)| Step {
            id,
            index,
            state: Some("success"),
            started_at: Some(action.created_at),
            finished_at: Some(action.created_at),
            tries: 1,
            operator,
        })
        .collect();
    let state = match action.state {
        ActionState::Pending => None,
        // What was begun goes on; the action, not the step, is paused.
        ActionState::Paused if action.counts.running == 0 => Some("queued"),
        ActionState::Running | ActionState::Paused | ActionState::Stopping => Some("running"),
        ActionState::Success => Some("success"),
        ActionState::Failed => Some("failed"),
    };
    steps.push(Step {
        id: "relabel_nodes",
        index: 4,
        state,
        started_at: action.started_at,
        finished_at: action.finished_at,
        tries: action.attempt,
        operator: "RelabelNodes",
    });
    steps
}
