//! What happens, as server-sent events, so that nobody has to ask again and again.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    convert::Infallible,
    sync::Arc,
    time::Duration,
};

use axum::{
    Extension,
    extract::State,
    http::StatusCode,
    response::sse::{Event as Sent, Sse},
    routing::MethodFilter,
};
use berth_api::{ActionEvent, EndEvent, Events, NodeEvent};
use berth_listen::EventStream;
use berth_store::{Action, ActionId, ActionPage, ActionStore, Subtask, SubtaskPage, SubtaskState};
use berth_workflow::{Event, lifecycle};
use futures::{Stream, StreamExt as _, stream};
use serde::Serialize;
use tokio::{
    sync::{broadcast, mpsc},
    time::Interval,
};

use super::{
    auth::rules,
    body::Parameters,
    endpoint::{Content, Endpoint, Family, Kind, content, parameter, reply},
    problem::Problem,
    state::ApiState,
    workflow::{node, progress, store_refused},
};

const SHIPYARD: Family = Family::Shipyard;
const STREAM: Content = content::<Events>("text/event-stream");
/// Events that wait for a client that reads slowly. Those beyond are read from the store when it has caught up.
const WAITING: usize = 256;
/// How often actions are looked at in the store: another server may be the one that works on them.
const LOOK: Duration = Duration::from_secs(1);
/// How long further events are waited for before the store is looked at.
const BREATH: Duration = Duration::from_millis(20);
/// How many of the newest actions are looked at for changes.
const RECENT: u32 = 20;
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(SHIPYARD, MethodFilter::GET, "/api/v1.0/events", "streamEvents", events)
            .needs(&rules::WATCH_ACTIONS)
            .says(
                "What happens from now on",
                "Events `action` say how an action stands, events `node` what came of one node, whichever server on the \
                 database did it. Of an action that is tried again only what is new is told. For one action the stream \
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
) -> Result<(Extension<EventStream>, Sse<impl Stream<Item = Sending>>), Problem> {
    // First the subscription, then the look at the store: what happens between the two is seen twice and not never.
    let live = state.workflow(SHIPYARD)?.engine().events();
    let store = Arc::clone(state.actions(SHIPYARD)?);
    let (sender, receiver) = mpsc::channel(WAITING);
    let teller = Teller { store, sender };
    let ending = state.ending.clone();
    match parameters.get("action") {
        None => {
            let watcher = Watcher::begin(teller, state.now()).await;
            let watcher = watcher.map_err(|error| store_refused(SHIPYARD, error))?;
            tokio::spawn(ending.run_until_cancelled_owned(watcher.run(live)));
        }
        Some(id) => {
            let action = super::actions::find(&state, id, "Unknown action ").await?;
            tokio::spawn(ending.run_until_cancelled_owned(follow(teller, action.id, live)));
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
    Ok((Extension(EventStream), Sse::new(stream.boxed())))
}

/// An event with its data. The keys are sorted, as in answers.
fn sent(kind: &str, data: &impl Serialize) -> Sent {
    let data = serde_json::to_value(data).unwrap_or_default();
    Sent::default().event(kind).data(data.to_string())
}

fn action_event(action: &Action) -> ActionEvent {
    ActionEvent {
        id: action.id.to_string(),
        name: action.name.clone(),
        task_id: action.task_id.clone(),
        dag_status: action.state.to_string(),
        action_lifecycle: lifecycle(action.state),
        progress: progress(action),
    }
}

/// Where to look for something to tell.
enum Look {
    /// At these actions, of which this server has said something.
    At(HashSet<String>),
    /// Everywhere: another server may have done something, or this one so much that not all of it was heard.
    Everywhere,
}

/// Returns when there may be something to tell. What is told comes from the store, where everything is, whichever server did
/// it; the live events of this server only say when and where to look.
async fn something_happens(
    live: &mut broadcast::Receiver<Event>,
    clock: &mut Interval,
    sender: &mpsc::Sender<Sent>,
) -> Result<Look, Over> {
    let first = tokio::select! {
        _ = clock.tick() => return Ok(Look::Everywhere),
        () = sender.closed() => return Err(Over),
        event = live.recv() => match event {
            Ok(event) => event,
            Err(broadcast::error::RecvError::Lagged(_)) => return Ok(Look::Everywhere),
            Err(broadcast::error::RecvError::Closed) => return Err(Over),
        },
    };
    let mut actions = HashSet::from([first.action().to_owned()]);
    // What comes in quick succession is told at once. Nodes of a large action are not read for each of them.
    tokio::time::sleep(BREATH).await;
    loop {
        match live.try_recv() {
            Ok(event) => {
                actions.insert(event.action().to_owned());
            }
            Err(broadcast::error::TryRecvError::Lagged(_)) => return Ok(Look::Everywhere),
            Err(_) => return Ok(Look::At(actions)),
        }
    }
}

fn clock() -> Interval {
    let mut clock = tokio::time::interval(LOOK);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    clock
}

/// Follows one action to its end, from its beginning.
async fn follow(teller: Teller, id: ActionId, mut live: broadcast::Receiver<Event>) {
    let (mut told, mut clock) = (Told::default(), clock());
    loop {
        match something_happens(&mut live, &mut clock, &teller.sender).await {
            Ok(Look::At(actions)) if !actions.contains(id.as_str()) => continue,
            Ok(_) => {}
            Err(Over) => return,
        }
        // A store that does not answer now may do so later.
        let Ok(action) = teller.store.action(&id).await else {
            continue;
        };
        if teller.tell(&action, &mut told).await.is_err() {
            return;
        }
        if action.state.is_final() {
            let end = EndEvent {
                id: action.id.to_string(),
                action_lifecycle: lifecycle(action.state),
            };
            let _ = teller.send(sent("end", &end)).await;
            return;
        }
    }
}

/// Follows all actions. Those that are there at first are followed from then on, those that come from their beginning. Of
/// one that is tried again only what is new is told.
struct Watcher {
    teller: Teller,
    /// When it began.
    began: i64,
    open: HashMap<ActionId, Told>,
    /// Actions whose end was told, or lies before the beginning, and when that was.
    ended: HashMap<ActionId, i64>,
    /// The newest actions with the time of their last change: one that began and ended between two looks is seen by it.
    recent: HashMap<ActionId, i64>,
}

impl Watcher {
    async fn begin(teller: Teller, began: i64) -> Result<Self, berth_store::Error> {
        let mut open = HashMap::new();
        for action in teller.store.open_actions().await? {
            let mut told = Told {
                last: Some(action_event(&action)),
                ..Told::default()
            };
            let subtasks = teller.store.subtasks(&action.id, SubtaskPage::ALL).await?;
            told.nodes = subtasks
                .iter()
                .filter(|subtask| is_over(subtask))
                .map(outcome_id)
                .collect();
            open.insert(action.id, told);
        }
        let mut watcher = Self {
            teller,
            began,
            open,
            ended: HashMap::new(),
            recent: HashMap::new(),
        };
        let there = watcher.everything().await?;
        let ended = there.into_iter().filter(|action| action.state.is_final());
        watcher.ended = ended.map(|action| (action.id, action.updated_at)).collect();
        // One that ended since it was found open is told.
        watcher.ended.retain(|id, _| !watcher.open.contains_key(id));
        Ok(watcher)
    }

    async fn run(mut self, mut live: broadcast::Receiver<Event>) {
        let mut clock = clock();
        loop {
            let Ok(look) = something_happens(&mut live, &mut clock, &self.teller.sender).await else {
                return;
            };
            let found = match look {
                Look::At(actions) => self.these(&actions).await,
                Look::Everywhere => self.everything().await,
            };
            // A store that does not answer now may do so later.
            let Ok(found) = found else { continue };
            if self.tell(found).await.is_err() {
                return;
            }
        }
    }

    async fn tell(&mut self, actions: Vec<Action>) -> Result<(), Over> {
        for action in actions {
            if self.ended.get(&action.id) == Some(&action.updated_at) {
                continue;
            }
            let mut told = self.open.remove(&action.id).unwrap_or_else(|| self.before(&action));
            self.teller.tell(&action, &mut told).await?;
            if action.state.is_final() {
                self.recent.insert(action.id.clone(), action.updated_at);
                self.ended.insert(action.id, action.updated_at);
            } else {
                self.open.insert(action.id, told);
            }
        }
        Ok(())
    }

    /// What is known of an action that was not open. The outcomes of earlier attempts were told when they came, or came before
    /// anybody listened.
    fn before(&self, action: &Action) -> Told {
        let tried_again = (action.attempt > 1).then_some(self.began);
        Told {
            until: self.ended.get(&action.id).copied().or(tried_again),
            ..Told::default()
        }
    }

    async fn these(&mut self, ids: &HashSet<String>) -> Result<Vec<Action>, berth_store::Error> {
        let mut found = Vec::new();
        for id in ids.iter().filter_map(|id| id.parse().ok()) {
            found.extend(self.action(&id).await?);
        }
        Ok(found)
    }

    /// All actions of which there may be something to tell, the oldest first.
    async fn everything(&mut self) -> Result<Vec<Action>, berth_store::Error> {
        let newest = ActionPage {
            origin: None,
            before: None,
            limit: RECENT,
        };
        let newest = self.teller.store.actions(&newest).await?;
        let open = self.teller.store.open_actions().await?;
        let recent: HashMap<ActionId, i64> = newest
            .iter()
            .map(|action| (action.id.clone(), action.updated_at))
            .collect();
        let mut found: BTreeMap<ActionId, Action> = BTreeMap::new();
        let changed = newest
            .into_iter()
            .filter(|action| self.recent.get(&action.id) != Some(&action.updated_at));
        for action in changed.chain(open) {
            found.insert(action.id.clone(), action);
        }
        let rest: Vec<ActionId> = self.open.keys().filter(|id| !found.contains_key(id)).cloned().collect();
        for id in rest {
            if let Some(action) = self.action(&id).await? {
                found.insert(id, action);
            }
        }
        self.recent = recent;
        Ok(found.into_values().collect())
    }

    /// One action; nothing when it was removed, and then it is forgotten.
    async fn action(&mut self, id: &ActionId) -> Result<Option<Action>, berth_store::Error> {
        match self.teller.store.action(id).await {
            Ok(action) => Ok(Some(action)),
            Err(berth_store::Error::ActionNotFound { .. }) => {
                self.open.remove(id);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// What was told of an action.
#[derive(Default)]
struct Told {
    /// Outcomes, by [`outcome_id`].
    nodes: HashSet<OutcomeId>,
    /// Outcomes up to this time are not told.
    until: Option<i64>,
    /// How it stood.
    last: Option<ActionEvent>,
}

fn is_over(subtask: &Subtask) -> bool {
    !matches!(subtask.state, SubtaskState::Queued | SubtaskState::Running)
}

/// The place of a node, how often it was begun, and when it ended. A node that is tried again has another outcome, also when
/// it is stopped twice before it was begun.
type OutcomeId = (u32, u64, Option<i64>);

fn outcome_id(subtask: &Subtask) -> OutcomeId {
    (subtask.ordinal, subtask.fence, subtask.finished_at)
}

struct Teller {
    store: Arc<dyn ActionStore>,
    sender: mpsc::Sender<Sent>,
}

/// The client has gone, or everything is told.
struct Over;

impl Teller {
    /// Tells what was not told yet.
    async fn tell(&self, action: &Action, told: &mut Told) -> Result<(), Over> {
        let counts = action.counts;
        let outcomes = counts.succeeded + counts.failed + counts.stopped;
        if u64::try_from(told.nodes.len()).unwrap_or(u64::MAX) != outcomes || action.state.is_final() {
            self.tell_nodes(action, told).await?;
        }
        let now = action_event(action);
        if told.last.as_ref() != Some(&now) {
            self.send(sent("action", &now)).await?;
            told.last = Some(now);
        }
        Ok(())
    }

    async fn tell_nodes(&self, action: &Action, told: &mut Told) -> Result<(), Over> {
        let Ok(subtasks) = self.store.subtasks(&action.id, SubtaskPage::ALL).await else {
            return Ok(());
        };
        // An outcome that a retry took away is none any more.
        let over = subtasks.iter().filter(|subtask| is_over(subtask));
        let before = std::mem::replace(&mut told.nodes, over.clone().map(outcome_id).collect());
        for subtask in over {
            let is_old = told.until.is_some_and(|until| subtask.finished_at <= Some(until));
            if !is_old && !before.contains(&outcome_id(subtask)) {
                let data = NodeEvent {
                    action: action.id.to_string(),
                    task: action.task_id.clone(),
                    node: node(action, subtask),
                };
                self.send(sent("node", &data)).await?;
            }
        }
        Ok(())
    }

    async fn send(&self, event: Sent) -> Result<(), Over> {
        self.sender.send(event).await.map_err(|_| Over)
    }
}
