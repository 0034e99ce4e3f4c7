//! Revisions as they are listed and shown.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::{
    BucketDiff, ChangedDocuments, DeepDiff, DeepDiffEntry, Diff, DocumentChange, NamedDocuments, PolicyStatus,
    RevisionList, RevisionStatus, RevisionSummary, TagData, Tags,
};
use berth_documents::deckhand::{self, BucketChange, PolicyEntry, PolicyReport, ValidationStatus};
use berth_store::Revision;
use serde_json::{Value, json};

use crate::time::timestamp;

/// Which revisions to list, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevisionQuery {
    /// Only revisions with at least one of these tags; empty means all.
    pub tags: Vec<String>,
    /// What to sort by. Numbers and times rise together, so there is one order and its reverse, and the order of what
    /// has tags or buckets.
    sort: Vec<Column>,
    descending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Number,
    Tags,
    Buckets,
}

impl RevisionQuery {
    /// Reads the parameters of a request. A parameter may be repeated; those that mean nothing here are ignored.
    pub fn parse<K: AsRef<str>, V: AsRef<str>>(parameters: impl IntoIterator<Item = (K, V)>) -> Self {
        let mut query = Self::default();
        for (key, value) in parameters {
            let value = value.as_ref();
            match key.as_ref() {
                "tag" => query.tags.push(value.to_owned()),
                "sort" => query
                    .sort
                    .extend(value.split(',').filter_map(|column| match column.trim() {
                        "id" | "createdAt" | "created_at" => Some(Column::Number),
                        "tags" => Some(Column::Tags),
                        "buckets" => Some(Column::Buckets),
                        _ => None,
                    })),
                "order" => query.descending = value.eq_ignore_ascii_case("desc"),
                _ => {}
            }
        }
        query
    }

    /// Revisions with this tag.
    #[must_use]
    pub fn tagged(tag: impl Into<String>) -> Self {
        Self {
            tags: vec![tag.into()],
            ..Self::default()
        }
    }

    /// Brings revisions, which come oldest first, into the order asked for.
    pub(crate) fn apply(&self, revisions: &mut [Revision]) {
        for column in self.sort.iter().rev() {
            match column {
                Column::Number => revisions.sort_by_key(|revision| revision.id),
                Column::Tags => revisions.sort_by(|one, other| one.tags.keys().cmp(other.tags.keys())),
                Column::Buckets => revisions.sort_by(|one, other| one.buckets.cmp(&other.buckets)),
            }
        }
        if self.descending {
            revisions.reverse();
        }
    }
}

/// The list of revisions as Deckhand shows it.
pub fn revision_list(revisions: &[Revision]) -> RevisionList {
    let summary = |revision: &Revision| RevisionSummary {
        id: revision.id,
        created_at: timestamp(revision.created_at),
        tags: revision.tags.keys().cloned().collect(),
        buckets: revision.buckets.iter().cloned().collect(),
    };
    revisions.iter().map(summary).collect()
}

pub(crate) const fn bucket_change(change: BucketChange) -> berth_api::BucketChange {
    match change {
        BucketChange::Created => berth_api::BucketChange::Created,
        BucketChange::Deleted => berth_api::BucketChange::Deleted,
        BucketChange::Modified => berth_api::BucketChange::Modified,
        BucketChange::Unmodified => berth_api::BucketChange::Unmodified,
    }
}

/// What happened to each bucket, as Deckhand shows it.
pub fn bucket_diff(changes: BTreeMap<String, BucketChange>) -> Diff {
    let changes = changes.into_iter();
    Diff(
        changes
            .map(|(bucket, change)| (bucket, bucket_change(change)))
            .collect(),
    )
}

/// What happened to each bucket and inside it, as Deckhand shows it.
pub fn deep_diff(diff: deckhand::DeepDiff) -> DeepDiff {
    let mut reply = BTreeMap::new();
    for (bucket, (change, inside)) in diff.buckets {
        if let Some(inside) = inside {
            reply.insert(format!("{bucket} diff"), DeepDiffEntry::Inside(inside_bucket(inside)));
        }
        reply.insert(bucket, DeepDiffEntry::Change(bucket_change(change)));
    }
    DeepDiff(reply)
}

fn inside_bucket(diff: deckhand::BucketDiff) -> BucketDiff {
    let named = |documents: BTreeSet<(String, String)>| {
        (!documents.is_empty()).then(|| NamedDocuments {
            count: documents.len(),
            details: documents.into_iter().collect(),
        })
    };
    let changed = diff.changed.into_iter().map(|((schema, name), change)| {
        let change = DocumentChange {
            data_changed: change.data.unwrap_or_else(|| json!({"encrypted": true})),
            metadata_changed: change.metadata,
        };
        (format!("('{schema}', '{name}')"), change)
    });
    let changed: BTreeMap<String, DocumentChange> = changed.collect();
    BucketDiff {
        document_added: named(diff.added),
        document_deleted: named(diff.deleted),
        document_changed: (!changed.is_empty()).then_some(ChangedDocuments {
            count: changed.len(),
            details: changed,
        }),
    }
}

/// A revision and what its validation policies make of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RevisionView {
    /// The revision.
    pub revision: Revision,
    /// The policies with what they ask for, and whether they have it.
    pub report: PolicyReport,
}

impl RevisionView {
    /// The revision as Deckhand shows it. `base` is the address of the API, such as `http://host/api/v1.0`.
    pub fn to_api(&self, base: &str) -> berth_api::Revision {
        let url = format!("{base}/revisions/{}", self.revision.id);
        let policy = |(name, entries): (&String, &BTreeMap<String, PolicyEntry>)| {
            let passed = entries
                .values()
                .all(|entry| *entry == PolicyEntry::Reported(ValidationStatus::Success));
            PolicyStatus {
                name: name.clone(),
                url: format!("{url}/documents?schema=deckhand/ValidationPolicy&metadata.name={name}"),
                status: if passed {
                    berth_api::ValidationStatus::Success
                } else {
                    berth_api::ValidationStatus::Failure
                },
            }
        };
        berth_api::Revision {
            id: self.revision.id,
            created_at: timestamp(self.revision.created_at),
            validation_policies: self.report.policies.iter().map(policy).collect(),
            status: match self.report.status {
                ValidationStatus::Success => RevisionStatus::Success,
                ValidationStatus::Failure => RevisionStatus::Failed,
            },
            tags: tags(self.revision.tags.clone()),
            buckets: self.revision.buckets.iter().cloned().collect(),
            url,
        }
    }
}

/// Tags as Deckhand shows them.
pub fn tags(tags: impl IntoIterator<Item = (String, Value)>) -> Tags {
    Tags(tags.into_iter().map(|(name, data)| (name, TagData(data))).collect())
}
