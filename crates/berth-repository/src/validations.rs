//! Reports of validations, and what they amount to.

use std::collections::BTreeMap;

use berth_api::{
    ReportedStatus, ValidationDetails, ValidationEntries, ValidationEntrySummary, ValidationList, ValidationReceipt,
};
use berth_documents::deckhand::{
    PolicyEntry, PolicyReport, SCHEMA_VALIDATION, ValidationStatus, Violation, validation_entry,
};
use berth_store::{Revision, ValidationRecord};
use serde_json::Value;

use crate::{error::Error, snapshots::Snapshot, time::timestamp};

/// All reports of one revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Validations {
    revision: u64,
    entries: Vec<ValidationEntry>,
    summaries: Vec<ValidationSummary>,
}

/// One report.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidationEntry {
    /// The name of the validation.
    pub name: String,
    /// Which report under this name it is, from 0.
    pub id: u64,
    /// When it was reported, in microseconds since 1970.
    pub created_at: i64,
    /// The report in the words of whoever made it.
    pub report: Value,
}

/// What the reports under one name amount to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationSummary {
    /// The name of the validation.
    pub name: String,
    /// The verdict.
    pub verdict: ValidationVerdict,
}

/// What the reports of a validation amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValidationVerdict {
    /// It counts, and it passed or failed.
    Counted(ValidationStatus),
    /// A policy asks for it and nobody reported it, which is a failure.
    Missing,
    /// No policy asks for it.
    Ignored(ValidationStatus),
}

impl ValidationVerdict {
    const fn to_api(self) -> berth_api::ValidationVerdict {
        match self {
            Self::Counted(ValidationStatus::Success) => berth_api::ValidationVerdict::Success,
            Self::Counted(ValidationStatus::Failure) | Self::Missing => berth_api::ValidationVerdict::Failure,
            Self::Ignored(ValidationStatus::Success) => berth_api::ValidationVerdict::IgnoredSuccess,
            Self::Ignored(ValidationStatus::Failure) => berth_api::ValidationVerdict::IgnoredFailure,
        }
    }
}

impl From<ValidationRecord> for ValidationEntry {
    fn from(record: ValidationRecord) -> Self {
        Self {
            name: record.name,
            id: record.entry,
            created_at: record.created_at,
            report: record.report,
        }
    }
}

impl ValidationEntry {
    /// The status that was reported. Whatever is not a success is none.
    pub fn status(&self) -> ValidationStatus {
        if self.said("status").as_str() == Some(ValidationStatus::Success.as_str()) {
            ValidationStatus::Success
        } else {
            ValidationStatus::Failure
        }
    }

    fn said(&self, key: &str) -> Value {
        self.report.get(key).cloned().unwrap_or_default()
    }

    fn reported_status(&self) -> ReportedStatus {
        ReportedStatus(self.said("status"))
    }

    /// The answer to whoever reported it.
    pub fn to_receipt(&self) -> ValidationReceipt {
        ValidationReceipt {
            status: self.reported_status(),
            validator: self.said("validator"),
        }
    }

    /// The report as it is shown.
    pub fn to_api(&self) -> berth_api::ValidationEntry {
        berth_api::ValidationEntry {
            id: None,
            name: self.name.clone(),
            status: self.reported_status(),
            created_at: timestamp(self.created_at),
            expires_after: self.said("expiresAfter"),
            errors: match self.said("errors") {
                Value::Null => Value::Array(Vec::new()),
                errors => errors,
            },
        }
    }
}

impl Validations {
    /// A revision whose report of schema validation is not there has been made by a process that was ended right after, or
    /// is being validated: the report follows from the documents, and is that of `written`.
    pub(crate) fn new(
        snapshot: &Snapshot,
        revision: &Revision,
        records: Vec<ValidationRecord>,
        written: Option<&[Violation]>,
    ) -> Self {
        let mut entries: Vec<ValidationEntry> = records.into_iter().map(Into::into).collect();
        if let Some(violations) = written {
            entries.push(ValidationEntry {
                name: SCHEMA_VALIDATION.to_owned(),
                id: 0,
                created_at: revision.created_at,
                report: validation_entry(violations),
            });
            entries.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
        }
        let mut validations = Self {
            revision: revision.id,
            entries,
            summaries: Vec::new(),
        };
        let report = validations.report(snapshot);
        validations.summaries = validations.summarize(&report);
        validations
    }

    pub(crate) fn report(&self, snapshot: &Snapshot) -> PolicyReport {
        PolicyReport::new(
            snapshot.documents.iter().map(|filed| &filed.document),
            self.entries.iter().map(|entry| (entry.name.as_str(), entry.status())),
        )
    }

    fn summarize(&self, report: &PolicyReport) -> Vec<ValidationSummary> {
        let mut verdicts: BTreeMap<&str, ValidationVerdict> = BTreeMap::new();
        for (name, entry) in report.policies.values().flatten() {
            if *entry == PolicyEntry::Missing {
                verdicts.insert(name, ValidationVerdict::Missing);
            }
        }
        let mut reported: BTreeMap<&str, ValidationStatus> = BTreeMap::new();
        for entry in &self.entries {
            let status = reported.entry(&entry.name).or_insert(ValidationStatus::Success);
            if entry.status() == ValidationStatus::Failure {
                *status = ValidationStatus::Failure;
            }
        }
        for (name, status) in reported {
            let verdict = if report.ignored.contains(name) {
                ValidationVerdict::Ignored(status)
            } else {
                ValidationVerdict::Counted(status)
            };
            verdicts.insert(name, verdict);
        }
        verdicts
            .into_iter()
            .map(|(name, verdict)| ValidationSummary {
                name: name.to_owned(),
                verdict,
            })
            .collect()
    }

    /// What each validation amounts to, by name.
    pub fn summaries(&self) -> &[ValidationSummary] {
        &self.summaries
    }

    /// Every report, by name and number.
    pub fn entries(&self) -> &[ValidationEntry] {
        &self.entries
    }

    /// The reports under one name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &ValidationEntry> {
        self.entries.iter().filter(move |entry| entry.name == name)
    }

    /// One report.
    ///
    /// # Errors
    /// [`Error::ValidationNotFound`]
    pub fn entry(&self, name: &str, id: u64) -> Result<&ValidationEntry, Error> {
        self.named(name)
            .find(|entry| entry.id == id)
            .ok_or_else(|| Error::ValidationNotFound {
                revision: self.revision,
                name: name.to_owned(),
                entry: id,
            })
    }

    /// Names and verdicts.
    pub fn to_list(&self) -> ValidationList {
        let summary = |summary: &ValidationSummary| berth_api::ValidationSummary {
            name: summary.name.clone(),
            status: summary.verdict.to_api(),
        };
        self.summaries.iter().map(summary).collect()
    }

    /// The reports under one name, in short.
    pub fn named_to_list(&self, name: &str) -> ValidationEntries {
        let summary = |entry: &ValidationEntry| ValidationEntrySummary {
            id: entry.id,
            status: entry.reported_status(),
        };
        self.named(name).map(summary).collect()
    }

    /// Every report in full.
    pub fn to_details(&self) -> ValidationDetails {
        let numbered = |(index, entry): (usize, &ValidationEntry)| berth_api::ValidationEntry {
            id: Some(index),
            ..entry.to_api()
        };
        self.entries.iter().enumerate().map(numbered).collect()
    }
}
