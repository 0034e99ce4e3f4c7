//! Deckhand's operations on a store.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use berth_documents::deckhand::{
    self, BucketChange, DeckhandDocument, DeepDiff, Identity, Query, RenderError, RenderErrors, RenderedDocument,
    SCHEMA_VALIDATION, Violation, validation_entry,
};
use berth_store::{DocumentChange, PutResult, Revision, RevisionFilter, Store, Write};
use serde_json::{Map, Value};

use crate::{
    body::read_documents,
    error::Error,
    filed::FiledDocument,
    revisions::{RevisionQuery, RevisionView},
    snapshots::{Rendering, Snapshot, Snapshots},
    validations::{ValidationEntry, Validations},
    workers::Workers,
};

/// How many revisions are looked through for a layering policy, the newest first.
const POLICY_SEARCH: usize = 100;

/// The kind of document that says which layers there are.
const LAYERING_POLICY: &str = "deckhand/LayeringPolicy/";

/// Documents in revisions, and everything that can be asked of them.
#[derive(Debug)]
pub struct Repository {
    store: Arc<dyn Store>,
    snapshots: Snapshots,
    /// How often everything was deleted here.
    deletions: AtomicU64,
}

/// What names a revision for as long as there is one of its number: numbers start again when everything is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevisionKey {
    /// Its number.
    pub id: u64,
    /// When it was made, in microseconds since 1970.
    pub created_at: i64,
    deletions: u64,
}

/// What a write to a bucket did, or would do.
#[derive(Clone, Debug)]
pub struct Put {
    /// The new revision. Nothing when an empty bucket was emptied again, which makes none.
    pub revision: Option<Revision>,
    /// The documents of the request with the number of the new revision.
    pub documents: Vec<FiledDocument>,
    /// What happened to each document of the request, and which documents are gone.
    pub changes: BTreeMap<Arc<Identity>, DocumentChange>,
    /// How documents of the revision do not meet their schemas. They are stored all the same, and the finding is filed
    /// as a validation. A write that is only tried out is not validated.
    pub violations: Vec<Violation>,
}

impl Repository {
    /// The repository in a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            snapshots: Snapshots::default(),
            deletions: AtomicU64::new(0),
        }
    }

    /// What names the revision that has this number now. Whatever was made of a revision with another key is of one that is
    /// gone.
    ///
    /// # Errors
    /// [`berth_store::Error::RevisionNotFound`].
    pub async fn revision_key(&self, id: u64) -> Result<RevisionKey, Error> {
        let deletions = self.deletions.load(Ordering::SeqCst);
        let created_at = self.store.revision(id).await?.created_at;
        Ok(RevisionKey {
            id,
            created_at,
            deletions,
        })
    }

    /// The store behind it.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Replaces everything in a bucket, and files whether the documents meet their schemas.
    ///
    /// # Errors
    /// As [`Store::put_bucket`].
    pub async fn put_bucket(
        &self,
        bucket: &str,
        documents: &[Arc<DeckhandDocument>],
        write: Write,
    ) -> Result<Put, Error> {
        let mut put = self.put_unvalidated(bucket, documents, write).await?;
        if !write.dry_run {
            put.violations = self.violations_of(&put, write.now).await;
        }
        Ok(put)
    }

    /// Replaces everything in a bucket. Whoever holds a lock for it files the [violations](Self::violations_of) after it has
    /// given the lock back: they may take a while.
    pub(crate) async fn put_unvalidated(
        &self,
        bucket: &str,
        documents: &[Arc<DeckhandDocument>],
        write: Write,
    ) -> Result<Put, Error> {
        let PutResult { revision, changes } = self.store.put_bucket(bucket, documents, write).await?;
        let number = revision.as_ref().map_or(0, |revision| revision.id);
        let bucket: Arc<str> = Arc::from(bucket);
        let redaction = self.store.redaction_key();
        let filed = documents.iter().map(|document| {
            FiledDocument::as_written(Arc::clone(document), redaction.clone(), Arc::clone(&bucket), number)
        });
        Ok(Put {
            documents: filed.collect(),
            changes,
            violations: Vec::new(),
            revision,
        })
    }

    /// How the documents of a new revision do not meet their schemas, which is filed.
    pub(crate) async fn violations_of(&self, put: &Put, now: i64) -> Vec<Violation> {
        match &put.revision {
            Some(revision) => self.file_violations(revision, now).await.unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// The documents of a text, all of whose mistakes are reported together. It is read on a thread for what takes a while.
    ///
    /// # Errors
    /// [`Error::Body`], [`Error::Read`]
    pub async fn read_documents(&self, text: String) -> Result<Vec<Arc<DeckhandDocument>>, Error> {
        self.snapshots.workers().run(move || read_documents(&text)).await?
    }

    /// The threads for what takes a while.
    pub(crate) const fn workers(&self) -> &Workers {
        self.snapshots.workers()
    }

    /// The revision is there when this runs. What goes wrong here must not look as if it were not, and the report follows
    /// from the documents: whoever asks for it gets it all the same.
    async fn file_violations(&self, revision: &Revision, now: i64) -> Result<Vec<Violation>, Error> {
        let snapshot = self.snapshots.read(self.store.as_ref(), revision).await?;
        let violations = self.snapshots.violations_as_written(&snapshot).await?.to_vec();
        let report = validation_entry(&violations);
        self.store
            .add_validation(revision.id, SCHEMA_VALIDATION, &report, now)
            .await?;
        Ok(violations)
    }

    /// Makes a new revision with the documents of an earlier one; 0 is the empty revision.
    ///
    /// # Errors
    /// As [`Store::rollback`].
    pub async fn rollback(&self, to: u64, write: Write) -> Result<PutResult, Error> {
        let result = self.store.rollback(to, write).await?;
        if let Some(revision) = result.revision.as_ref().filter(|_| !write.dry_run) {
            let _ = self.file_violations(revision, write.now).await;
        }
        Ok(result)
    }

    /// Removes everything.
    ///
    /// # Errors
    /// As [`Store::delete_all`].
    pub async fn delete_all(&self) -> Result<(), Error> {
        let deleted = self.store.delete_all().await;
        self.deletions.fetch_add(1, Ordering::SeqCst);
        // Also when it is not known whether they are gone: what is not kept is read again.
        self.snapshots.forget();
        Ok(deleted?)
    }

    /// Revisions, oldest first unless the query asks for another order.
    ///
    /// # Errors
    /// As [`Store::revisions`].
    pub async fn revisions(&self, query: &RevisionQuery) -> Result<Vec<Revision>, Error> {
        let filter = RevisionFilter {
            tags: query.tags.clone(),
        };
        let mut revisions = self.store.revisions(&filter).await?;
        query.apply(&mut revisions);
        Ok(revisions)
    }

    /// One revision with what its validation policies make of it.
    ///
    /// # Errors
    /// [`berth_store::Error::RevisionNotFound`].
    pub async fn revision(&self, id: u64) -> Result<RevisionView, Error> {
        let revision = self.store.revision(id).await?;
        let (snapshot, validations) = self.validations_of(&revision).await?;
        let report = validations.report(&snapshot);
        Ok(RevisionView { revision, report })
    }

    /// The documents of a revision as they are written.
    ///
    /// # Errors
    /// [`berth_store::Error::RevisionNotFound`].
    pub async fn documents(&self, revision: u64, query: &Query) -> Result<Vec<FiledDocument>, Error> {
        let Some(snapshot) = self.snapshot(revision).await? else {
            return Ok(Vec::new());
        };
        Ok(query.apply(snapshot.documents.clone(), FiledDocument::view))
    }

    /// The documents of a revision after layering and substitution, all of which meet their schemas.
    ///
    /// # Errors
    /// [`berth_store::Error::RevisionNotFound`], [`Error::Render`], [`Error::Invalid`].
    pub async fn rendered_documents(&self, revision: u64, query: &Query) -> Result<Vec<FiledDocument>, Error> {
        let Some(snapshot) = self.snapshot(revision).await? else {
            return Ok(Vec::new());
        };
        sound(&*self.rendered(&snapshot).await?, query)
    }

    /// Renders a revision. Like Deckhand, it takes the layering policy of another revision where this one has none.
    async fn rendered(&self, snapshot: &Arc<Snapshot>) -> Result<Arc<Rendering>, Error> {
        match self.snapshots.render(snapshot).await {
            Err(Error::Render(errors)) if lacks_policy(&errors) => match self.any_policy().await? {
                Some(policy) => self.snapshots.render_with(snapshot, policy).await,
                None => Err(Error::Render(errors)),
            },
            rendering => rendering,
        }
    }

    /// The newest layering policy of any revision.
    async fn any_policy(&self) -> Result<Option<FiledDocument>, Error> {
        let revisions = self.store.revisions(&RevisionFilter::default()).await?;
        for revision in revisions.iter().rev().take(POLICY_SEARCH) {
            let snapshot = self.snapshots.read(self.store.as_ref(), revision).await?;
            let mut documents = snapshot.documents.iter();
            if let Some(policy) = documents.find(|filed| filed.document.schema().starts_with(LAYERING_POLICY)) {
                return Ok(Some(policy.clone()));
            }
        }
        Ok(None)
    }

    /// The documents of a revision as a site is read from them: rendered, or as they are written where there is no
    /// `LayeringPolicy` and no document asks for one. A folder is read in the same way.
    ///
    /// # Errors
    /// As [`rendered_documents`](Self::rendered_documents).
    pub async fn site_documents(&self, revision: u64, query: &Query) -> Result<Vec<FiledDocument>, Error> {
        match self.rendering(revision).await? {
            Some(rendering) => sound(&rendering, query),
            None => Ok(Vec::new()),
        }
    }

    /// What happened to each bucket between two revisions, in whichever order they are given.
    ///
    /// # Errors
    /// [`berth_store::Error::RevisionNotFound`].
    pub async fn diff(&self, one: u64, other: u64) -> Result<BTreeMap<String, BucketChange>, Error> {
        let documents = |snapshot: Option<Arc<Snapshot>>| {
            let filed = snapshot.iter().flat_map(|snapshot| &snapshot.documents);
            filed
                .map(|filed| (filed.bucket.as_ref().to_owned(), Arc::clone(&filed.document)))
                .collect::<Vec<_>>()
        };
        let (before, after) = (
            documents(self.snapshot(one).await?),
            documents(self.snapshot(other).await?),
        );
        Ok(deckhand::diff(
            &deckhand::Revision {
                number: one,
                documents: &before,
            },
            &deckhand::Revision {
                number: other,
                documents: &after,
            },
        ))
    }

    /// What happened to each rendered document from one revision to another. What is secret stays hidden.
    ///
    /// # Errors
    /// [`berth_store::Error::RevisionNotFound`], [`Error::Render`].
    pub async fn deep_diff(&self, from: u64, to: u64) -> Result<DeepDiff, Error> {
        let (before, after) = (self.rendered_by_bucket(from).await?, self.rendered_by_bucket(to).await?);
        let key = self.store.redaction_key();
        let compare = move || {
            deckhand::deep_diff(
                &deckhand::Revision {
                    number: from,
                    documents: &before,
                },
                &deckhand::Revision {
                    number: to,
                    documents: &after,
                },
                &key,
            )
        };
        self.workers().run(compare).await
    }

    async fn rendered_by_bucket(&self, revision: u64) -> Result<Vec<(String, RenderedDocument)>, Error> {
        let Some(rendering) = self.rendering(revision).await? else {
            return Ok(Vec::new());
        };
        let filed = rendering.documents.iter();
        Ok(filed
            .map(|filed| (filed.bucket.as_ref().to_owned(), filed.rendered()))
            .collect())
    }

    /// Sets a tag of a revision, new or again, and gives its data back.
    ///
    /// # Errors
    /// [`Error::TagData`], and as [`Store::put_tag`].
    pub async fn put_tag(&self, revision: u64, tag: &str, data: Option<Value>) -> Result<Value, Error> {
        let data = match data {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(data @ Value::Object(_)) => data,
            Some(other) => {
                return Err(Error::TagData {
                    data: other.to_string(),
                });
            }
        };
        self.store.put_tag(revision, tag, &data).await?;
        Ok(data)
    }

    /// All reports of a revision's validations with what they amount to.
    ///
    /// # Errors
    /// [`berth_store::Error::RevisionNotFound`].
    pub async fn validations(&self, revision: u64) -> Result<Validations, Error> {
        let revision = self.store.revision(revision).await?;
        Ok(self.validations_of(&revision).await?.1)
    }

    /// Files the report of a validation.
    ///
    /// # Errors
    /// [`Error::ValidationPayload`], and as [`Store::add_validation`].
    pub async fn add_validation(
        &self,
        revision: u64,
        name: &str,
        report: Map<String, Value>,
        now: i64,
    ) -> Result<ValidationEntry, Error> {
        let said = |key: &str| report.get(key).is_some_and(|value| !value.is_null() && value != "");
        if !said("status") || !said("validator") {
            return Err(Error::ValidationPayload);
        }
        let record = self
            .store
            .add_validation(revision, name, &Value::Object(report), now)
            .await?;
        Ok(record.into())
    }

    async fn validations_of(&self, revision: &Revision) -> Result<(Arc<Snapshot>, Validations), Error> {
        let snapshot = self.snapshots.read(self.store.as_ref(), revision).await?;
        let records = self.store.validations(revision.id).await?;
        let written = if records.iter().any(|record| record.name == SCHEMA_VALIDATION) {
            None
        } else {
            Some(self.snapshots.violations_as_written(&snapshot).await?)
        };
        let validations = Validations::new(&snapshot, revision, records, written.as_deref());
        Ok((snapshot, validations))
    }

    /// Nothing for revision 0, which is empty and always there.
    async fn snapshot(&self, revision: u64) -> Result<Option<Arc<Snapshot>>, Error> {
        if revision == 0 {
            return Ok(None);
        }
        let revision = self.store.revision(revision).await?;
        Ok(Some(self.snapshots.read(self.store.as_ref(), &revision).await?))
    }

    /// A revision as [`site_documents`](Self::site_documents) reads it, with what is wrong with it.
    pub(crate) async fn rendering(&self, revision: u64) -> Result<Option<Arc<Rendering>>, Error> {
        let Some(snapshot) = self.snapshot(revision).await? else {
            return Ok(None);
        };
        match self.snapshots.render(&snapshot).await {
            // Whatever is complete as it is written needs no policy, and none is looked for.
            Err(Error::Render(errors)) if lacks_policy(&errors) => match self.snapshots.as_written(&snapshot).await? {
                Some(written) => Ok(Some(Arc::new(written))),
                None => self.rendered(&snapshot).await.map(Some),
            },
            rendering => rendering.map(Some),
        }
    }

    /// How many documents the last rendering of this revision had to work out; the rest was known.
    ///
    /// # Errors
    /// As [`rendered_documents`](Self::rendered_documents).
    pub async fn recomputed(&self, revision: u64) -> Result<usize, Error> {
        Ok(self
            .rendering(revision)
            .await?
            .map_or(0, |rendering| rendering.recomputed))
    }
}

fn lacks_policy(errors: &RenderErrors) -> bool {
    errors.iter().all(|error| *error == RenderError::LayeringPolicyNotFound)
}

/// What a query asks for of documents that all meet their schemas.
fn sound(rendering: &Rendering, query: &Query) -> Result<Vec<FiledDocument>, Error> {
    if !rendering.violations.is_empty() {
        return Err(Error::Invalid {
            violations: rendering.violations.clone(),
        });
    }
    Ok(query.apply(rendering.documents.clone(), FiledDocument::view))
}
