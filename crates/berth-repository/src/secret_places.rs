//! A site is read without its secrets.
//!
//! Whatever a site says of nodes is for everybody to read: names, racks, tags, labels, and what is made of them. So the value
//! that is secret is not there when a site is read, and nothing that asks the site can tell it. Machine configs are the
//! exception: their contents are for machines, and rendering needs them as they are. What is said about those must not repeat
//! what is secret in them.

use std::collections::HashSet;

use berth_api::Document;
use berth_documents::{
    Diagnostic, DocumentSet, Node, SourceId, Span,
    deckhand::{Path, PathPart, SecretPaths},
};
use serde_json::Value;

use crate::filed::{FiledDocument, Secrets};

/// Documents of a site as they were read.
#[derive(Debug, Default)]
pub struct SiteDocuments {
    /// The documents.
    pub set: DocumentSet,
    /// Where the secrets are.
    pub secrets: SecretPlaces,
    /// The filed document of each source, by its number.
    pub(crate) filed: Vec<FiledDocument>,
}

/// Documents that are in no revision have no secrets that anybody marked.
impl From<DocumentSet> for SiteDocuments {
    fn from(set: DocumentSet) -> Self {
        Self { set, ..Self::default() }
    }
}

impl SiteDocuments {
    /// The filed document that a source is.
    pub(crate) fn document(&self, source: SourceId) -> Option<&FiledDocument> {
        self.filed.get(usize::try_from(source.0).ok()?)
    }
}

/// The kind of document whose contents go to machines and to nobody else.
const MACHINE_CONFIG: &str = "berth/MachineConfig/v1";

/// What a finding about a secret says instead of what would be right.
const HELP: &str = "the value comes from an encrypted document, and names, racks, tags and labels of nodes are public: take it from a \
                    document that is not encrypted";

/// Stands in a site for what is secret. It is neither a name nor a label, so that nothing is made of it.
const SECRET: &str = "<secret>";

/// Deckhand's own documents steer rendering and are not part of the site. Other control documents are: a Kubernetes document
/// is stored as one.
const STEERING: &str = "deckhand/";

/// Reads rendered documents as a site does: without their secrets, except those of machine configs.
pub fn read_site(documents: &[FiledDocument]) -> SiteDocuments {
    let mut site = SiteDocuments::default();
    let is_of_site = |filed: &&FiledDocument| !filed.document.schema().starts_with(STEERING);
    for filed in documents.iter().filter(is_of_site) {
        let encrypted = filed.document.is_encrypted().then(SecretPaths::whole);
        let secrets = encrypted.as_ref().unwrap_or(&filed.secrets);
        site.add(source_name(filed), filed.document_json(Secrets::Cleartext), secrets);
        site.filed.push(filed.clone());
    }
    site
}

/// The same of documents as a reply shows them, whoever asked for it: their status says what is secret.
pub fn read_shown_site(documents: Vec<Document>, name: impl Fn(&Document) -> String) -> SiteDocuments {
    let mut site = SiteDocuments::default();
    for document in documents {
        let schema = document.written.get("schema").and_then(Value::as_str);
        if schema.is_some_and(|schema| schema.starts_with(STEERING)) {
            continue;
        }
        let name = name(&document);
        let policy = document.written.get("metadata").and_then(|it| it.get("storagePolicy"));
        let secrets = if policy.and_then(Value::as_str) == Some("encrypted") {
            SecretPaths::whole()
        } else {
            let paths = document
                .status
                .and_then(|status| status.secret_paths)
                .unwrap_or_default();
            SecretPaths::of(paths.iter().map(|path| shown_path(path)))
        };
        site.add(name, Value::Object(document.written), &secrets);
    }
    site
}

/// A path into the data, from one into the document. What cannot be read is everything.
fn shown_path(path: &str) -> Path {
    let below = path.strip_prefix(".data").unwrap_or_default();
    if below.is_empty() {
        return Path::root();
    }
    Path::parse(below).unwrap_or_else(|_| Path::root())
}

impl SiteDocuments {
    /// Adds a document that shows its secrets.
    fn add(&mut self, name: String, mut document: Value, secrets: &SecretPaths) {
        let is_for_machines = document.get("schema").and_then(Value::as_str) == Some(MACHINE_CONFIG);
        if let Some(data) = document.get_mut("data") {
            if is_for_machines {
                self.secrets.add_texts(data, secrets);
            } else {
                *data = secrets.replaced(data, &mut |_, _, _| Value::from(SECRET));
            }
        }
        let before = self.set.documents.len();
        let id = self.set.add_object(name, &document);
        if secrets.is_whole() {
            self.secrets.spans.push(Span::new(id, 0, u32::MAX));
            return;
        }
        let read = self.set.documents.iter().skip(before);
        let data = read.filter_map(|document| document.root.get("data"));
        data.for_each(|data| self.secrets.add_places(data, secrets));
    }
}

fn source_name(filed: &FiledDocument) -> String {
    let document = &filed.document;
    format!("{}/{}/{}", filed.bucket, document.schema(), document.name())
}

/// The places and texts of secrets.
#[derive(Debug, Default)]
pub struct SecretPlaces {
    spans: Vec<Span>,
    texts: HashSet<String>,
}

impl SecretPlaces {
    /// The finding as it may be told to everybody: where it is about a secret, or repeats one, only what kind of finding it is.
    #[must_use]
    pub fn veil(&self, finding: Diagnostic) -> Diagnostic {
        let covered = finding.span.is_some_and(|span| self.covers(span));
        if !covered && !self.tells(&finding) {
            return finding;
        }
        let mut veiled = finding;
        veiled.message = format!("{} (the value is secret)", veiled.lint.summary);
        veiled.help = covered.then(|| HELP.to_owned());
        veiled.related.clear();
        veiled
    }

    /// A text as it may be told to everybody.
    pub fn veil_text(&self, text: String) -> String {
        if self.repeats(&text) {
            return "something about a value that is secret".to_owned();
        }
        text
    }

    /// Whether a place is, holds or is inside a secret.
    fn covers(&self, span: Span) -> bool {
        let touches = |it: &Span| it.source == span.source && it.start <= span.end && span.start <= it.end;
        self.spans.iter().any(touches)
    }

    /// Whether a finding is about a secret, or repeats one.
    fn tells(&self, finding: &Diagnostic) -> bool {
        let related = finding.related.iter();
        let mut spans = finding.span.into_iter().chain(related.clone().map(|(span, _)| *span));
        let texts = std::iter::once(&finding.message).chain(&finding.help);
        let mut texts = texts.chain(related.map(|(_, text)| text));
        spans.any(|span| self.covers(span)) || texts.any(|text| self.repeats(text))
    }

    fn repeats(&self, text: &str) -> bool {
        self.texts.iter().any(|secret| text.contains(secret.as_str()))
    }

    fn add_places(&mut self, data: &Node, secrets: &SecretPaths) {
        for path in secrets.paths() {
            let node = path.steps().iter().try_fold(data, |node, step| match step {
                PathPart::Key(key) => node.get(key),
                PathPart::Index(index) => node.as_seq()?.get(*index),
            });
            self.spans.extend(node.map(|node| node.span));
        }
    }

    fn add_texts(&mut self, data: &Value, secrets: &SecretPaths) {
        for path in secrets.paths() {
            if let Some(value) = path.get(data) {
                self.add_leaves(value);
            }
        }
    }

    /// Every text and number of a secret, by line too, as it is and as messages quote it.
    fn add_leaves(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add_text(text),
            Value::Number(number) => self.add_text(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add_leaves(item)),
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                self.add_text(key);
                self.add_leaves(value);
            }),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.texts.insert(line.to_owned());
            self.texts.insert(line.escape_debug().to_string());
        }
    }
}
