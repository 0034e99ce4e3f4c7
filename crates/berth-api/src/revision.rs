//! Revisions, their differences and tags.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::configdocs::BucketChange;

/// A list as Deckhand gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ListOf{T}")]
pub struct List<T> {
    /// How many there are.
    pub count: usize,
    /// All of them.
    pub results: Vec<T>,
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let results: Vec<T> = items.into_iter().collect();
        Self {
            count: results.len(),
            results,
        }
    }
}

/// Revisions in a list.
pub type RevisionList = List<RevisionSummary>;

/// A revision in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionSummary {
    /// Its number.
    pub id: u64,
    /// When it was made.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// The names of its tags.
    pub tags: Vec<String>,
    /// The buckets that have documents in it.
    pub buckets: Vec<String>,
}

/// Whether something passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ValidationStatus {
    /// It did.
    Success,
    /// It did not.
    Failure,
}

/// Whether a revision passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RevisionStatus {
    /// It did.
    Success,
    /// It did not.
    Failed,
}

/// One revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// Its number.
    pub id: u64,
    /// When it was made.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// Its address.
    pub url: String,
    /// What its validation policies make of it.
    pub validation_policies: Vec<PolicyStatus>,
    /// Whether it passed all of them.
    pub status: RevisionStatus,
    /// Its tags.
    pub tags: Tags,
    /// The buckets that have documents in it.
    pub buckets: Vec<String>,
}

/// A validation policy and whether a revision meets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyStatus {
    /// Its name.
    pub name: String,
    /// Its address.
    pub url: String,
    /// Whether it is met.
    pub status: ValidationStatus,
}

/// Tags by name, each with its data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Tags(pub BTreeMap<String, TagData>);

/// What a tag says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TagData(#[schemars(with = "Map<String, Value>")] pub Value);

/// What happened to each bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Diff(pub BTreeMap<String, BucketChange>);

/// What happened to each bucket, and under `<bucket> diff` what happened inside each that was modified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct DeepDiff(pub BTreeMap<String, DeepDiffEntry>);

/// What happened to a bucket, or inside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DeepDiffEntry {
    /// To a bucket.
    Change(BucketChange),
    /// Inside a bucket.
    Inside(BucketDiff),
}

/// What happened inside a bucket. What did not happen is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BucketDiff {
    /// Documents that only the second revision has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_added: Option<NamedDocuments>,
    /// Documents that only the first revision has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_deleted: Option<NamedDocuments>,
    /// Documents that both have and that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_changed: Option<ChangedDocuments>,
}

/// Documents by schema and name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedDocuments {
    /// How many there are.
    pub count: usize,
    /// Schema and name of each.
    pub details: Vec<(String, String)>,
}

/// Documents that differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedDocuments {
    /// How many there are.
    pub count: usize,
    /// Each under `('schema', 'name')`.
    pub details: BTreeMap<String, DocumentChange>,
}

/// What happened inside a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentChange {
    /// The difference of the data; `{encrypted: true}` where that is secret.
    pub data_changed: Value,
    /// The difference of the metadata.
    pub metadata_changed: Value,
}
