//! The form of documents: what must be there, what may be there, and of which type.
//!
//! Messages are worded as JSON Schema validators word them, because that is what clients of Deckhand know; each also
//! carries the document and the path of the field.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::Arc,
};

use serde_json::{Map, Value};

use crate::{
    deckhand::document::{
        Action, DeckhandDocument, Depth, Destination, Identity, Method, Parts, Source, StoragePolicy, Substitution,
    },
    deckhand::path::{Path, PathError},
    node::MAX_DEPTH,
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
    /// Some entries are no mappings; answered as 400.
    #[error(
        "Expected a list of valid objects. Invalid entries found at following indexes: {}.",
        indexes.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
    )]
    NotObjects {
        /// Their positions, counted from 0.
        indexes: Vec<usize>,
    },
    /// Some documents have the wrong form.
    #[error(transparent)]
    Form(#[from] FormErrors),
}

/// Reads a list of documents, all of whose errors are reported together. Two documents with one identity are an error.
pub fn read_documents(values: Vec<Value>) -> Result<Vec<Arc<DeckhandDocument>>, ReadError> {
    let indexes: Vec<_> = values
        .iter()
        .enumerate()
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
            Err(found) => errors.extend(found.errors),
        }
    }
    let mut seen = HashSet::new();
    for document in &documents {
        if !seen.insert(document.identity()) {
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

/// Reads one document.
pub(crate) fn read(document: Value) -> Result<Parts, FormErrors> {
    let mut form = Form::default();
    let Value::Object(mut document) = document else {
        form.wrong_type(".", &document, "object");
        return Err(FormErrors { errors: form.errors });
    };
    form.document = Described::of(&document);
    if !is_shallow(document.values(), MAX_DEPTH) {
        form.push(".", format!("is nested deeper than {MAX_DEPTH} levels"));
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
            Some(Some(MetadataKind::Control)) => control_metadata(&metadata, &mut parts),
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

    fn document_metadata(&mut self, metadata: &Map<String, Value>, parts: &mut Parts) {
        const AT: &str = ".metadata";
        self.required(AT, metadata, &["storagePolicy", "layeringDefinition"]);
        self.only(
            AT,
            metadata,
            &[
                "schema",
                "name",
                "labels",
                "replacement",
                "layeringDefinition",
                "substitutions",
                "storagePolicy",
            ],
        );
        parts.replacement = self.boolean(AT, metadata, "replacement").unwrap_or_default();
        match self.text(AT, metadata, "storagePolicy") {
            Some("encrypted") => parts.storage_policy = StoragePolicy::Encrypted,
            Some("cleartext") | None => {}
            Some(other) => self.push(
                ".metadata.storagePolicy",
                format!("'{other}' is not one of ['encrypted', 'cleartext']"),
            ),
        }
        if let Some(layering) = self.object(AT, metadata, "layeringDefinition") {
            self.layering(layering, parts);
        }
        for (index, value) in self
            .list(AT, metadata, "substitutions")
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            let at = format!(".metadata.substitutions[{index}]");
            match value.as_object() {
                Some(map) => {
                    if let Some(substitution) = self.substitution(&at, map) {
                        parts.substitutions.push(substitution);
                    }
                }
                None => self.wrong_type(&at, value, "object"),
            }
        }
    }

    fn layering(&mut self, layering: &Map<String, Value>, parts: &mut Parts) {
        const AT: &str = ".metadata.layeringDefinition";
        self.required(AT, layering, &["layer"]);
        self.only(AT, layering, &["layer", "abstract", "parentSelector", "actions"]);
        parts.identity.layer = self.text(AT, layering, "layer").map(str::to_owned);
        parts.is_abstract = self.boolean(AT, layering, "abstract").unwrap_or_default();
        for (one, other) in [("parentSelector", "actions"), ("actions", "parentSelector")] {
            if layering.contains_key(one) && !layering.contains_key(other) {
                self.push(AT, format!("'{other}' is a required property with '{one}'"));
            }
        }
        parts.parent_selector = self.pairs(AT, layering, "parentSelector");
        if parts.parent_selector.is_empty() && layering.get("parentSelector").is_some_and(Value::is_object) {
            self.push(
                &format!("{AT}.parentSelector"),
                "{} does not have enough properties".to_owned(),
            );
        }
        let actions = self.list(AT, layering, "actions");
        if actions.is_some_and(<[_]>::is_empty) {
            self.push(&format!("{AT}.actions"), "[] is too short".to_owned());
        }
        for (index, value) in actions.unwrap_or_default().iter().enumerate() {
            let at = format!("{AT}.actions[{index}]");
            match value.as_object() {
                Some(map) => {
                    if let Some(action) = self.action(&at, map) {
                        parts.actions.push(action);
                    }
                }
                None => self.wrong_type(&at, value, "object"),
            }
        }
    }

    fn action(&mut self, at: &str, map: &Map<String, Value>) -> Option<Action> {
        self.required(at, map, &["method", "path"]);
        self.only(at, map, &["method", "path"]);
        let method = match map.get("method").map(|method| (method, method.as_str())) {
            Some((_, Some("merge"))) => Some(Method::Merge),
            Some((_, Some("replace"))) => Some(Method::Replace),
            Some((_, Some("delete"))) => Some(Method::Delete),
            Some((other, _)) => {
                let message = format!("{} is not one of ['replace', 'delete', 'merge']", shown(other));
                self.push(&format!("{at}.method"), message);
                None
            }
            None => None,
        };
        let written = self.text(at, map, "path")?;
        let path = self.parsed(&format!("{at}.path"), written, Path::parse_action);
        Some(Action {
            method: method?,
            path,
            written: written.to_owned(),
        })
    }

    fn substitution(&mut self, at: &str, map: &Map<String, Value>) -> Option<Substitution> {
        self.required(at, map, &["dest", "src"]);
        self.only(at, map, &["dest", "src"]);
        let mut destinations = Vec::new();
        let here = format!("{at}.dest");
        match map.get("dest") {
            Some(Value::Object(dest)) => destinations.extend(self.destination(&here, dest)),
            Some(Value::Array(dests)) => {
                if dests.is_empty() {
                    self.push(&here, "[] is too short".to_owned());
                }
                for (index, dest) in dests.iter().enumerate() {
                    let here = format!("{here}[{index}]");
                    match dest.as_object() {
                        Some(dest) => destinations.extend(self.destination(&here, dest)),
                        None => self.wrong_type(&here, dest, "object"),
                    }
                }
            }
            Some(other) => self.wrong_type(&here, other, "object"),
            None => {}
        }
        let source = self.object(at, map, "src")?;
        let source = self.source(&format!("{at}.src"), source)?;
        Some(Substitution { source, destinations })
    }

    fn source(&mut self, at: &str, map: &Map<String, Value>) -> Option<Source> {
        self.required(at, map, &["schema", "name", "path"]);
        self.only(
            at,
            map,
            &["schema", "name", "path", "pattern", "match_group", "deepcopy"],
        );
        // Values are never shared between documents here, so the switch has nothing to do; it is checked all the same.
        let _ = self.boolean(at, map, "deepcopy");
        let schema = self.text(at, map, "schema");
        if let Some(schema) = schema.filter(|schema| !is_schema(schema)) {
            self.push(
                &format!("{at}.schema"),
                format!("'{schema}' does not match '{SCHEMA_PATTERN}'"),
            );
        }
        let name = self.text(at, map, "name");
        let written = self.text(at, map, "path");
        let path = written.map(|written| self.parsed(&format!("{at}.path"), written, Path::parse));
        let pattern = self.text(at, map, "pattern");
        let match_group = match map.get("match_group") {
            None => 0,
            Some(value) => value
                .as_u64()
                .and_then(|group| usize::try_from(group).ok())
                .unwrap_or_else(|| {
                    self.push(
                        &format!("{at}.match_group"),
                        format!("{} is not a group number", shown(value)),
                    );
                    0
                }),
        };
        Some(Source {
            schema: schema?.to_owned(),
            name: name?.to_owned(),
            path: path?,
            written: written?.to_owned(),
            pattern: pattern.map(str::to_owned),
            match_group,
        })
    }

    fn destination(&mut self, at: &str, map: &Map<String, Value>) -> Option<Destination> {
        self.required(at, map, &["path"]);
        self.only(at, map, &["path", "pattern", "recurse"]);
        let pattern = self.text(at, map, "pattern").map(str::to_owned);
        let recurse = self.object(at, map, "recurse").and_then(|recurse| {
            let at = format!("{at}.recurse");
            self.required(&at, recurse, &["depth"]);
            let depth = recurse.get("depth")?;
            match depth.as_i64() {
                Some(-1) => Some(Depth::Unlimited),
                Some(levels) if levels >= 0 => Some(usize::try_from(levels).map_or(Depth::Unlimited, Depth::Levels)),
                Some(_) => {
                    self.push(
                        &format!("{at}.depth"),
                        format!("{depth} is less than the minimum of -1"),
                    );
                    None
                }
                None => {
                    self.wrong_type(&format!("{at}.depth"), depth, "integer");
                    None
                }
            }
        });
        let written = self.text(at, map, "path")?;
        let path = self.parsed(&format!("{at}.path"), written, Path::parse);
        Some(Destination {
            path,
            written: written.to_owned(),
            pattern,
            recurse,
        })
    }

    /// The data of the documents that steer Deckhand itself.
    fn control_data(&mut self, identity: &Identity, data: &Value) {
        let kind = without_version(&identity.schema);
        if ![LAYERING_POLICY, VALIDATION_POLICY, DATA_SCHEMA].contains(&kind) {
            return;
        }
        let Some(data) = data.as_object() else {
            self.wrong_type(".data", data, "object");
            return;
        };
        match kind {
            LAYERING_POLICY => self.layer_order(data),
            VALIDATION_POLICY => self.validations(data),
            _ => {
                if !is_schema(&identity.name) {
                    self.push(
                        ".metadata.name",
                        format!("'{}' does not match '{SCHEMA_PATTERN}'", identity.name),
                    );
                }
            }
        }
    }

    fn layer_order(&mut self, data: &Map<String, Value>) {
        self.required(".data", data, &["layerOrder"]);
        self.only(".data", data, &["layerOrder"]);
        let mut seen = HashSet::new();
        for (index, layer) in self
            .list(".data", data, "layerOrder")
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            let at = format!(".data.layerOrder[{index}]");
            match layer.as_str() {
                Some(layer) if !seen.insert(layer) => self.push(&at, format!("'{layer}' is there twice")),
                Some(_) => {}
                None => self.wrong_type(&at, layer, "string"),
            }
        }
    }

    fn validations(&mut self, data: &Map<String, Value>) {
        self.required(".data", data, &["validations"]);
        self.only(".data", data, &["validations"]);
        for (index, validation) in self
            .list(".data", data, "validations")
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            let at = format!(".data.validations[{index}]");
            let Some(validation) = validation.as_object() else {
                self.wrong_type(&at, validation, "object");
                continue;
            };
            self.required(&at, validation, &["name"]);
            self.only(&at, validation, &["name", "expiresAfter"]);
            let _ = self.text(&at, validation, "expiresAfter");
            let name = self.text(&at, validation, "name");
            if let Some(name) = name.filter(|name| !name.ends_with("-validation") && !name.ends_with("-verification")) {
                self.push(
                    &format!("{at}.name"),
                    format!("'{name}' does not match '^.*-(validation|verification)$'"),
                );
            }
        }
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

/// Control metadata may hold anything else; what is there in the usual form is understood.
fn control_metadata(metadata: &Map<String, Value>, parts: &mut Parts) {
    parts.control = true;
    let layering = metadata.get("layeringDefinition");
    parts.identity.layer = layering
        .and_then(|layering| layering.get("layer"))
        .and_then(Value::as_str)
        .map(str::to_owned);
    if metadata.get("storagePolicy").and_then(Value::as_str) == Some("encrypted") {
        parts.storage_policy = StoragePolicy::Encrypted;
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
