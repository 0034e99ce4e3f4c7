//! What every handler has at hand.

use std::{fmt, sync::Arc, time::Duration};

use berth_clock::Clock;
use berth_repository::{Configdocs, DocumentRules, Repository};

use berth_store::ActionStore;
use berth_tokens::Limiter;
use berth_workflow::Workflow;
use tokio_util::sync::CancellationToken;

use super::{auth::Auth, design::OtherDeckhand};

/// Makes names that nobody else has: of requests, and of those who hold a lock.
pub type IdSource = Arc<dyn Fn() -> String + Send + Sync>;

/// How much a client may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiLimits {
    /// The most bytes of a request's body.
    pub body_bytes: usize,
    /// The same for bodies in JSON, which hold parameters and names, and no documents.
    pub json_bytes: usize,
    /// How long a request may take, its body included.
    pub request_time: Duration,
}

impl Default for ApiLimits {
    fn default() -> Self {
        Self {
            body_bytes: 64 << 20,
            json_bytes: 4 << 20,
            request_time: Duration::from_mins(1),
        }
    }
}

/// What there is to relabel with.
#[derive(Clone)]
pub(super) enum Relabelling {
    /// Nothing.
    Nowhere,
    /// Actions are kept, and nobody carries them out here.
    Stored {
        store: Arc<dyn ActionStore>,
        /// Why not.
        why: Arc<str>,
    },
    /// Actions are carried out.
    Running(Arc<Workflow>),
}

/// What the routes work on. Clones share everything.
#[derive(Clone)]
pub struct ApiState {
    pub(super) repository: Arc<Repository>,
    pub(super) configdocs: Configdocs,
    pub(super) auth: Auth,
    /// How often an address has shown no token that is known.
    pub(super) refusals: Arc<Limiter>,
    pub(super) limits: ApiLimits,
    pub(super) relabelling: Relabelling,
    /// Names of this server in references to designs, beside the one that a request was sent to.
    pub(super) design_hosts: Arc<[String]>,
    /// Deckhands from which designs are fetched when a reference names them.
    pub(super) deckhands: Arc<[OtherDeckhand]>,
    /// Streams end when this is cancelled.
    pub(super) ending: CancellationToken,
    clock: Clock,
    ids: IdSource,
}

impl ApiState {
    /// A repository, the rules that its commits follow, and the world around.
    pub fn new(
        repository: Arc<Repository>,
        rules: Arc<dyn DocumentRules>,
        auth: Auth,
        clock: Clock,
        ids: IdSource,
    ) -> Self {
        Self {
            configdocs: Configdocs::new(Arc::clone(&repository), rules),
            repository,
            auth,
            refusals: Arc::default(),
            limits: ApiLimits::default(),
            relabelling: Relabelling::Nowhere,
            design_hosts: Arc::default(),
            deckhands: Arc::default(),
            ending: CancellationToken::new(),
            clock,
            ids,
        }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: ApiLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The same with further names of this server, with or without a port, in references to designs.
    #[must_use]
    pub fn with_design_hosts(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.design_hosts = names.into_iter().collect();
        self
    }

    /// The same with other Deckhands, whose designs are fetched when a reference names them.
    #[must_use]
    pub fn with_deckhands(mut self, deckhands: impl IntoIterator<Item = OtherDeckhand>) -> Self {
        self.deckhands = deckhands.into_iter().collect();
        self
    }

    /// The same with actions, which this workflow carries out.
    #[must_use]
    pub fn with_workflow(mut self, workflow: Arc<Workflow>) -> Self {
        self.relabelling = Relabelling::Running(workflow);
        self
    }

    /// The same with actions that can be looked at, and why there is no cluster to carry new ones out on.
    #[must_use]
    pub fn without_cluster(mut self, store: Arc<dyn ActionStore>, why: impl Into<Arc<str>>) -> Self {
        self.relabelling = Relabelling::Stored { store, why: why.into() };
        self
    }

    /// The same, with streams that end when the token is cancelled, so that they keep no server from ending.
    #[must_use]
    pub fn ending_with(mut self, token: CancellationToken) -> Self {
        self.ending = token;
        self
    }

    pub(super) fn now(&self) -> i64 {
        self.clock.microseconds()
    }

    pub(super) fn new_id(&self) -> String {
        (self.ids)()
    }
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState")
            .field("repository", &self.repository)
            .field("auth", &self.auth)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
