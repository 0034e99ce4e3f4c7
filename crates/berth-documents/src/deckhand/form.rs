//! The form of documents: what must be there, what may be there, and of which type.
//!
//! Messages are worded as JSON Schema validators word them, because that is what clients of Deckhand know; each also
//! carries the document and the path of the field.

mod control;
mod metadata;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashSet},
    fmt,
    sync::Arc,
};

use serde_json::{Map, Value};

use crate::deckhand::{
    document::{DeckhandDocument, Identity, MAX_DATA_DEPTH, Parts, StoragePolicy},
    path::{Path, PathError},
};

pub(crate) const LAYERING_POLICY: &str = "deckhand/LayeringPolicy";
pub(crate) const VALIDATION_POLICY: &str = "deckhand/ValidationPolicy";
pub(crate) const DATA_SCHEMA: &str = "deckhand/DataSchema";

const SCHEMA_PATTERN: &str = r"^[A-Za-z]+/[A-Za-z]+/v\d+$";

/// One thing that is wrong with the form of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    /// The document, as far as it says what it is.
    pub document: Described,
    /// The field, such as `.metadata.layeringDefinition.layer`.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// What is known of a document that may be wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// `schema`, if it is a text.
    pub schema: Option<String>,
    /// `metadata.layeringDefinition.layer`, if it is a text.
    pub layer: Option<String>,
    /// `metadata.name`, if it is a text.
    pub name: Option<String>,
}

impl Described {
    fn of(document: &Map<String, Value>) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let metadata = document.get("metadata");
        Self {
            schema: text(document.get("schema")),
            layer: text(metadata.and_then(|metadata| metadata.pointer("/layeringDefinition/layer"))),
            name: text(metadata.and_then(|metadata| metadata.get("name"))),
        }
    }
}

impl From<&Identity> for Described {
    fn from(identity: &Identity) -> Self {
        Self {
            schema: Some(identity.schema.clone()),
            layer: identity.layer.clone(),
            name: Some(identity.name.clone()),
        }
    }
}

impl fmt::Display for Described {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |part: &Option<String>| part.clone().unwrap_or_else(|| "N/A".to_owned());
        write!(
            formatter,
            "[{}, {}] {}",
            part(&self.schema),
            part(&self.layer),
            part(&self.name)
        )
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.document, self.path, self.message)
    }
}

/// Everything that is wrong with the form of some documents; answered as 400 `InvalidDocumentFormat`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The provided documents failed schema validation.")]
pub struct FormErrors {
    /// At least one error, in the order of the documents.
    pub errors: Vec<FormError>,
}

impl FormErrors {
    /// The name of Deckhand's error class.
    pub const CLASS: &'static str = "InvalidDocumentFormat";
    /// The HTTP status.
    pub const STATUS: u16 = 400;
}

/// Why a list of values is not a list of documents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Some entries are not mappings; answered as 400.
    #[error(
        "Expected a list of valid objects. Invalid entries found at following indexes: {}.",
        indexes.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
    )]
    NotObjects {
        /// Their positions, counted from 1.
        indexes: Vec<usize>,
    },
    /// Some documents have the wrong form.
    #[error(transparent)]
    Form(#[from] FormErrors),
}

/// Reads a list of documents, all of whose errors are reported together. Two documents with one identity are an error.
pub fn read_documents(values: Vec<Value>) -> Result<Vec<Arc<DeckhandDocument>>, ReadError> {
    let indexes: Vec<_> = (1..)
        .zip(&values)
        .filter(|(_, value)| !value.is_object())
        .map(|(index, _)| index)
        .collect();
    if !indexes.is_empty() {
        return Err(ReadError::NotObjects { indexes });
    }
    let mut documents = Vec::with_capacity(values.len());
    let mut errors = Vec::new();
    for value in values {
        match DeckhandDocument::from_json(value) {
            Ok(document) => documents.push(Arc::new(document)),
            Err(found) if errors.len() < MOST_ERRORS => errors.extend(found.errors),
            Err(_) => {}
        }
    }
    let mut seen = HashSet::new();
    for document in &documents {
        if errors.len() < 2 * MOST_ERRORS && !seen.insert(document.identity()) {
            errors.push(duplicate(document.identity()));
        }
    }
    if errors.is_empty() {
        Ok(documents)
    } else {
        Err(FormErrors { errors }.into())
    }
}

/// The error for a second document with the same identity.
fn duplicate(identity: &Identity) -> FormError {
    FormError {
        document: identity.into(),
        path: ".".to_owned(),
        message: "Duplicate document exists".to_owned(),
    }
}

/// So many errors of one document are listed, and of all documents about as many again: each has its text, and an upload of a
/// few megabytes can have hundreds of thousands.
const MOST_ERRORS: usize = 200;

/// Reads one document.
pub(crate) fn read(document: Value) -> Result<Parts, FormErrors> {
    let mut form = Form::default();
    let Value::Object(mut document) = document else {
        form.wrong_type(".", &document, "object");
        return Err(FormErrors { errors: form.errors });
    };
    form.document = Described::of(&document);
    if !is_shallow(document.values(), MAX_DATA_DEPTH) {
        form.push(".", format!("is nested deeper than {MAX_DATA_DEPTH} levels"));
        return Err(FormErrors { errors: form.errors });
    }
    let parts = form.base(&mut document);
    match parts {
        Some(parts) if form.errors.is_empty() => Ok(parts),
        _ => Err(FormErrors { errors: form.errors }),
    }
}

/// Whether no value has more levels than `levels`. Stops at that depth, so it is safe on any value.
fn is_shallow<'a>(mut values: impl Iterator<Item = &'a Value>, levels: usize) -> bool {
    values.all(|value| match value {
        Value::Array(items) => levels > 0 && is_shallow(items.iter(), levels - 1),
        Value::Object(map) => levels > 0 && is_shallow(map.values(), levels - 1),
        _ => true,
    })
}

#[derive(Default)]
struct Form {
    document: Described,
    errors: Vec<FormError>,
}

impl Form {
    fn push(&mut self, path: &str, message: String) {
        let (path, message) = match self.errors.len().cmp(&MOST_ERRORS) {
            Ordering::Less => (path, message),
            Ordering::Equal => (".", "There are more errors, which are left out".to_owned()),
            Ordering::Greater => return,
        };
        self.errors.push(FormError {
            document: self.document.clone(),
            path: path.to_owned(),
            message,
        });
    }

    fn wrong_type(&mut self, path: &str, value: &Value, expected: &str) {
        self.push(path, format!("{} is not of type '{expected}'", shown(value)));
    }

    fn required(&mut self, path: &str, map: &Map<String, Value>, keys: &[&str]) {
        for key in keys {
            if !map.contains_key(*key) {
                self.push(path, format!("'{key}' is a required property"));
            }
        }
    }

    fn only(&mut self, path: &str, map: &Map<String, Value>, keys: &[&str]) {
        for key in map.keys() {
            if !keys.contains(&key.as_str()) {
                self.push(
                    path,
                    format!("Additional properties are not allowed ('{key}' was unexpected)"),
                );
            }
        }
    }

    fn text<'a>(&mut self, path: &str, map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
        let value = map.get(key)?;
        if value.as_str().is_none() {
            self.wrong_type(&format!("{path}.{key}"), value, "string");
        }
        value.as_str()
    }

    fn boolean(&mut self, path: &str, map: &Map<String, Value>, key: &str) -> Option<bool> {
        let value = map.get(key)?;
        if value.as_bool().is_none() {
            self.wrong_type(&format!("{path}.{key}"), value, "boolean");
        }
        value.as_bool()
    }

    fn object<'a>(&mut self, path: &str, map: &'a Map<String, Value>, key: &str) -> Option<&'a Map<String, Value>> {
        let value = map.get(key)?;
        if !value.is_object() {
            self.wrong_type(&format!("{path}.{key}"), value, "object");
        }
        value.as_object()
    }

    fn list<'a>(&mut self, path: &str, map: &'a Map<String, Value>, key: &str) -> Option<&'a [Value]> {
        let value = map.get(key)?;
        if !value.is_array() {
            self.wrong_type(&format!("{path}.{key}"), value, "array");
        }
        value.as_array().map(Vec::as_slice)
    }

    fn pairs(&mut self, path: &str, map: &Map<String, Value>, key: &str) -> BTreeMap<String, Value> {
        self.object(path, map, key)
            .map(|pairs| pairs.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
            .unwrap_or_default()
    }

    fn parsed(&mut self, path: &str, written: &str, parse: fn(&str) -> Result<Path, PathError>) -> Path {
        parse(written).unwrap_or_else(|error| {
            self.push(path, error.to_string());
            Path::root()
        })
    }

    fn base(&mut self, document: &mut Map<String, Value>) -> Option<Parts> {
        self.required(".", document, &["schema", "metadata", "data"]);
        self.only(".", document, &["schema", "metadata", "data"]);
        let schema = self.text("", document, "schema").map(str::to_owned);
        if let Some(schema) = schema.as_deref().filter(|schema| !is_schema(schema)) {
            self.push(".schema", format!("'{schema}' does not match '{SCHEMA_PATTERN}'"));
        }
        let metadata = match document.remove("metadata")? {
            Value::Object(metadata) => metadata,
            other => {
                self.wrong_type(".metadata", &other, "object");
                return None;
            }
        };
        let data = document.remove("data").unwrap_or_default();
        self.required(".metadata", &metadata, &["schema", "name"]);
        let name = self.text(".metadata", &metadata, "name").map(str::to_owned);
        let kind = self.text(".metadata", &metadata, "schema").map(metadata_kind);
        let mut parts = Parts {
            identity: Identity {
                schema: schema.unwrap_or_default(),
                layer: None,
                name: name.unwrap_or_default(),
            },
            control: false,
            is_abstract: false,
            labels: self.pairs(".metadata", &metadata, "labels"),
            parent_selector: BTreeMap::new(),
            actions: Vec::new(),
            replacement: false,
            storage_policy: StoragePolicy::Cleartext,
            substitutions: Vec::new(),
            metadata: Value::Null,
            data: Value::Null,
        };
        match kind {
            Some(Some(MetadataKind::Document)) => self.document_metadata(&metadata, &mut parts),
            Some(Some(MetadataKind::Control)) => control::control_metadata(&metadata, &mut parts),
            Some(None) => self.push(
                ".metadata.schema",
                format!(
                    "{} does not match '^metadata/(Document|Control)/v\\d+$'",
                    metadata.get("schema").map(shown).unwrap_or_default()
                ),
            ),
            None => {}
        }
        self.control_data(&parts.identity, &data);
        parts.metadata = with_defaults(metadata);
        parts.data = data;
        Some(parts)
    }
}

enum MetadataKind {
    Document,
    Control,
}

fn metadata_kind(schema: &str) -> Option<MetadataKind> {
    let (kind, version) = schema.strip_prefix("metadata/")?.split_once('/')?;
    match kind {
        "Document" if is_version(version) => Some(MetadataKind::Document),
        "Control" if is_version(version) => Some(MetadataKind::Control),
        _ => None,
    }
}

/// The defaults are part of the metadata as it is hashed and shown.
fn with_defaults(mut metadata: Map<String, Value>) -> Value {
    let mut default = |key: &str, value: Value| {
        metadata.entry(key.to_owned()).or_insert(value);
    };
    default("storagePolicy", Value::from("cleartext"));
    default("replacement", Value::from(false));
    default("layeringDefinition", Value::Object(Map::new()));
    if let Some(Value::Object(layering)) = metadata.get_mut("layeringDefinition") {
        layering.entry("abstract").or_insert(Value::from(false));
    }
    Value::Object(metadata)
}

/// Whether a text has the form `namespace/Kind/v1`.
pub(crate) fn is_schema(text: &str) -> bool {
    let word = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic()))
    };
    let mut parts = text.splitn(3, '/');
    word(parts.next()) && word(parts.next()) && parts.next().is_some_and(is_version)
}

fn is_version(text: &str) -> bool {
    text.strip_prefix('v')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `namespace/Kind` of a schema.
pub(crate) fn without_version(schema: &str) -> &str {
    schema.rsplit_once('/').map_or(schema, |(kind, _)| kind)
}

/// A value in a message, cut when it is long.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 100;
    let text = match value {
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
