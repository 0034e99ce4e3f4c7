//! Cutting a text at its document markers.

/// The pieces of `text` from `from` on, each holding at most one document with the directives before it.
pub(super) fn segments(text: &str, from: usize) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let mut start = from;
    let mut at = from;
    // Directives (`%YAML 1.1`) come before the marker that begins their document.
    let mut only_directives = false;
    for line in text.get(from..).unwrap_or("").split_inclusive('\n') {
        let end = at + line.len();
        if is_marker(line, "---") {
            if at > start && !only_directives {
                pieces.push((start, at));
                start = at;
            }
            only_directives = false;
        } else if is_marker(line, "...") {
            pieces.push((start, end));
            start = end;
            only_directives = false;
        } else if line.starts_with('%') && text.get(start..at).is_some_and(is_only_comments) {
            only_directives = true;
        } else if !is_only_comments(line) {
            only_directives = false;
        }
        at = end;
    }
    if start < at {
        pieces.push((start, at));
    }
    pieces
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn is_only_comments(text: &str) -> bool {
    text.lines().all(|line| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with('#') || line.starts_with('%')
    })
}
