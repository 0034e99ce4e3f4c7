//! Callers that a cluster knows: `TokenReview` says who, `SubjectAccessReview` whether they may.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec},
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::{cache::Cache, rules::Rule};

/// Microseconds for which a known caller and what they may do is believed. A token that is taken back lives no longer.
const KNOWN: i64 = 10_000_000;
/// The same for a token that is not known, so that a client with a wrong one makes little work.
const UNKNOWN: i64 = 5_000_000;

/// So long the cluster may take to answer. A caller waits that long, and their connection is taken meanwhile.
const ANSWER: Duration = Duration::from_secs(5);

/// The group of the resources that callers need rights on.
const GROUP: &str = "berth.dev";

/// A cluster that is asked about callers. It needs the right to create `tokenreviews` and `subjectaccessreviews`, as
/// the cluster role `system:auth-delegator` has it.
pub struct ClusterAccess {
    tokens: Api<TokenReview>,
    access: Api<SubjectAccessReview>,
    callers: Cache<Fingerprint, Option<Arc<Identity>>>,
    answers: Cache<(Fingerprint, &'static str), bool>,
}

/// A token's hash: the cache keeps no tokens.
type Fingerprint = [u8; 32];

impl fmt::Debug for ClusterAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterAccess").finish_non_exhaustive()
    }
}

/// A caller as the cluster knows them.
#[derive(Debug)]
struct Identity {
    user: String,
    uid: Option<String>,
    groups: Option<Vec<String>>,
    extra: Option<BTreeMap<String, Vec<String>>>,
}

/// A caller whom the cluster knows.
#[derive(Clone, Debug)]
pub(super) struct Reviewed {
    identity: Arc<Identity>,
    fingerprint: Fingerprint,
}

impl Reviewed {
    pub(super) fn user(&self) -> &str {
        &self.identity.user
    }
}

/// Why the cluster could not be asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReviewError {
    #[error("The cluster cannot be asked who the caller is")]
    Token(#[source] Box<kube::Error>),
    #[error("The cluster cannot be asked what the caller may do")]
    Access(#[source] Box<kube::Error>),
    #[error("The cluster does not answer")]
    Silent,
    /// It was not asked, because the address of the caller has shown too many wrong tokens.
    #[error("too many wrong tokens")]
    Slowed,
}

impl ClusterAccess {
    /// Asks the cluster of this client.
    pub fn new(client: Client) -> Self {
        Self {
            tokens: Api::all(client.clone()),
            access: Api::all(client),
            callers: Cache::new(),
            answers: Cache::new(),
        }
    }

    /// Whose token it is. One that is slowed is not asked about, only remembered.
    pub(super) async fn review(&self, token: &str, now: i64, is_slowed: bool) -> Result<Option<Reviewed>, ReviewError> {
        let fingerprint: Fingerprint = Sha256::digest(token.as_bytes()).into();
        let known = self.callers.get(&fingerprint, now);
        let identity = match known {
            Some(identity) => identity,
            None if is_slowed => return Err(ReviewError::Slowed),
            None => {
                let identity = self.ask_whose(token).await?.map(Arc::new);
                let lifetime = if identity.is_some() { KNOWN } else { UNKNOWN };
                let until = now.saturating_add(lifetime);
                self.callers.insert(fingerprint, identity.clone(), until, now);
                identity
            }
        };
        Ok(identity.map(|identity| Reviewed { identity, fingerprint }))
    }

    async fn ask_whose(&self, token: &str) -> Result<Option<Identity>, ReviewError> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                audiences: None,
            },
            ..TokenReview::default()
        };
        let parameters = PostParams::default();
        let reviewed = timeout(ANSWER, self.tokens.create(&parameters, &review)).await;
        let status = reviewed
            .map_err(|_| ReviewError::Silent)?
            .map_err(|error| ReviewError::Token(Box::new(error)))?
            .status
            .unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        Ok(user.and_then(|user| {
            Some(Identity {
                user: user.username.filter(|name| !name.is_empty())?,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
            })
        }))
    }

    /// Whether a caller has a right.
    pub(super) async fn allows(&self, caller: &Reviewed, rule: &'static Rule, now: i64) -> Result<bool, ReviewError> {
        let key = (caller.fingerprint, rule.name);
        if let Some(answer) = self.answers.get(&key, now) {
            return Ok(answer);
        }
        let identity = &caller.identity;
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(identity.user.clone()),
                uid: identity.uid.clone(),
                groups: identity.groups.clone(),
                extra: identity.extra.clone(),
                resource_attributes: Some(ResourceAttributes {
                    group: Some(GROUP.to_owned()),
                    resource: Some(rule.resource.to_owned()),
                    verb: Some(rule.verb.to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let parameters = PostParams::default();
        let reviewed = timeout(ANSWER, self.access.create(&parameters, &review)).await;
        let status = reviewed
            .map_err(|_| ReviewError::Silent)?
            .map_err(|error| ReviewError::Access(Box::new(error)))?
            .status;
        let allowed = status.is_some_and(|status| status.allowed && status.denied != Some(true));
        self.answers.insert(key, allowed, now.saturating_add(KNOWN), now);
        Ok(allowed)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;

    use super::{super::rules, *};

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_does_not_answer_is_not_waited_for() {
        // It says who somebody is, and then stops answering.
        let service = tower::service_fn(|request: Request<Body>| async move {
            let sent = request.into_body().collect_bytes().await?;
            if !String::from_utf8_lossy(&sent).contains("known") {
                return std::future::pending().await;
            }
            let answer = json!({
                "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {},
                "status": {"authenticated": true, "user": {"username": "vera"}},
            });
            Ok::<_, tower::BoxError>(Response::new(Body::from(answer.to_string().into_bytes())))
        });
        let access = ClusterAccess::new(Client::new(service, "default"));
        let vera = access.review("known", 0, false).await.unwrap().unwrap();
        let patience = ANSWER * 2;
        let whether = timeout(patience, access.allows(&vera, &rules::WATCH_ACTIONS, 0)).await;
        assert!(matches!(whether, Ok(Err(ReviewError::Silent))), "{whether:?}");
        let who = timeout(patience, access.review("another", 0, false)).await;
        assert!(matches!(who, Ok(Err(ReviewError::Silent))), "{who:?}");
    }
}
