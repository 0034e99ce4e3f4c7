//! Callers that a cluster knows: `TokenReview` says who, `SubjectAccessReview` whether they may.

use std::{collections::BTreeMap, fmt, sync::Arc};

use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec},
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use sha2::{Digest, Sha256};

use super::{cache::Cache, rules::Rule};

/// Microseconds for which a known caller and what they may do is believed. A token that is taken back lives no longer.
const KNOWN: i64 = 10_000_000;
/// The same for a token that is not known, so that a client with a wrong one makes little work.
const UNKNOWN: i64 = 5_000_000;

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
        let reviewed = self.tokens.create(&PostParams::default(), &review).await;
        let status = reviewed
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
        let reviewed = self.access.create(&PostParams::default(), &review).await;
        let status = reviewed.map_err(|error| ReviewError::Access(Box::new(error)))?.status;
        let allowed = status.is_some_and(|status| status.allowed && status.denied != Some(true));
        self.answers.insert(key, allowed, now.saturating_add(KNOWN), now);
        Ok(allowed)
    }
}
