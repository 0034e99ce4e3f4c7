//! Callers that an `OpenStack` Keystone knows: it says whose a token is and which roles they have, and a policy says what a role
//! may do here.

use std::{fmt, sync::Arc, time::Duration};

use berth_tokens::Role;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::cache::Cache;

/// Microseconds for which a known caller is believed. A token that is taken back lives no longer.
const KNOWN: i64 = 10_000_000;
/// The same for a token that is not known, so that a client with a wrong one makes little work.
const UNKNOWN: i64 = 5_000_000;
/// So long Keystone may take to answer. A caller waits that long, and their connection is taken meanwhile.
const ANSWER: Duration = Duration::from_secs(5);

/// What Keystone says of a token: the body of its answer to `GET /v3/auth/tokens`, or nothing for a token that it does not know.
pub type KeystoneAnswer = Result<Option<Value>, Box<dyn std::error::Error + Send + Sync>>;

/// Asks Keystone about a token.
pub type AskKeystone = Arc<dyn Fn(String) -> BoxFuture<'static, KeystoneAnswer> + Send + Sync>;

/// Which of Berth's roles each role of Keystone has. The strongest one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolePolicy(Vec<(String, Role)>);

impl Default for RolePolicy {
    /// What the charts of Airship set: administrators may do everything, viewers may read.
    fn default() -> Self {
        Self::new([
            ("admin".to_owned(), Role::Admin),
            ("admin_ucp".to_owned(), Role::Admin),
            ("admin_ucp_viewer".to_owned(), Role::Viewer),
        ])
    }
}

impl RolePolicy {
    /// These roles and no others.
    pub fn new(roles: impl IntoIterator<Item = (String, Role)>) -> Self {
        Self(roles.into_iter().collect())
    }

    fn strongest<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<Role> {
        let role = |name: &str| self.0.iter().find(|(known, _)| known == name).map(|(_, role)| *role);
        names.filter_map(role).max()
    }
}

/// A Keystone that is asked about callers.
pub struct KeystoneAccess {
    ask: AskKeystone,
    policy: RolePolicy,
    callers: Cache<[u8; 32], Option<KeystoneCaller>>,
}

impl fmt::Debug for KeystoneAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeystoneAccess")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Whom Keystone knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeystoneCaller {
    pub(super) user: Arc<str>,
    /// Nothing for somebody without any role that counts here.
    pub(super) role: Option<Role>,
}

/// Why Keystone could not be asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeystoneError {
    #[error("Keystone cannot be asked who the caller is")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("Keystone does not answer")]
    Silent,
    #[error("Keystone's answer about a token cannot be read: it names no user")]
    Unreadable,
    /// It was not asked, because the address of the caller has shown too many wrong tokens.
    #[error("too many wrong tokens")]
    Slowed,
}

impl KeystoneAccess {
    /// A Keystone that is asked in this way, and what its roles may do.
    pub fn new(ask: AskKeystone, policy: RolePolicy) -> Self {
        Self {
            ask,
            policy,
            callers: Cache::new(),
        }
    }

    /// Whose token it is. One that is slowed is not asked about, only remembered.
    pub(super) async fn review(
        &self,
        token: &str,
        now: i64,
        is_slowed: bool,
    ) -> Result<Option<KeystoneCaller>, KeystoneError> {
        // The cache keeps no tokens.
        let fingerprint: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.callers.get(&fingerprint, now) {
            return Ok(known);
        }
        if is_slowed {
            return Err(KeystoneError::Slowed);
        }
        let answer = timeout(ANSWER, (self.ask)(token.to_owned())).await;
        let answer = answer
            .map_err(|_| KeystoneError::Silent)?
            .map_err(KeystoneError::Unreachable)?;
        let (caller, lifetime) = match answer {
            None => (None, UNKNOWN),
            Some(body) => {
                let (caller, expires) = self.read(&body).ok_or(KeystoneError::Unreadable)?;
                // Keystone would not have known one that is over, but clocks differ.
                let left = expires.map_or(KNOWN, |expires| expires.saturating_sub(now));
                (Some(caller), left.clamp(0, KNOWN))
            }
        };
        self.callers
            .insert(fingerprint, caller.clone(), now.saturating_add(lifetime), now);
        Ok(caller)
    }

    fn read(&self, body: &Value) -> Option<(KeystoneCaller, Option<i64>)> {
        let token = body.get("token")?;
        let user = token.pointer("/user/name")?.as_str().filter(|user| !user.is_empty())?;
        let roles = token.get("roles").and_then(Value::as_array);
        let names = roles
            .into_iter()
            .flatten()
            .filter_map(|role| role.get("name")?.as_str());
        let expires = token.get("expires_at").and_then(Value::as_str);
        let expires = expires.and_then(|text| text.parse::<Timestamp>().ok());
        let caller = KeystoneCaller {
            user: Arc::from(user),
            role: self.policy.strongest(names),
        };
        Some((caller, expires.map(Timestamp::as_microsecond)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    /// The answer of Keystone 30.0.0 about a token that asks about itself, without the catalogue. A token without a scope has neither
    /// `project` nor `roles`.
    fn recorded(roles: &[&str]) -> Value {
        let roles: Vec<Value> = roles
            .iter()
            .map(|name| json!({"id": format!("id-of-{name}"), "name": name}))
            .collect();
        json!({"token": {
            "methods": ["password"],
            "user": {"domain": {"id": "default", "name": "Default"}, "id": "f4b1", "name": "vera", "password_expires_at": null},
            "audit_ids": ["Vb3d"],
            "expires_at": "2026-11-18T08:00:30.000000Z",
            "issued_at": "2026-11-18T07:00:00.000000Z",
            "project": {"domain": {"id": "default", "name": "Default"}, "id": "9a2c", "name": "service"},
            "is_domain": false,
            "roles": roles,
        }})
    }

    fn access(answer: impl Fn(&str) -> KeystoneAnswer + Send + Sync + 'static) -> (KeystoneAccess, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let ask: AskKeystone = Arc::new(move |token| {
            counter.fetch_add(1, Ordering::SeqCst);
            let answer = answer(&token);
            Box::pin(async move { answer })
        });
        (KeystoneAccess::new(ask, RolePolicy::default()), asked)
    }

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_microsecond()
    }

    #[tokio::test]
    async fn the_strongest_role_counts_and_other_roles_give_nothing() {
        for (roles, role) in [
            (&["admin"][..], Some(Role::Admin)),
            (&["admin_ucp_viewer", "member"], Some(Role::Viewer)),
            (&["admin_ucp_viewer", "admin_ucp"], Some(Role::Admin)),
            (&["member", "reader"], None),
            (&[], None),
        ] {
            let roles: Vec<&str> = roles.to_vec();
            let answer = recorded(&roles);
            let (access, _) = access(move |_| Ok(Some(answer.clone())));
            let vera = access
                .review("t", at("2026-11-18T07:10:00Z"), false)
                .await
                .unwrap()
                .unwrap();
            assert_eq!((&*vera.user, vera.role), ("vera", role), "{roles:?}");
        }
    }

    #[tokio::test]
    async fn an_answer_is_kept_for_a_while_and_never_beyond_the_token() {
        let (access, asked) = access(|token| Ok((token == "good").then(|| recorded(&["admin"]))));
        let count = || asked.load(Ordering::SeqCst);
        let early = at("2026-11-18T07:10:00Z");
        access.review("good", early, false).await.unwrap().unwrap();
        access.review("good", early + KNOWN - 1, false).await.unwrap().unwrap();
        assert_eq!(count(), 1);
        access.review("good", early + KNOWN, false).await.unwrap().unwrap();
        assert_eq!(count(), 2);
        let late = at("2026-11-18T08:00:25Z");
        access.review("good", late, false).await.unwrap().unwrap();
        access.review("good", at("2026-11-18T08:00:30Z"), false).await.unwrap();
        assert_eq!(count(), 4, "the token was over, so Keystone was asked");
        assert_eq!(access.review("bad", late, false).await.unwrap(), None);
        assert_eq!(access.review("bad", late + UNKNOWN - 1, false).await.unwrap(), None);
        assert_eq!(count(), 5);
        let slowed = access.review("worse", late, true).await;
        assert!(matches!(slowed, Err(KeystoneError::Slowed)), "{slowed:?}");
        assert_eq!(count(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_keystone_that_does_not_answer_lets_nobody_in() {
        let silent: AskKeystone = Arc::new(|_| Box::pin(std::future::pending()));
        let silent = KeystoneAccess::new(silent, RolePolicy::default());
        assert!(matches!(silent.review("t", 0, false).await, Err(KeystoneError::Silent)));
        let (gone, _) = access(|_| Err("connection refused".into()));
        assert!(matches!(
            gone.review("t", 0, false).await,
            Err(KeystoneError::Unreachable(_))
        ));
        let mut unscoped = recorded(&[]);
        for key in ["project", "is_domain", "roles"] {
            unscoped["token"].as_object_mut().unwrap().remove(key);
        }
        let (without, _) = access(move |_| Ok(Some(unscoped.clone())));
        let nobody = without.review("t", at("2026-11-18T07:10:00Z"), false).await;
        assert_eq!(nobody.unwrap().unwrap().role, None);
        let (odd, _) = access(|_| Ok(Some(json!({"token": {"roles": [{"name": "admin"}]}}))));
        assert!(matches!(
            odd.review("t", 0, false).await,
            Err(KeystoneError::Unreadable)
        ));
    }
}
