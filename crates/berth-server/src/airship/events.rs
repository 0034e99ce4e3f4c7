//! What happens, as server-sent events, so that nobody has to ask again and again.

use std::{collections::HashSet, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::StatusCode,
    response::sse::{Event as Sent, Sse},
    routing::MethodFilter,
};
use berth_store::{Action, ActionId, ActionStore, SubtaskPage, SubtaskState};
use berth_workflow::{Event, lifecycle};
use futures::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};

use super::{
    auth::rules,
    body::Parameters,
    endpoint::{Content, Endpoint, Family, Kind, parameter, reply},
    problem::Problem,
    state::ApiState,
    workflow::{node, outcome_json, progress, store_refused},
};

const SHIPYARD: Family = Family::Shipyard;
const STREAM: Content = Content {
    media_type: "text/event-stream",
    schema: "Events",
};
/// Events that wait for a client that reads slowly. One that falls further behind is told how things stand now.
const WAITING: usize = 256;
/// How often an action is looked at in the store: another server may be the one that works on it.
const LOOK: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(SHIPYARD, MethodFilter::GET, "/api/v1.0/events", "streamEvents", events)
            .needs(&rules::WATCH_ACTIONS)
            .says(
                "What happens from now on",
                "Events `action` say how an action stands, events `node` what came of one node. For one action the stream \
                 begins with everything that has happened already, so that nothing is missed, and ends after an event \
                 `end` when the action does.",
            )
            .takes(
                const {
                    &[
                        parameter("action", Kind::Text, "Only this action, from its beginning."),
                        parameter("verbosity", Kind::Number, "0 to 5; nothing here depends on it."),
                    ]
                },
            )
            .answers(const { &[reply(StatusCode::OK, STREAM, "The events, until either side closes.")] }),
    ]
}

type Sending = Result<Sent, Infallible>;

async fn events(
    State(state): State<ApiState>,
    parameters: Parameters,
) -> Result<Sse<impl Stream<Item = Sending>>, Problem> {
    // First the subscription, then the look at the store: what happens between the two is seen twice and not never.
    let live = state.workflow(SHIPYARD)?.engine().events();
    let (sender, receiver) = mpsc::channel(WAITING);
    let ending = state.ending.clone();
    match parameters.get("action") {
        None => {
            tokio::spawn(ending.run_until_cancelled_owned(pass_all(live, sender)));
        }
        Some(id) => {
            let action = super::actions::find(&state, id, "Unknown action ").await?;
            let store = Arc::clone(state.actions(SHIPYARD)?);
            store
                .subtasks(&action.id, SubtaskPage { after: None, limit: 1 })
                .await
                .map_err(|error| store_refused(SHIPYARD, error))?;
            let follower = Follower {
                store,
                id: action.id,
                told: HashSet::new(),
                last: None,
                sender,
            };
            tokio::spawn(ending.run_until_cancelled_owned(follower.run(live)));
        }
    }
    let stream = stream::unfold(receiver, async |mut receiver| {
        let event = match tokio::time::timeout(KEEP_ALIVE, receiver.recv()).await {
            Ok(event) => event?,
            // A line that means nothing, so that nobody on the way takes the silence for an end.
            Err(_) => Sent::default().comment("keep-alive"),
        };
        Some((Ok(event), receiver))
    });
    Ok(Sse::new(stream.boxed()))
}

fn sent(kind: &str, data: &Value) -> Sent {
    Sent::default().event(kind).data(data.to_string())
}

fn action_event(action: &Action) -> Value {
    let state = action.state.as_str();
    json!({
        "id": action.id.as_str(),
        "name": action.name,
        "task_id": action.task_id,
        "dag_status": state,
        "action_lifecycle": lifecycle(state),
        "progress": progress(action),
    })
}

/// Passes everything on, of all actions. A client that cannot follow misses what it cannot take.
async fn pass_all(mut live: broadcast::Receiver<Event>, sender: mpsc::Sender<Sent>) {
    loop {
        let event = match live.recv().await {
            Ok(event) => event,
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                if sender.send(sent("missed", &json!({"events": missed}))).await.is_err() {
                    return;
                }
                continue;
            }
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let event = match &event {
            Event::Action {
                id,
                task_id,
                name,
                state,
                lifecycle,
                queued,
                running,
                succeeded,
                failed,
                stopped,
            } => {
                let data = json!({
                    "id": id,
                    "name": name,
                    "task_id": task_id,
                    "dag_status": state,
                    "action_lifecycle": lifecycle,
                    "progress": {
                        "nodes": queued + running + succeeded + failed + stopped,
                        "succeeded": succeeded,
                        "failed": failed,
                        "pending": queued + running,
                        "skipped": stopped,
                    },
                });
                sent("action", &data)
            }
            Event::Node { action, node, outcome } => {
                let state = if outcome.success {
                    SubtaskState::Succeeded
                } else {
                    SubtaskState::Failed
                };
                sent(
                    "node",
                    &json!({"action": action, "node": outcome_json(node, state, outcome)}),
                )
            }
        };
        if sender.send(event).await.is_err() {
            return;
        }
    }
}

/// Follows one action to its end. What it tells comes from the store, where everything is; the live events only say when to
/// look.
struct Follower {
    store: Arc<dyn ActionStore>,
    id: ActionId,
    told: HashSet<(u32, u64)>,
    last: Option<Value>,
    sender: mpsc::Sender<Sent>,
}

/// The client has gone, or everything is told.
struct Over;

impl Follower {
    async fn run(mut self, mut live: broadcast::Receiver<Event>) {
        let mut clock = tokio::time::interval(LOOK);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = clock.tick() => {}
                event = live.recv() => match event {
                    Ok(event) if event.action() != self.id.as_str() => continue,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {
                        // Many at once are told at once.
                        while live.try_recv().is_ok() {}
                    }
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                () = self.sender.closed() => return,
            }
            if self.look().await.is_err() {
                return;
            }
        }
    }

    async fn look(&mut self) -> Result<(), Over> {
        // A store that does not answer now may do so later.
        let Ok(action) = self.store.action(&self.id).await else {
            return Ok(());
        };
        let counts = action.counts;
        let outcomes = counts.succeeded + counts.failed + counts.stopped;
        if u64::try_from(self.told.len()).unwrap_or(u64::MAX) < outcomes || action.state.is_final() {
            self.tell_nodes(&action).await?;
        }
        let now = action_event(&action);
        if self.last.as_ref() != Some(&now) {
            self.send(sent("action", &now)).await?;
            self.last = Some(now);
        }
        if action.state.is_final() {
            let end = json!({"id": action.id.as_str(), "action_lifecycle": lifecycle(action.state.as_str())});
            self.send(sent("end", &end)).await?;
            return Err(Over);
        }
        Ok(())
    }

    async fn tell_nodes(&mut self, action: &Action) -> Result<(), Over> {
        let Ok(subtasks) = self.store.subtasks(&self.id, SubtaskPage::ALL).await else {
            return Ok(());
        };
        for subtask in &subtasks {
            let is_over = !matches!(subtask.state, SubtaskState::Queued | SubtaskState::Running);
            // A node that is tried again has another outcome.
            if is_over && self.told.insert((subtask.ordinal, subtask.fence)) {
                let data = json!({
                    "action": action.id.as_str(),
                    "task": action.task_id,
                    "node": node(action, subtask),
                });
                self.send(sent("node", &data)).await?;
            }
        }
        Ok(())
    }

    async fn send(&self, event: Sent) -> Result<(), Over> {
        self.sender.send(event).await.map_err(|_| Over)
    }
}
