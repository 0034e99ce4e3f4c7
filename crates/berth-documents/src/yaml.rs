//! YAML: many documents per text, and one broken document does not hide the others.
//!
//! The text is first read as a whole. Where that fails, the documents read so far are kept and the rest is cut at its
//! document markers (`---`, `...` at the beginning of a line, where YAML allows nothing else), and each piece is read
//! alone.

mod brackets;
mod events;
mod scalar;
mod segments;
mod tree;

pub(crate) use self::scalar::{Dialect, is_float};

use crate::{
    allowance::Allowance,
    diagnostic::Diagnostic,
    findings::Findings,
    lints::YAML_SYNTAX,
    mapping::Interner,
    node::Node,
    source::{BYTE_ORDER_MARK, SourceId, Span, offset},
};

/// What a YAML text holds.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// The roots of all documents that could be read, empty documents left out.
    pub(crate) roots: Vec<Node>,
    /// What is wrong with the text.
    pub(crate) diagnostics: Findings,
    /// Where the first document that could not be read stopped the reader.
    pub(crate) failed_at: Option<u32>,
}

impl Stream {
    fn add(&mut self, finished: tree::Finished) {
        let is_empty = |root: &Node| root.is_null() && root.is_plain();
        self.roots.extend(finished.root.filter(|root| !is_empty(root)));
        self.diagnostics.append(finished.findings);
    }
}

/// A part of a source: the text from `base` on.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    source: SourceId,
    base: usize,
    text: &'a str,
}

impl<'a> Piece<'a> {
    /// The text of a span of this piece.
    fn written(self, span: Span) -> &'a str {
        let from = (span.start as usize).saturating_sub(self.base);
        let to = (span.end as usize).saturating_sub(self.base);
        self.text.get(from..to).unwrap_or("")
    }

    fn span(self, start: usize, end: usize) -> Span {
        Span::new(
            self.source,
            offset(self.base.saturating_add(start)),
            offset(self.base.saturating_add(end)),
        )
    }
}

/// Reads all documents of a text.
pub(crate) fn read(source: SourceId, text: &str) -> Stream {
    let mut stream = Stream::default();
    let mut interner = Interner::default();
    let mut allowance = Allowance::of(text);
    let base = if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    };
    let whole = Piece {
        source,
        base,
        text: text.get(base..).unwrap_or(""),
    };
    let failed = if forbidden_character(whole.text).is_some() {
        0
    } else {
        match events::read_piece(whole, &mut interner, &mut allowance, &mut stream) {
            Ok(()) => return stream,
            Err(stop) => stop.resume_at,
        }
    };
    for (start, end) in segments::segments(whole.text, failed) {
        let piece = Piece {
            source,
            base: base.saturating_add(start),
            text: whole.text.get(start..end).unwrap_or(""),
        };
        if read_json(piece, text, &mut allowance, &mut stream) {
            continue;
        }
        if let Some(finding) = read_alone(piece, &mut interner, &mut allowance, &mut stream) {
            if stream.failed_at.is_none() {
                stream.failed_at = finding.span.map(|span| span.start);
            }
            stream.diagnostics.push_failure(finding);
        }
    }
    stream
}

/// Reads a long document in brackets that is JSON, and says whether it is.
fn read_json(piece: Piece<'_>, text: &str, allowance: &mut Allowance, stream: &mut Stream) -> bool {
    let Some(start) = brackets::long_document(piece.text) else {
        return false;
    };
    let content = piece.text.trim_end();
    let content = content.strip_suffix("\n...").unwrap_or(content);
    let before = *allowance;
    let end = piece.base.saturating_add(content.len());
    let whole = text.get(..end).unwrap_or("");
    let json = crate::json::read(piece.source, whole, piece.base.saturating_add(start), allowance);
    if json.failure.is_some() || json.roots.len() != 1 {
        *allowance = before;
        return false;
    }
    stream.roots.extend(json.roots);
    stream.diagnostics.append(json.diagnostics);
    true
}

fn read_alone(
    piece: Piece<'_>,
    interner: &mut Interner,
    allowance: &mut Allowance,
    stream: &mut Stream,
) -> Option<Diagnostic> {
    if let Some((at, character)) = forbidden_character(piece.text) {
        let finding = Diagnostic::new(
            &YAML_SYNTAX,
            piece.span(at, at + character.len_utf8()),
            format!(
                "the control character U+{:04X} is not allowed in YAML",
                u32::from(character)
            ),
        )
        .with_help("remove it, or write it as an escape in a double-quoted string");
        return Some(finding);
    }
    events::read_piece(piece, interner, allowance, stream)
        .err()
        .map(|stop| stop.finding)
}

/// Control characters are not YAML. They are looked for ahead of reading because the event parser takes a NUL for the
/// end of the text and would silently drop what follows.
fn forbidden_character(text: &str) -> Option<(usize, char)> {
    let suspicious = |byte: u8| (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0x7F;
    let at = text.bytes().position(suspicious)?;
    Some((at, text.get(at..)?.chars().next()?))
}
