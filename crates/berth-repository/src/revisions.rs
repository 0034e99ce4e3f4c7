//! Revisions as they are listed and shown.

use berth_documents::deckhand::{PolicyEntry, PolicyReport, ValidationStatus};
use berth_store::Revision;
use serde_json::{Map, Value, json};

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
pub fn revision_list(revisions: &[Revision]) -> Value {
    let results: Vec<Value> = revisions
        .iter()
        .map(|revision| {
            json!({
                "id": revision.id,
                "createdAt": timestamp(revision.created_at),
                "tags": revision.tags.keys().collect::<Vec<_>>(),
                "buckets": revision.buckets,
            })
        })
        .collect();
    json!({"count": results.len(), "results": results})
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
    pub fn to_json(&self, base: &str) -> Value {
        let policies: Vec<Value> = self
            .report
            .policies
            .iter()
            .map(|(name, entries)| {
                let passed = entries
                    .values()
                    .all(|entry| *entry == PolicyEntry::Reported(ValidationStatus::Success));
                let url = format!("{base}/revisions/{}/documents", self.revision.id);
                json!({
                    "name": name,
                    "url": format!("{url}?schema=deckhand/ValidationPolicy&metadata.name={name}"),
                    "status": if passed { "success" } else { "failure" },
                })
            })
            .collect();
        let tags: Map<String, Value> = self.revision.tags.clone().into_iter().collect();
        json!({
            "id": self.revision.id,
            "createdAt": timestamp(self.revision.created_at),
            "url": format!("{base}/revisions/{}", self.revision.id),
            "validationPolicies": policies,
            "status": match self.report.status {
                ValidationStatus::Success => "success",
                ValidationStatus::Failure => "failed",
            },
            "tags": tags,
            "buckets": self.revision.buckets,
        })
    }
}
