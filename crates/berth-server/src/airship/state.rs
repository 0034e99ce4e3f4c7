//! What every handler has at hand.

use std::{fmt, sync::Arc, time::Duration};

use berth_repository::{Configdocs, DocumentRules, Repository};

use super::auth::Auth;
use crate::limiter::Limiter;

/// Tells the time in microseconds since 1970. It is passed in, so that tests choose it.
pub type ApiClock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Makes names that nobody else has: of requests, and of those who hold a lock.
pub type IdSource = Arc<dyn Fn() -> String + Send + Sync>;

/// How much a client may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiLimits {
    /// The most bytes of a request's body.
    pub body_bytes: usize,
    /// How long a request may take, its body included.
    pub request_time: Duration,
}

impl Default for ApiLimits {
    fn default() -> Self {
        Self {
            body_bytes: 64 << 20,
            request_time: Duration::from_mins(1),
        }
    }
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
    clock: ApiClock,
    ids: IdSource,
}

impl ApiState {
    /// A repository, the rules that its commits follow, and the world around.
    pub fn new(
        repository: Arc<Repository>,
        rules: Arc<dyn DocumentRules>,
        auth: Auth,
        clock: ApiClock,
        ids: IdSource,
    ) -> Self {
        Self {
            configdocs: Configdocs::new(Arc::clone(&repository), rules),
            repository,
            auth,
            refusals: Arc::default(),
            limits: ApiLimits::default(),
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

    pub(super) fn now(&self) -> i64 {
        (self.clock)()
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
