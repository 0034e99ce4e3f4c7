//! One unit file or drop-in, read the way systemd reads it.
//!
//! The rules that differ from other INI readers, all taken from systemd's behaviour:
//! - A line ends at `\n`, `\r`, NUL or a run of different ones of these, so CRLF is one end.
//! - A line whose first character after blanks is `#` or `;` is dropped *before* continuations are looked at, so a
//!   comment inside a continued value does not end it.
//! - A backslash continues a line only as its very last character. `\` followed by a blank stays in the value.
//! - An empty line ends a continuation.
//! - A broken section header, a logical line that is not UTF-8 or a line of more than 1 MiB ends the reading of the file.
//!   Everything else that is odd is logged and skipped.

use std::ops::Range;

use crate::diagnostic::UnitDiagnostic;

/// systemd's limit for one line, and for one continued line.
const LONGEST_LINE: usize = 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A unit file with the place of everything in it. Printing gives back the bytes that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitFile {
    source: Vec<u8>,
    items: Vec<Item>,
    diagnostics: Vec<UnitDiagnostic>,
}

/// One logical line of a unit file: its bytes and what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    span: Range<usize>,
    line: usize,
    kind: ItemKind,
}

/// The meaning of a logical line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemKind {
    /// Nothing but blanks.
    Blank,
    /// A `#` or `;` line.
    Comment,
    /// `[Name]`.
    Section(String),
    /// `Key=Value` that systemd takes.
    Assignment(Assignment),
    /// A line that systemd skips; a diagnostic says why.
    Ignored,
}

/// One `Key=Value`, continuation lines joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    section: String,
    key: String,
    value: String,
    line: usize,
    last_line: usize,
    span: Range<usize>,
    /// Where in the joined line the value starts.
    value_offset: usize,
    pieces: Vec<Piece>,
}

/// One physical line of a joined line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    /// Offset of the piece in the joined line.
    offset: usize,
    line: usize,
    text: String,
    /// Characters of the physical line in front of `text` (a byte order mark).
    skipped: usize,
}

impl UnitFile {
    /// Reads a unit file. Never fails: what systemd would complain about is in [`Self::diagnostics`].
    pub fn parse(source: impl Into<Vec<u8>>) -> Self {
        let source = source.into();
        let mut reader = Reader::default();
        reader.read(&source);
        Self {
            source,
            items: reader.items,
            diagnostics: reader.diagnostics,
        }
    }

    /// The file as it was read, byte for byte.
    pub fn print(&self) -> Vec<u8> {
        let parts: Vec<&[u8]> = self.items.iter().map(|item| self.bytes(item)).collect();
        parts.concat()
    }

    /// The logical lines in order. Together their bytes are the whole file.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The bytes of one item of this file, line ends included.
    pub fn bytes(&self, item: &Item) -> &[u8] {
        self.source.get(item.span.clone()).unwrap_or_default()
    }

    /// The assignments that systemd takes, in order.
    pub fn assignments(&self) -> impl Iterator<Item = &Assignment> {
        self.items.iter().filter_map(|item| match &item.kind {
            ItemKind::Assignment(assignment) => Some(assignment),
            _ => None,
        })
    }

    /// What systemd would log while reading, in line order.
    pub fn diagnostics(&self) -> &[UnitDiagnostic] {
        &self.diagnostics
    }

    /// Whether systemd stops in the middle of the file. The fragment of a unit that does so does not load.
    pub fn is_broken(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|found| found.severity == crate::Severity::Error)
    }
}

impl Item {
    /// The bytes of the file that make up this logical line.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The first physical line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// What the line means.
    pub fn kind(&self) -> &ItemKind {
        &self.kind
    }
}

impl Assignment {
    /// The section without brackets.
    pub fn section(&self) -> &str {
        &self.section
    }

    /// The key without blanks.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value as systemd's parser for the key gets it: lines joined, blanks around it gone, nothing else done.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The first physical line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The last physical line, which is the one that systemd names in its log.
    pub fn last_line(&self) -> usize {
        self.last_line
    }

    /// The bytes of the file from the key's line to the last continued line.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Line and column of a byte of the value, so that a finding can point into a continued line.
    pub fn position(&self, value_byte: usize) -> (usize, usize) {
        let byte = self.value_offset.saturating_add(value_byte);
        let Some(piece) = self.pieces.iter().rev().find(|piece| piece.offset <= byte) else {
            return (self.line, 1);
        };
        let inside = byte - piece.offset;
        let column = piece.text.char_indices().take_while(|(at, _)| *at < inside).count();
        (piece.line, piece.skipped + column + 1)
    }
}

#[derive(Default)]
struct Reader {
    items: Vec<Item>,
    diagnostics: Vec<UnitDiagnostic>,
    section: Option<String>,
    joined: Option<Joined>,
    byte_order_mark_seen: bool,
    stopped: bool,
}

/// A logical line that is still being joined.
struct Joined {
    start: usize,
    line: usize,
    text: Vec<u8>,
    pieces: Vec<RawPiece>,
}

struct RawPiece {
    offset: usize,
    line: usize,
    skipped: usize,
}

impl Reader {
    fn read(&mut self, source: &[u8]) {
        let mut start = 0;
        let mut line = 0;
        while start < source.len() {
            let rest = source.get(start..).unwrap_or_default();
            let (content, length) = take_line(rest);
            line += 1;
            self.physical_line(content, start, start + length, line);
            start += length;
        }
        if let Some(joined) = self.joined.take() {
            self.finish(joined, source.len(), line);
        }
    }

    fn physical_line(&mut self, content: &[u8], start: usize, end: usize, line: usize) {
        if self.stopped {
            self.push(start..end, line, ItemKind::Ignored);
            return;
        }
        if content.len() > LONGEST_LINE {
            self.joined = None;
            self.stop(line, 1, "the line is longer than 1 MiB");
            let from = self.items.last().map_or(0, |item| item.span.end);
            self.push(from..end, line, ItemKind::Ignored);
            return;
        }
        let first = content.iter().find(|byte| !is_blank(**byte));
        if matches!(first, Some(b'#' | b';')) {
            // A comment inside a continued line is part of that line's bytes, not of its value.
            if self.joined.is_none() {
                self.push(start..end, line, ItemKind::Comment);
            }
            return;
        }
        let mut text = content;
        let mut skipped = 0;
        if !self.byte_order_mark_seen
            && let Some(rest) = content.strip_prefix(BYTE_ORDER_MARK)
        {
            self.byte_order_mark_seen = true;
            text = rest;
            skipped = 1;
        }

        let mut joined = self.joined.take().unwrap_or_else(|| Joined {
            start,
            line,
            text: Vec::new(),
            pieces: Vec::new(),
        });
        if joined.text.len() + text.len() > LONGEST_LINE {
            self.stop(line, 1, "the continued line is longer than 1 MiB");
            self.push(joined.start..end, joined.line, ItemKind::Ignored);
            return;
        }
        joined.pieces.push(RawPiece {
            offset: joined.text.len(),
            line,
            skipped,
        });
        joined.text.extend_from_slice(text);
        if ends_in_backslash(&joined.text) {
            joined.text.pop();
            joined.text.push(b' ');
            self.joined = Some(joined);
        } else {
            self.finish(joined, end, line);
        }
    }

    fn finish(&mut self, joined: Joined, end: usize, last_line: usize) {
        let span = joined.start..end;
        let line = joined.line;
        let kind = self.logical_line(joined, span.clone(), last_line);
        self.push(span, line, kind);
    }

    fn logical_line(&mut self, joined: Joined, span: Range<usize>, last_line: usize) -> ItemKind {
        let line = joined.line;
        if joined.text.iter().all(|byte| is_blank(*byte)) {
            return ItemKind::Blank;
        }
        let text = match String::from_utf8(joined.text) {
            Ok(text) => text,
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let column = error
                    .as_bytes()
                    .get(..valid)
                    .map_or(1, |before| String::from_utf8_lossy(before).chars().count() + 1);
                self.stop(line, column, "the line is not UTF-8");
                return ItemKind::Ignored;
            }
        };
        let stripped = text.trim_matches(is_blank_char);
        let indent = text.len() - text.trim_start_matches(is_blank_char).len();
        let column = text.get(..indent).map_or(1, |blanks| blanks.chars().count() + 1);

        if let Some(rest) = stripped.strip_prefix('[') {
            return self.section_header(rest, line, column);
        }
        let Some(section) = self.section.clone() else {
            self.diagnostics.push(UnitDiagnostic::warning(
                line,
                column,
                "assignment outside of a section, systemd ignores it",
            ));
            return ItemKind::Ignored;
        };
        let Some((key, value)) = stripped.split_once('=') else {
            self.diagnostics.push(UnitDiagnostic::warning(
                line,
                column,
                "no `=` in the line, systemd ignores it",
            ));
            return ItemKind::Ignored;
        };
        if key.is_empty() {
            self.diagnostics.push(UnitDiagnostic::warning(
                line,
                column,
                "no key in front of `=`, systemd ignores the line",
            ));
            return ItemKind::Ignored;
        }
        let value_start = indent + key.len() + 1;
        let value_offset = value_start + (value.len() - value.trim_start_matches(is_blank_char).len());
        let value = value.trim_matches(is_blank_char);
        if ends_in_backslash(value.as_bytes()) {
            // Only blanks can stand between this backslash and the line's end: without them it would have continued.
            self.diagnostics.push(UnitDiagnostic::warning(
                last_line,
                1,
                "blanks follow the backslash, so the line is not continued: the backslash stays in the value and the \
                 next line stands alone",
            ));
        }
        let pieces = joined
            .pieces
            .iter()
            .enumerate()
            .map(|(at, piece)| {
                let end = joined.pieces.get(at + 1).map_or(text.len(), |next| next.offset);
                Piece {
                    offset: piece.offset,
                    line: piece.line,
                    text: text.get(piece.offset..end).unwrap_or_default().to_owned(),
                    skipped: piece.skipped,
                }
            })
            .collect();
        ItemKind::Assignment(Assignment {
            section,
            key: key.trim_matches(is_blank_char).to_owned(),
            value: value.to_owned(),
            line,
            last_line,
            span,
            value_offset,
            pieces,
        })
    }

    fn section_header(&mut self, rest: &str, line: usize, column: usize) -> ItemKind {
        let Some(name) = rest.strip_suffix(']') else {
            self.stop(line, column, "the section header has no `]` at its end");
            return ItemKind::Ignored;
        };
        if name
            .chars()
            .any(|c| c.is_ascii_control() || matches!(c, '"' | '\'' | '\\'))
        {
            self.stop(line, column, "the section header has a bad character");
            return ItemKind::Ignored;
        }
        self.section = Some(name.to_owned());
        ItemKind::Section(name.to_owned())
    }

    fn stop(&mut self, line: usize, column: usize, what: &str) {
        self.stopped = true;
        self.diagnostics.push(UnitDiagnostic::error(
            line,
            column,
            format!("{what}: systemd stops reading the file here"),
        ));
    }

    fn push(&mut self, span: Range<usize>, line: usize, kind: ItemKind) {
        self.items.push(Item { span, line, kind });
    }
}

/// The content of the first line and the number of bytes with its line end.
fn take_line(rest: &[u8]) -> (&[u8], usize) {
    let length = rest
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r' | 0))
        .unwrap_or(rest.len());
    let mut end = length;
    let mut seen: Vec<u8> = Vec::new();
    // Different line-end characters in a row are one end; the same one again is the next line. Nothing joins a NUL.
    while let Some(byte @ (b'\n' | b'\r' | 0)) = rest.get(end) {
        if seen.contains(byte) || seen.contains(&0) {
            break;
        }
        seen.push(*byte);
        end += 1;
    }
    (rest.get(..length).unwrap_or_default(), end)
}

fn ends_in_backslash(text: &[u8]) -> bool {
    let backslashes = text.iter().rev().take_while(|byte| **byte == b'\\').count();
    backslashes % 2 == 1
}

pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

pub(crate) fn is_blank_char(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests;
