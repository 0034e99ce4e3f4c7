//! Every place that a reader names must be inside the text that it read.

use berth_documents::{Diagnostic, Node, Sources, Span};

fn assert_fits(sources: &Sources, span: Span, what: &dyn std::fmt::Debug) {
    let text = sources.text(span.source);
    let range = span.start as usize..span.end as usize;
    assert!(text.get(range).is_some(), "{span:?} is no part of the text: {what:?}");
}

/// The spans of a tree and of everything in it.
pub fn assert_nodes_fit(sources: &Sources, node: &Node) {
    assert_fits(sources, node.span, node);
    for child in node.as_seq().unwrap_or_default() {
        assert_nodes_fit(sources, child);
    }
    for (key, child) in node.as_map().into_iter().flatten() {
        assert_fits(sources, key.span, key);
        assert_nodes_fit(sources, child);
    }
}

/// The spans of findings. A finding also says something.
pub fn assert_findings_fit(sources: &Sources, findings: &[Diagnostic]) {
    for finding in findings {
        assert!(!finding.message.is_empty(), "{finding:?}");
        let related = finding.related.iter().map(|(span, _)| *span);
        for span in finding.span.into_iter().chain(related) {
            assert_fits(sources, span, finding);
            let at = sources.location(span);
            assert!(at.line() >= Some(1) && at.column() >= Some(1), "{at}");
        }
    }
}
