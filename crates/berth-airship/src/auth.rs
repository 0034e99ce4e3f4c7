//! Who asks, and what they may do.
//!
//! Every route names the rule that it asks for. A caller shows a token, as `Authorization: Bearer` or `X-Auth-Token`. Either a
//! file says which role the token has, or a cluster says whose it is and whether they may.

mod cache;
mod cluster;
mod keystone;
pub(super) mod rules;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use berth_listen::EventStream;
use berth_repository::Secrets;
use berth_tokens::{Limiter, Pace, Role, TokenStore};
use futures::StreamExt as _;
use jiff::Timestamp;

pub use self::{
    cluster::ClusterAccess,
    keystone::{AskKeystone, KeystoneAccess, KeystoneAnswer, RolePolicy},
};
use self::{
    cluster::{ReviewError, Reviewed},
    keystone::KeystoneError,
    rules::Rule,
};
use super::{body::Parameters, endpoint::Family, media_type, problem::Problem, state::ApiState};

/// How often the caller of a stream of events is checked again.
const CHECK_STREAMS: Duration = Duration::from_mins(1);

/// How callers are known.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Auth {
    /// They are not: whoever reaches the server may do everything. Good for a loopback address only.
    None,
    /// By tokens of a file, each with a role.
    Tokens(Arc<TokenStore>),
    /// By the tokens of a cluster, which is asked what each caller may do.
    Kubernetes(Arc<ClusterAccess>),
    /// By the tokens of an `OpenStack` Keystone, whose roles say what each caller may do.
    Keystone(Arc<KeystoneAccess>),
}

/// Where a request comes from. The listener puts it into the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Who asks. Every handler can have it.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    user: Arc<str>,
    rights: Rights,
    may_see_secrets: bool,
}

#[derive(Clone, Debug)]
enum Rights {
    All,
    Role(Role),
    /// None at all: known, and without a role that counts.
    Nothing,
    Cluster(Arc<ClusterAccess>, Reviewed),
}

impl Caller {
    /// A name for records. It is never a secret.
    pub(super) fn user(&self) -> &str {
        &self.user
    }

    /// How secrets are shown to a caller who asks for them, or does not.
    pub(super) const fn secrets(&self, cleartext_asked: bool) -> Secrets {
        Secrets::asked(cleartext_asked && self.may_see_secrets)
    }

    /// Nothing if the caller has a right, else the refusal.
    pub(super) async fn require(&self, rule: &'static Rule, family: Family, now: i64) -> Result<(), Problem> {
        match self.may(rule, now).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                tracing::info!(user = &*self.user, rule = rule.name, "a caller may not do this");
                Err(forbidden(family, rule))
            }
            Err(error) => Err(unreviewed(family, &error)),
        }
    }

    async fn may(&self, rule: &'static Rule, now: i64) -> Result<bool, ReviewError> {
        match &self.rights {
            Rights::All => Ok(true),
            Rights::Role(own) => Ok(*own >= rule.role),
            Rights::Nothing => Ok(false),
            Rights::Cluster(access, reviewed) => access.allows(reviewed, rule, now).await,
        }
    }
}

/// What stands before one route.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) state: ApiState,
    pub(super) family: Family,
    /// The type of the body that the route reads, if it reads one.
    pub(super) reads: Option<&'static str>,
    /// The rule; nothing for a route that is open to everybody.
    pub(super) rule: Option<&'static Rule>,
    /// The rule for secrets in cleartext, where the route can show them.
    pub(super) reveals: Option<&'static Rule>,
}

/// Finds out who asks and whether they may, before the handler of a route runs.
pub(super) async fn pass(
    State(gate): State<Gate>,
    parameters: Parameters,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(rule) = gate.rule else {
        return next.run(request).await;
    };
    // A body is none that may be shared among threads, so what is needed of the request is taken out.
    let peer = request.extensions().get::<Peer>().copied();
    let token = token(request.headers()).map(str::to_owned);
    let admitted = admit(&gate, rule, &parameters, token.as_deref(), peer).await;
    let admitted = admitted.and_then(|caller| {
        media_type::check(gate.family, request.method(), request.headers(), gate.reads).map(|()| caller)
    });
    match admitted {
        Ok(caller) => {
            tracing::debug!(user = caller.user(), rule = rule.name, "a caller may do this");
            request.extensions_mut().insert(caller);
            let response = next.run(request).await;
            if response.extensions().get::<EventStream>().is_none() {
                return response;
            }
            let refused = refused(gate, rule, parameters, token, peer);
            response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(refused))))
        }
        Err(problem) => problem.into_response(),
    }
}

/// Returns when a caller would not be let in any more: tokens expire and are taken back while streams are open.
async fn refused(gate: Gate, rule: &'static Rule, parameters: Parameters, token: Option<String>, peer: Option<Peer>) {
    loop {
        tokio::time::sleep(CHECK_STREAMS).await;
        let admitted = admit(&gate, rule, &parameters, token.as_deref(), peer).await;
        if admitted.is_err() {
            return;
        }
    }
}

async fn admit(
    gate: &Gate,
    rule: &'static Rule,
    parameters: &Parameters,
    token: Option<&str>,
    peer: Option<Peer>,
) -> Result<Caller, Problem> {
    let (state, family) = (&gate.state, gate.family);
    let now = match state.auth {
        // Nobody is asked, so nobody needs to know the time.
        Auth::None => 0,
        Auth::Tokens(_) | Auth::Kubernetes(_) | Auth::Keystone(_) => state.now(),
    };
    let mut caller = identify(state, family, token, peer, now).await?;
    caller.require(rule, family, now).await?;
    let is_asked = parameters
        .get("cleartext-secrets")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if let Some(reveals) = gate.reveals.filter(|_| is_asked) {
        // Shipyard refuses who may not see secrets; Deckhand shows everything else.
        caller.may_see_secrets = match caller.require(reveals, family, now).await {
            Ok(()) => true,
            Err(problem) if family != Family::Deckhand => return Err(problem),
            Err(_) => false,
        };
    }
    Ok(caller)
}

async fn identify(
    state: &ApiState,
    family: Family,
    token: Option<&str>,
    peer: Option<Peer>,
    now: i64,
) -> Result<Caller, Problem> {
    let caller = |user: &str, rights| Caller {
        user: Arc::from(user),
        rights,
        may_see_secrets: false,
    };
    let refuse = |why: &str| Err(unauthenticated(family, &state.refusals, peer, now, why));
    match (&state.auth, token) {
        (Auth::None, _) => Ok(caller("anonymous", Rights::All)),
        (_, None) => refuse("no token was shown"),
        (Auth::Tokens(store), Some(token)) => {
            let (store, token, at) = (Arc::clone(store), token.to_owned(), moment(now));
            // The file may have to be read again, which blocks.
            let checked = tokio::task::spawn_blocking(move || store.role(&token, at)).await;
            match checked {
                Ok(Ok(Ok(grant))) => Ok(caller(grant.user(), Rights::Role(grant.role))),
                Ok(Ok(Err(denial))) => refuse(&denial.to_string()),
                Ok(Err(error)) => Err(unreadable(family, &error)),
                Err(error) => Err(unreadable(family, &error)),
            }
        }
        (Auth::Kubernetes(access), Some(token)) => {
            // An address that guesses makes no work for the cluster; tokens that are known to be good still pass.
            let is_slowed = peer.is_some_and(|Peer(peer)| state.refusals.has_too_many(peer.ip(), moment(now)));
            match access.review(token, now, is_slowed).await {
                Ok(Some(reviewed)) => {
                    let user = reviewed.user().to_owned();
                    Ok(caller(&user, Rights::Cluster(Arc::clone(access), reviewed)))
                }
                Ok(None) => refuse("the cluster does not know the token"),
                Err(error) => Err(unreviewed(family, &error)),
            }
        }
        (Auth::Keystone(access), Some(token)) => {
            let is_slowed = peer.is_some_and(|Peer(peer)| state.refusals.has_too_many(peer.ip(), moment(now)));
            match access.review(token, now, is_slowed).await {
                Ok(Some(known)) => Ok(caller(&known.user, known.role.map_or(Rights::Nothing, Rights::Role))),
                Ok(None) => refuse("Keystone does not know the token"),
                Err(KeystoneError::Slowed) => Err(slowed(family)),
                Err(error) => Err(unreachable(family, &error, "Keystone Error")),
            }
        }
    }
}

fn moment(microseconds: i64) -> Timestamp {
    Timestamp::from_microsecond(microseconds).unwrap_or(Timestamp::MAX)
}

/// The token of a request, in either form. It goes nowhere but to those who check it, and to a configured Deckhand that asks the
/// same Keystone.
pub(super) fn token(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.to_str().ok()?.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let token = bearer.or_else(|| headers.get("x-auth-token")?.to_str().ok().map(str::trim));
    token.filter(|token| !token.is_empty())
}

fn unauthenticated(family: Family, refusals: &Limiter, peer: Option<Peer>, now: i64, why: &str) -> Problem {
    let pace = peer.map_or(Pace::Fine, |Peer(peer)| refusals.refused(peer.ip(), moment(now)));
    let from = peer.map(|Peer(peer)| peer.to_string()).unwrap_or_default();
    match pace {
        Pace::Fine => tracing::info!(from, why, "a caller is not known"),
        Pace::JustTooMany => tracing::warn!(from, "too many unknown callers from this address; no more are logged"),
        Pace::TooMany => {}
    }
    if pace == Pace::Fine {
        let challenge = HeaderValue::from_static("Bearer realm=\"berth\"");
        return Problem::access(
            family,
            StatusCode::UNAUTHORIZED,
            "Unauthenticated",
            "Credentials are not established",
        )
        .with_header(WWW_AUTHENTICATE, challenge);
    }
    slowed(family)
}

fn forbidden(family: Family, rule: &Rule) -> Problem {
    match family {
        Family::Deckhand => Problem::deckhand(
            StatusCode::FORBIDDEN,
            "PolicyNotAuthorized",
            format!("Policy doesn't allow {} to be performed.", rule.name),
        ),
        _ => Problem::access(
            family,
            StatusCode::FORBIDDEN,
            "Forbidden",
            "Credentials do not permit access",
        ),
    }
}

/// Whoever cannot be checked is not let in.
fn unreviewed(family: Family, error: &ReviewError) -> Problem {
    if matches!(error, ReviewError::Slowed) {
        return slowed(family);
    }
    unreachable(family, error, "Kubernetes API Error")
}

fn unreachable(family: Family, error: &(dyn std::error::Error + 'static), title: &'static str) -> Problem {
    tracing::error!(error, "callers cannot be checked");
    Problem::access(family, StatusCode::SERVICE_UNAVAILABLE, title, &error.to_string())
        .retry()
        .with_header(RETRY_AFTER, HeaderValue::from_static("5"))
}

fn slowed(family: Family) -> Problem {
    Problem::access(
        family,
        StatusCode::TOO_MANY_REQUESTS,
        "Too Many Requests",
        "Too many requests without valid credentials came from this address; wait a minute",
    )
    .retry()
    .with_header(RETRY_AFTER, HeaderValue::from_static("60"))
}

fn unreadable(family: Family, error: &(dyn std::error::Error + 'static)) -> Problem {
    tracing::error!(error, "tokens cannot be checked");
    Problem::access(
        family,
        StatusCode::SERVICE_UNAVAILABLE,
        "Service Unavailable",
        "The tokens cannot be read",
    )
    .retry()
}
