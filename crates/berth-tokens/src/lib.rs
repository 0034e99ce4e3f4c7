//! Bearer tokens: who may fetch which config, and what somebody may do in the API.
//!
//! ```text
//! berth token create ──► file ◄── server: verify ──► build the answer ──► consume (single use) ──► send
//! ```
//!
//! A token is 256 random bits, so a plain SHA-256 of it is safe at rest. It is bound to a pool, a node or nothing, and may
//! end at a time. A token for single use is consumed by the first GET that is answered with a config, and that is on
//! disk before the answer leaves.
//!
//! **Retries.** A reply can be lost on its way, and Ignition then asks again. A token that is strictly for once would
//! leave such a machine without a config forever. So for [`GRACE`] seconds after its first use a token still opens the
//! same thing to the same address, and nothing else.

mod file;
mod limiter;
mod secret;
mod store;

use std::{fmt, net::IpAddr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use file::TokenError;
pub use limiter::{Limiter, Pace};
pub use secret::Secret;
pub use store::TokenStore;

/// Seconds during which the first user of a single-use token may repeat the request.
pub const GRACE: i64 = 300;

/// What a token opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenScope {
    /// Everything.
    Any,
    /// The config of this pool, and those of the nodes in it.
    Pool(String),
    /// The config of this node.
    Node(String),
    /// The API, with the rights of a role, and no config.
    Role(Role),
}

/// What a token may do in the API; each may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Read everything but secrets.
    Viewer,
    /// Load, commit and relabel, too.
    Operator,
    /// See secrets and remove revisions, tags and tasks, too.
    Admin,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        })
    }
}

/// A token that the API was shown and knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleGrant {
    /// The token's name.
    pub id: String,
    /// What it may do.
    pub role: Role,
    /// The word for people.
    pub comment: String,
}

impl RoleGrant {
    /// Who uses it, for records: the word for people where there is one.
    pub fn user(&self) -> &str {
        if self.comment.is_empty() {
            &self.id
        } else {
            &self.comment
        }
    }
}

impl TokenScope {
    /// Whether it opens this target.
    pub fn covers(&self, target: Target<'_>) -> bool {
        match (self, target) {
            (Self::Any, _) => true,
            (Self::Pool(own), Target::Pool(pool)) => own == pool,
            // A node that nobody knows is in no other pool; "unknown" is the more useful answer.
            (Self::Pool(own), Target::Node { pool, .. }) => pool.is_none_or(|pool| own == pool),
            (Self::Node(own), Target::Node { name, .. }) => own == name,
            (Self::Node(_), Target::Pool(_)) | (Self::Role(_), _) => false,
        }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any pool and node"),
            Self::Pool(pool) => write!(f, "pool {pool}"),
            Self::Node(node) => write!(f, "node {node}"),
            Self::Role(role) => write!(f, "the API as {role}"),
        }
    }
}

/// What somebody wants to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// The config of a pool.
    Pool(&'a str),
    /// The config of one node.
    Node {
        /// The node.
        name: &'a str,
        /// Its pool, if the node is known.
        pool: Option<&'a str>,
    },
}

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool(pool) => write!(f, "pool {pool}"),
            Self::Node { name, .. } => write!(f, "node {name}"),
        }
    }
}

/// A target that can be taken to another thread.
#[derive(Clone, Debug)]
pub enum OwnedTarget {
    /// The config of a pool.
    Pool(String),
    /// The config of a node.
    Node {
        /// The node.
        name: String,
        /// Its pool, if it has one.
        pool: Option<String>,
    },
}

impl From<Target<'_>> for OwnedTarget {
    fn from(target: Target<'_>) -> Self {
        match target {
            Target::Pool(name) => Self::Pool(name.to_owned()),
            Target::Node { name, pool } => Self::Node {
                name: name.to_owned(),
                pool: pool.map(str::to_owned),
            },
        }
    }
}

impl OwnedTarget {
    /// The target itself.
    pub fn as_target(&self) -> Target<'_> {
        match self {
            Self::Pool(name) => Target::Pool(name),
            Self::Node { name, pool } => Target::Node {
                name,
                pool: pool.as_deref(),
            },
        }
    }
}

/// What a new token shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// What it opens.
    pub scope: TokenScope,
    /// When it ends; never, if not given.
    pub expires: Option<Timestamp>,
    /// Whether the first config fetched with it is the last.
    pub single_use: bool,
    /// A word for people, shown in the list.
    pub comment: String,
}

/// A token that was just made. The secret is shown now or never.
#[derive(Clone, Debug)]
pub struct CreatedToken {
    /// The name by which it is listed, logged and revoked. It opens nothing.
    pub id: String,
    /// What the machine sends.
    pub secret: Secret,
}

/// A token as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    /// The name by which it is listed, logged and revoked.
    pub id: String,
    /// What it opens.
    pub scope: TokenScope,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends.
    pub expires: Option<Timestamp>,
    /// Whether it is for single use.
    pub single_use: bool,
    /// The word for people.
    pub comment: String,
    /// Its first use, if it is for single use.
    pub used: Option<TokenUse>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// The use of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenUse {
    /// When.
    pub at: Timestamp,
    /// By which address.
    pub from: IpAddr,
    /// For what.
    pub target: String,
}

/// Whether a token still opens anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// It does.
    Valid,
    /// It was for single use.
    Used,
    /// Its time is over.
    Expired,
    /// Somebody took it back.
    Revoked,
}

impl TokenInfo {
    /// Whether the token still opens anything.
    pub fn state(&self, now: Timestamp) -> TokenState {
        if self.revoked.is_some() {
            TokenState::Revoked
        } else if self.expires.is_some_and(|end| end <= now) {
            TokenState::Expired
        } else if self.used.is_some() {
            TokenState::Used
        } else {
            TokenState::Valid
        }
    }

    /// The verdict on somebody who has shown the secret of this token.
    pub(crate) fn judge(&self, target: Target<'_>, from: IpAddr, now: Timestamp) -> Verdict {
        let denial = match self.state(now) {
            TokenState::Revoked => Denial::Revoked,
            TokenState::Expired => Denial::Expired,
            _ if !self.scope.covers(target) => Denial::OtherTarget {
                scope: self.scope.clone(),
            },
            TokenState::Used if !self.may_repeat(target, from, now) => Denial::Used,
            TokenState::Used | TokenState::Valid => {
                return Verdict::Granted(Grant {
                    id: self.id.clone(),
                    single_use: self.single_use,
                });
            }
        };
        Verdict::Denied(denial)
    }

    fn may_repeat(&self, target: Target<'_>, from: IpAddr, now: Timestamp) -> bool {
        self.used.as_ref().is_some_and(|used| {
            let age = now.as_second() - used.at.as_second();
            (0..GRACE).contains(&age) && used.from == from.to_canonical() && used.target == target.to_string()
        })
    }
}

/// Whether a token opens a target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It does.
    Granted(Grant),
    /// It does not.
    Denied(Denial),
}

/// A token that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The token's name.
    pub id: String,
    /// Whether it must be consumed before the answer is sent.
    pub single_use: bool,
}

/// Why a token does not open something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// It is none that this store has issued. A wrong secret is not told from an unknown name.
    #[error("the token is not known")]
    Unknown,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Somebody took it back.
    #[error("the token was revoked")]
    Revoked,
    /// It was for single use and was used.
    #[error("the token was for single use and has been used")]
    Used,
    /// It opens something else.
    #[error("the token is for {scope}")]
    OtherTarget {
        /// What it opens.
        scope: TokenScope,
    },
}

#[cfg(test)]
mod tests;
