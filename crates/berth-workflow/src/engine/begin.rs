//! The look at an action before its first node.

use std::collections::HashMap;

use berth_store::{Action, Begin, SubtaskPage, SubtaskState};
use serde::Deserialize as _;
use tokio::task::JoinSet;

use super::{Engine, Event, NodeWork, Whole};
use crate::{
    apply::ApplyError,
    submit::{ActionOptions, SubmitError},
};
use berth_decide::{BerthDeclaration, NodeState, Requested};

/// Up to so many nodes are read one by one; for more the list of all is cheaper.
pub(crate) const READ_SINGLY: usize = 16;

/// The labels that a node of an action is to carry, and what documents put into its Berth.
pub(super) fn asked(work: &serde_json::Value) -> (Requested, Option<BerthDeclaration>) {
    let labels = work.get("labels").and_then(serde_json::Value::as_object);
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let labels = labels.into_iter().flatten();
    let declared = work.get("berth").map(BerthDeclaration::deserialize);
    (
        labels.map(|(key, value)| (key.clone(), text(value))).collect(),
        declared.and_then(Result::ok),
    )
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
    let work: Vec<NodeWork<'_>> = open
        .map(|subtask| {
            let (requested, declared) = asked(&subtask.work);
            NodeWork {
                node: &subtask.node,
                requested,
                declared,
            }
        })
        .collect();
    let is_whole = listed.is_some();
    let mut known = match listed {
        Some(listed) => listed,
        None => read_singly(engine, &work).await?,
    };
    let change = Whole {
        work: &work,
        strategy: options.strategy,
    };
    let mut reason = None;
    if !options.allow_mass_removal && change.removes_many(&engine.nodes, &known) {
        if !is_whole {
            known = engine.nodes.list().await?;
        }
        reason = change.reason_to_ask(&engine.nodes, &known).await?;
    }
    let begin = reason.map_or(Begin::Run, |reason| Begin::Hold { reason });
    let action = engine.store.begin_action(&action.id, &begin, engine.now()).await?;
    engine.tell(Event::of(&action));
    Ok(known)
}

async fn read_singly(engine: &Engine, work: &[NodeWork<'_>]) -> Result<HashMap<String, NodeState>, ApplyError> {
    let mut reads = JoinSet::new();
    for NodeWork { node, .. } in work {
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
