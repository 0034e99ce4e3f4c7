//! The look at an action before its first node.

use std::collections::HashMap;

use berth_labels::Brake;
use berth_store::{Action, Begin, SubtaskPage, SubtaskState};
use serde::Deserialize as _;
use tokio::task::JoinSet;

use super::{Engine, Event, check};
use crate::{
    apply::ApplyError,
    submit::{ActionOptions, SubmitError},
};
use berth_decide::{NodeState, Requested, Strategy, label_diff};

/// Up to so many nodes are read one by one; for more the list of all is cheaper.
const READ_SINGLY: usize = 16;

/// The labels that a node of an action is to carry.
pub(super) fn requested(work: &serde_json::Value) -> Requested {
    let labels = work.get("labels").and_then(serde_json::Value::as_object);
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    labels
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), text(value)))
        .collect()
}

pub(super) fn options(action: &serde_json::Value) -> ActionOptions {
    ActionOptions::deserialize(action).unwrap_or_default()
}

/// Lets an action run, or holds it because it would remove too much. Gives what was learned of the Nodes.
pub(super) async fn begin(engine: &Engine, action: &Action) -> Result<HashMap<String, NodeState>, SubmitError> {
    let options = options(&action.options);
    let subtasks = engine.store.subtasks(&action.id, SubtaskPage::ALL);
    // The list does not wait for the names: with many nodes it is needed anyway.
    let many = action.counts.queued > u64::try_from(READ_SINGLY).unwrap_or(u64::MAX);
    let (subtasks, listed) = if many {
        let (subtasks, listed) = futures::join!(subtasks, engine.nodes.list());
        (subtasks?, Some(listed?))
    } else {
        (subtasks.await?, None)
    };
    let open = subtasks.iter().filter(|subtask| subtask.state == SubtaskState::Queued);
    let work: Vec<(&str, Requested)> = open
        .map(|subtask| (subtask.node.as_str(), requested(&subtask.work)))
        .collect();
    let whole = listed.is_some();
    let mut known = match listed {
        Some(listed) => listed,
        None => read_singly(engine, &work).await?,
    };
    let mut brake = Brake {
        removed: removals(engine, &work, &known, options.strategy),
        owned: owned(&known),
    };
    let asks = !options.allow_mass_removal && options.strategy != Strategy::Promenade && !brake.is_few();
    if asks && !whole {
        known = engine.nodes.list().await?;
        brake.owned = owned(&known);
    }
    let begin = match check(brake) {
        Err(too_many) if asks => Begin::Hold {
            reason: too_many.to_string(),
        },
        _ => Begin::Run,
    };
    let action = engine.store.begin_action(&action.id, &begin, engine.now()).await?;
    engine.tell(Event::of(&action));
    Ok(known)
}

async fn read_singly(engine: &Engine, work: &[(&str, Requested)]) -> Result<HashMap<String, NodeState>, ApplyError> {
    let mut reads = JoinSet::new();
    for (node, _) in work {
        let (nodes, node) = (engine.nodes.clone(), (*node).to_owned());
        reads.spawn(async move { (nodes.read(&node).await, node) });
    }
    let mut known = HashMap::new();
    while let Some(read) = reads.join_next().await {
        match read {
            Ok((Ok(state), node)) => {
                known.insert(node, state);
            }
            Ok((Err(ApplyError::NotFound { .. }), _)) => {}
            Ok((Err(error), _)) => return Err(error),
            // It ended with the engine.
            Err(_) => return Err(ApplyError::GivenUp),
        }
    }
    Ok(known)
}

fn removals(
    engine: &Engine,
    work: &[(&str, Requested)],
    known: &HashMap<String, NodeState>,
    strategy: Strategy,
) -> usize {
    let policy = engine.nodes.policy();
    let of_node = |(node, requested): &(&str, Requested)| {
        let state = known.get(*node)?;
        // Whatever the strategy, a key that is requested with a value stays. Most nodes are done with that.
        let may_go = |key: &String| !matches!(requested.get(key), Some(Some(_)));
        if !state.owned.keys().any(may_go) {
            return None;
        }
        Some(label_diff(state, requested, strategy, policy).owned_removals(state))
    };
    work.iter().filter_map(of_node).sum()
}

fn owned(known: &HashMap<String, NodeState>) -> usize {
    known.values().map(NodeState::owned_labels).sum()
}
