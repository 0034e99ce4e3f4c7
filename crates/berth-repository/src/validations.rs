//! Reports of validations, and what they amount to.

use std::collections::BTreeMap;

use berth_documents::deckhand::{
    PolicyEntry, PolicyReport, SCHEMA_VALIDATION, ValidationStatus, Violation, validation_entry,
};
use berth_store::{Revision, ValidationRecord};
use serde_json::{Value, json};

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
    /// The words of a reply.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counted(ValidationStatus::Success) => "success",
            Self::Counted(ValidationStatus::Failure) | Self::Missing => "failure",
            Self::Ignored(ValidationStatus::Success) => "ignored [success]",
            Self::Ignored(ValidationStatus::Failure) => "ignored [failure]",
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

    /// The answer to whoever reported it.
    pub fn to_receipt(&self) -> Value {
        json!({"status": self.said("status"), "validator": self.said("validator")})
    }

    /// The report as it is shown.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "status": self.said("status"),
            "createdAt": timestamp(self.created_at),
            "expiresAfter": self.said("expiresAfter"),
            "errors": match self.said("errors") {
                Value::Null => json!([]),
                errors => errors,
            },
        })
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
    pub fn to_json(&self) -> Value {
        let results: Vec<Value> = self
            .summaries
            .iter()
            .map(|summary| json!({"name": summary.name, "status": summary.verdict.as_str()}))
            .collect();
        json!({"count": results.len(), "results": results})
    }

    /// The reports under one name, in short.
    pub fn named_to_json(&self, name: &str) -> Value {
        let results: Vec<Value> = self
            .named(name)
            .map(|entry| json!({"id": entry.id, "status": entry.said("status")}))
            .collect();
        json!({"count": results.len(), "results": results})
    }

    /// Every report in full.
    pub fn detail_to_json(&self) -> Value {
        let results: Vec<Value> = (0_usize..)
            .zip(&self.entries)
            .map(|(index, entry)| {
                let mut shown = entry.to_json();
                if let Value::Object(fields) = &mut shown {
                    fields.insert("id".to_owned(), Value::from(index));
                }
                shown
            })
            .collect();
        json!({"count": results.len(), "results": results})
    }
}
