//! Validation of rendered documents by `DataSchema` documents, and what `ValidationPolicy` documents make of it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use jsonschema::{Draft, Validator};
use serde_json::{Value, json};

use crate::deckhand::{
    document::{DeckhandDocument, Identity},
    form::{DATA_SCHEMA, VALIDATION_POLICY, without_version},
    render::RenderedDocument,
};

/// The name under which the result of schema validation is filed.
pub const SCHEMA_VALIDATION: &str = "deckhand-schema-validation";

/// Kinds whose data is one text, whatever other schemas say.
const TEXT_KINDS: [&str; 8] = [
    "deckhand/Certificate",
    "deckhand/CertificateAuthority",
    "deckhand/CertificateAuthorityKey",
    "deckhand/CertificateKey",
    "deckhand/Passphrase",
    "deckhand/PrivateKey",
    "deckhand/PublicKey",
    "deckhand/CertificateSigningRequest",
];

/// One way in which a document does not meet a schema, or in which a schema is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The document.
    pub document: Arc<Identity>,
    /// The `DataSchema` document that asks for it; nothing for what Deckhand itself asks for.
    pub schema: Option<Arc<Identity>>,
    /// Where in the document, such as `.data.a[0]`.
    pub path: String,
    /// Where in the schema.
    pub schema_path: String,
    /// What is wrong. Values that may be secret are not shown.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.document, self.path, self.message)
    }
}

/// Compiled `DataSchema` documents.
#[derive(Debug, Default)]
pub struct DataSchemas {
    by_schema: HashMap<String, (Arc<Identity>, Validator)>,
}

impl DataSchemas {
    /// Compiles the `DataSchema` documents among the given ones. Each validates documents of the schema it is named
    /// after. Those that are no JSON Schema are reported.
    ///
    /// A schema that does not name its draft is read by draft 4, as Deckhand reads all of them. References to other
    /// places are not followed: nothing here reaches out of the process.
    pub fn compile<'a>(documents: impl IntoIterator<Item = &'a Arc<DeckhandDocument>>) -> (Self, Vec<Violation>) {
        let mut schemas = Self::default();
        let mut violations = Vec::new();
        for document in documents {
            if without_version(document.schema()) != DATA_SCHEMA {
                continue;
            }
            match compile(document.data()) {
                Ok(validator) => {
                    let entry = (Arc::clone(document.identity()), validator);
                    schemas.by_schema.insert(document.name().to_owned(), entry);
                }
                Err((path, message)) => violations.push(Violation {
                    document: Arc::clone(document.identity()),
                    schema: None,
                    path: place(&path),
                    schema_path: String::new(),
                    message,
                }),
            }
        }
        (schemas, violations)
    }

    /// How a rendered document does not meet its schema. Control documents and documents without a schema always pass.
    pub fn validate(&self, rendered: &RenderedDocument) -> Vec<Violation> {
        let document = &rendered.document;
        let mut violations = Vec::new();
        if TEXT_KINDS.contains(&without_version(document.schema())) && !rendered.data.is_string() {
            violations.push(Violation {
                document: Arc::clone(document.identity()),
                schema: None,
                path: ".data".to_owned(),
                schema_path: ".type".to_owned(),
                message: "the value is not of type 'string'".to_owned(),
            });
        }
        let Some((schema, validator)) = self.by_schema.get(document.schema()) else {
            return violations;
        };
        // Substituted values are secrets more often than not.
        let secret = document.is_encrypted() || !document.substitutions().is_empty();
        violations.extend(validator.iter_errors(&rendered.data).map(|error| Violation {
            document: Arc::clone(document.identity()),
            schema: Some(Arc::clone(schema)),
            path: place(error.instance_path().as_str()),
            schema_path: dotted(error.schema_path().as_str()),
            message: if secret {
                error.masked_with("the value").to_string()
            } else {
                error.to_string()
            },
        }));
        violations
    }

    /// The result for all rendered documents.
    pub fn validate_all(&self, rendered: &[RenderedDocument]) -> Vec<Violation> {
        rendered.iter().flat_map(|document| self.validate(document)).collect()
    }
}

fn compile(schema: &Value) -> Result<Validator, (String, String)> {
    let wrong = |error: jsonschema::ValidationError<'_>| (error.instance_path().as_str().to_owned(), error.to_string());
    let declared = schema.get("$schema").and_then(Value::as_str);
    if declared.is_some_and(is_known_draft) {
        return jsonschema::options().offline().build(schema).map_err(wrong);
    }
    // Many documents name a draft that never was. What they mean is what Deckhand reads them by.
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.remove("$schema");
    }
    jsonschema::options()
        .offline()
        .with_draft(Draft::Draft4)
        .build(&schema)
        .map_err(wrong)
}

fn is_known_draft(uri: &str) -> bool {
    let uri = uri.trim_end_matches('#');
    let Some((_, rest)) = uri.split_once("://json-schema.org/") else {
        return false;
    };
    matches!(
        rest,
        "draft-04/schema" | "draft-06/schema" | "draft-07/schema" | "draft/2019-09/schema" | "draft/2020-12/schema"
    )
}

/// A place in a document's data from a JSON pointer.
fn place(pointer: &str) -> String {
    format!(".data{}", dotted(pointer))
}

fn dotted(pointer: &str) -> String {
    pointer
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .fold(String::new(), |mut path, step| {
            if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
                path.push('[');
                path.push_str(&step);
                path.push(']');
            } else {
                path.push('.');
                path.push_str(&step);
            }
            path
        })
}

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

/// Violations as the validation entry that Deckhand files for a revision.
pub fn validation_entry(violations: &[Violation]) -> Value {
    let status = if violations.is_empty() {
        ValidationStatus::Success
    } else {
        ValidationStatus::Failure
    };
    let errors: Vec<_> = violations
        .iter()
        .map(|violation| {
            json!({
                "name": violation.document.name,
                "schema": violation.document.schema,
                "layer": violation.document.layer,
                "path": violation.path,
                "schema_path": violation.schema_path,
                "message": violation.message,
            })
        })
        .collect();
    json!({
        "name": SCHEMA_VALIDATION,
        "status": status.as_str(),
        "validator": {"name": "deckhand", "version": "1.0"},
        "errors": errors,
    })
}
