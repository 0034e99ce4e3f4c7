//! What a commit asks of the documents: that they are a sound site.

use std::{collections::BTreeSet, fmt, sync::Arc};

use berth_documents::{
    Diagnostic, Severity,
    deckhand::{Identity, RenderError, Violation},
    emit,
};
use berth_labels::Flavour;
use berth_site::{Resolution, Resolver, check, load};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    filed::{FiledDocument, Secrets},
    secret_places::{SiteTexts, read_site},
};

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Level {
    /// It keeps the documents from being committed.
    Error,
    /// It should be looked at.
    Warning,
    /// It is worth knowing.
    Info,
}

/// One finding about documents, in the form that Airship's services exchange.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidationMessage {
    /// What is wrong.
    pub message: String,
    /// Whether it keeps the documents from being committed.
    pub error: bool,
    /// The code of the finding, or the class of the error.
    pub name: String,
    /// The documents concerned, each with schema, layer and name.
    pub documents: Vec<Value>,
    /// How much it matters.
    pub level: Level,
    /// Where it is, and what would be right.
    pub diagnostic: String,
    /// Who found it.
    pub source: &'static str,
    /// Always `ValidationMessage`.
    pub kind: &'static str,
}

impl ValidationMessage {
    fn new(source: &'static str, level: Level, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            error: level == Level::Error,
            name: name.into(),
            documents: Vec::new(),
            level,
            diagnostic: String::new(),
            source,
            kind: "ValidationMessage",
        }
    }

    fn about<'a>(mut self, documents: impl IntoIterator<Item = &'a Identity>) -> Self {
        let named = documents.into_iter().map(|identity| {
            let mut document = Map::new();
            document.insert("schema".to_owned(), Value::from(identity.schema.as_str()));
            document.insert("name".to_owned(), Value::from(identity.name.as_str()));
            if let Some(layer) = &identity.layer {
                document.insert("layer".to_owned(), Value::from(layer.as_str()));
            }
            Value::Object(document)
        });
        self.documents = named.collect();
        self
    }

    fn because(mut self, diagnostic: String) -> Self {
        self.diagnostic = diagnostic;
        self
    }
}

impl From<&RenderError> for ValidationMessage {
    fn from(error: &RenderError) -> Self {
        let documents = error.documents();
        Self::new("Deckhand", Level::Error, error.class(), error.to_string())
            .about(documents.into_iter().map(Arc::as_ref))
    }
}

impl From<&Violation> for ValidationMessage {
    fn from(violation: &Violation) -> Self {
        let schema = violation.schema.as_ref();
        let asked = schema.map_or_else(String::new, |schema| format!(", asked for by {schema}"));
        Self::new(
            "Deckhand",
            Level::Error,
            "Deckhand validation error",
            &*violation.message,
        )
        .about([violation.document.as_ref()])
        .because(format!("at {}{asked}", violation.path))
    }
}

/// A filed report of a validation that failed.
pub(crate) fn failed_validation(name: &str, report: &Value) -> Vec<ValidationMessage> {
    let errors = report.get("errors").and_then(Value::as_array);
    let messages: Vec<ValidationMessage> = errors
        .into_iter()
        .flatten()
        .map(|error| {
            let text = |key: &str| error.get(key).and_then(Value::as_str);
            let message = text("message").map_or_else(|| error.to_string(), str::to_owned);
            let mut message = ValidationMessage::new("Deckhand", Level::Error, name, message);
            if let (Some(schema), Some(document)) = (text("schema"), text("name")) {
                message.documents = vec![json!({"schema": schema, "name": document})];
            }
            message
        })
        .collect();
    if messages.is_empty() {
        let message = format!("validation {name} was reported as failed");
        return vec![ValidationMessage::new("Deckhand", Level::Error, name, message)];
    }
    messages
}

/// A validation that a policy asks for and nobody reported.
pub(crate) fn missing_validation(name: &str) -> ValidationMessage {
    let message = format!("The result for this validation was never found: {name}");
    ValidationMessage::new("Deckhand", Level::Error, name, message)
}

/// What is asked of rendered documents before they are committed. Pure: the same documents get the same answer.
pub trait DocumentRules: fmt::Debug + Send + Sync {
    /// Everything that is wrong with the documents, and what is odd about them.
    fn check(&self, documents: &[FiledDocument]) -> Vec<ValidationMessage>;
}

/// Nothing is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRules;

impl DocumentRules for NoRules {
    fn check(&self, _: &[FiledDocument]) -> Vec<ValidationMessage> {
        Vec::new()
    }
}

/// The documents must be a sound site: everything that `berth lint` knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct SiteRules {
    /// Whose kubelet rules hold, unless the site says it itself.
    pub flavour: Option<Flavour>,
}

impl DocumentRules for SiteRules {
    fn check(&self, documents: &[FiledDocument]) -> Vec<ValidationMessage> {
        let mut texts = read_site(documents);
        let mut findings = std::mem::take(&mut texts.findings);
        let (site, more) = load(&texts.sources, &texts.documents);
        findings.extend(more);
        let declared = site.flavour.as_ref().map(|flavour| flavour.value);
        let resolver = Resolver::new(&site, self.flavour.or(declared).unwrap_or_default());
        let resolutions = resolver.resolve_all();
        findings.extend(check(&texts.sources, &resolver, &resolutions));
        findings.dedup();
        let mut messages: Vec<ValidationMessage> = findings.iter().map(|finding| message(&texts, finding)).collect();
        messages.extend(secret_labels(&texts, &resolutions));
        messages
    }
}

/// Labels are for everybody to read, so what is secret cannot become one.
fn secret_labels(texts: &SiteTexts, resolutions: &[Resolution]) -> Vec<ValidationMessage> {
    let mut told: BTreeSet<(String, Arc<Identity>)> = BTreeSet::new();
    for label in resolutions.iter().flat_map(|resolution| &resolution.labels) {
        if texts.secrets.covers(label.span)
            && let Some(filed) = texts.document(label.span.source)
        {
            told.insert((label.key.as_str().to_owned(), Arc::clone(filed.document.identity())));
        }
    }
    let message = |(key, document): (String, Arc<Identity>)| {
        let message = format!("the value of the label {key} is secret, and labels of nodes are public");
        ValidationMessage::new("Berth", Level::Error, "secret-label", message)
            .about([document.as_ref()])
            .because("take the value from a document that is not encrypted".to_owned())
    };
    told.into_iter().map(message).collect()
}

/// Rendered documents as named texts, as they would lie in a folder: what reads a folder of a site reads a revision.
pub fn site_texts(documents: &[FiledDocument]) -> Vec<(String, String)> {
    site_documents(documents)
        .map(|filed| (source_name(filed), text(filed)))
        .collect()
}

/// Deckhand's own documents steer rendering and are no part of the site. Other control documents are: a Kubernetes
/// document is stored as one.
pub(crate) fn site_documents(documents: &[FiledDocument]) -> impl Iterator<Item = &FiledDocument> {
    let is_of_site = |filed: &&FiledDocument| !filed.document.schema().starts_with("deckhand/");
    documents.iter().filter(is_of_site)
}

pub(crate) fn source_name(filed: &FiledDocument) -> String {
    let document = &filed.document;
    format!("{}/{}/{}.yaml", filed.bucket, document.schema(), document.name())
}

pub(crate) fn text(filed: &FiledDocument) -> String {
    emit::to_yaml(&filed.document_json(Secrets::Cleartext))
}

fn message(texts: &SiteTexts, finding: &Diagnostic) -> ValidationMessage {
    let level = match finding.severity() {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Note => Level::Info,
    };
    let documents: Vec<&FiledDocument> = finding
        .span
        .into_iter()
        .chain(finding.related.iter().map(|(span, _)| *span))
        .filter_map(|span| texts.document(span.source))
        .collect();
    // Findings quote what they are about, and that may be a secret.
    let secret = texts.secrets.tells(finding);
    let said = if secret { finding.lint.summary } else { &finding.message };
    let place = finding.span.map(|span| {
        let place = texts.sources.location(span);
        format!("{} line {}", place.file, place.line)
    });
    let help = finding.help.as_deref().filter(|_| !secret);
    let diagnostic: Vec<&str> = place.as_deref().into_iter().chain(help).collect();
    let mut named: Vec<&Identity> = Vec::new();
    for filed in documents {
        if !named.contains(&filed.document.identity().as_ref()) {
            named.push(filed.document.identity());
        }
    }
    ValidationMessage::new("Berth", level, finding.code(), said)
        .about(named)
        .because(diagnostic.join(": "))
}
