//! Cutting a text at its document markers.

/// The pieces of `text` from `from` on, each holding at most one document with the directives before it.
pub(super) fn segments(text: &str, from: usize) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let mut start = from;
    let mut at = from;
    let mut content = Content::Blank;
    for line in text.get(from..).unwrap_or("").split_inclusive('\n') {
        let end = at + line.len();
        if is_marker(line, "---") {
            if content == Content::Document {
                pieces.push((start, at));
                start = at;
            }
            content = Content::Document;
        } else if is_marker(line, "...") {
            pieces.push((start, end));
            start = end;
            content = Content::Blank;
        } else if content == Content::Blank && !is_blank(line) {
            content = Content::Document;
        }
        at = end;
    }
    if start < at {
        pieces.push((start, at));
    }
    pieces
}

/// What a piece holds so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// Empty lines, comments, and directives (`%YAML 1.1`), which come before the marker that begins their document.
    Blank,
    Document,
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with(['#', '%'])
}
