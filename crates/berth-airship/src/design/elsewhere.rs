//! Designs at another Deckhand, which are fetched only where one was configured.

use std::{fmt, sync::Arc, time::Duration};

use axum::http::StatusCode;
use futures::future::BoxFuture;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{plain, refusal};
use crate::{endpoint::Family, problem::Problem, state::ApiState};

/// So long a design may take to come. The caller waits that long, and their connection is taken meanwhile.
const ANSWER: Duration = Duration::from_secs(30);

/// How many designs of a Deckhand are here at a time, from the request for one until it was compared: each may be large.
const AT_ONCE: usize = 2;

/// How many requests may wait for their turn or have it. Further ones are sent away at once.
const WAITING: usize = 16;

/// How many documents that differ are named.
const NAMED: usize = 5;

/// Fetches the rendered documents of a revision. The token is the caller's, where both sides ask the same Keystone about it.
pub type FetchDesign = Arc<
    dyn Fn(u64, Option<String>) -> BoxFuture<'static, Result<String, Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Sync,
>;

/// Another Deckhand, whose designs tasks may name.
#[derive(Clone)]
pub struct OtherDeckhand {
    scheme: String,
    authority: String,
    fetch: FetchDesign,
    queue: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

/// Documents of another Deckhand. They have one of the few places for such until they are dropped.
#[derive(Debug)]
pub(crate) struct Fetched {
    text: String,
    turn: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

impl Fetched {
    /// The documents, and what is to be dropped once they were used.
    pub(crate) fn take(self) -> (String, impl Send + use<>) {
        (self.text, self.turn)
    }
}

impl fmt::Debug for OtherDeckhand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtherDeckhand")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

impl OtherDeckhand {
    /// A Deckhand of this scheme (`http` or `https`), host and port, and how to fetch from it.
    pub fn new(scheme: impl Into<String>, authority: impl Into<String>, fetch: FetchDesign) -> Self {
        Self {
            scheme: scheme.into(),
            authority: authority.into(),
            fetch,
            queue: Arc::new(Semaphore::new(WAITING)),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Whether an address is at this server. What is fetched is never the address of the caller.
    pub(super) fn is_at(&self, scheme: &str, authority: &str) -> bool {
        let scheme = scheme.strip_prefix("deckhand+").unwrap_or(scheme);
        scheme == self.scheme && plain(authority) == plain(&self.authority)
    }

    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// The rendered documents of a revision.
    pub(crate) async fn design(
        &self,
        family: Family,
        revision: u64,
        token: Option<String>,
    ) -> Result<Fetched, Problem> {
        let fetched = timeout(ANSWER, self.in_turn(revision, token)).await;
        let why = match fetched {
            Ok(Ok(fetched)) => return Ok(fetched),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("it did not answer within {} seconds", ANSWER.as_secs()),
        };
        tracing::warn!(deckhand = %self.authority, revision, %why, "a design cannot be fetched");
        let message = format!("revision {revision} of {} cannot be fetched: {why}", self.authority);
        Err(refusal(
            family,
            StatusCode::SERVICE_UNAVAILABLE,
            "Deckhand Error",
            message,
        ))
    }

    /// Fetches when it is the request's turn. The time for it includes the wait.
    async fn in_turn(
        &self,
        revision: u64,
        token: Option<String>,
    ) -> Result<Fetched, Box<dyn std::error::Error + Send + Sync>> {
        let queued = Arc::clone(&self.queue).try_acquire_owned();
        let queued = queued.map_err(|_| format!("{WAITING} requests for its designs wait already; try again later"))?;
        let turn = Arc::clone(&self.turns).acquire_owned().await?;
        Ok(Fetched {
            text: (self.fetch)(revision, token).await?,
            turn: (queued, turn),
        })
    }
}

/// Refuses a design that does not say what the committed revision says.
pub(super) async fn compare(
    state: &ApiState,
    family: Family,
    committed: u64,
    fetched: Fetched,
    place: &str,
) -> Result<(), Problem> {
    let wrong = |message: String| refusal(family, StatusCode::BAD_REQUEST, super::TITLE, message);
    let (text, _turn) = fetched.take();
    let differences = state.configdocs.design_differences(committed, text).await;
    let differences =
        differences.map_err(|error| wrong(format!("the documents at {place} cannot be used: {error}")))?;
    if differences.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = differences.iter().take(NAMED).map(ToString::to_string).collect();
    let more = differences.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    Err(wrong(format!(
        "the design at {place} is not what is applied: {}{more}. Labels come from the committed revision {committed} of this server: \
         load and commit the documents of that design here first",
        named.join("; ")
    )))
}
