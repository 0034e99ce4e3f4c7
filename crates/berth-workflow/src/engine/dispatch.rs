//! The loops of the engine: who gets which node, filing results, and holding on to leases.

use std::{
    collections::{HashMap, HashSet},
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use berth_nodes::Patience;
use berth_store::{Action, ActionId, ActionState, Claim, Finished, LabelMemory};
use futures::FutureExt as _;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{Engine, Event, begin};
use crate::{
    apply::{ApplyError, NodeClient, Order},
    outcome::Outcome,
    submit::SubmitError,
};
use berth_decide::NodeState;

/// Results that are filed in one transaction at most.
const BATCH: usize = 256;

/// How long a result waits for further ones, so that one commit serves many of them.
const GATHER: Duration = Duration::from_millis(40);

/// A result, and the node that it is about.
pub(super) type Filed = (Finished, String, Outcome);

/// What the engine knows of the actions that are open.
#[derive(Default)]
struct Open {
    /// How each stood when it was looked at last.
    seen: HashMap<ActionId, Action>,
    /// Cancelled when somebody stops the action, so that nobody waits for an API server in vain.
    stops: HashMap<ActionId, CancellationToken>,
    /// Nodes as a list showed them before the action began. Each is used once.
    known: HashMap<ActionId, HashMap<String, NodeState>>,
    /// Actions that are looked at before they begin.
    beginning: HashSet<ActionId>,
}

/// Hands nodes to workers until it is told to end.
pub(super) async fn dispatch(engine: Arc<Engine>, cancel: CancellationToken, results: mpsc::Sender<Filed>) {
    let engine = &engine;
    let options = &engine.options;
    let mut workers: JoinSet<()> = JoinSet::new();
    let mut open = Open::default();
    let mut beginnings = JoinSet::new();
    let full = usize::try_from(options.concurrency.max(1)).unwrap_or(usize::MAX);
    let refill = full.div_ceil(2);
    let (mut look, mut idle, mut poll_at) = (true, false, Instant::now());
    give_back(engine, "taking up the work of an earlier run").await;
    while !cancel.is_cancelled() {
        if look {
            match engine.store.open_actions().await {
                Ok(actions) => {
                    open.tell_ended(engine, &actions).await;
                    take_up(engine, &actions).await;
                    for action in open.update(engine, actions) {
                        let engine = Arc::clone(engine);
                        beginnings.spawn(async move {
                            // A fault of this program is an error as any other: the action is tried again.
                            let begun = AssertUnwindSafe(begin::begin(&engine, &action)).catch_unwind().await;
                            (action.id.clone(), begun.unwrap_or(Err(SubmitError::Interrupted)))
                        });
                    }
                }
                Err(error) => complain("looking for actions", &error),
            }
            poll_at = Instant::now() + options.poll;
            idle = false;
        }
        if !idle && engine.lease.is_held() && workers.len() <= refill {
            let free = u32::try_from(full.saturating_sub(workers.len())).unwrap_or(u32::MAX);
            match engine
                .store
                .claim(&options.owner, free, engine.now(), engine.lease_end())
                .await
            {
                Ok(claims) => {
                    idle = claims.is_empty();
                    for claim in claims {
                        open.start(engine, &mut workers, claim, &results);
                    }
                }
                Err(error) => {
                    complain("claiming nodes", &error);
                    idle = true;
                }
            }
        }
        look = tokio::select! {
            () = cancel.cancelled() => break,
            () = engine.wake.notified() => true,
            () = tokio::time::sleep_until(poll_at) => true,
            Some(Ok((id, begun))) = beginnings.join_next() => {
                open.beginning.remove(&id);
                match begun {
                    Ok(known) => { open.known.insert(id, known); idle = false; }
                    // It is tried again at the next look.
                    Err(error) => complain("beginning an action", &error),
                }
                false
            }
            Some(_) = workers.join_next() => {
                if workers.is_empty() {
                    engine.drained.notify_one();
                }
                false
            }
        };
    }
    // What was begun is brought to its end, if that does not take too long.
    let finish = async { while workers.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(options.grace, finish).await;
    engine.drained.notify_one();
}

/// A claim whose answer was lost is in nobody's hands, and so is one whose lease was over. When nothing is in ours, all that
/// goes under our name is such a one, and is handed out again.
async fn take_up(engine: &Engine, actions: &[Action]) {
    let running = actions.iter().any(|action| action.counts.running > 0);
    if (running || !engine.lease.is_held()) && engine.held.load(Ordering::Acquire) == 0 {
        give_back(engine, "taking up nodes that were lost").await;
    }
}

/// Puts back everything that goes under our name, while nobody works on any of it. What is claimed from then on is held.
async fn give_back(engine: &Engine, doing: &'static str) {
    let began = Instant::now();
    match engine.store.give_back(&engine.options.owner, engine.now()).await {
        Ok(_) => engine.lease.holds_since(began),
        Err(error) => complain(doing, &error),
    }
}

fn complain(doing: &'static str, error: &(dyn std::error::Error + 'static)) {
    tracing::warn!(error, doing, "the engine could not do it; it will try again");
}

impl Open {
    /// Tells how actions ended that are not open any more, whoever brought them to their end.
    async fn tell_ended(&self, engine: &Engine, actions: &[Action]) {
        let gone = self
            .seen
            .keys()
            .filter(|id| actions.iter().all(|action| action.id != **id));
        for id in gone {
            match engine.store.action(id).await {
                Ok(action) => engine.tell(Event::of(&action)),
                Err(error) => complain("reading an action that has ended", &error),
            }
        }
    }

    /// Takes notice of what is open, tells what changed, and gives the actions that are to begin.
    fn update(&mut self, engine: &Engine, actions: Vec<Action>) -> Vec<Action> {
        let ids: HashSet<ActionId> = actions.iter().map(|action| action.id.clone()).collect();
        self.seen.retain(|id, _| ids.contains(id));
        self.stops.retain(|id, _| ids.contains(id));
        self.known.retain(|id, _| ids.contains(id));
        let mut new = Vec::new();
        for action in actions {
            if action.state == ActionState::Stopping {
                self.stop(&action.id).cancel();
            } else if self.stops.get(&action.id).is_some_and(CancellationToken::is_cancelled) {
                // It was stopped, and is tried again.
                self.stops.remove(&action.id);
            }
            if action.state == ActionState::Pending && self.beginning.insert(action.id.clone()) {
                new.push(action.clone());
            }
            if self.seen.get(&action.id) != Some(&action) {
                engine.tell(Event::of(&action));
                self.seen.insert(action.id.clone(), action);
            }
        }
        new
    }

    fn stop(&mut self, id: &ActionId) -> &CancellationToken {
        self.stops.entry(id.clone()).or_default()
    }

    fn start(&mut self, engine: &Arc<Engine>, workers: &mut JoinSet<()>, claim: Claim, results: &mpsc::Sender<Filed>) {
        let known = self
            .known
            .get_mut(&claim.action)
            .and_then(|known| known.remove(&claim.node));
        let stop = self.stop(&claim.action).clone();
        let (engine, results) = (Arc::clone(engine), results.clone());
        engine.held.fetch_add(1, Ordering::AcqRel);
        workers.spawn(async move {
            let Some((outcome, labels)) = work_while_held(&engine, &claim, known, &stop).await else {
                engine.held.fetch_sub(1, Ordering::AcqRel);
                return;
            };
            let finished = Finished {
                action: claim.action,
                ordinal: claim.ordinal,
                fence: claim.fence,
                success: outcome.success,
                outcome: serde_json::to_value(&outcome).unwrap_or_default(),
                labels,
            };
            // Nobody takes it when the engine is gone, and then the node is tried again.
            let _ = results.send((finished, claim.node, outcome)).await;
        });
    }
}

/// Works on a node for as long as it is ours. There is no outcome when it may be somebody else's before the work is done;
/// what is under way has ended then.
async fn work_while_held(
    engine: &Engine,
    claim: &Claim,
    known: Option<NodeState>,
    stop: &CancellationToken,
) -> Option<(Outcome, LabelMemory)> {
    let work = work(&engine.held_nodes, claim, known, engine.options.patience, stop);
    tokio::select! {
        // It is looked at first, so that a process that was asleep does nothing more.
        biased;
        () = engine.lease.over() => None,
        // A fault of this program fails the node, and not the action.
        done = AssertUnwindSafe(work).catch_unwind() => {
            let fault = || Outcome::failed("an error in Berth itself; its log has more");
            done.unwrap_or_else(|_| Some((fault(), LabelMemory::default())))
        }
    }
}

async fn work(
    nodes: &NodeClient,
    claim: &Claim,
    known: Option<NodeState>,
    patience: Patience,
    stop: &CancellationToken,
) -> Option<(Outcome, LabelMemory)> {
    let (requested, declared) = begin::asked(&claim.work);
    let order = Order {
        node: &claim.node,
        requested: &requested,
        strategy: begin::options(&claim.options).strategy,
        declared: declared.as_ref(),
        again: claim.fence > 1,
        patience,
        stop: Some(stop),
    };
    let mut memory = LabelMemory::default();
    let failed = match nodes.relabel(order, known, &mut memory).await {
        Ok(outcome) => return Some((outcome, memory)),
        Err(ApplyError::NotHeld { .. }) => return None,
        Err(ApplyError::GivenUp) => "the action was stopped while the Kubernetes API did not answer".to_owned(),
        Err(error) => error.to_string(),
    };
    Some((Outcome::failed(failed), memory))
}

/// Waits a moment for the results of nodes that are worked on. When there are none, nobody waits.
async fn gather(engine: &Engine, filed: &mut mpsc::Receiver<Filed>, batch: &mut Vec<Filed>) {
    if batch.len() < engine.held.load(Ordering::Acquire) {
        // The results themselves wake nobody meanwhile: only the last one does.
        let _ = tokio::time::timeout(GATHER, engine.drained.notified()).await;
    }
    while batch.len() < BATCH
        && let Ok(further) = filed.try_recv()
    {
        batch.push(further);
    }
}

/// Files results as they come, those that come together in one transaction.
pub(super) async fn file(engine: Arc<Engine>, mut filed: mpsc::Receiver<Filed>) {
    let mut batch: Vec<Filed> = Vec::new();
    while filed.recv_many(&mut batch, BATCH).await > 0 {
        gather(&engine, &mut filed, &mut batch).await;
        let (results, told): (Vec<Finished>, Vec<(String, Outcome)>) = batch
            .drain(..)
            .map(|(finished, node, outcome)| (finished, (node, outcome)))
            .unzip();
        let mut pause = Duration::from_millis(50);
        let finishing = loop {
            match engine.store.finish(&results, engine.now()).await {
                Ok(finishing) => break finishing,
                // A result is not lost while this process lives, and is found again by trying when it does not.
                Err(error) => complain("filing results", &error),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        };
        engine.held.fetch_sub(results.len(), Ordering::AcqRel);
        for ((result, taken), (node, outcome)) in results.iter().zip(finishing.taken).zip(told) {
            if taken {
                engine.tell(Event::Node {
                    action: result.action.to_string(),
                    node,
                    outcome: Arc::new(outcome),
                });
            } else {
                tracing::info!(
                    node,
                    "somebody else has worked on the node in the meantime; this result does not count"
                );
            }
        }
        for action in &finishing.actions {
            engine.tell(Event::of(action));
        }
    }
}

/// Holds on to leases for as long as the engine lives. One that is over stays over: what was held is taken up anew.
pub(super) async fn renew(engine: Arc<Engine>, done: CancellationToken) {
    let lease = &engine.lease;
    let mut pause = lease.renew_every();
    let mut was_held = false;
    loop {
        tokio::select! {
            () = done.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        pause = lease.renew_every();
        if !lease.is_held() {
            if std::mem::take(&mut was_held) {
                tracing::warn!(
                    "leases could not be renewed in time; nodes that were begun are left to who claims them next"
                );
            }
            continue;
        }
        was_held = true;
        let began = Instant::now();
        let renewal = engine.store.renew(&engine.options.owner, engine.lease_end());
        let error: Box<dyn std::error::Error> = match timeout(lease.renew_every(), renewal).await {
            Ok(Ok(_)) => {
                // An answer that is late says nothing: somebody else may have claimed what it was about.
                if lease.is_held() {
                    lease.holds_since(began);
                }
                continue;
            }
            Ok(Err(error)) => error.into(),
            Err(late) => late.into(),
        };
        complain("renewing leases", &*error);
        pause = lease.retry_after();
    }
}
