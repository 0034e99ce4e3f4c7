//! What a commit asks of the documents: that they are a sound site.

use std::{fmt, sync::Arc};

use berth_api::{DocumentName, Level, MessageKind, Source, ValidationMessage};
use berth_documents::{
    Diagnostic, Severity,
    deckhand::{Identity, RenderError, Violation},
};
use berth_labels::Flavour;
use berth_site::{Resolver, check, load};
use serde_json::Value;

use crate::{
    filed::FiledDocument,
    secret_places::{SiteDocuments, read_site},
};

/// A finding about no document yet.
fn finding(source: Source, level: Level, name: impl Into<String>, message: impl Into<String>) -> ValidationMessage {
    ValidationMessage {
        message: message.into(),
        error: level == Level::Error,
        name: name.into(),
        documents: Vec::new(),
        level,
        diagnostic: String::new(),
        source,
        kind: MessageKind::ValidationMessage,
    }
}

fn names<'a>(documents: impl IntoIterator<Item = &'a Identity>) -> Vec<DocumentName> {
    let name = |identity: &Identity| DocumentName {
        schema: identity.schema.clone(),
        name: identity.name.clone(),
        layer: identity.layer.clone(),
    };
    documents.into_iter().map(name).collect()
}

/// Why documents could not be rendered.
pub(crate) fn by_render_error(error: &RenderError) -> ValidationMessage {
    ValidationMessage {
        documents: names(error.documents().into_iter().map(Arc::as_ref)),
        ..finding(Source::Deckhand, Level::Error, error.class(), error.to_string())
    }
}

/// A rendered document that does not meet its schema.
pub(crate) fn by_violation(violation: &Violation) -> ValidationMessage {
    let schema = violation.schema.as_ref();
    let asked = schema.map_or_else(String::new, |schema| format!(", asked for by {schema}"));
    ValidationMessage {
        documents: names([violation.document.as_ref()]),
        diagnostic: format!("at {}{asked}", violation.path),
        ..finding(
            Source::Deckhand,
            Level::Error,
            "Deckhand validation error",
            &*violation.message,
        )
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
            let mut message = finding(Source::Deckhand, Level::Error, name, message);
            if let (Some(schema), Some(document)) = (text("schema"), text("name")) {
                message.documents = vec![DocumentName {
                    schema: schema.to_owned(),
                    name: document.to_owned(),
                    layer: None,
                }];
            }
            message
        })
        .collect();
    if messages.is_empty() {
        let message = format!("validation {name} was reported as failed");
        return vec![finding(Source::Deckhand, Level::Error, name, message)];
    }
    messages
}

/// A validation that a policy asks for and nobody reported.
pub(crate) fn missing_validation(name: &str) -> ValidationMessage {
    let message = format!("The result for this validation was never found: {name}");
    finding(Source::Deckhand, Level::Error, name, message)
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
        let mut read = read_site(documents);
        let mut findings = std::mem::take(&mut read.set.diagnostics);
        let (site, more) = load(&read.set.sources, &read.set.documents);
        findings.extend(more);
        let resolver = Resolver::new(&site, site.flavour_for(self.flavour));
        let resolutions = resolver.resolve_all();
        findings.extend(check(&read.set.sources, &resolver, &resolutions));
        findings.dedup();
        let findings = findings
            .into_iter()
            .filter(|finding| is_written(&read, finding))
            .map(|finding| read.secrets.veil(site.at_commit(finding)));
        findings.map(|finding| message(&read, &finding)).collect()
    }
}

/// Whether a finding is about a value that is written in its document. A password that another layer or a substitution
/// brings into Drydock's documents is in clear text only in what is rendered.
fn is_written(read: &SiteDocuments, found: &Diagnostic) -> bool {
    let filed = found.span.and_then(|span| read.document(span.source));
    let credential = |filed: &FiledDocument| filed.document.data().pointer("/oob/credential").is_some();
    found.code() != "bmc-password" || found.severity() == Severity::Error || filed.is_none_or(credential)
}

fn message(read: &SiteDocuments, found: &Diagnostic) -> ValidationMessage {
    let level = match found.severity() {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Note => Level::Info,
    };
    let documents: Vec<&FiledDocument> = found
        .span
        .into_iter()
        .chain(found.related.iter().map(|(span, _)| *span))
        .filter_map(|span| read.document(span.source))
        .collect();
    let place = found.span.map(|span| read.set.sources.location(span).to_string());
    let help = found.help.as_deref();
    let diagnostic: Vec<&str> = place.as_deref().into_iter().chain(help).collect();
    let mut named: Vec<&Identity> = Vec::new();
    for filed in documents {
        if !named.contains(&filed.document.identity().as_ref()) {
            named.push(filed.document.identity());
        }
    }
    ValidationMessage {
        documents: names(named),
        diagnostic: diagnostic.join(": "),
        ..finding(Source::Berth, level, found.code(), &found.message)
    }
}
