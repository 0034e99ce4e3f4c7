//! Findings as rustc shows them: message, place, the source line with a mark under it, help.

use std::{borrow::Cow, fmt::Write as _, ops::Range};

use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use berth_documents::{Diagnostic, Place, Severity, Sources, Span};

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
        let is_secret = SECRETS.contains(&diagnostic.code());
        finding = finding.element(place(sources, span, AnnotationKind::Primary, is_secret));
    }
    if let Some(help) = &diagnostic.help {
        finding = finding.element(Level::HELP.message(printable_lines(help)));
    }
    let mut groups = vec![finding];
    for (span, text) in &diagnostic.related {
        let title = Level::NOTE.secondary_title(printable(text));
        groups.push(title.element(place(sources, *span, AnnotationKind::Context, false)));
    }
    groups
}

/// Findings about a text that nobody should see.
const SECRETS: &[&str] = &["bmc-password"];

/// Keys whose values nobody should see.
const SECRET_KEYS: &[&str] = &["password", "credential", "username"];

/// The line of a span with the span marked, or only its position where there is nothing to show or too much.
/// Secrets are not shown: output ends up in logs and tickets.
fn place(sources: &Sources, span: Span, kind: AnnotationKind, is_secret: bool) -> Element<'_> {
    let location = sources.location(span);
    let text = sources.text(span.source);
    let line = line_around(text, span.start as usize);
    let name = printable(sources.name(span.source));
    let Place::Text { line: number, column } = location.place else {
        return Origin::path(printable(&location.to_string()).into_owned()).into();
    };
    let shown = text.get(line.clone()).unwrap_or_default();
    if shown.len() > LONGEST_LINE || text.is_empty() {
        return Origin::path(name)
            .line(number as usize)
            .char_column(column as usize)
            .into();
    }
    let mark = mark(shown, &line, span);
    let marked: Annotation<'_> = kind.span(mark.clone());
    Snippet::source(without_secrets(shown, is_secret.then_some(mark)))
        .line_start(number as usize)
        .path(Some(name))
        .annotation(marked)
        .into()
}

/// The line with stars in the place of what follows a key such as `password`, of credentials in an address, and of `secret`.
/// It has the same length, so that marks stay where they are.
fn without_secrets(line: &str, secret: Option<Range<usize>>) -> Cow<'_, str> {
    let mut hidden: Vec<Range<usize>> = secret.into_iter().collect();
    for key in SECRET_KEYS {
        for (at, _) in line.match_indices(key) {
            let rest = line.get(at + key.len()..).unwrap_or_default();
            // The key may be quoted; a longer word is another key.
            let value = rest.trim_start_matches(['"', '\'']).trim_start();
            let Some(value) = value.strip_prefix(':').map(str::trim_start) else {
                continue;
            };
            let start = line.len() - value.len();
            let end = match value.chars().next() {
                Some(quote @ ('"' | '\'')) => value
                    .get(1..)
                    .and_then(|inner| inner.find(quote))
                    .map_or(value.len(), |end| end + 2),
                _ => value.find([',', '}']).unwrap_or(value.len()),
            };
            hidden.push(start..start + end);
        }
    }
    for (at, scheme) in line.match_indices("://") {
        let rest = line.get(at + scheme.len()..).unwrap_or_default();
        let authority = rest.split(['/', '?', '#', ' ', '"', '\'']).next().unwrap_or_default();
        if let Some(end) = authority.rfind('@') {
            hidden.push(at + scheme.len()..at + scheme.len() + end);
        }
    }
    if hidden.is_empty() {
        return Cow::Borrowed(line);
    }
    let star = |(at, character): (usize, char)| {
        if hidden.iter().any(|range| range.contains(&at)) {
            "*".repeat(character.len_utf8())
        } else {
            character.to_string()
        }
    };
    Cow::Owned(line.char_indices().map(star).collect())
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
