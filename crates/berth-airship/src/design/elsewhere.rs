//! Designs at another Deckhand, which are fetched only where one was configured.

use std::{fmt, sync::Arc, time::Duration};

use axum::http::StatusCode;
use futures::future::BoxFuture;
use tokio::time::timeout;

use super::{plain, refusal};
use crate::{endpoint::Family, problem::Problem, state::ApiState};

/// So long a design may take to come. The caller waits that long, and their connection is taken meanwhile.
const ANSWER: Duration = Duration::from_secs(30);

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
    pub(crate) async fn design(&self, family: Family, revision: u64, token: Option<String>) -> Result<String, Problem> {
        let fetched = timeout(ANSWER, (self.fetch)(revision, token)).await;
        let why = match fetched {
            Ok(Ok(text)) => return Ok(text),
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
}

/// Refuses a design that does not say what the committed revision says.
pub(super) async fn compare(
    state: &ApiState,
    family: Family,
    committed: u64,
    text: String,
    place: &str,
) -> Result<(), Problem> {
    let wrong = |message: String| refusal(family, StatusCode::BAD_REQUEST, super::TITLE, message);
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
