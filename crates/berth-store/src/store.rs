//! The one trait of all stores.

use std::{collections::BTreeMap, fmt, path::Path, sync::Arc};

use async_trait::async_trait;
use berth_documents::deckhand::{DeckhandDocument, RedactionKey};
use serde_json::Value;

use crate::{
    check::CheckReport,
    document::StoredDocument,
    error::Error,
    revision::{PutResult, Revision, RevisionFilter, StagedVersions, ValidationRecord, Write},
};

/// A store of revisions.
///
/// Writes happen one after the other, also those of several processes, so none is lost: a writer waits for the one
/// before it. A caller that has read something and writes what follows from it gives the revision it read as
/// [`Write::base`] and gets [`Conflict::Stale`](crate::Conflict::Stale) if somebody else was faster. Reads never wait,
/// and each sees one state of the store.
///
/// Times are microseconds since 1970 and come from the caller.
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// The key of the hashes that stand for secrets in replies.
    fn redaction_key(&self) -> RedactionKey;

    /// Replaces everything in a bucket and makes a new revision; other buckets stay as they are.
    ///
    /// A document that did not change keeps the number of the revision where it last did. A new revision is made also
    /// when nothing changed; only emptying an empty bucket makes none.
    ///
    /// # Errors
    /// [`Conflict`](crate::Conflict) when another bucket has one of the documents, the request has a document twice, it
    /// brings a second `LayeringPolicy`, or [`Write::base`] is not the newest revision. [`Error::NoSealingKey`] when a
    /// document asks to be sealed and the store has no key. [`Error::Name`] and [`Error::TooDeep`] for what cannot be
    /// stored.
    async fn put_bucket(
        &self,
        bucket: &str,
        documents: &[Arc<DeckhandDocument>],
        write: Write,
    ) -> Result<PutResult, Error>;

    /// Makes a new revision with the documents of an earlier one; 0 is the empty revision.
    ///
    /// A document that is the same in the newest revision shows the number of the revision gone back to, as Deckhand
    /// does; others show the new one.
    ///
    /// # Errors
    /// [`Error::RevisionNotFound`], and [`Conflict::Stale`](crate::Conflict::Stale) as for
    /// [`put_bucket`](Self::put_bucket).
    async fn rollback(&self, to: u64, write: Write) -> Result<PutResult, Error>;

    /// Removes all revisions with their documents, tags and validations. The next revision is number 1 again.
    async fn delete_all(&self) -> Result<(), Error>;

    /// The number of the newest revision; 0 when there is none.
    async fn latest(&self) -> Result<u64, Error>;

    /// Revisions, oldest first.
    async fn revisions(&self, filter: &RevisionFilter) -> Result<Vec<Revision>, Error>;

    /// One revision.
    ///
    /// # Errors
    /// [`Error::RevisionNotFound`].
    async fn revision(&self, id: u64) -> Result<Revision, Error>;

    /// The documents of a revision in the order in which they were written; 0 is the empty revision.
    ///
    /// # Errors
    /// [`Error::RevisionNotFound`], and [`Error::Damaged`] when sealed data was changed behind the store's back.
    async fn documents(&self, revision: u64) -> Result<Vec<StoredDocument>, Error>;

    /// Sets a tag of a revision, new or again.
    ///
    /// # Errors
    /// [`Error::RevisionNotFound`], [`Error::Name`].
    async fn put_tag(&self, revision: u64, tag: &str, data: &Value) -> Result<(), Error>;

    /// The data of one tag.
    ///
    /// # Errors
    /// [`Error::RevisionNotFound`], [`Error::TagNotFound`].
    async fn tag(&self, revision: u64, tag: &str) -> Result<Value, Error>;

    /// All tags of a revision.
    ///
    /// # Errors
    /// [`Error::RevisionNotFound`].
    async fn tags(&self, revision: u64) -> Result<BTreeMap<String, Value>, Error>;

    /// Takes one tag away.
    ///
    /// # Errors
    /// [`Error::RevisionNotFound`], [`Error::TagNotFound`].
    async fn delete_tag(&self, revision: u64, tag: &str) -> Result<(), Error>;

    /// Takes all tags of a revision away.
    ///
    /// # Errors
    /// [`Error::RevisionNotFound`].
    async fn delete_tags(&self, revision: u64) -> Result<(), Error>;

    /// Files the report of a validation.
    ///
    /// # Errors
    /// [`Error::RevisionNotFound`], [`Error::Name`].
    async fn add_validation(
        &self,
        revision: u64,
        name: &str,
        report: &Value,
        now: i64,
    ) -> Result<ValidationRecord, Error>;

    /// All reports of a revision, by name and number.
    ///
    /// # Errors
    /// [`Error::RevisionNotFound`].
    async fn validations(&self, revision: u64) -> Result<Vec<ValidationRecord>, Error>;

    /// Which revisions are in which stage.
    async fn staged(&self) -> Result<StagedVersions, Error>;

    /// Takes a lock until a time, so that a crashed owner does not hold it forever. The owner can take it again to hold
    /// it longer.
    ///
    /// # Errors
    /// [`Conflict::Locked`](crate::Conflict::Locked) when somebody else holds it, [`Error::Name`].
    async fn acquire_lock(&self, name: &str, owner: &str, now: i64, expires_at: i64) -> Result<(), Error>;

    /// Gives a lock back, and says whether it was still the owner's.
    async fn release_lock(&self, name: &str, owner: &str) -> Result<bool, Error>;

    /// Looks through everything that is stored and says what is wrong with it.
    async fn check(&self) -> Result<CheckReport, Error>;

    /// Writes a copy of the store to a new file, while others read and write.
    ///
    /// # Errors
    /// [`Error::File`] when the file exists or cannot be written, [`Error::Unsupported`] when the database has its own
    /// tool for it.
    async fn backup(&self, to: &Path) -> Result<(), Error>;

    /// Gives unused space back. No revision is lost.
    async fn compact(&self) -> Result<(), Error>;
}
