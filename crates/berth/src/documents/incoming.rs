//! Documents on their way from files into a bucket.

use std::{collections::HashMap, io::Read, path::PathBuf, sync::Arc};

use berth_documents::{
    Diagnostic, Document, DocumentSet, Envelope, Severity,
    deckhand::{DeckhandDocument, Identity},
    emit, to_deckhand,
};
use serde_json::{Map, Value};

use crate::{exit::Exit, failure::Failure, findings, input, output::Printer, site::described};

/// Documents whose form is right.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) documents: Vec<Arc<DeckhandDocument>>,
}

impl Incoming {
    /// As values, with the secrets in them.
    fn values(&self) -> Vec<Value> {
        self.documents.iter().map(|document| document.to_json()).collect()
    }

    /// As a repository would show them, with the secrets in them.
    pub(crate) fn shown(&self) -> Vec<berth_api::Document> {
        let shown = self.values().into_iter().map(|document| berth_api::Document {
            written: match document {
                Value::Object(fields) => fields,
                _ => Map::new(),
            },
            status: None,
        });
        shown.collect()
    }

    /// Whether there is a secret among them.
    pub(crate) fn has_secrets(&self) -> bool {
        self.documents.iter().any(|document| document.is_encrypted())
    }

    /// As one text, with the secrets in it.
    pub(crate) fn text(&self) -> String {
        emit::to_yaml_documents(&self.values())
    }
}

/// Reads the paths of `-f`. With mistakes there is nothing to store: they are shown, and the answer is how the run ends.
pub(crate) fn read(
    paths: &[PathBuf],
    stdin: &mut dyn Read,
    printer: &mut Printer<'_>,
) -> Result<Result<Incoming, Exit>, Failure> {
    let DocumentSet {
        sources,
        documents,
        mut diagnostics,
    } = input::read_documents(paths, stdin)?;
    if documents.is_empty() && diagnostics.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| described(path)).collect();
        // Nothing is taken away on the word of a source that is empty.
        return Err(Failure::Argument {
            message: format!("there is no document in {}", names.join(", ")),
            hint: None,
        });
    }
    diagnostics.retain(|diagnostic| diagnostic.severity() == Severity::Error);
    let mut incoming = Vec::new();
    let mut places: HashMap<Arc<Identity>, String> = HashMap::new();
    let mut refused = Vec::new();
    for document in &documents {
        let place = || sources.location(document.name().map_or_else(|| document.span(), |(_, span)| span));
        match stored_form(document) {
            Ok(stored) => {
                let identity = Arc::clone(stored.identity());
                let here = place().to_string();
                if let Some(first) = places.insert(identity, here.clone()) {
                    let identity = stored.identity();
                    refused.push(format!("{here}: document {identity} is there twice, first at {first}"));
                }
                incoming.push(Arc::new(stored));
            }
            Err(NotStored::Form(found)) => diagnostics.extend(found),
            Err(NotStored::Kind(message)) => refused.push(format!("{}: {message}", place())),
            Err(NotStored::NoEnvelope) => {}
        }
    }
    let shown = findings::show_errors(printer, &sources, diagnostics)?;
    for message in &refused {
        printer.error(message)?;
    }
    if shown != Exit::Done || !refused.is_empty() {
        printer.aside("nothing was stored\n")?;
        return Ok(Err(Exit::No));
    }
    Ok(Ok(Incoming { documents: incoming }))
}

/// Those of the documents that can be stored. Others, such as kinds that Berth does not use, are left out.
#[cfg(feature = "up")]
pub(crate) fn storable(documents: &[Document]) -> Vec<Arc<DeckhandDocument>> {
    let mut known = std::collections::HashSet::new();
    documents
        .iter()
        .filter_map(|document| stored_form(document).ok())
        .filter(|document| known.insert(Arc::clone(document.identity())))
        .map(Arc::new)
        .collect()
}

enum NotStored {
    Form(Vec<Diagnostic>),
    Kind(String),
    /// Reported when it was read.
    NoEnvelope,
}

fn stored_form(document: &Document) -> Result<DeckhandDocument, NotStored> {
    match &document.envelope {
        Envelope::Airship { .. } => to_deckhand(document).map_err(NotStored::Form),
        Envelope::None => Err(NotStored::NoEnvelope),
        Envelope::Kubernetes { api_version, kind } => {
            let Some(airship) = berth_site::to_airship(document) else {
                return Err(NotStored::Kind(format!(
                    "{api_version} {kind} is not a kind that Berth uses, and cannot be stored"
                )));
            };
            DeckhandDocument::from_json(airship).map_err(|errors| {
                let errors: Vec<String> = errors.errors.iter().map(ToString::to_string).collect();
                NotStored::Kind(errors.join("; "))
            })
        }
    }
}
