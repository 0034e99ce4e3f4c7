//! Status documents: how a request went, and every message about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word::{ApiVersion, Empty, MessageKind, StatusKind};

/// Whether it went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum StatusWord {
    /// It did.
    Success,
    /// It did not.
    Failure,
}

/// The result of a request that was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StatusWith{D}")]
pub struct Status<D> {
    /// Always `Status`.
    pub kind: StatusKind,
    /// The version of this form.
    pub api_version: ApiVersion,
    /// Always empty.
    pub metadata: Empty,
    /// Whether it went well.
    pub status: StatusWord,
    /// The result in a sentence.
    pub message: String,
    /// What was done.
    pub reason: String,
    /// What came of it.
    pub details: D,
    /// The status line, such as `200 OK`.
    pub code: String,
}

/// What validation found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// How many of the messages are errors.
    pub error_count: usize,
    /// Everything that was found.
    pub message_list: Vec<ValidationMessage>,
}

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Level {
    /// It keeps the documents from being committed.
    Error,
    /// It should be looked at.
    Warning,
    /// It is worth knowing.
    Info,
}

impl Level {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Warning => "Warning",
            Self::Info => "Info",
        }
    }
}

/// Who found something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Source {
    /// The rules of documents.
    Deckhand,
    /// The rules of staging.
    Shipyard,
    /// The rules of a site.
    Berth,
}

/// One finding about documents, in the form that Airship's services exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationMessage {
    /// What is wrong.
    pub message: String,
    /// Whether it keeps the documents from being committed.
    pub error: bool,
    /// The code of the finding, or the class of the error.
    pub name: String,
    /// The documents concerned.
    pub documents: Vec<DocumentName>,
    /// How much it matters.
    pub level: Level,
    /// Where it is, and what would be right.
    pub diagnostic: String,
    /// Who found it.
    pub source: Source,
    /// Always `ValidationMessage`.
    pub kind: MessageKind,
}

/// A document that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentName {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its layer; left out when it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
}

/// A document that does not meet its schema or the form of documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// What is wrong.
    pub message: String,
    /// Always true.
    pub error: bool,
    /// Deckhand's number for findings of this kind.
    pub name: String,
    /// The document.
    pub documents: Vec<FoundIn>,
    /// How much it matters.
    pub level: Level,
    /// Where it is.
    pub diagnostic: Diagnostic,
    /// Always `ValidationMessage`.
    pub kind: MessageKind,
}

/// A document as far as it says what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundIn {
    /// Its schema.
    pub schema: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its layer.
    pub layer: Option<String>,
}

/// Where something is in a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// The path in the document.
    pub path: String,
    /// The path in the schema that is not met; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_path: Option<String>,
}

/// A message that says no more than what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlainMessage {
    /// What there is to say.
    pub message: String,
    /// Whether it is an error.
    pub error: bool,
    /// What it is about; left out where that is nothing in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The place in the request; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// One entry of the list in a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Message {
    /// A finding about documents.
    Finding(ValidationMessage),
    /// A document of the wrong form.
    Violation(Violation),
    /// Anything else.
    Plain(PlainMessage),
}

impl Message {
    /// An error.
    pub fn error(message: impl Into<String>) -> Self {
        Self::Plain(PlainMessage {
            message: message.into(),
            error: true,
            name: None,
            path: None,
        })
    }

    /// What it says.
    pub fn text(&self) -> &str {
        match self {
            Self::Finding(finding) => &finding.message,
            Self::Violation(violation) => &violation.message,
            Self::Plain(plain) => &plain.message,
        }
    }

    /// Whether it is an error.
    pub const fn is_error(&self) -> bool {
        match self {
            Self::Finding(finding) => finding.error,
            Self::Violation(violation) => violation.error,
            Self::Plain(plain) => plain.error,
        }
    }
}

/// What a refusal is called: Deckhand's begins with a capital letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum FailureKind {
    /// On routes of documents.
    Status,
    /// On all others.
    #[serde(rename = "status")]
    Lowercase,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// `Status`, or `status` on routes that are not about documents.
    pub kind: FailureKind,
    /// The version of this form.
    pub api_version: ApiVersion,
    /// Always empty.
    pub metadata: Empty,
    /// Always `Failure`.
    pub status: StatusWord,
    /// What is wrong, or a title for it.
    pub message: String,
    /// Why.
    pub reason: String,
    /// Everything that is wrong; left out when a connection or request is refused before any route sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<FailureDetails>,
    /// The status line, such as `409 Conflict`.
    pub code: String,
    /// Whether the same request may go well later.
    pub retry: bool,
    /// `error` on Drydock's routes; left out on others.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Why documents were not committed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommitRefusal {
    /// The request was refused.
    Failure(Failure),
    /// The documents are not sound.
    Findings(Status<Findings>),
}

/// Everything that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureDetails {
    /// The class of the error.
    pub error_type: String,
    /// How many of the messages are errors.
    pub error_count: usize,
    /// The messages.
    pub message_list: Vec<Message>,
}
