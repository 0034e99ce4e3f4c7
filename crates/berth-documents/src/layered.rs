//! Layering of documents that were read from texts: what comes out still knows where it is written.
//!
//! ```text
//! documents with spans ─► Deckhand's engine ─► rendered data ─► documents with the spans of whoever wrote each value
//! ```
//!
//! Only a set with a `LayeringPolicy` is layered; any other is used as it is.

mod places;

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use self::places::{Candidates, place_of};
use crate::{
    deckhand::{
        DataSchemas, DeckhandDocument, FormError, Identity, RenderError, RenderOptions, RenderedDocument, Renderer,
        Violation,
    },
    diagnostic::{Diagnostic, Lint},
    document::{Document, Envelope},
    lints::{DATA_SCHEMA, DOCUMENT_FORM, LAYERING_FAILED, SUBSTITUTION_FAILED},
    node::{Node, Value},
    source::Span,
};

/// The kind whose presence makes a set of documents a layered one.
const LAYERING_POLICY: &str = "deckhand/LayeringPolicy/";
/// Documents that steer rendering; they have done their work when the others are rendered.
const DECKHAND: &str = "deckhand/";

/// Layers the Airship documents of a set that has a `LayeringPolicy`; Kubernetes documents go through as they are.
///
/// Without a `LayeringPolicy` the documents come back untouched. With mistakes no document comes back: half of the layers
/// would only make more findings, about things that are not wrong.
pub fn layer(documents: &[Document]) -> (Cow<'_, [Document]>, Vec<Diagnostic>) {
    if !documents.iter().any(is_layering_policy) {
        return (Cow::Borrowed(documents), Vec::new());
    }
    match Set::read(documents).and_then(|set| set.render()) {
        Ok(documents) => (Cow::Owned(documents), Vec::new()),
        Err(diagnostics) => (Cow::Owned(Vec::new()), diagnostics),
    }
}

/// Whether the document makes its set a layered one.
fn is_layering_policy(document: &Document) -> bool {
    schema(document).is_some_and(|schema| schema.starts_with(LAYERING_POLICY))
}

fn schema(document: &Document) -> Option<&str> {
    match &document.envelope {
        Envelope::Airship { schema } => Some(schema),
        Envelope::Kubernetes { .. } | Envelope::None => None,
    }
}

/// The document in the form that Deckhand takes. What a server adds for reading is not part of it.
pub fn to_deckhand(document: &Document) -> Result<DeckhandDocument, Vec<Diagnostic>> {
    let mut json = document.root.to_json();
    if let Some(json) = json.as_object_mut() {
        json.remove("status");
    }
    DeckhandDocument::from_json(json).map_err(|errors| {
        let errors = errors.errors.iter();
        errors.map(|error| wrong_form(document, error)).collect()
    })
}

fn wrong_form(document: &Document, error: &FormError) -> Diagnostic {
    let span = place_of(&document.root, &error.path).unwrap_or_else(|| document.span());
    let field = if error.path == "." { "the document" } else { &error.path };
    let message = format!("{}: {field}: {}", error.document, error.message);
    Diagnostic::new(&DOCUMENT_FORM, span, message)
}

/// Documents in both forms.
struct Set<'a> {
    documents: &'a [Document],
    deckhand: Vec<Arc<DeckhandDocument>>,
    /// Where the documents of each identity are among `documents`; more than one only by mistake.
    numbers: HashMap<Arc<Identity>, Vec<usize>>,
}

impl<'a> Set<'a> {
    fn read(documents: &'a [Document]) -> Result<Self, Vec<Diagnostic>> {
        let mut set = Self {
            documents,
            deckhand: Vec::new(),
            numbers: HashMap::new(),
        };
        let mut diagnostics = Vec::new();
        for (number, document) in documents.iter().enumerate() {
            if schema(document).is_none() {
                continue;
            }
            match to_deckhand(document) {
                Ok(document) => {
                    let identity = Arc::clone(document.identity());
                    set.numbers.entry(identity).or_default().push(number);
                    set.deckhand.push(Arc::new(document));
                }
                Err(found) => diagnostics.extend(found),
            }
        }
        if diagnostics.is_empty() {
            Ok(set)
        } else {
            Err(diagnostics)
        }
    }

    fn render(&self) -> Result<Vec<Document>, Vec<Diagnostic>> {
        let mut engine = Renderer::new(self.deckhand.iter().cloned(), RenderOptions::default());
        let rendered = engine
            .render()
            .map_err(|errors| errors.iter().map(|error| self.failed(error)).collect::<Vec<_>>())?;
        let mut documents: Vec<(usize, Document)> = Vec::new();
        for rendered in &rendered.documents {
            if let Some((number, written)) = self.written(rendered.document.identity()) {
                documents.push((number, self.rebuilt(&engine, rendered, written)));
            }
        }
        self.check_schemas(&rendered.documents, &documents)?;
        documents.retain(|(_, document)| !schema(document).is_some_and(|schema| schema.starts_with(DECKHAND)));
        let others = self.documents.iter().enumerate();
        documents.extend(
            others
                .filter(|(_, document)| schema(document).is_none())
                .map(|(number, document)| (number, document.clone())),
        );
        // People read files from top to bottom, and so do findings.
        documents.sort_by_key(|(number, _)| *number);
        Ok(documents.into_iter().map(|(_, document)| document).collect())
    }

    fn written(&self, identity: &Identity) -> Option<(usize, &'a Document)> {
        let number = *self.numbers.get(identity)?.first()?;
        Some((number, self.documents.get(number)?))
    }

    fn data(&self, identity: &Identity) -> Option<&'a Node> {
        self.written(identity)?.1.root.get("data")
    }

    /// The document with its rendered data, each value with the place where it is written.
    fn rebuilt(&self, engine: &Renderer, rendered: &RenderedDocument, written: &Document) -> Document {
        let document = &rendered.document;
        if Arc::ptr_eq(&rendered.data, document.data()) {
            return written.clone();
        }
        let chain = |identity: &Arc<Identity>| {
            let ancestors = engine.ancestors(identity);
            std::iter::once(Arc::clone(identity))
                .chain(ancestors)
                .filter_map(|identity| self.data(&identity))
                .collect::<Vec<_>>()
        };
        let mut candidates = Candidates::new(chain(document.identity()));
        let sources = engine.sources(document.identity());
        for (substitution, source) in document.substitutions().iter().zip(sources) {
            let Some(source) = source else { continue };
            for node in chain(&source) {
                for destination in &substitution.destinations {
                    candidates.substituted(destination.path.steps(), node, substitution.source.path.steps());
                }
            }
        }
        let fallback = written.name().map_or_else(|| written.span(), |(_, span)| span);
        let data = candidates.node(&rendered.data, fallback);
        with_data(written, data)
    }

    fn check_schemas(
        &self,
        rendered: &[RenderedDocument],
        documents: &[(usize, Document)],
    ) -> Result<(), Vec<Diagnostic>> {
        let (schemas, mut violations) = DataSchemas::compile(&self.deckhand);
        violations.extend(schemas.validate_all(rendered));
        if violations.is_empty() {
            return Ok(());
        }
        let by_number: HashMap<usize, &Document> = documents.iter().map(|(number, it)| (*number, it)).collect();
        Err(violations
            .iter()
            .map(|violation| self.violated(violation, &by_number))
            .collect())
    }

    fn violated(&self, violation: &Violation, rendered: &HashMap<usize, &Document>) -> Diagnostic {
        let document = self.written(&violation.document);
        let document = document.map(|(number, written)| rendered.get(&number).copied().unwrap_or(written));
        let span =
            document.map(|document| place_of(&document.root, &violation.path).unwrap_or_else(|| document.span()));
        let mut diagnostic = Diagnostic::new(&DATA_SCHEMA, span, violation.to_string());
        if let Some(schema) = &violation.schema
            && let Some(span) = self.name_span(schema)
        {
            diagnostic = diagnostic.with_related(span, "this schema asks for it");
        }
        diagnostic
    }

    fn failed(&self, error: &RenderError) -> Diagnostic {
        let (lint, path) = kind_of(error);
        let involved = error.documents();
        let mut spans: Vec<(Span, String)> = Vec::new();
        for (number, identity) in involved.iter().enumerate() {
            // A document that is there twice is shown twice, the second one first: that is the one to remove.
            let copies = self.numbers.get(*identity).map(Vec::as_slice).unwrap_or_default();
            for copy in copies.iter().rev().filter_map(|number| self.documents.get(*number)) {
                let name = copy.name().map_or_else(|| copy.span(), |(_, span)| span);
                let span = (number == 0).then(|| place_of(&copy.root, path)).flatten();
                spans.push((span.unwrap_or(name), format!("{identity}")));
            }
        }
        let mut spans = spans.into_iter();
        let mut diagnostic = Diagnostic::new(lint, spans.next().map(|(span, _)| span), error.to_string());
        for (span, text) in spans {
            diagnostic = diagnostic.with_related(span, text);
        }
        match help_for(error) {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }

    fn name_span(&self, identity: &Identity) -> Option<Span> {
        let (_, document) = self.written(identity)?;
        Some(document.name().map_or_else(|| document.span(), |(_, span)| span))
    }
}

/// The kind of finding, and the field of the first document that it is about.
const fn kind_of(error: &RenderError) -> (&'static Lint, &'static str) {
    match error {
        RenderError::DuplicateDocument { .. }
        | RenderError::LayeringPolicyNotFound
        | RenderError::SingletonDocumentConflict { .. }
        | RenderError::TooLarge { .. } => (&LAYERING_FAILED, ".metadata.name"),
        RenderError::InvalidDocumentLayer { .. } => (&LAYERING_FAILED, ".metadata.layeringDefinition.layer"),
        RenderError::InvalidDocumentParent { .. } | RenderError::IndeterminateDocumentParent { .. } => {
            (&LAYERING_FAILED, ".metadata.layeringDefinition.parentSelector")
        }
        RenderError::MissingDocumentKey { .. } | RenderError::LayeringFailed { .. } => {
            (&LAYERING_FAILED, ".metadata.layeringDefinition.actions")
        }
        RenderError::InvalidDocumentReplacement { .. } => (&LAYERING_FAILED, ".metadata.replacement"),
        RenderError::SubstitutionDependencyCycle { .. }
        | RenderError::SubstitutionSourceNotFound { .. }
        | RenderError::SubstitutionSourceDataNotFound { .. }
        | RenderError::MissingDocumentPattern { .. }
        | RenderError::UnknownSubstitutionError { .. } => (&SUBSTITUTION_FAILED, ".metadata.substitutions"),
    }
}

fn help_for(error: &RenderError) -> Option<&'static str> {
    match error {
        RenderError::DuplicateDocument { .. } => Some("rename one of them or take it away"),
        RenderError::SingletonDocumentConflict { .. } => Some("keep one LayeringPolicy"),
        RenderError::InvalidDocumentLayer { .. } => Some("use a layer of the policy, or add this one to `layerOrder`"),
        RenderError::IndeterminateDocumentParent { .. } => {
            Some("add a label to `parentSelector` that only one of the parents has")
        }
        RenderError::SubstitutionSourceNotFound { .. } => {
            Some("the source must be a document of this set that is not abstract")
        }
        _ => None,
    }
}

fn with_data(written: &Document, data: Node) -> Document {
    let mut document = written.clone();
    if let Value::Map(map) = &mut document.root.value {
        let mut data = Some(data);
        *map = map
            .to_entries()
            .map(|(key, node)| match data.take_if(|_| key.as_str() == "data") {
                Some(data) => (key, data),
                None => (key, node),
            })
            .collect();
    }
    document
}

#[cfg(test)]
mod tests;
