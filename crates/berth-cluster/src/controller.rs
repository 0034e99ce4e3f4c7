//! The controllers: watches fill a [`cache`](self), one engine decides, a few writers write.
//!
//! ```text
//! watch Node, Berth, LabelRule, MachineConfigPool, CertificateSigningRequest, TokenBinding, Lease (kubelets)
//!   └──► ClusterChange ──► Engine ── decide (pure) ──► Job ──► writer ──► Done ──► Engine
//!                     ▲                                   ▲
//!                  documents                            claim (lease)
//! ```
//!
//! The engine owns all state and runs in one task. It decides about a node when something about it changed, never twice
//! at once about the same node, and only when every watch has been read to its end once. Many nodes are looked at in
//! parts, so that what the first ones need is written meanwhile.

mod engine;
mod health;
mod heartbeats;
mod kept;
mod machines;
mod metrics;
mod news;
mod policies;
mod pools;
mod state;
mod tokens;
mod units;
mod watches;
mod writer;

pub(crate) use self::{machines::MACHINE_KINDS, news::is_older, writer::node_reference};

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use berth_clock::Clock;
use berth_labels::{ConflictPolicy, Flavour};
use berth_listen::{ListenError, ListenOptions, Server};
use berth_nodes::Pace;
use berth_site::Site;
use kube::Client;
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::info;

use self::{
    engine::Engine,
    heartbeats::Heartbeats,
    metrics::Metrics,
    pools::{Mailbox, PoolEngine},
};
use crate::{
    admission::FailurePolicy,
    lease::{Claim, LeaseOptions, campaign},
    vital::Vital,
};

/// How many changes may wait for the engine before the watches wait for it.
const CHANGES: usize = 4096;

/// The pauses after writes that failed.
const RETRIES: Pace = Pace {
    first: Duration::from_millis(200),
    longest: Duration::from_mins(1),
};

/// What the controllers do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Labels, Berths and pre-registration; rendering and rollout are left to the Machine Config Operator.
    #[default]
    Labels,
    /// Rendering, rollout, drains and clean-up of rendered configs too.
    Full,
}

/// How pools are kept in full mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// So long nothing must have changed before a pool is rendered: several changes give one rendered config.
    pub settle: Duration,
    /// So long a rendered config is kept that nobody refers to. A machine may have been given it at boot and not have
    /// registered yet.
    pub keep_unused: Duration,
    /// The first wait when a Pod may not be evicted; each further one is twice as long.
    pub first_drain_retry: Duration,
    /// The longest of these waits.
    pub longest_drain_retry: Duration,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            settle: Duration::from_secs(2),
            keep_unused: Duration::from_hours(24),
            first_drain_retry: Duration::from_secs(1),
            longest_drain_retry: Duration::from_secs(30),
        }
    }
}

/// How to run.
#[derive(Clone)]
pub struct Options {
    /// What to do.
    pub mode: Mode,
    /// How pools are kept, where the mode is full.
    pub pools: PoolOptions,
    /// Decide about certificate requests of kubelets with reserved names.
    pub approve: bool,
    /// Make a Berth for every Node that has none.
    pub adopt: bool,
    /// Whose kubelet and API server rules hold, whatever the documents say.
    pub flavour: Option<Flavour>,
    /// What to do with keys that somebody else set to another value.
    pub conflicts: ConflictPolicy,
    /// Let a change take away more than a tenth of all owned labels.
    pub allow_mass_removal: bool,
    /// Leader election; without it this is the only replica.
    pub lease: Option<LeaseOptions>,
    /// Where health and metrics are served.
    pub listen: Option<SocketAddr>,
    /// Documents from which Berths are reserved: the site of the committed revision, and again after every commit.
    pub documents: Option<watch::Receiver<Arc<Site>>>,
    /// Keep the admission policies, and what happens to a Node when they cannot be evaluated.
    pub admission: Option<FailurePolicy>,
    /// How many writes run at once.
    pub writers: usize,
    /// Tells the time.
    pub clock: Clock,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("mode", &self.mode)
            .field("approve", &self.approve)
            .field("adopt", &self.adopt)
            .field("flavour", &self.flavour)
            .field("lease", &self.lease)
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Whose kubelet and API server rules hold. Everything that runs asks here.
    pub fn flavour(&self) -> Flavour {
        match &self.documents {
            Some(documents) => documents.borrow().flavour_for(self.flavour),
            None => self.flavour.unwrap_or_default(),
        }
    }

    /// The defaults, with a clock.
    pub fn new(clock: Clock) -> Self {
        Self {
            mode: Mode::Labels,
            pools: PoolOptions::default(),
            approve: false,
            adopt: true,
            flavour: None,
            conflicts: ConflictPolicy::Report,
            allow_mass_removal: false,
            lease: None,
            listen: None,
            documents: None,
            admission: Some(FailurePolicy::Ignore),
            writers: 32,
            clock,
        }
    }
}

/// Why the controllers stopped.
#[derive(Debug, Error)]
pub enum RunError {
    /// The port for health and metrics cannot be opened.
    #[error("health and metrics cannot be served")]
    Listen(#[source] ListenError),
    /// A task panicked, without which the controllers would go on blindly.
    #[error("the task `{task}` of the controllers panicked, which is a bug of Berth; its log has the place")]
    Panicked {
        /// The task.
        task: &'static str,
    },
}

/// Runs the controllers until `shutdown`. Writes that are under way are finished, and the lease is given back.
pub async fn run(client: Client, options: Options, shutdown: CancellationToken) -> Result<(), RunError> {
    // Whoever drops this future ends all that it started.
    let shutdown = shutdown.child_token();
    let _ends_with_this = shutdown.clone().drop_guard();
    let metrics = Metrics::new();
    let health = health::Health::default();
    let tasks = Vital::new(shutdown.clone());
    // Those that write.
    let writers = Vital::new(shutdown.clone());
    if let Some(address) = options.listen {
        let listen = ListenOptions {
            plain: Some(address),
            ..ListenOptions::default()
        };
        let service = health::HealthService {
            health: health.clone(),
            metrics: metrics.clone(),
        };
        let server = Server::bind(listen, service).await.map_err(RunError::Listen)?;
        tasks.spawn("health", server.run(shutdown.clone().cancelled_owned()));
    }
    let (changes, received) = mpsc::channel(CHANGES);
    let mailbox = (options.mode == Mode::Full).then(Mailbox::default);
    let heartbeats = Heartbeats::default();
    let lease = options.lease.as_ref();
    let namespace = lease.map_or_else(|| client.default_namespace(), |lease| lease.namespace.as_str());
    let mut watching = watches::all(&client, &changes, mailbox.as_ref(), namespace);
    let beats = heartbeats::watch(
        client.clone(),
        changes.clone(),
        heartbeats.clone(),
        options.clock.clone(),
    );
    watching.push(Box::pin(beats));
    watching.push(Box::pin(units::follow(
        client.clone(),
        changes.clone(),
        options.clone(),
    )));
    for watching in watching {
        let shutdown = shutdown.clone();
        tasks.spawn("watch", async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = watching => {}
            }
        });
    }
    drop(changes);
    // The lease outlives the engine by the time it needs to finish its writes.
    let lease_shutdown = CancellationToken::new();
    let _lease_ends_too = lease_shutdown.clone().drop_guard();
    let claims = match options.lease.clone() {
        Some(lease) => {
            let (sender, claims) = watch::channel(Claim::default());
            let campaign = campaign(
                client.clone(),
                lease,
                options.clock.clone(),
                sender,
                lease_shutdown.clone(),
            );
            tasks.spawn("lease", campaign);
            Some(claims)
        }
        None => None,
    };
    let wanted = options.admission.map(|_| {
        let (sender, wanted) = watch::channel(None);
        let keeping = policies::keep(client.clone(), wanted, claims.clone(), shutdown.clone());
        writers.spawn("policies", keeping);
        sender
    });
    if options.approve {
        let clock = options.clock.clone();
        writers.spawn(
            "tokens",
            tokens::collect(client.clone(), claims.clone(), clock, shutdown.clone()),
        );
    }
    info!(mode = ?options.mode, approve = options.approve, "the controllers start");
    if let Some(mailbox) = mailbox {
        let engine = PoolEngine::new(client.clone(), options.clone(), claims.clone(), metrics.clone());
        writers.spawn("pools", engine.run(mailbox, shutdown.clone()));
    }
    let mut engine = Engine::new(client, options, claims, metrics, health, wanted);
    engine.listen_to(heartbeats);
    Box::pin(writers.run("labels", engine.run(received, shutdown.clone()))).await;
    shutdown.cancel();
    // The lease is given back when nothing of this replica is under way any more.
    let panicked = writers.ended().await;
    lease_shutdown.cancel();
    let panicked = panicked.or(tasks.ended().await);
    info!("the controllers have stopped");
    panicked.map_or(Ok(()), |task| Err(RunError::Panicked { task }))
}

#[cfg(test)]
mod tests {
    use berth_documents::DocumentSet;
    use serde_json::json;

    use super::*;

    #[test]
    fn one_flavour_holds_for_everything_that_runs() {
        let region = json!({
            "schema": "drydock/Region/v1",
            "metadata": {"schema": "metadata/Document/v1", "name": "r", "labels": {"berth.dev/flavour": "openshift"}},
            "data": {},
        });
        let set = DocumentSet::of_objects([&region]);
        let site = berth_site::load(&set.sources, &set.documents).0;
        let (sender, documents) = watch::channel(Arc::new(site));
        let mut options = Options::new(Clock::stopped(jiff::Timestamp::UNIX_EPOCH));
        assert_eq!(options.flavour(), Flavour::Upstream, "nobody says it");
        options.documents = Some(documents);
        assert_eq!(options.flavour(), Flavour::Openshift, "the documents say it");
        options.flavour = Some(Flavour::Upstream);
        assert_eq!(options.flavour(), Flavour::Upstream, "what was asked for counts more");
        options.flavour = None;
        sender.send_replace(Arc::default());
        assert_eq!(options.flavour(), Flavour::Upstream, "documents change");
    }

    /// Whatever breaks in a watch, the controllers do not go on without it.
    #[tokio::test]
    async fn controllers_with_a_watch_that_panics_end() {
        type Answer = Result<http::Response<kube::client::Body>, tower::BoxError>;
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| {
            futures::future::lazy(|_| -> Answer { panic!("as a test does") })
        });
        let client = Client::new(service, "default");
        for mode in [Mode::Labels, Mode::Full] {
            let mut options = Options::new(Clock::stopped(jiff::Timestamp::UNIX_EPOCH));
            options.mode = mode;
            options.admission = None;
            let ended = Box::pin(run(client.clone(), options, CancellationToken::new())).await;
            assert!(matches!(ended, Err(RunError::Panicked { task: "watch" })), "{ended:?}");
        }
    }
}
