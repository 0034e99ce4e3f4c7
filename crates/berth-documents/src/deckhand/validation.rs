//! Validation of rendered documents by `DataSchema` documents, and what `ValidationPolicy` documents make of it.

mod outline;
mod policy;
mod schema;
mod told;
mod visits;

use std::{collections::HashMap, fmt, sync::Arc};

use serde_json::{Value, json};

use self::{
    schema::{Schema, Shared},
    visits::{TooMuch, Visits},
};

use crate::deckhand::{
    document::{DeckhandDocument, Identity},
    form::{DATA_SCHEMA, without_version},
    pattern::Steps,
    render::RenderedDocument,
};

pub use policy::{PolicyEntry, PolicyReport, ValidationStatus};

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

/// How many violations of a validation are listed.
const MOST_VIOLATIONS: usize = 200;

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
    by_schema: HashMap<String, Schema>,
    /// What all patterns of all schemas may cost. These schemas are for one validation.
    steps: Arc<Steps>,
    /// How often values may still be looked at.
    visits: Visits,
}

impl DataSchemas {
    /// Compiles the `DataSchema` documents among the given ones. Each validates documents of the schema it is named
    /// after. Those that are not a JSON Schema are reported.
    ///
    /// A schema that does not name its draft is read by draft 4, as Deckhand reads all of them. References to other
    /// places are not followed: nothing here reaches out of the process.
    pub fn compile<'a>(documents: impl IntoIterator<Item = &'a Arc<DeckhandDocument>>) -> (Self, Vec<Violation>) {
        let mut schemas = Self::default();
        let mut violations = Vec::new();
        let shared = Shared::new(&schemas.steps);
        for document in documents {
            if without_version(document.schema()) != DATA_SCHEMA {
                continue;
            }
            match shared.compile(document.data()) {
                Ok(compiled) => {
                    let schema = Schema {
                        identity: Arc::clone(document.identity()),
                        compiled,
                        is_secret: document.is_encrypted(),
                    };
                    schemas.by_schema.insert(document.name().to_owned(), schema);
                }
                Err(_) if document.is_encrypted() => violations.push(Violation {
                    document: Arc::clone(document.identity()),
                    schema: None,
                    path: ".data".to_owned(),
                    schema_path: String::new(),
                    message: "the data, which is secret, is not a JSON Schema".to_owned(),
                }),
                Err(wrong) => violations.push(Violation {
                    document: Arc::clone(document.identity()),
                    schema: None,
                    path: told::place(&wrong.pointer),
                    schema_path: String::new(),
                    message: wrong.message,
                }),
            }
        }
        (schemas, violations)
    }

    /// How a rendered document does not meet its schema. Control documents and documents without a schema always pass.
    fn validate(&self, rendered: &RenderedDocument) -> Found {
        let document = &rendered.document;
        let mut found = Found::default();
        if TEXT_KINDS.contains(&without_version(document.schema())) && !rendered.data.is_string() {
            found.told.push(Violation {
                document: Arc::clone(document.identity()),
                schema: None,
                path: ".data".to_owned(),
                schema_path: ".type".to_owned(),
                message: "the value is not of type 'string'".to_owned(),
            });
        }
        if let Some(schema) = self.by_schema.get(document.schema()) {
            self.check(schema, rendered, &mut found);
        }
        found
    }

    fn check(&self, schema: &Schema, rendered: &RenderedDocument, found: &mut Found) {
        let secrets = rendered.secret_paths();
        let document = rendered.document.identity();
        let compiled = &schema.compiled;
        // What a validator has begun nothing stops.
        let room = match self.visits.spend(&compiled.outline, &rendered.data, &self.steps) {
            Ok(room) => room,
            // Whether this is so may depend on keys that are secret.
            Err(TooMuch::Pattern(_)) if !secrets.is_none() => {
                found.secret = Some(told::of_secrets(document, schema));
                return;
            }
            Err(reason) => {
                found.told.push(told::not_validated(document, schema, reason));
                return;
            }
        };
        for error in compiled.errors(&rendered.data, room) {
            let told = match &error {
                Some(error) => told::violation(schema, rendered, &secrets, error),
                None => secrets.is_none().then(|| told::without_details(document, schema)),
            };
            match told {
                Some(violation) => found.told.push(violation),
                None => found.secret = Some(told::of_secrets(document, schema)),
            }
            if found.told.len() > MOST_VIOLATIONS {
                break;
            }
        }
    }

    /// The result for all rendered documents. Of all values that are secret at most one violation tells something.
    pub fn validate_all(&self, rendered: &[RenderedDocument]) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut secret = None;
        for document in rendered {
            let found = self.validate(document);
            violations.extend(found.told);
            secret = secret.or(found.secret);
            if violations.len() > MOST_VIOLATIONS {
                violations.truncate(MOST_VIOLATIONS);
                violations.push(told::more(document.document.identity()));
                break;
            }
            // What is said after this would only be that nothing can be said.
            if self.steps.are_used_up() || self.visits.are_used_up() {
                break;
            }
        }
        violations.extend(secret);
        violations
    }
}

/// What is wrong with a document.
#[derive(Default)]
struct Found {
    told: Vec<Violation>,
    /// That something depends on a secret, once.
    secret: Option<Violation>,
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
