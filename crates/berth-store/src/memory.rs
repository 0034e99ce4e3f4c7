//! The store as simple as it can be: whole snapshots in memory.
//!
//! It is the model that the tests hold the databases against, so it shares no logic with them and favours plainness.

mod actions;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use berth_documents::deckhand::{DeckhandDocument, Identity, RedactionKey};
use serde_json::Value;

use crate::{
    body,
    check::CheckReport,
    document::{StoredData, StoredDocument},
    error::{Conflict, Error},
    names,
    plan::{self, DocumentChange},
    revision::{PutResult, Revision, RevisionFilter, StagedVersions, ValidationRecord, Write},
    sealing::process_key,
    store::Store,
};

/// A store that is gone with its process.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    actions: Mutex<actions::Actions>,
    /// Whether documents that ask to be sealed are taken. Nothing is at rest here, so nothing is sealed.
    seals: bool,
}

#[derive(Debug, Default)]
struct State {
    /// Revision n is at index n - 1.
    snapshots: Vec<Snapshot>,
    locks: BTreeMap<String, (String, i64)>,
}

#[derive(Clone, Debug)]
struct Snapshot {
    revision: Revision,
    /// In the order of writing.
    documents: Vec<StoredDocument>,
    validations: BTreeMap<String, Vec<ValidationRecord>>,
}

impl MemoryStore {
    /// An empty store that refuses documents that ask to be sealed, as a store without key does.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that takes documents that ask to be sealed.
    pub fn with_sealing() -> Self {
        Self {
            state: Mutex::default(),
            actions: Mutex::default(),
            seals: true,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A state is replaced in one step, so there is none that a panic could have left half-written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn latest(&self) -> u64 {
        self.snapshots.len() as u64
    }

    fn index(revision: u64) -> Option<usize> {
        usize::try_from(revision).ok()?.checked_sub(1)
    }

    fn snapshot(&self, revision: u64) -> Result<&Snapshot, Error> {
        Self::index(revision)
            .and_then(|index| self.snapshots.get(index))
            .ok_or(Error::RevisionNotFound { revision })
    }

    fn snapshot_mut(&mut self, revision: u64) -> Result<&mut Snapshot, Error> {
        Self::index(revision)
            .and_then(|index| self.snapshots.get_mut(index))
            .ok_or(Error::RevisionNotFound { revision })
    }

    fn documents(&self, revision: u64) -> Result<&[StoredDocument], Error> {
        if revision == 0 {
            return Ok(&[]);
        }
        Ok(&self.snapshot(revision)?.documents)
    }

    fn current(&self) -> &[StoredDocument] {
        self.snapshots.last().map_or(&[], |snapshot| &snapshot.documents)
    }

    fn check_base(&self, write: Write) -> Result<(), Error> {
        let latest = self.latest();
        match write.base {
            Some(expected) if expected != latest => Err(Conflict::Stale { expected, latest }.into()),
            _ => Ok(()),
        }
    }

    /// Makes the revision, unless this is a dry run, and says what changed from the newest one.
    fn push(
        &mut self,
        documents: Vec<StoredDocument>,
        touched: impl Fn(&StoredDocument) -> bool,
        write: Write,
    ) -> PutResult {
        let mut changes = BTreeMap::new();
        for document in documents.iter().filter(|document| touched(document)) {
            let before = self
                .current()
                .iter()
                .find(|before| before.identity == document.identity);
            let change = match before {
                None => DocumentChange::Created,
                Some(before) if is_same(before, document) => DocumentChange::Unmodified,
                Some(_) => DocumentChange::Modified,
            };
            changes.insert(Arc::clone(&document.identity), change);
        }
        for before in self.current() {
            if !documents.iter().any(|document| document.identity == before.identity) {
                changes.insert(Arc::clone(&before.identity), DocumentChange::Deleted);
            }
        }
        let revision = Revision {
            id: self.latest() + 1,
            created_at: write.now,
            tags: BTreeMap::new(),
            buckets: documents.iter().map(|document| document.bucket.clone()).collect(),
        };
        if !write.dry_run {
            self.snapshots.push(Snapshot {
                revision: revision.clone(),
                documents,
                validations: BTreeMap::new(),
            });
        }
        PutResult {
            revision: Some(revision),
            changes,
        }
    }
}

fn is_same(one: &StoredDocument, other: &StoredDocument) -> bool {
    one.data == other.data && one.metadata_hash == other.metadata_hash
}

#[async_trait]
impl Store for MemoryStore {
    fn redaction_key(&self) -> RedactionKey {
        process_key()
    }

    async fn put_bucket(
        &self,
        bucket: &str,
        documents: &[Arc<DeckhandDocument>],
        write: Write,
    ) -> Result<PutResult, Error> {
        plan::check_request(bucket, documents)?;
        let mut state = self.state();
        state.check_base(write)?;
        let current = state.current();
        if documents.is_empty() && current.iter().all(|document| document.bucket != bucket) {
            return Ok(PutResult {
                revision: None,
                changes: BTreeMap::new(),
            });
        }
        let is_policy = |identity: &Arc<Identity>| identity.schema.starts_with("deckhand/LayeringPolicy/");
        let mut policies: Vec<Arc<Identity>> = current.iter().map(|document| Arc::clone(&document.identity)).collect();
        policies.extend(documents.iter().map(|document| Arc::clone(document.identity())));
        policies.retain(is_policy);
        if let Some((existing, new)) = policies.split_first() {
            let new: Vec<_> = new.iter().filter(|identity| *identity != existing).cloned().collect();
            if !new.is_empty() {
                let existing = Arc::clone(existing);
                return Err(Conflict::Singleton { existing, new }.into());
            }
        }
        let revision = state.latest() + 1;
        let mut next: Vec<StoredDocument> = current
            .iter()
            .filter(|document| document.bucket != bucket)
            .cloned()
            .collect();
        let mut changed = Vec::new();
        let mut kept = BTreeSet::new();
        for document in documents {
            let identity = document.identity();
            if let Some(elsewhere) = next.iter().find(|other| other.identity == *identity) {
                return Err(Conflict::Duplicate {
                    identity: Arc::clone(identity),
                    bucket: elsewhere.bucket.clone(),
                }
                .into());
            }
            let new = StoredDocument {
                identity: Arc::clone(identity),
                bucket: bucket.to_owned(),
                revision,
                metadata: Value::clone(document.metadata()),
                metadata_hash: document.metadata_hash().into(),
                data: StoredData::Open(Value::clone(document.data()), document.data_hash().into()),
            };
            if current
                .iter()
                .any(|old| old.identity == new.identity && is_same(old, &new))
            {
                kept.insert(Arc::clone(identity));
            } else if document.is_encrypted() && !self.seals {
                return Err(Error::NoSealingKey {
                    identity: Arc::clone(identity),
                });
            } else {
                changed.push(new);
            }
        }
        // Documents that stay, of all buckets, keep their order; those that changed come after them.
        next = current
            .iter()
            .filter(|document| document.bucket != bucket || kept.contains(&document.identity))
            .cloned()
            .collect();
        next.extend(changed);
        Ok(state.push(next, |document| document.bucket == bucket, write))
    }

    async fn rollback(&self, to: u64, write: Write) -> Result<PutResult, Error> {
        let mut state = self.state();
        state.check_base(write)?;
        let revision = state.latest() + 1;
        let (mut next, mut rewritten) = (Vec::new(), Vec::new());
        for wanted in state.documents(to)? {
            let current = state.current().iter().find(|old| old.identity == wanted.identity);
            let same = current.is_some_and(|current| is_same(current, wanted));
            match current {
                Some(current) if same && current.bucket == wanted.bucket && current.revision == to => {
                    next.push(current.clone());
                }
                _ => {
                    let mut document = wanted.clone();
                    document.revision = if same { to } else { revision };
                    rewritten.push(document);
                }
            }
        }
        // Documents that stay keep the order they have now.
        let place = |document: &StoredDocument| {
            state
                .current()
                .iter()
                .position(|current| current.identity == document.identity)
        };
        next.sort_by_key(place);
        next.extend(rewritten);
        Ok(state.push(next, |_| true, write))
    }

    async fn delete_all(&self) -> Result<(), Error> {
        self.state().snapshots.clear();
        Ok(())
    }

    async fn latest(&self) -> Result<u64, Error> {
        Ok(self.state().latest())
    }

    async fn revisions(&self, filter: &RevisionFilter) -> Result<Vec<Revision>, Error> {
        let state = self.state();
        let revisions = state.snapshots.iter().map(|snapshot| &snapshot.revision);
        Ok(revisions.filter(|revision| filter.admits(revision)).cloned().collect())
    }

    async fn revision(&self, id: u64) -> Result<Revision, Error> {
        Ok(self.state().snapshot(id)?.revision.clone())
    }

    async fn documents(&self, revision: u64) -> Result<Vec<StoredDocument>, Error> {
        Ok(self.state().documents(revision)?.to_vec())
    }

    async fn put_tag(&self, revision: u64, tag: &str, data: &Value) -> Result<(), Error> {
        names::check("the tag", tag)?;
        body::check_depth("the data of a tag", data)?;
        let mut state = self.state();
        let tags = &mut state.snapshot_mut(revision)?.revision.tags;
        tags.insert(tag.to_owned(), data.clone());
        Ok(())
    }

    async fn tag(&self, revision: u64, tag: &str) -> Result<Value, Error> {
        let data = self.state().snapshot(revision)?.revision.tags.get(tag).cloned();
        data.ok_or_else(|| Error::TagNotFound {
            revision,
            tag: tag.to_owned(),
        })
    }

    async fn tags(&self, revision: u64) -> Result<BTreeMap<String, Value>, Error> {
        Ok(self.state().snapshot(revision)?.revision.tags.clone())
    }

    async fn delete_tag(&self, revision: u64, tag: &str) -> Result<(), Error> {
        let deleted = self.state().snapshot_mut(revision)?.revision.tags.remove(tag);
        deleted.map(|_| ()).ok_or_else(|| Error::TagNotFound {
            revision,
            tag: tag.to_owned(),
        })
    }

    async fn delete_tags(&self, revision: u64) -> Result<(), Error> {
        self.state().snapshot_mut(revision)?.revision.tags.clear();
        Ok(())
    }

    async fn add_validation(
        &self,
        revision: u64,
        name: &str,
        report: &Value,
        now: i64,
    ) -> Result<ValidationRecord, Error> {
        names::check("the name of a validation", name)?;
        body::check_depth("the report of a validation", report)?;
        let mut state = self.state();
        let validations = &mut state.snapshot_mut(revision)?.validations;
        let entries = validations.entry(name.to_owned()).or_default();
        let record = ValidationRecord {
            name: name.to_owned(),
            entry: entries.len() as u64,
            created_at: now,
            report: report.clone(),
        };
        entries.push(record.clone());
        Ok(record)
    }

    async fn validations(&self, revision: u64) -> Result<Vec<ValidationRecord>, Error> {
        let state = self.state();
        Ok(state
            .snapshot(revision)?
            .validations
            .values()
            .flatten()
            .cloned()
            .collect())
    }

    async fn staged(&self) -> Result<StagedVersions, Error> {
        let state = self.state();
        let newest_with = |tags: &[&str]| {
            let tagged = |snapshot: &&Snapshot| tags.iter().any(|tag| snapshot.revision.tags.contains_key(*tag));
            state
                .snapshots
                .iter()
                .rev()
                .find(tagged)
                .map_or(0, |found| found.revision.id)
        };
        Ok(StagedVersions::derive(state.latest(), newest_with))
    }

    async fn acquire_lock(&self, name: &str, owner: &str, now: i64, expires_at: i64) -> Result<(), Error> {
        names::check("the lock", name)?;
        names::check("the owner of a lock", owner)?;
        let mut state = self.state();
        if let Some((holder, until)) = state.locks.get(name)
            && holder != owner
            && *until > now
        {
            return Err(Conflict::Locked {
                name: name.to_owned(),
                owner: holder.clone(),
                expires_at: *until,
            }
            .into());
        }
        state.locks.insert(name.to_owned(), (owner.to_owned(), expires_at));
        Ok(())
    }

    async fn release_lock(&self, name: &str, owner: &str) -> Result<bool, Error> {
        let mut state = self.state();
        let held = state.locks.get(name).is_some_and(|(holder, _)| holder == owner);
        if held {
            state.locks.remove(name);
        }
        Ok(held)
    }

    async fn check(&self) -> Result<CheckReport, Error> {
        let state = self.state();
        Ok(CheckReport {
            revisions: state.latest(),
            ..CheckReport::default()
        })
    }

    async fn backup(&self, _to: &Path) -> Result<(), Error> {
        Err(Error::Unsupported {
            what: "a store in memory has no backup",
            instead: "use a store in a file",
        })
    }

    async fn compact(&self) -> Result<(), Error> {
        Ok(())
    }
}
