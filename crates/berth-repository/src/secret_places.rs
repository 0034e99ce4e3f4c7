//! Where in the texts of a site the secrets are.
//!
//! A site is read from documents with their secrets in them: a certificate must be checked as it is. What is said about the
//! site is for everybody who may validate it, so it must not repeat what is at these places.

use std::collections::HashSet;

use berth_documents::{
    Diagnostic, Document, Node, SourceId, Sources, Span,
    deckhand::{SecretPaths, Step},
    parse,
};
use serde_json::Value;

use crate::{
    filed::FiledDocument,
    site_rules::{site_documents, source_name, text},
};

/// Documents of a site as they were read.
#[derive(Debug, Default)]
pub struct SiteTexts {
    /// The texts.
    pub sources: Sources,
    /// The documents in them.
    pub documents: Vec<Document>,
    /// What is wrong with the texts.
    pub findings: Vec<Diagnostic>,
    /// Where the secrets are.
    pub secrets: SecretPlaces,
    /// The document of each text, by its number.
    pub(crate) filed: Vec<FiledDocument>,
}

impl SiteTexts {
    /// The document that a text was made of.
    pub(crate) fn document(&self, source: SourceId) -> Option<&FiledDocument> {
        self.filed.get(usize::try_from(source.0).ok()?)
    }
}

/// Reads rendered documents as a site does, with their secrets.
pub fn read_site(documents: &[FiledDocument]) -> SiteTexts {
    let mut site = SiteTexts::default();
    for filed in site_documents(documents) {
        let id = site.sources.add(source_name(filed), text(filed));
        site.filed.push(filed.clone());
        let read = parse(&site.sources, id);
        if filed.document.is_encrypted() || filed.secrets.is_whole() {
            site.secrets.spans.push(Span::new(id, 0, u32::MAX));
        } else {
            let data = read.documents.iter().filter_map(|document| document.root.get("data"));
            data.for_each(|data| site.secrets.add_places(data, &filed.secrets));
        }
        site.secrets.add_texts(&filed.data, &filed.secrets);
        site.documents.extend(read.documents);
        site.findings.extend(read.diagnostics);
    }
    site
}

/// The places and texts of secrets.
#[derive(Debug, Default)]
pub struct SecretPlaces {
    spans: Vec<Span>,
    texts: HashSet<String>,
}

impl SecretPlaces {
    /// Whether a place is, holds or is inside a secret.
    pub fn covers(&self, span: Span) -> bool {
        let touches = |it: &Span| it.source == span.source && it.start <= span.end && span.start <= it.end;
        self.spans.iter().any(touches)
    }

    /// Whether a finding is about a secret, or repeats one.
    pub fn tells(&self, finding: &Diagnostic) -> bool {
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
                Step::Key(key) => node.get(key),
                Step::Index(index) => node.as_seq()?.get(*index),
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
