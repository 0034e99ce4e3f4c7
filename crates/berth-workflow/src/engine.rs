//! The engine: it takes nodes of actions, makes their labels right, and files what came of each.
//!
//! Everything that must not be lost is in the store. A node is claimed by a lease before it is touched, its outcome is
//! filed under the fence of that claim, and the patch that changes it says the same whoever sends it. So the engine can be
//! killed at any moment, several can work on one store, and every node has one outcome. An engine that cannot renew its
//! leases lets go of its nodes before another one can take them.

mod begin;
mod brake;
mod dispatch;
mod event;
mod lease;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use berth_clock::Clock;
use berth_store::ActionStore;
use kube::Client;
use tokio::sync::{Notify, broadcast, mpsc};
use tokio_util::sync::CancellationToken;

pub(crate) use begin::READ_SINGLY;
pub(crate) use brake::{NodeWork, Whole};
pub use event::Event;
use lease::Lease;

use crate::apply::NodeClient;
use berth_decide::LabelPolicy;
use berth_nodes::{Hold, Patience};

/// Events that a slow listener may be behind before it misses some.
const EVENTS: usize = 4096;

/// How an engine works.
#[derive(Clone)]
pub struct EngineOptions {
    /// The name under which nodes are claimed. It differs between engines that run at a time, and stays the same for one
    /// that starts again, so that it need not wait for its own leases to end.
    pub owner: String,
    /// Where the time comes from.
    pub clock: Clock,
    /// How many nodes are worked on at a time.
    pub concurrency: u32,
    /// How long a node is held without a sign of life.
    pub lease: Duration,
    /// How often the store is looked at for what other servers did.
    pub poll: Duration,
    /// How long one node is tried.
    pub patience: Patience,
    /// What holds for all nodes alike.
    pub policy: LabelPolicy,
    /// How long nodes that were begun are waited for when the engine is told to end.
    pub grace: Duration,
}

impl EngineOptions {
    /// The usual settings.
    pub fn new(owner: impl Into<String>, clock: Clock) -> Self {
        Self {
            owner: owner.into(),
            clock,
            concurrency: 64,
            lease: Duration::from_secs(30),
            poll: Duration::from_secs(1),
            patience: Patience::LONG,
            policy: LabelPolicy::default(),
            grace: Duration::from_secs(10),
        }
    }
}

impl fmt::Debug for EngineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineOptions")
            .field("owner", &self.owner)
            .field("concurrency", &self.concurrency)
            .field("lease", &self.lease)
            .field("poll", &self.poll)
            .field("patience", &self.patience)
            .field("policy", &self.policy)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}

/// Carries actions out.
#[derive(Debug)]
pub struct Engine {
    store: Arc<dyn ActionStore>,
    nodes: NodeClient,
    /// The same for as long as the engine holds its nodes.
    held_nodes: NodeClient,
    options: EngineOptions,
    events: broadcast::Sender<Event>,
    wake: Notify,
    lease: Arc<Lease>,
    /// Nodes that were claimed and whose results are not filed.
    held: AtomicUsize,
    /// Told when nobody works on a node: no further result is to be waited for.
    drained: Notify,
}

impl Engine {
    /// An engine that does nothing yet.
    pub fn new(store: Arc<dyn ActionStore>, client: Client, options: EngineOptions) -> Self {
        let lease = Arc::new(Lease::new(options.lease));
        let nodes = NodeClient::new(client, options.policy.clone(), Arc::clone(&store));
        let holding = Arc::clone(&lease);
        Self {
            held_nodes: nodes.held_by(Hold::new(move || holding.left())),
            nodes,
            lease,
            store,
            options,
            events: broadcast::Sender::new(EVENTS),
            wake: Notify::new(),
            held: AtomicUsize::new(0),
            drained: Notify::new(),
        }
    }

    /// What happens from now on. Outcomes of nodes are told by the engine that worked on them; how actions stand is told
    /// by every engine on the store.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// The Nodes of the cluster.
    pub fn nodes(&self) -> &NodeClient {
        &self.nodes
    }

    /// Says that there is something to do, so that it is done at once.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Works until it is told to end. Nodes that were begun are finished then, and the rest is left to whoever comes next.
    ///
    /// Dropping the future is like killing the process: everything ends at once, and nothing is lost.
    pub async fn run(self: Arc<Self>, cancel: CancellationToken) {
        self.held.store(0, Ordering::Release);
        let (results, filed) = mpsc::channel(EVENTS);
        let done = CancellationToken::new();
        let (dispatching, until) = (dispatch::dispatch(Arc::clone(&self), cancel, results), done.clone());
        let dispatch = async move {
            dispatching.await;
            done.cancel();
        };
        futures::join!(
            dispatch,
            dispatch::file(Arc::clone(&self), filed),
            dispatch::renew(Arc::clone(&self), until)
        );
        // Who comes next need not wait for leases of ours to end.
        if let Err(error) = self.store.give_back(&self.options.owner, self.now()).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "nodes could not be given back"
            );
        }
    }

    fn now(&self) -> i64 {
        self.options.clock.microseconds()
    }

    /// When a lease that is taken now ends.
    fn lease_end(&self) -> i64 {
        let lease = i64::try_from(self.options.lease.as_micros()).unwrap_or(i64::MAX);
        self.now().saturating_add(lease)
    }

    fn tell(&self, event: Event) {
        // That nobody listens is not an error.
        let _ = self.events.send(event);
    }
}
