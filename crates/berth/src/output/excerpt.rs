//! Findings as rustc shows them: message, place, the source line with a mark under it, help.

use std::{fmt::Write as _, ops::Range};

use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use berth_documents::{Diagnostic, Severity, Sources, Span};

use super::printable;

/// A longer line is not shown: a minified file is one line, and no excerpt of it helps.
const LONGEST_LINE: usize = 4096;

/// All findings, each followed by an empty line.
pub(crate) fn excerpts<'a>(sources: &Sources, diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    let style = Renderer::styled();
    let mut text = String::new();
    for diagnostic in diagnostics {
        let rendered = style.render(&groups(sources, diagnostic));
        // Writing to a String cannot fail.
        let _ = write!(text, "{rendered}\n\n");
    }
    text
}

fn groups<'a>(sources: &'a Sources, diagnostic: &'a Diagnostic) -> Vec<Group<'a>> {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level
        .primary_title(printable(&diagnostic.message))
        .id(diagnostic.code());
    let mut finding = Group::with_title(title);
    if let Some(span) = diagnostic.span {
        finding = finding.element(place(sources, span, AnnotationKind::Primary));
    }
    if let Some(help) = &diagnostic.help {
        finding = finding.element(Level::HELP.message(printable_lines(help)));
    }
    let mut groups = vec![finding];
    for (span, text) in &diagnostic.related {
        let title = Level::NOTE.secondary_title(printable(text));
        groups.push(title.element(place(sources, *span, AnnotationKind::Context)));
    }
    groups
}

/// The line of a span with the span marked, or only its position where there is nothing to show or too much.
fn place(sources: &Sources, span: Span, kind: AnnotationKind) -> Element<'_> {
    let location = sources.location(span);
    let text = sources.text(span.source);
    let line = line_around(text, span.start as usize);
    let name = printable(sources.name(span.source));
    let line_number = location.line as usize;
    let shown = text.get(line.clone()).unwrap_or_default();
    if shown.len() > LONGEST_LINE || text.is_empty() {
        return Origin::path(name)
            .line(line_number)
            .char_column(location.column as usize)
            .into();
    }
    let marked: Annotation<'_> = kind.span(mark(shown, &line, span));
    Snippet::source(shown)
        .line_start(line_number)
        .path(Some(name))
        .annotation(marked)
        .into()
}

/// The bytes of the line that holds `at`, without its end and without a byte order mark.
fn line_around(text: &str, at: usize) -> Range<usize> {
    let at = floor_boundary(text, at);
    let (before, after) = text.split_at(at);
    let mut start = before.rfind('\n').map_or(0, |found| found + 1);
    let end = after.find('\n').map_or(text.len(), |found| at + found);
    if start == 0 && text.starts_with('\u{feff}') && end >= '\u{feff}'.len_utf8() {
        start = '\u{feff}'.len_utf8();
    }
    let content = text.get(start..end).unwrap_or_default();
    start..start + content.trim_end_matches('\r').len()
}

/// The part of the span that is on the line, relative to it. A span over several lines is marked on its first only:
/// the end of a mapping says nothing.
fn mark(shown: &str, line: &Range<usize>, span: Span) -> Range<usize> {
    let inside = |at: u32| floor_boundary(shown, (at as usize).saturating_sub(line.start));
    let start = inside(span.start);
    let end = inside(span.end).max(start);
    let blanks = shown
        .get(start..end)
        .map_or(0, |text| text.len() - text.trim_end().len());
    start..end - blanks
}

fn floor_boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// Escapes control characters but keeps line breaks, which help texts use for examples.
fn printable_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(printable).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests;
