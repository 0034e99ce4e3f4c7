//! Validation of rendered documents by `DataSchema` documents, and what `ValidationPolicy` documents make of it.

mod policy;
mod told;

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::{Draft, Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Value, json};

use crate::deckhand::{
    document::{DeckhandDocument, Identity},
    form::{DATA_SCHEMA, without_version},
    pattern::{Pattern, Patterns, Steps},
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
}

/// One compiled schema.
#[derive(Debug)]
struct Schema {
    identity: Arc<Identity>,
    validator: Validator,
    /// Whether nothing of the schema may be told.
    is_secret: bool,
    /// Whether what it asks of one value can depend on another one.
    has_conditions: bool,
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
        let patterns = Arc::default();
        for document in documents {
            if without_version(document.schema()) != DATA_SCHEMA {
                continue;
            }
            match compile(document.data(), &patterns, &schemas.steps) {
                Ok(validator) => {
                    let schema = Schema {
                        identity: Arc::clone(document.identity()),
                        validator,
                        is_secret: document.is_encrypted(),
                        has_conditions: has_conditions(document.data()),
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
                Err((path, message)) => violations.push(Violation {
                    document: Arc::clone(document.identity()),
                    schema: None,
                    path: told::place(&path),
                    schema_path: String::new(),
                    message,
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
            let secrets = rendered.secret_paths();
            for error in schema.validator.iter_errors(&rendered.data) {
                match told::violation(schema, rendered, &secrets, &error) {
                    Some(violation) => found.told.push(violation),
                    None => found.secret = Some(told::of_secrets(document.identity(), schema)),
                }
            }
        }
        found
    }

    /// The result for all rendered documents. Of all values that are secret at most one violation tells something.
    pub fn validate_all(&self, rendered: &[RenderedDocument]) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut secret = None;
        for document in rendered {
            let found = self.validate(document);
            violations.extend(found.told);
            secret = secret.or(found.secret);
            // What is said after this would only be that nothing can be said.
            if self.steps.are_used_up() {
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

fn compile(schema: &Value, patterns: &Arc<Mutex<Patterns>>, steps: &Arc<Steps>) -> Result<Validator, (String, String)> {
    let wrong = |error: ValidationError<'_>| (error.instance_path().as_str().to_owned(), error.to_string());
    let (patterns, steps) = (Arc::clone(patterns), Arc::clone(steps));
    let options = jsonschema::options()
        .offline()
        .with_keyword("pattern", move |_, value, _| pattern_keyword(value, &patterns, &steps));
    // What is left are patterns for the keys of mappings.
    let options = if key_patterns_are_linear(schema) {
        options.with_pattern_options(PatternOptions::regex().size_limit(KEY_PATTERN_SIZE))
    } else {
        options.with_pattern_options(
            PatternOptions::fancy_regex()
                .backtrack_limit(KEY_PATTERN_STEPS)
                .size_limit(KEY_PATTERN_SIZE),
        )
    };
    let declared = schema.get("$schema").and_then(Value::as_str);
    if declared.is_some_and(is_known_draft) {
        return options.build(schema).map_err(wrong);
    }
    // Many documents name a draft that never was. What they mean is what Deckhand reads them by.
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.remove("$schema");
    }
    options.with_draft(Draft::Draft4).build(&schema).map_err(wrong)
}

/// How many steps a pattern may take on one key of a mapping, where it needs backtracking. Keys are short.
const KEY_PATTERN_STEPS: usize = 5000;
/// How large a compiled pattern for keys may be, in bytes.
const KEY_PATTERN_SIZE: usize = 1 << 20;

/// Whether a schema has conditions. A property of this name is taken for one.
fn has_conditions(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| key == "if" || has_conditions(value)),
        Value::Array(items) => items.iter().any(has_conditions),
        _ => false,
    }
}

/// Whether all patterns for the keys of mappings run in linear time.
fn key_patterns_are_linear(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().all(|(key, value)| {
            let own = (key == "patternProperties").then(|| value.as_object()).flatten();
            let linear = |pattern: &String| translated(pattern).is_some_and(|it| regex::Regex::new(&it).is_ok());
            own.is_none_or(|own| own.keys().all(linear)) && key_patterns_are_linear(value)
        }),
        Value::Array(items) => items.iter().all(key_patterns_are_linear),
        _ => true,
    }
}

/// A pattern of a schema in the spelling of the engine.
fn translated(pattern: &str) -> Option<Cow<'_, str>> {
    jsonschema_regex::to_rust_regex(pattern).ok()
}

fn pattern_keyword<'a>(
    value: &'a Value,
    patterns: &Mutex<Patterns>,
    steps: &Arc<Steps>,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let written = value
        .as_str()
        .ok_or_else(|| ValidationError::custom(format!("{value} is not of type \"string\"")))?;
    let wrong = || ValidationError::custom(format!("{value} is not a \"regex\""));
    let spelled = translated(written).ok_or_else(wrong)?;
    let mut patterns = patterns.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = patterns.get_if_room(&spelled).ok_or_else(|| {
        ValidationError::custom("the patterns of all schemas together are too large: use fewer of them".to_owned())
    })?;
    Ok(Box::new(PatternKeyword {
        written: value.to_string(),
        compiled: compiled.map_err(|_| wrong())?,
        steps: Arc::clone(steps),
    }))
}

/// The keyword `pattern`, which spends steps of a budget.
struct PatternKeyword {
    written: String,
    compiled: Arc<Pattern>,
    steps: Arc<Steps>,
}

impl<'i> Keyword<'i> for PatternKeyword {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        let Some(text) = instance.as_str() else {
            return Ok(());
        };
        match self.compiled.is_match(text, &self.steps) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ValidationError::custom(format!("does not match {}", self.written))),
            Err(error) => Err(ValidationError::custom(format!(
                "is not known to match {}: {error}",
                self.written
            ))),
        }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.validate(instance).is_ok()
    }
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
