//! Documents as they are put and shown.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A stream of documents, with `---` between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Documents(pub Vec<Document>);

/// A document with the place where it is filed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// The document as people wrote it, or as it is rendered.
    #[serde(flatten)]
    #[schemars(with = "WrittenDocument")]
    pub written: Map<String, Value>,
    /// Where it is filed; in replies only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<DocumentStatus>,
}

/// Where a document is filed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentStatus {
    /// The bucket.
    pub bucket: String,
    /// The revision where it last changed.
    pub revision: u64,
    /// Which parts of the data are secret. Keyed hashes stand for them unless they are asked for in cleartext by those who may
    /// see them. Left out when nothing is secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_paths: Option<Vec<String>>,
}

/// The form of a document. All of it is left out where a reply has nothing but the status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenDocument {
    /// What it is.
    #[schemars(regex(pattern = r"^[A-Za-z]+/[A-Za-z]+/v\d+$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Its name and how it is layered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<DocumentMetadata>,
    /// What it says.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

/// The name of a document, and how it is layered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentMetadata {
    /// Whether it takes part in layering.
    #[schemars(regex(pattern = r"^metadata/(Document|Control)/v\d+$"))]
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What selectors find it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, Value>>,
    /// Whether it is secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_policy: Option<StoragePolicy>,
    /// Whether it replaces its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<bool>,
    /// Its layer and its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layering_definition: Option<Layering>,
    /// What it takes from other documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub substitutions: Option<Vec<Map<String, Value>>>,
}

/// Whether a document is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoragePolicy {
    /// It is not.
    Cleartext,
    /// It is.
    Encrypted,
}

/// The layer of a document and its parent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Layering {
    /// The layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// Whether it is only there for others.
    #[serde(rename = "abstract", skip_serializing_if = "Option::is_none")]
    pub is_abstract: Option<bool>,
    /// The labels of its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_selector: Option<Map<String, Value>>,
    /// What is done with the data of the parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<LayeringAction>>,
}

/// What is done with a part of the parent's data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayeringAction {
    /// `merge`, `replace` or `delete`.
    pub method: String,
    /// The part.
    pub path: String,
}
