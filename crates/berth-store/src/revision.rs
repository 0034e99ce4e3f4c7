//! What the store takes and gives, documents aside.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use berth_documents::deckhand::Identity;
use serde_json::Value;

use crate::plan::DocumentChange;

/// How to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Write {
    /// The time of the write, in microseconds since 1970.
    pub now: i64,
    /// The newest revision that the caller knows. When another one is the newest by now, nothing is written and the
    /// answer is [`Conflict::Stale`](crate::Conflict::Stale). Without it, the write goes on top of whatever is there.
    pub base: Option<u64>,
    /// Whether only to say what would happen.
    pub dry_run: bool,
}

impl Write {
    /// A write at this time, on top of whatever is there.
    pub const fn at(now: i64) -> Self {
        Self {
            now,
            base: None,
            dry_run: false,
        }
    }

    /// The same write, if this is still the newest revision.
    #[must_use]
    pub const fn on(mut self, base: u64) -> Self {
        self.base = Some(base);
        self
    }

    /// The same write, only tried out.
    #[must_use]
    pub const fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }
}

/// One revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// Its number, from 1 without gaps.
    pub id: u64,
    /// When it was made, in microseconds since 1970.
    pub created_at: i64,
    /// Its tags with their data.
    pub tags: BTreeMap<String, Value>,
    /// The buckets that have documents in it.
    pub buckets: BTreeSet<String>,
}

/// Which revisions to list, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevisionFilter {
    /// Only revisions with at least one of these tags; empty means all revisions.
    pub tags: Vec<String>,
}

impl RevisionFilter {
    pub(crate) fn admits(&self, revision: &Revision) -> bool {
        self.tags.is_empty() || self.tags.iter().any(|tag| revision.tags.contains_key(tag))
    }
}

/// What a write did, or would do.
#[derive(Clone, Debug, PartialEq)]
pub struct PutResult {
    /// The new revision. Nothing when an empty bucket was emptied again, which makes none.
    pub revision: Option<Revision>,
    /// What happened to each document of the request, and which documents are gone, by identity.
    pub changes: BTreeMap<Arc<Identity>, DocumentChange>,
}

/// The versions of a site in its stages, derived from tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StagedVersions {
    /// The newest revision with tag `committed` or `rollback_commit`.
    pub committed: Option<u64>,
    /// The newest revision, when it is newer than the committed one.
    pub buffer: Option<u64>,
    /// The newest revision with tag `site-action-success` or `site-action-failure`.
    pub last_site_action: Option<u64>,
    /// The newest revision with tag `site-action-success`.
    pub successful_site_action: Option<u64>,
}

/// Tags that mark a revision as committed.
pub(crate) const COMMITTED: [&str; 2] = ["committed", "rollback_commit"];
/// The tag of a revision whose site action went well.
pub(crate) const ACTION_SUCCESS: &str = "site-action-success";
/// The tag of a revision whose site action failed.
pub(crate) const ACTION_FAILURE: &str = "site-action-failure";

impl StagedVersions {
    /// From the newest revision and the newest revision of each tag; 0 is none.
    pub(crate) fn derive(latest: u64, newest_with: impl Fn(&[&str]) -> u64) -> Self {
        let some = |id: u64| (id > 0).then_some(id);
        let committed = newest_with(&COMMITTED);
        Self {
            committed: some(committed),
            buffer: some(latest).filter(|&latest| latest > committed),
            last_site_action: some(newest_with(&[ACTION_SUCCESS, ACTION_FAILURE])),
            successful_site_action: some(newest_with(&[ACTION_SUCCESS])),
        }
    }
}

/// One reported validation of a revision.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidationRecord {
    /// The name of the validation.
    pub name: String,
    /// Which report under this name it is, from 0.
    pub entry: u64,
    /// When it was reported, in microseconds since 1970.
    pub created_at: i64,
    /// The report, in the form that the caller gave it.
    pub report: Value,
}
