//! Objects by resource, namespace and name, with a revision for every change and the changes of the recent past.
//!
//! It is a value: no clock, no locks, no files. Whoever shares it locks it, and a [`WriteRecord`] says what to keep on disk.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use serde_json::{Value, json};
use thiserror::Error;

use crate::object::{meta_mut, revision};

/// Where an object is, within its resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// Empty for what is cluster-wide.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Place {
    pub(crate) fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// One write that happened.
#[derive(Clone, Debug)]
pub(crate) struct WriteRecord {
    pub(crate) revision: u64,
    /// The resource with its group: `nodes`, `berths.berth.dev`.
    pub(crate) resource: Arc<str>,
    pub(crate) place: Place,
    /// What was there.
    pub(crate) before: Option<Arc<Value>>,
    /// What is there now. Nothing after a deletion.
    pub(crate) after: Option<Arc<Value>>,
    /// What a watch shows: the new object, or for a deletion the last one with the revision of its end.
    pub(crate) shown: Arc<Value>,
}

/// Why a write did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum CommitError {
    #[error("an object of this name is there already")]
    Exists,
    #[error("no object of this name is there")]
    Missing,
    #[error("the object has another revision")]
    Changed,
}

/// What a write expects to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// Nothing.
    Absent,
    /// The object with this revision.
    Revision(u64),
}

/// The revision is older than what is remembered, or not reached yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum RevisionError {
    #[error("too old resource version: {asked} ({oldest})")]
    TooOld { asked: u64, oldest: u64 },
    #[error("Too large resource version: {asked}, current: {current}")]
    TooLarge { asked: u64, current: u64 },
}

#[derive(Debug, Default)]
struct Collection {
    objects: BTreeMap<Place, Arc<Value>>,
    /// In the order of revisions.
    changes: VecDeque<Arc<WriteRecord>>,
    /// What was changed at this revision or before is not remembered.
    forgotten: u64,
}

/// All objects of a cluster.
#[derive(Debug)]
pub(crate) struct Storage {
    revision: u64,
    /// Changes at this revision or before are remembered for no resource.
    forgotten: u64,
    /// For each resource.
    remembered: usize,
    collections: HashMap<Arc<str>, Collection>,
}

/// What a list gives: the objects, and the revision at which they were all like that.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) revision: u64,
    pub(crate) objects: Vec<(Place, Arc<Value>)>,
}

impl Storage {
    /// An empty one that remembers so many changes of each resource.
    pub(crate) fn new(remembered: usize) -> Self {
        Self {
            revision: 1,
            forgotten: 0,
            remembered: remembered.max(1),
            collections: HashMap::new(),
        }
    }

    /// One with the objects of an earlier life. Watches from then have to begin anew, because the changes between are
    /// not known.
    pub(crate) fn restore(
        remembered: usize,
        last_revision: u64,
        objects: impl IntoIterator<Item = (String, Place, Value)>,
    ) -> Self {
        let mut storage = Self::new(remembered);
        for (resource, place, object) in objects {
            storage.revision = storage.revision.max(revision(&object));
            let resource: Arc<str> = resource.into();
            storage
                .collections
                .entry(resource)
                .or_default()
                .objects
                .insert(place, Arc::new(object));
        }
        // Watches may have shown changes whose writers were never answered because the process ended before they were on
        // disk. Their revisions are not used again.
        storage.revision = storage.revision.max(last_revision).saturating_add(1_000);
        storage.forgotten = storage.revision;
        for collection in storage.collections.values_mut() {
            collection.forgotten = storage.forgotten;
        }
        storage
    }

    /// The revision of the last write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn get(&self, resource: &str, place: &Place) -> Option<&Arc<Value>> {
        self.collections.get(resource)?.objects.get(place)
    }

    /// The objects of a resource, in one namespace or in all.
    pub(crate) fn iter<'a>(
        &'a self,
        resource: &str,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Place, &'a Arc<Value>)> {
        let from = Place::new(namespace.unwrap_or_default(), "");
        self.collections
            .get(resource)
            .into_iter()
            .flat_map(move |collection| collection.objects.range(from.clone()..))
            .take_while(move |(place, _)| namespace.is_none_or(|namespace| place.namespace == namespace))
    }

    /// Every resource that has objects.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &Arc<str>> {
        self.collections
            .iter()
            .filter(|(_, collection)| !collection.objects.is_empty())
            .map(|(resource, _)| resource)
    }

    /// All objects as they are.
    pub(crate) fn list(&self, resource: &str, namespace: Option<&str>) -> Snapshot {
        Snapshot {
            revision: self.revision,
            objects: self
                .iter(resource, namespace)
                .map(|(place, object)| (place.clone(), Arc::clone(object)))
                .collect(),
        }
    }

    /// All objects as they were at a revision, by undoing what came after it.
    pub(crate) fn list_at(
        &self,
        resource: &str,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Snapshot, RevisionError> {
        let mut objects: BTreeMap<Place, Arc<Value>> = self
            .iter(resource, namespace)
            .map(|(place, object)| (place.clone(), Arc::clone(object)))
            .collect();
        for change in self.changes_after(resource, revision)?.iter().rev() {
            if namespace.is_some_and(|namespace| change.place.namespace != namespace) {
                continue;
            }
            match &change.before {
                Some(before) => objects.insert(change.place.clone(), Arc::clone(before)),
                None => objects.remove(&change.place),
            };
        }
        Ok(Snapshot {
            revision,
            objects: objects.into_iter().collect(),
        })
    }

    /// What happened to a resource after a revision.
    pub(crate) fn changes_after(&self, resource: &str, revision: u64) -> Result<Vec<Arc<WriteRecord>>, RevisionError> {
        if revision > self.revision {
            return Err(RevisionError::TooLarge {
                asked: revision,
                current: self.revision,
            });
        }
        let collection = self.collections.get(resource);
        let forgotten = collection.map_or(self.forgotten, |collection| collection.forgotten.max(self.forgotten));
        if revision < forgotten {
            return Err(RevisionError::TooOld {
                asked: revision,
                oldest: forgotten,
            });
        }
        let Some(collection) = collection else {
            return Ok(Vec::new());
        };
        let from = collection.changes.partition_point(|change| change.revision <= revision);
        Ok(collection.changes.range(from..).cloned().collect())
    }

    /// Writes an object, which gets the next revision.
    pub(crate) fn put(
        &mut self,
        resource: &str,
        place: Place,
        expect: Expect,
        mut object: Value,
    ) -> Result<Arc<WriteRecord>, CommitError> {
        let before = self.check(resource, &place, expect)?;
        self.revision = self.revision.saturating_add(1);
        meta_mut(&mut object).insert("resourceVersion".to_owned(), json!(self.revision.to_string()));
        let object = Arc::new(object);
        Ok(self.record(resource, place, before, Some(Arc::clone(&object)), object))
    }

    /// Removes an object. Its last state is what watches show.
    pub(crate) fn remove(
        &mut self,
        resource: &str,
        place: Place,
        expected: u64,
        mut last: Value,
    ) -> Result<Arc<WriteRecord>, CommitError> {
        let before = self.check(resource, &place, Expect::Revision(expected))?;
        self.revision = self.revision.saturating_add(1);
        meta_mut(&mut last).insert("resourceVersion".to_owned(), json!(self.revision.to_string()));
        Ok(self.record(resource, place, before, None, Arc::new(last)))
    }

    fn check(&self, resource: &str, place: &Place, expect: Expect) -> Result<Option<Arc<Value>>, CommitError> {
        match (self.get(resource, place), expect) {
            (None, Expect::Absent) => Ok(None),
            (Some(_), Expect::Absent) => Err(CommitError::Exists),
            (None, Expect::Revision(_)) => Err(CommitError::Missing),
            (Some(found), Expect::Revision(expected)) if revision(found) == expected => Ok(Some(Arc::clone(found))),
            (Some(_), Expect::Revision(_)) => Err(CommitError::Changed),
        }
    }

    fn record(
        &mut self,
        resource: &str,
        place: Place,
        before: Option<Arc<Value>>,
        after: Option<Arc<Value>>,
        shown: Arc<Value>,
    ) -> Arc<WriteRecord> {
        let key: Arc<str> = self
            .collections
            .get_key_value(resource)
            .map_or_else(|| Arc::from(resource), |(key, _)| Arc::clone(key));
        let forgotten = self.forgotten;
        let collection = self.collections.entry(Arc::clone(&key)).or_insert_with(|| Collection {
            forgotten,
            ..Collection::default()
        });
        match &after {
            Some(object) => collection.objects.insert(place.clone(), Arc::clone(object)),
            None => collection.objects.remove(&place),
        };
        let change = Arc::new(WriteRecord {
            revision: self.revision,
            resource: key,
            place,
            before,
            after,
            shown,
        });
        collection.changes.push_back(Arc::clone(&change));
        while collection.changes.len() > self.remembered {
            if let Some(oldest) = collection.changes.pop_front() {
                collection.forgotten = oldest.revision;
            }
        }
        change
    }

    /// Forgets all changes up to now, as the compaction of a real cluster does. Older watches are told so.
    pub(crate) fn compact(&mut self) {
        self.forgotten = self.revision;
        for collection in self.collections.values_mut() {
            collection.changes.clear();
            collection.forgotten = self.revision;
        }
    }
}
