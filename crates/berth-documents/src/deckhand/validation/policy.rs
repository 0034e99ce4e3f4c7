//! What `ValidationPolicy` documents make of the validations of a revision.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use super::SCHEMA_VALIDATION;
use crate::deckhand::{
    document::DeckhandDocument,
    form::{VALIDATION_POLICY, without_version},
};

/// The outcome of one validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValidationStatus {
    /// Passed.
    Success,
    /// Failed, or never reported.
    Failure,
}

impl ValidationStatus {
    /// The word in a reply.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

/// What the `ValidationPolicy` documents of a revision make of its validations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyReport {
    /// Success when every validation that counts was reported and passed.
    pub status: ValidationStatus,
    /// For each policy, the validations that it asks for and how they stand.
    pub policies: BTreeMap<String, BTreeMap<String, PolicyEntry>>,
    /// Validations that were reported and that no policy asks for; they do not count.
    pub ignored: BTreeSet<String>,
}

/// How a validation that a policy asks for stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyEntry {
    /// It was reported.
    Reported(ValidationStatus),
    /// Nobody reported it, which counts as a failure.
    Missing,
}

impl PolicyReport {
    /// Weighs reported validations by the policies among the documents. A validation that was reported several times
    /// passed when all reports say so. Schema validation always counts; without policies everything counts.
    pub fn new<'a>(
        documents: impl IntoIterator<Item = &'a Arc<DeckhandDocument>>,
        results: impl IntoIterator<Item = (&'a str, ValidationStatus)>,
    ) -> Self {
        let mut reported: BTreeMap<&str, ValidationStatus> = BTreeMap::new();
        for (name, status) in results {
            let entry = reported.entry(name).or_insert(status);
            if status == ValidationStatus::Failure {
                *entry = status;
            }
        }
        let policies: BTreeMap<String, BTreeMap<String, PolicyEntry>> = documents
            .into_iter()
            .filter(|document| without_version(document.schema()) == VALIDATION_POLICY)
            .map(|policy| {
                let asked = policy.data().get("validations").and_then(Value::as_array);
                let entries = asked
                    .into_iter()
                    .flatten()
                    .filter_map(|validation| validation.get("name")?.as_str())
                    .map(|name| {
                        let entry = reported.get(name).copied();
                        (
                            name.to_owned(),
                            entry.map_or(PolicyEntry::Missing, PolicyEntry::Reported),
                        )
                    })
                    .collect();
                (policy.name().to_owned(), entries)
            })
            .collect();
        let asked: BTreeSet<&str> = policies.values().flat_map(BTreeMap::keys).map(String::as_str).collect();
        let counts = |name: &str| policies.is_empty() || name == SCHEMA_VALIDATION || asked.contains(name);
        let passed = policies
            .values()
            .flat_map(BTreeMap::values)
            .all(|entry| *entry == PolicyEntry::Reported(ValidationStatus::Success))
            && reported
                .iter()
                .all(|(name, status)| !counts(name) || *status == ValidationStatus::Success);
        Self {
            status: if passed {
                ValidationStatus::Success
            } else {
                ValidationStatus::Failure
            },
            ignored: reported
                .keys()
                .filter(|name| !counts(name))
                .map(|name| (*name).to_owned())
                .collect(),
            policies,
        }
    }
}
