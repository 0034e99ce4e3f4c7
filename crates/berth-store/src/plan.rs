//! What a write changes, worked out before anything is written.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use berth_documents::deckhand::{DeckhandDocument, Identity};

use crate::{
    body::{Digest, NewBody},
    error::{Conflict, Error},
    names,
    ranges::fork,
    rows::VersionRow,
    sealing::SealingKeys,
};

/// The kind of which a system has one document.
pub(crate) const SINGLETON: &str = "deckhand/LayeringPolicy";

/// What a write did to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentChange {
    /// It was not there before.
    Created,
    /// It was there with other content.
    Modified,
    /// It was there as it is.
    Unmodified,
    /// It is there no more.
    Deleted,
}

/// The rows that a new revision needs.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The new revision.
    pub(crate) revision: i64,
    /// The buckets that have documents in it.
    pub(crate) buckets: BTreeSet<String>,
    /// Rows that end before the new revision, by the node under which they are filed from now on.
    pub(crate) close: BTreeMap<i64, Vec<i64>>,
    pub(crate) bodies: Vec<NewBody>,
    pub(crate) versions: Vec<NewVersion>,
    pub(crate) changes: BTreeMap<Arc<Identity>, DocumentChange>,
}

/// A row to be written.
#[derive(Debug)]
pub(crate) struct NewVersion {
    pub(crate) identity: Arc<Identity>,
    pub(crate) bucket: String,
    pub(crate) revision: i64,
    pub(crate) data: Digest,
    pub(crate) metadata: Digest,
}

/// What can be refused without looking into the store.
pub(crate) fn check_request(bucket: &str, documents: &[Arc<DeckhandDocument>]) -> Result<(), Error> {
    names::check("the bucket", bucket)?;
    let mut seen = HashSet::with_capacity(documents.len());
    for document in documents {
        let identity = document.identity();
        names::check("the schema of a document", &identity.schema)?;
        names::check("the name of a document", &identity.name)?;
        if let Some(layer) = &identity.layer {
            names::check("the layer of a document", layer)?;
        }
        if !seen.insert(identity) {
            return Err(Conflict::Duplicate {
                identity: Arc::clone(identity),
                bucket: bucket.to_owned(),
            }
            .into());
        }
    }
    Ok(())
}

/// Replaces a bucket. `live` are all rows of the newest revision; nothing comes back when there is nothing to do.
pub(crate) fn put(
    live: &[VersionRow],
    latest: i64,
    bucket: &str,
    documents: &[Arc<DeckhandDocument>],
    keys: &SealingKeys,
) -> Result<Option<Plan>, Error> {
    if documents.is_empty() && !live.iter().any(|row| row.bucket == bucket) {
        return Ok(None);
    }
    check_singleton(live, documents)?;
    let by_identity = by_identity(live);
    let mut plan = Plan::new(latest);
    let mut kept = HashSet::new();
    for document in documents {
        let identity = document.identity();
        let existing = by_identity.get(identity.as_ref()).copied();
        if let Some(row) = existing
            && row.bucket != bucket
        {
            return Err(Conflict::Duplicate {
                identity: Arc::clone(identity),
                bucket: row.bucket.clone(),
            }
            .into());
        }
        let change = match existing {
            None => DocumentChange::Created,
            Some(row) if is_same(row, document, keys) => DocumentChange::Unmodified,
            Some(_) => DocumentChange::Modified,
        };
        plan.changes.insert(Arc::clone(identity), change);
        if let (DocumentChange::Unmodified, Some(row)) = (change, existing) {
            kept.insert(row.id);
            continue;
        }
        plan.add(bucket, document, keys)?;
    }
    for row in live
        .iter()
        .filter(|row| row.bucket == bucket && !kept.contains(&row.id))
    {
        plan.close(row);
        plan.changes
            .entry(Arc::clone(&row.identity))
            .or_insert(DocumentChange::Deleted);
    }
    plan.buckets.extend(
        live.iter()
            .map(|row| &row.bucket)
            .filter(|name| *name != bucket)
            .cloned(),
    );
    if !documents.is_empty() {
        plan.buckets.insert(bucket.to_owned());
    }
    Ok(Some(plan))
}

/// Goes back to the rows of an earlier revision.
pub(crate) fn rollback(live: &[VersionRow], latest: i64, target: &[VersionRow], to: i64) -> Plan {
    let by_identity = by_identity(live);
    let mut plan = Plan::new(latest);
    let mut kept = HashSet::new();
    for wanted in target {
        let existing = by_identity.get(wanted.identity.as_ref()).copied();
        let same = existing.is_some_and(|row| (row.data, row.metadata) == (wanted.data, wanted.metadata));
        let change = match existing {
            None => DocumentChange::Created,
            Some(_) if same => DocumentChange::Unmodified,
            Some(_) => DocumentChange::Modified,
        };
        plan.changes.insert(Arc::clone(&wanted.identity), change);
        plan.buckets.insert(wanted.bucket.clone());
        match existing {
            Some(row) if same && row.bucket == wanted.bucket && row.revision == to => {
                kept.insert(row.id);
            }
            _ => plan.versions.push(NewVersion {
                identity: Arc::clone(&wanted.identity),
                bucket: wanted.bucket.clone(),
                revision: if same { to } else { plan.revision },
                data: wanted.data,
                metadata: wanted.metadata,
            }),
        }
    }
    for row in live.iter().filter(|row| !kept.contains(&row.id)) {
        plan.close(row);
        plan.changes
            .entry(Arc::clone(&row.identity))
            .or_insert(DocumentChange::Deleted);
    }
    plan
}

impl Plan {
    fn new(latest: i64) -> Self {
        Self {
            revision: latest.saturating_add(1),
            buckets: BTreeSet::new(),
            close: BTreeMap::new(),
            bodies: Vec::new(),
            versions: Vec::new(),
            changes: BTreeMap::new(),
        }
    }

    fn add(&mut self, bucket: &str, document: &DeckhandDocument, keys: &SealingKeys) -> Result<(), Error> {
        let identity = document.identity();
        let metadata = NewBody::open(document.metadata_hash().into(), document.metadata());
        let data = if document.is_encrypted() {
            keys.seal(identity, document.data())?
        } else {
            NewBody::open(document.data_hash().into(), document.data())
        };
        self.versions.push(NewVersion {
            identity: Arc::clone(identity),
            bucket: bucket.to_owned(),
            revision: self.revision,
            data: data.digest,
            metadata: metadata.digest,
        });
        self.bodies.push(data);
        self.bodies.push(metadata);
        Ok(())
    }

    fn close(&mut self, row: &VersionRow) {
        let node = fork(row.valid_from, self.revision.saturating_sub(1));
        self.close.entry(node).or_default().push(row.id);
    }
}

fn by_identity(live: &[VersionRow]) -> HashMap<&Identity, &VersionRow> {
    live.iter().map(|row| (row.identity.as_ref(), row)).collect()
}

fn is_same(row: &VersionRow, document: &DeckhandDocument, keys: &SealingKeys) -> bool {
    row.metadata == document.metadata_hash().into()
        && match &row.sealed_with {
            None => !document.is_encrypted() && row.data == document.data_hash().into(),
            Some(key) => keys.is_same(document.identity(), document.data(), key, row.data),
        }
}

/// A policy with another name is refused also when the same write would take the present one away, as in Deckhand.
fn check_singleton(live: &[VersionRow], documents: &[Arc<DeckhandDocument>]) -> Result<(), Error> {
    let mut policies = documents
        .iter()
        .map(|document| document.identity())
        .filter(|identity| is_singleton(identity));
    let existing = live
        .iter()
        .map(|row| &row.identity)
        .find(|identity| is_singleton(identity));
    let Some(existing) = existing.or_else(|| policies.next()) else {
        return Ok(());
    };
    let new: Vec<Arc<Identity>> = policies.filter(|identity| *identity != existing).cloned().collect();
    if new.is_empty() {
        return Ok(());
    }
    Err(Conflict::Singleton {
        existing: Arc::clone(existing),
        new,
    }
    .into())
}

pub(crate) fn is_singleton(identity: &Identity) -> bool {
    identity
        .schema
        .strip_prefix(SINGLETON)
        .is_some_and(|rest| rest.starts_with('/'))
}
