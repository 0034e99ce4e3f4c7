//! Documents inside the texts of a `ConfigMap`, with the lines of the file around them.

use std::path::Path;

use berth_documents::{Diagnostic, Document, Node, Severity, SourceId, Sources, Span, Style, parse};

/// One key of a `ConfigMap`.
#[derive(Debug)]
pub(super) struct NestedFile {
    pub(super) namespace: String,
    /// The `ConfigMap`.
    pub(super) map: String,
    /// The key, which becomes a file's name.
    pub(super) key: String,
    pub(super) span: Span,
    pub(super) size: usize,
    pub(super) documents: Vec<Document>,
    /// Why it cannot be read as a whole.
    pub(super) problems: Vec<String>,
    /// There is nothing in it.
    pub(super) is_blank: bool,
}

/// Reads every text that looks like manifests in every `ConfigMap`.
pub(super) fn files(sources: &mut Sources, documents: &[Document]) -> Vec<NestedFile> {
    let mut files = Vec::new();
    let referenced = referenced(documents);
    for document in documents.iter().filter(|document| document.kind() == "ConfigMap") {
        let Some(data) = document.root.get("data").and_then(Node::as_map) else {
            continue;
        };
        let text = |path: &[&str]| {
            let node = document.root.at(path).and_then(Node::as_str);
            node.unwrap_or_default().to_owned()
        };
        for (key, node) in data {
            let Some(content) = node.as_str() else { continue };
            // Settings of other programs are not manifests.
            let looks_like_one =
                content.contains("kind:") || content.contains("\"kind\"") || key.as_str().contains(".y");
            let named = text(&["metadata", "name"]);
            if !looks_like_one && !referenced.contains(&named.as_str()) {
                continue;
            }
            let (mut documents, mut problems) = inner(sources, node, content, key.as_str());
            if is_patch(key.as_str()) {
                // A patch is a list of operations, not an object of the cluster.
                match patch_problem(&documents) {
                    Some(problem) => problems.push(problem),
                    None => documents.clear(),
                }
            } else if extension(key.as_str()) == "json"
                && let Err(error) = serde_json::from_str::<serde_json::Value>(content)
                && problems.is_empty()
            {
                problems.push(format!("illegal JSON: {error}"));
            }
            files.push(NestedFile {
                namespace: text(&["metadata", "namespace"]),
                map: named,
                key: key.as_str().to_owned(),
                span: key.span,
                size: content.len(),
                documents,
                problems,
                is_blank: content.trim().is_empty(),
            });
        }
    }
    files
}

fn extension(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Whether the service applies the file to a manifest of the installer, and not to the cluster.
fn is_patch(key: &str) -> bool {
    extension(key).starts_with("patch")
}

/// Why a patch is not one: it is a list of operations, each with `op` and `path`.
fn patch_problem(documents: &[Document]) -> Option<String> {
    let operations = documents.first().and_then(|document| document.root.as_seq());
    let Some(operations) = operations else {
        return Some("a patch is a list of operations".to_owned());
    };
    let is_text = |operation: &Node, key: &str| operation.get(key).and_then(Node::as_str).is_some();
    let complete = |operation: &Node| is_text(operation, "op") && is_text(operation, "path");
    (!operations.iter().all(complete)).then(|| "each operation of a patch needs `op` and `path`".to_owned())
}

/// The `ConfigMap`s that clusters name for extra manifests.
fn referenced(documents: &[Document]) -> Vec<&str> {
    let lists = ["manifestsConfigMapRefs", "extraManifestsRefs"];
    let bodies = || documents.iter().filter_map(Document::body);
    let listed = bodies().flat_map(|spec| lists.iter().filter_map(|list| spec.get(list)?.as_seq()).flatten());
    let single = bodies().filter_map(|spec| spec.get("manifestsConfigMapRef"));
    listed
        .chain(single)
        .filter_map(|item| item.get("name")?.as_str())
        .collect()
}

/// The documents of a text. A block scalar is read at its own place: everything around it is blanked, and what is left has
/// the lines and columns of the file.
fn inner(sources: &mut Sources, node: &Node, content: &str, key: &str) -> (Vec<Document>, Vec<String>) {
    let errors = |diagnostics: Vec<Diagnostic>| {
        let errors = diagnostics.into_iter().filter(|it| it.severity() == Severity::Error);
        // A list of operations has no kind.
        let errors = errors.filter(|it| !is_patch(key) || it.code() != "unknown-envelope");
        errors.map(|it| it.message).collect::<Vec<_>>()
    };
    let name = sources.name(node.span.source).to_owned();
    if node.style != Style::BlockScalar {
        let id = sources.add(name, content);
        let parsed = parse(sources, id);
        return (parsed.documents, errors(parsed.diagnostics));
    }
    let text = sources.text(node.span.source).to_owned();
    let (start, end) = (node.span.start as usize, node.span.end as usize);
    let (mut documents, mut problems): (Vec<Document>, Vec<String>) = (Vec::new(), Vec::new());
    for (from, to) in pieces(&text, start, end) {
        let id = sources.add(name.as_str(), blanked(&text, from, to));
        let first = documents.len();
        let parsed = parse(sources, id);
        documents.extend(parsed.documents);
        problems.extend(errors(parsed.diagnostics));
        for (index, document) in documents.iter_mut().enumerate().skip(first) {
            document.index = index;
        }
    }
    (documents, problems)
}

/// The text with blanks for everything outside a range, so that what is left has its lines and columns. A character of several bytes
/// gets as many blanks.
fn blanked(text: &str, from: usize, to: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        if (from..to).contains(&at) || matches!(character, '\n' | '\r') {
            out.push(character);
        } else {
            out.extend(std::iter::repeat_n(' ', character.len_utf8()));
        }
    }
    out
}

/// The configurations of load balancers in `ConfigMap`s: texts under a key that ends in `.cfg`.
pub(super) fn load_balancers(sources: &mut Sources, documents: &[Document]) -> Vec<SourceId> {
    let maps = documents.iter().filter(|document| document.kind() == "ConfigMap");
    let entries = maps
        .filter_map(|map| map.root.get("data").and_then(Node::as_map))
        .flatten();
    let mut found = Vec::new();
    for (key, node) in entries {
        let is_configuration = Path::new(key.as_str())
            .extension()
            .is_some_and(|extension| extension == "cfg");
        let Some(content) = node.as_str().filter(|_| is_configuration) else {
            continue;
        };
        let name = sources.name(node.span.source).to_owned();
        let text = if node.style == Style::BlockScalar {
            let whole = sources.text(node.span.source);
            let (start, end) = (node.span.start as usize, node.span.end as usize);
            // The first line holds the mark of the block.
            let mark = whole.get(start..end).and_then(|scalar| scalar.find('\n')).unwrap_or(0);
            blanked(whole, start + mark, end)
        } else {
            content.to_owned()
        };
        found.push(sources.add(name, text));
    }
    found
}

/// The ranges of the documents of a block scalar: `---` lines are indented, so they are not separators for a parser.
fn pieces(text: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let Some(scalar) = text.get(start..end) else {
        return Vec::new();
    };
    let mut pieces = Vec::new();
    let mut at = start;
    let mut from = start;
    for (index, line) in scalar.split_inclusive('\n').enumerate() {
        // The first line may hold the mark of the block.
        if index == 0 && line.trim_start().starts_with(['|', '>']) {
            from = at + line.len();
        } else if line.trim_end().trim_start() == "---" {
            pieces.push((from, at));
            from = at + line.len();
        }
        at += line.len();
    }
    pieces.push((from, at));
    pieces.retain(|(from, to)| text.get(*from..*to).is_some_and(|piece| !piece.trim().is_empty()));
    pieces
}
