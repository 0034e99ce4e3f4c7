//! From request to response.

use std::{
    borrow::Cow,
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use berth_clock::Clock;
use berth_ignition::{SpecVersion, negotiate};
use berth_listen::{Callers, RequestBody, Service};
use berth_tokens::{Grant, Limiter, OwnedTarget, Pace, Target, TokenStore, Verdict};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY},
};
use http_body_util::Full;
use serde_json::json;

use crate::{
    answer::{Answer, Built},
    catalog::{Catalog, CatalogHandle, Found, Question},
    problem::{IgnitionProblem, JSON, json_response},
    refusal::{Refusal, too_many},
    route::Route,
};

/// Who may fetch configs.
#[derive(Clone, Debug)]
pub enum Access {
    /// Whoever can reach the server. Configs hold secrets, so this must be asked for.
    Anonymous,
    /// Whoever shows a token.
    Tokens(Arc<TokenStore>),
}

/// Is told the name of every machine that fetched the config of its own with a token that is good for it: it is about to join.
pub type Observer = Arc<dyn Fn(&str) + Send + Sync>;

/// Answers requests. Clones share everything.
#[derive(Clone)]
pub struct IgnitionService(Arc<Inner>);

struct Inner {
    catalog: CatalogHandle,
    access: Access,
    clock: Clock,
    limiter: Limiter,
    observer: Option<Observer>,
}

impl fmt::Debug for IgnitionService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IgnitionService")
            .field("access", &self.0.access)
            .finish_non_exhaustive()
    }
}

impl Service for IgnitionService {
    type Body = Full<Bytes>;

    fn callers(&self) -> Callers {
        match self.0.access {
            Access::Anonymous => Callers::Anybody,
            Access::Tokens(_) => Callers::Known,
        }
    }

    async fn answer(&self, peer: SocketAddr, request: Request<RequestBody>) -> Response<Full<Bytes>> {
        self.respond(peer.ip(), &request).await
    }
}

/// What is said about a request in the log.
struct Entry<'a> {
    peer: IpAddr,
    target: Target<'a>,
    token: Option<String>,
    version: Option<SpecVersion>,
}

/// A config that may be sent.
struct Reply {
    answer: Arc<Answer>,
    is_known_to_client: bool,
}

impl IgnitionService {
    /// Serves a catalog.
    pub fn new(catalog: CatalogHandle, access: Access, clock: Clock) -> Self {
        Self::with_observer(catalog, access, clock, None)
    }

    /// Serves a catalog, and tells an observer about machines.
    pub fn with_observer(catalog: CatalogHandle, access: Access, clock: Clock, observer: Option<Observer>) -> Self {
        Self(Arc::new(Inner {
            catalog,
            access,
            clock,
            limiter: Limiter::default(),
            observer,
        }))
    }

    /// Answers one request from this address.
    pub async fn respond<B>(&self, peer: IpAddr, request: &Request<B>) -> Response<Full<Bytes>> {
        let is_head = request.method() == Method::HEAD;
        let Some(route) = Route::of(request.uri().path()) else {
            return IgnitionProblem::new(
                StatusCode::NOT_FOUND,
                "unknown-path",
                "there is nothing under this path",
                "ask for /config/<pool>, /node/<name> or /healthz",
            )
            .response(is_head);
        };
        if !is_head && request.method() != Method::GET {
            return IgnitionProblem::method_not_allowed().response(is_head);
        }
        let catalog = self.0.catalog.current();
        let target = match route {
            Route::Health => return health(&catalog, self.0.catalog.stale_reason().as_deref(), is_head),
            Route::Pool(name) => Target::Pool(name),
            Route::Node(name) => Target::Node {
                name,
                pool: catalog.pool_of(name),
            },
        };
        let mut entry = Entry {
            peer: peer.to_canonical(),
            target,
            token: None,
            version: None,
        };
        match self.serve(&catalog, &mut entry, request.headers(), is_head).await {
            Ok(reply) => {
                // Without a token anybody can ask for any name, and that makes no machine.
                if let (Some(observer), Target::Node { name, .. }) = (&self.0.observer, entry.target)
                    && entry.token.is_some()
                    && !is_head
                {
                    observer(name);
                }
                reply.response(is_head)
            }
            Err(refusal) => self.refuse(&catalog, &entry, &refusal).response(is_head),
        }
    }

    async fn serve(
        &self,
        catalog: &Arc<Catalog>,
        entry: &mut Entry<'_>,
        headers: &HeaderMap,
        is_head: bool,
    ) -> Result<Reply, Refusal> {
        let grant = self.authorize(entry, headers)?;
        entry.token = grant.as_ref().map(|grant| grant.id.clone());
        let question = find(catalog, entry.target)?;
        let version = version(headers)?;
        entry.version = Some(version);
        let answer = match question.ready(version) {
            Some(built) => built,
            None => build(catalog, entry.target, version).await?,
        }
        .map_err(|error| Refusal::cannot_write(question.rendered(), version, &error))?;
        let is_known_to_client = matches_etag(headers, &answer.etag);
        // HEAD and "not modified" give nothing away, so the token stays good for the GET that follows.
        if let Some(grant) = grant
            && grant.single_use
            && !is_head
            && !is_known_to_client
        {
            self.consume(grant, entry).await?;
        }
        let reply = Reply {
            answer,
            is_known_to_client,
        };
        log_served(catalog, entry, &question, &reply, is_head);
        Ok(reply)
    }

    fn authorize(&self, entry: &Entry<'_>, headers: &HeaderMap) -> Result<Option<Grant>, Refusal> {
        let Access::Tokens(store) = &self.0.access else {
            return Ok(None);
        };
        let token = bearer(headers)?;
        let verdict = store.verify(token, entry.target, entry.peer, self.0.clock.now())?;
        match verdict {
            Verdict::Granted(grant) => Ok(Some(grant)),
            Verdict::Denied(denial) => Err(Refusal::Token(denial)),
        }
    }

    /// Writes to disk that the token is used up.
    async fn consume(&self, grant: Grant, entry: &Entry<'_>) -> Result<(), Refusal> {
        let Access::Tokens(store) = &self.0.access else {
            return Ok(());
        };
        let (store, peer, now) = (Arc::clone(store), entry.peer, self.0.clock.now());
        let target = OwnedTarget::from(entry.target);
        let work = move || store.consume(&grant.id, target.as_target(), peer, now);
        match run_blocking(work).await?? {
            Verdict::Granted(_) => Ok(()),
            Verdict::Denied(denial) => Err(Refusal::Token(denial)),
        }
    }

    /// Logs a refusal, and slows down those that are refused all the time.
    fn refuse(&self, catalog: &Catalog, entry: &Entry<'_>, refusal: &Refusal) -> IgnitionProblem {
        let mut problem = refusal.problem(entry.target);
        let mut pace = Pace::Fine;
        if refusal.is_about_the_token() {
            pace = self.0.limiter.refused(entry.peer, self.0.clock.now());
        }
        if pace != Pace::Fine {
            problem = too_many(problem);
        }
        if pace != Pace::TooMany {
            log_refused(catalog, entry, &problem);
        }
        problem
    }
}

impl Reply {
    fn status(&self) -> StatusCode {
        if self.is_known_to_client {
            StatusCode::NOT_MODIFIED
        } else {
            StatusCode::OK
        }
    }

    fn response(self, is_head: bool) -> Response<Full<Bytes>> {
        let status = self.status();
        let body = if is_head || self.is_known_to_client {
            Bytes::new()
        } else {
            self.answer.body.clone()
        };
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.reserve(5);
        headers.insert(ETAG, self.answer.etag.clone());
        // The same path has other bytes for other versions, and it holds secrets: caches on the way keep nothing.
        headers.insert(VARY, HeaderValue::from_static("Accept"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        if !self.is_known_to_client {
            headers.insert(CONTENT_TYPE, JSON);
            headers.insert(CONTENT_LENGTH, self.answer.length.clone());
        }
        response
    }
}

/// A server that has something to serve is healthy: taking it away would help nobody. Whether that is the newest is said too.
fn health(catalog: &Catalog, stale: Option<&String>, is_head: bool) -> Response<Full<Bytes>> {
    let body = match (catalog.loading_reason(), stale) {
        (Some(reason), _) => {
            return Refusal::Loading(reason.to_owned())
                .problem(Target::Pool(""))
                .response(is_head);
        }
        (None, None) => json!({"status": "ok"}),
        (None, Some(reason)) => json!({"status": "stale", "reason": reason, "revision": catalog.revision()}),
    };
    json_response(StatusCode::OK, &body, is_head)
}

fn find<'a>(catalog: &'a Catalog, target: Target<'_>) -> Result<Question<'a>, Refusal> {
    let found = match target {
        Target::Pool(name) => catalog.find_pool(name),
        Target::Node { name, .. } => catalog.find_node(name),
    };
    Err(match (found, target) {
        (Found::Config(question), _) => return Ok(question),
        (Found::Loading(reason), _) => Refusal::Loading(reason.to_owned()),
        (Found::NotYet(reason), _) => Refusal::NotYet(reason.to_owned()),
        (Found::Unknown, Target::Pool(_)) => Refusal::Unknown(known("pools", catalog.pools())),
        (Found::Unknown, Target::Node { .. }) => {
            Refusal::Unknown("add the node to the site, or correct the name in the machine's pointer config".to_owned())
        }
    })
}

/// A few names that would have been right.
fn known<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 10;
    let mut names: Vec<_> = names.take(MOST + 1).collect();
    if names.is_empty() {
        return format!("the site has no {what}");
    }
    if names.len() > MOST {
        names.truncate(MOST);
        names.push("…");
    }
    format!("{what}: {}", names.join(", "))
}

fn version(headers: &HeaderMap) -> Result<SpecVersion, Refusal> {
    // A header that is not text is as good as none.
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    Ok(negotiate(accept)?)
}

/// The token in `Authorization: Bearer …`.
fn bearer(headers: &HeaderMap) -> Result<&str, Refusal> {
    let value = headers.get(AUTHORIZATION).ok_or(Refusal::TokenMissing)?;
    let token = value.to_str().ok().and_then(|text| {
        let (scheme, token) = text.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    token.ok_or(Refusal::TokenMalformed)
}

/// Whether the client has these bytes already.
fn matches_etag(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == etag.as_bytes())
}

/// Builds an answer away from the threads that serve the others.
async fn build(catalog: &Arc<Catalog>, target: Target<'_>, version: SpecVersion) -> Result<Built, Refusal> {
    let catalog = Arc::clone(catalog);
    let target = OwnedTarget::from(target);
    let work = move || find(&catalog, target.as_target()).map(|question| question.answer(version));
    run_blocking(work).await?
}

async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(error = &error as &dyn std::error::Error, "a task failed");
        Refusal::Internal
    })
}

fn log_served(catalog: &Catalog, entry: &Entry<'_>, question: &Question<'_>, reply: &Reply, is_head: bool) {
    let bytes = if is_head || reply.is_known_to_client {
        0
    } else {
        reply.answer.body.len()
    };
    tracing::info!(
        machine = %entry.machine(),
        peer = %entry.peer,
        pool = question.pool,
        revision = catalog.revision(),
        rendered = question.rendered(),
        version = entry.version.map(SpecVersion::as_str),
        token = entry.token.as_deref(),
        outcome = "served",
        status = reply.status().as_u16(),
        bytes,
        "config served"
    );
}

fn log_refused(catalog: &Catalog, entry: &Entry<'_>, problem: &IgnitionProblem) {
    tracing::warn!(
        machine = %entry.machine(),
        peer = %entry.peer,
        pool = entry.pool(),
        revision = catalog.revision(),
        version = entry.version.map(SpecVersion::as_str),
        token = entry.token.as_deref(),
        outcome = problem.code,
        status = problem.status.as_u16(),
        reason = problem.message,
        "config refused"
    );
}

impl<'a> Entry<'a> {
    /// The best name there is for who asks.
    fn machine(&self) -> Cow<'a, str> {
        match self.target {
            Target::Pool(_) => self.peer.to_string().into(),
            Target::Node { name, .. } => name.into(),
        }
    }

    fn pool(&self) -> Option<&'a str> {
        match self.target {
            Target::Pool(name) => Some(name),
            Target::Node { pool, .. } => pool,
        }
    }
}

#[cfg(test)]
mod tests;
