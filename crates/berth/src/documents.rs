//! Documents in revisions, in a database of this machine or on a server: one set of operations for both.
//!
//! ```text
//! commands ──► Documents ─┬─► Local:  berth-repository in this process, on a database
//!                         └─► Remote: the same operations over HTTP
//! ```
//!
//! Both answer with what Deckhand and Shipyard put on the wire, so that a command prints the same whichever it is.

mod changes;
mod incoming;
mod local;
mod remote;

use berth_api::{Collections, Findings, RevisionSummary, Status};
use berth_clock::Clock;
use berth_repository::{BufferMode, read_shown_site};
use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "up")]
pub(crate) use self::incoming::storable;
pub(crate) use self::{
    changes::{Document, Written, changes},
    incoming::{Incoming, read},
};
use self::{local::Local, remote::Remote};
use crate::{
    args::RepositoryArgs,
    database::IfMissing,
    failure::Failure,
    server::{Answer, Server},
    site::Loaded,
};

/// What loading or committing came to.
pub(crate) type StatusAnswer = Answer<Status<Findings>>;

/// The revisions, wherever they are.
pub(crate) enum Documents {
    Local(Local),
    Remote(Remote),
}

/// One revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revision {
    pub(crate) id: u64,
    /// As RFC 3339 writes it, to the second.
    pub(crate) created: String,
    pub(crate) tags: Vec<String>,
    pub(crate) buckets: Vec<String>,
}

/// The revision of each stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Versions {
    pub(crate) buffer: Option<u64>,
    pub(crate) committed: Option<u64>,
    pub(crate) last_site_action: Option<u64>,
    pub(crate) successful_site_action: Option<u64>,
}

/// How documents are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// After layering and substitution.
    pub(crate) rendered: bool,
    /// With secrets as they are.
    pub(crate) cleartext: bool,
}

impl Documents {
    /// Opens the database or addresses the server.
    pub(crate) async fn open(args: &RepositoryArgs, if_missing: IfMissing, clock: &Clock) -> Result<Self, Failure> {
        Ok(match Server::named(&args.server)? {
            Some(server) => Self::Remote(Remote(server)),
            None => Self::Local(Local::open(&args.database, if_missing, clock).await?),
        })
    }

    /// All revisions, oldest first.
    pub(crate) async fn revisions(&self) -> Result<Vec<Revision>, Failure> {
        let list = match self {
            Self::Local(local) => local.revisions().await?,
            Self::Remote(remote) => remote.revisions().await?,
        };
        Ok(list.results.into_iter().map(Revision::from).collect())
    }

    /// The documents of a revision, with `status`.
    pub(crate) async fn documents(&self, revision: u64, shown: Shown) -> Result<Vec<berth_api::Document>, Failure> {
        if revision == 0 {
            return Ok(Vec::new());
        }
        match self {
            Self::Local(local) => local.documents(revision, shown).await,
            Self::Remote(remote) => remote.documents(revision, shown).await,
        }
    }

    /// The documents of a revision to compare others with. Those who may not see secrets see hashes that only the server can
    /// make, so to them every encrypted document looks changed; the server knows which is.
    pub(crate) async fn to_compare(
        &self,
        revision: u64,
        incoming: &Incoming,
    ) -> Result<Vec<berth_api::Document>, Failure> {
        let shown = Shown {
            cleartext: incoming.has_secrets(),
            ..Shown::default()
        };
        self.documents(revision, shown).await
    }

    /// Replaces the content of a bucket and gives the new revision. `base` is the revision that the caller has looked
    /// at: when somebody has written since, nothing is.
    pub(crate) async fn put(&self, bucket: &str, incoming: &Incoming, base: u64) -> Result<u64, Failure> {
        match self {
            Self::Local(local) => local.put(bucket, incoming, base).await,
            Self::Remote(remote) => remote.put(bucket, incoming, base).await,
        }
    }

    /// Makes a new revision like an earlier one. `base` as for [`put`](Self::put).
    pub(crate) async fn rollback(&self, to: u64, base: u64) -> Result<u64, Failure> {
        match self {
            Self::Local(local) => local.rollback(to, base).await,
            Self::Remote(remote) => remote.rollback(to, base).await,
        }
    }

    /// Sets a tag.
    pub(crate) async fn put_tag(&self, revision: u64, tag: &str, data: Option<&Value>) -> Result<(), Failure> {
        match self {
            Self::Local(local) => local.put_tag(revision, tag, data).await,
            Self::Remote(remote) => remote.put_tag(revision, tag, data).await,
        }
    }

    /// Takes a tag away.
    pub(crate) async fn delete_tag(&self, revision: u64, tag: &str) -> Result<(), Failure> {
        match self {
            Self::Local(local) => local.delete_tag(revision, tag).await,
            Self::Remote(remote) => remote.delete_tag(revision, tag).await,
        }
    }

    /// Loads a collection into the buffer, and gives Shipyard's status document.
    pub(crate) async fn load(
        &self,
        name: &str,
        incoming: &Incoming,
        mode: BufferMode,
    ) -> Result<StatusAnswer, Failure> {
        match self {
            Self::Local(local) => local.load(name, incoming, mode).await,
            Self::Remote(remote) => remote.load(name, incoming, mode).await,
        }
    }

    /// Validates and commits the buffer, and gives Shipyard's status document.
    pub(crate) async fn commit(&self, force: bool, dry_run: bool) -> Result<StatusAnswer, Failure> {
        match self {
            Self::Local(local) => local.commit(force, dry_run).await,
            Self::Remote(remote) => remote.commit(force, dry_run).await,
        }
    }

    /// How every collection stands in two versions, in Shipyard's form.
    pub(crate) async fn collections(&self, versions: Option<&str>) -> Result<Answer<Collections>, Failure> {
        match self {
            Self::Local(local) => local.collections(versions).await,
            Self::Remote(remote) => remote.collections(versions).await,
        }
    }

    /// The documents of a collection.
    pub(crate) async fn collection(
        &self,
        name: &str,
        version: &str,
        cleartext: bool,
    ) -> Result<Vec<berth_api::Document>, Failure> {
        match self {
            Self::Local(local) => local.collection(name, version, cleartext).await,
            Self::Remote(remote) => remote.collection(name, version, cleartext).await,
        }
    }

    /// The number of the newest revision; 0 when there is none.
    pub(crate) async fn latest(&self) -> Result<u64, Failure> {
        Ok(self.revisions().await?.last().map_or(0, |revision| revision.id))
    }

    /// The revision that a word means.
    pub(crate) async fn find(&self, word: &str) -> Result<u64, Failure> {
        let word = word.strip_prefix("revision/").unwrap_or(word);
        let revisions = self.revisions().await?;
        let versions = versions(&revisions);
        let found = if let Ok(number) = word.parse::<u64>() {
            (number == 0 || revisions.iter().any(|revision| revision.id == number)).then_some(number)
        } else {
            let tagged = |revision: &&Revision| revision.tags.iter().any(|tag| tag == word);
            match word {
                "latest" => revisions.last().map(|revision| revision.id),
                "buffer" => versions.buffer,
                "committed" => versions.committed,
                "last_site_action" => versions.last_site_action,
                "successful_site_action" => versions.successful_site_action,
                _ => revisions.iter().rev().find(tagged).map(|revision| revision.id),
            }
        };
        found.ok_or_else(|| Failure::Argument {
            message: match (word.parse::<u64>(), revisions.last()) {
                (Ok(number), Some(newest)) => format!("there is no revision {number}: the newest one is {}", newest.id),
                (Ok(number), None) => format!("there is no revision {number}: nothing was stored yet"),
                (Err(_), _) => format!("there is no revision `{word}`"),
            },
            hint: Some("`berth revisions` lists all revisions and their tags".to_owned()),
        })
    }

    /// The site of a revision, read as servers and controllers read it: without its secrets, except those of machine configs.
    /// One without a `LayeringPolicy` is read as a folder without one is: as it is written.
    pub(crate) async fn site(&self, revision: u64) -> Result<Loaded, Failure> {
        let cleartext = Shown {
            cleartext: true,
            rendered: false,
        };
        let mut documents = self.documents(revision, cleartext).await?;
        let is_layered = documents
            .iter()
            .any(|it| schema(it).starts_with("deckhand/LayeringPolicy/"));
        if is_layered {
            let rendered = Shown {
                rendered: true,
                ..cleartext
            };
            documents = self.documents(revision, rendered).await?;
        }
        let name = |document: &berth_api::Document| format!("revision {revision}: {}", Document::of(document).path());
        Ok(Loaded::of_site(read_shown_site(documents, name)))
    }
}

fn schema(document: &berth_api::Document) -> &str {
    document
        .written
        .get("schema")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

impl From<RevisionSummary> for Revision {
    fn from(summary: RevisionSummary) -> Self {
        let created = &summary.created_at;
        let seconds = created.split(['.', '+']).next().unwrap_or(created);
        Self {
            id: summary.id,
            created: format!("{}Z", seconds.trim_end_matches('Z')),
            tags: summary.tags,
            buckets: summary.buckets,
        }
    }
}

/// The stages, as tags tell them.
pub(crate) fn versions(revisions: &[Revision]) -> Versions {
    let newest = |tags: &[&str]| {
        let has = |revision: &&Revision| revision.tags.iter().any(|tag| tags.contains(&tag.as_str()));
        revisions.iter().rev().find(has).map(|revision| revision.id)
    };
    let committed = newest(&["committed", "rollback_commit"]);
    let latest = revisions.last().map(|revision| revision.id);
    Versions {
        buffer: latest.filter(|latest| committed.is_none_or(|committed| *latest > committed)),
        committed,
        last_site_action: newest(&["site-action-success", "site-action-failure"]),
        successful_site_action: newest(&["site-action-success"]),
    }
}
