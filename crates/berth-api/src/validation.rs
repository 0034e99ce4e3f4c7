//! Reports of validations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::revision::{List, ValidationStatus};

/// A report to file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidationReport {
    /// Whether it passed.
    pub status: ValidationStatus,
    /// Who says so.
    pub validator: Validator,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<Map<String, Value>>>,
    /// When it does not count any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_after: Option<String>,
}

/// Who reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validator {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The status of a report in the words of whoever made it: `success`, and everything else is a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ReportedStatus(pub Value);

/// What was filed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationReceipt {
    /// Whether it passed.
    pub status: ReportedStatus,
    /// Who says so, as it was reported.
    pub validator: Value,
}

/// What the reports under each name amount to.
pub type ValidationList = List<ValidationSummary>;

/// What the reports under one name amount to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationSummary {
    /// The name of the validation.
    pub name: String,
    /// The verdict.
    pub status: ValidationVerdict,
}

/// What reports amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ValidationVerdict {
    /// Passed.
    #[serde(rename = "success")]
    Success,
    /// Failed, or asked for and not reported.
    #[serde(rename = "failure")]
    Failure,
    /// Passed, and no policy asks for it.
    #[serde(rename = "ignored [success]")]
    IgnoredSuccess,
    /// Failed, and no policy asks for it.
    #[serde(rename = "ignored [failure]")]
    IgnoredFailure,
}

/// Reports in short.
pub type ValidationEntries = List<ValidationEntrySummary>;

/// A report in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationEntrySummary {
    /// Which report under its name it is, from 0.
    pub id: u64,
    /// Whether it passed.
    pub status: ReportedStatus,
}

/// Reports in full.
pub type ValidationDetails = List<ValidationEntry>;

/// A report in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidationEntry {
    /// Its place among all reports; left out when it is shown alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<usize>,
    /// The name of the validation.
    pub name: String,
    /// Whether it passed.
    pub status: ReportedStatus,
    /// When it was reported.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// When it does not count any more, as it was reported.
    pub expires_after: Value,
    /// What is wrong, as it was reported.
    pub errors: Value,
}
