//! Documents inside the texts of a `ConfigMap`, with the lines of the file around them.

use berth_documents::{Document, Node, Sources, Span, Style, parse};

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
}

/// Reads every text that looks like manifests in every `ConfigMap`.
pub(super) fn files(sources: &mut Sources, documents: &[Document]) -> Vec<NestedFile> {
    let mut files = Vec::new();
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
            // Settings of other programs are no manifests.
            if !content.contains("kind:") && !content.contains("\"kind\"") && !key.as_str().contains(".y") {
                continue;
            }
            files.push(NestedFile {
                namespace: text(&["metadata", "namespace"]),
                map: text(&["metadata", "name"]),
                key: key.as_str().to_owned(),
                span: key.span,
                size: content.len(),
                documents: inner(sources, node, content),
            });
        }
    }
    files
}

/// The documents of a text. A block scalar is read at its own place: everything around it is blanked, and what is left has
/// the lines and columns of the file.
fn inner(sources: &mut Sources, node: &Node, content: &str) -> Vec<Document> {
    let name = sources.name(node.span.source).to_owned();
    if node.style != Style::BlockScalar {
        let id = sources.add(name, content);
        return parse(sources, id).documents;
    }
    let text = sources.text(node.span.source).to_owned();
    let (start, end) = (node.span.start as usize, node.span.end as usize);
    let mut documents: Vec<Document> = Vec::new();
    for (from, to) in pieces(&text, start, end) {
        let blanked: String = text
            .char_indices()
            .map(|(at, character)| {
                if (from..to).contains(&at) || matches!(character, '\n' | '\r') {
                    character
                } else {
                    ' '
                }
            })
            .collect();
        let id = sources.add(name.as_str(), blanked);
        let first = documents.len();
        documents.extend(parse(sources, id).documents);
        for (index, document) in documents.iter_mut().enumerate().skip(first) {
            document.index = index;
        }
    }
    documents
}

/// The ranges of the documents of a block scalar: `---` lines are indented, so they are no separators for a parser.
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
