//! From one source to its documents.

use crate::{
    allowance::Allowance,
    diagnostic::Diagnostic,
    document::Document,
    envelope::add_document,
    findings::Findings,
    json,
    lints::{FILE_TOO_LARGE, too_deep},
    node::Node,
    source::{BYTE_ORDER_MARK, Content, SourceId, Sources, Span},
    yaml,
};

/// What a source holds.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The documents that could be read, in order. Lists are taken apart into their items.
    pub documents: Vec<Document>,
    /// What is wrong with the source, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads all documents of a source: of a text, YAML or JSON, or of an object.
///
/// Reading never fails as a whole: what cannot be read is named in the diagnostics, the rest is returned.
///
/// ```
/// use berth_documents::{Sources, parse};
///
/// let mut sources = Sources::new();
/// let id = sources.add("site.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: w1}\n");
/// let parsed = parse(&sources, id);
/// let (name, span) = parsed.documents[0].name().expect("it has one");
/// assert_eq!((name, sources.location(span).to_string().as_str()), ("w1", "site.yaml:3:18"));
/// ```
pub fn parse(sources: &Sources, id: SourceId) -> Parsed {
    let text = sources.text(id);
    let mut parsed = Parsed::default();
    if u32::try_from(text.len()).is_err() {
        parsed.diagnostics.push(
            Diagnostic::new(&FILE_TOO_LARGE, Span::file_start(id), "the file is 4 GiB or larger")
                .with_help("split it into several files"),
        );
        return parsed;
    }
    let mut whole = Read::default();
    let (roots, findings) = match sources.content(id) {
        // An empty value is not a document, as in a text.
        Some(Content::Object(root)) if root.is_null() => Default::default(),
        Some(Content::Object(root)) => (vec![root.clone()], Findings::default()),
        Some(Content::TooDeep) => {
            let mut findings = Findings::default();
            findings.push(too_deep(Span::file_start(id)));
            (Vec::new(), findings)
        }
        Some(Content::Text(_)) | None => read(id, text),
    };
    whole.findings = findings;
    for root in roots {
        add_document(sources, root, &mut whole);
    }
    // Findings about syntax, trees and envelopes come from different steps; people read a file from top to bottom.
    Parsed {
        documents: whole.documents,
        diagnostics: whole.findings.into_sorted(),
    }
}

/// What was read of a source so far.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) documents: Vec<Document>,
    pub(crate) findings: Findings,
}

fn read(id: SourceId, text: &str) -> (Vec<Node>, Findings) {
    let Some(start) = json_start(text) else {
        let stream = yaml::read(id, text);
        return (stream.roots, stream.diagnostics);
    };
    let read_json = || json::read(id, text, start, &mut Allowance::of(text));
    let json = read_json();
    let Some(failure) = json.failure else {
        return (json.roots, json.diagnostics);
    };
    let (json_failed_at, json_roots) = (failure.span.map_or(0, |span| span.start), json.roots.len());
    // One of the two trees at a time is enough to hold.
    drop((json.roots, json.diagnostics));
    // YAML in flow style begins like JSON, and so does a file whose first document is in flow style.
    let yaml = yaml::read(id, text);
    let Some(yaml_failed_at) = yaml.failed_at else {
        return (yaml.roots, yaml.diagnostics);
    };
    let looks_like_json = text
        .get(start + 1..)
        .is_some_and(|rest| rest.trim_start().starts_with(['"', '{', '[']));
    let json_is_better = json_roots >= yaml.roots.len() && (looks_like_json || json_failed_at >= yaml_failed_at);
    if json_is_better {
        drop(yaml);
        let mut json = read_json();
        json.diagnostics.push_failure(failure);
        return (json.roots, json.diagnostics);
    }
    (yaml.roots, yaml.diagnostics)
}

/// Where JSON would begin, if the text begins like JSON.
fn json_start(text: &str) -> Option<usize> {
    let content = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_start();
    content.starts_with(['{', '[']).then(|| text.len() - content.len())
}

#[cfg(test)]
pub(crate) mod tests;
