//! Texts that documents are read from, and positions in them.
//!
//! A [`Span`] is 12 bytes and `Copy`, so that every node of a large site can carry one. File names, lines and columns
//! are looked up in [`Sources`] only when something is printed.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

/// The number of one text in a [`Sources`] registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// A range of bytes in one source: `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The text that the offsets count in.
    pub source: SourceId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// A span over `start..end` of `source`.
    pub const fn new(source: SourceId, start: u32, end: u32) -> Self {
        Self { source, start, end }
    }

    /// The empty span at the beginning of `source`, for findings about a whole file.
    pub const fn file_start(source: SourceId) -> Self {
        Self::new(source, 0, 0)
    }
}

/// A position as people and editors write it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Name of the source, as it was registered.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1 in characters (not bytes). A byte order mark does not count.
    pub column: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// All texts of one run, by number.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
}

#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: Arc<str>,
    /// Offsets of line beginnings, computed when the first location in this source is asked for.
    lines: OnceLock<Vec<u32>>,
}

impl Sources {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a text under the name that messages show for it.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceId {
        let id = SourceId(offset(self.list.len()));
        self.list.push(Source {
            name: name.into(),
            text: text.into(),
            lines: OnceLock::new(),
        });
        id
    }

    /// The name a source was registered under; empty for a number this registry did not give.
    pub fn name(&self, id: SourceId) -> &str {
        self.source(id).map_or("", |source| &source.name)
    }

    /// The text of a source; empty for a number this registry did not give.
    pub fn text(&self, id: SourceId) -> &str {
        self.source(id).map_or("", |source| &source.text)
    }

    /// The numbers of all sources, in the order they were added.
    pub fn ids(&self) -> impl Iterator<Item = SourceId> + use<> {
        (0..offset(self.list.len())).map(SourceId)
    }

    /// The text that a span covers, exactly as written; empty where the span does not fit its source.
    pub fn snippet(&self, span: Span) -> &str {
        self.text(span.source)
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// File, line and column of the beginning of a span.
    pub fn location(&self, span: Span) -> Location {
        let (line, column) = self
            .source(span.source)
            .map_or((1, 1), |source| source.line_and_column(span.start));
        Location {
            file: self.name(span.source).to_owned(),
            line,
            column,
        }
    }

    fn source(&self, id: SourceId) -> Option<&Source> {
        self.list.get(id.0 as usize)
    }
}

impl Source {
    fn line_and_column(&self, at: u32) -> (u32, u32) {
        let lines = self.lines.get_or_init(|| line_starts(&self.text));
        let line = lines.partition_point(|&start| start <= at).max(1);
        let start = lines.get(line - 1).copied().unwrap_or(0) as usize;
        let end = (at as usize).min(self.text.len());
        let bytes = self.text.as_bytes().get(start..end).unwrap_or(&[]);
        // Bytes that continue a character do not count. The text may be cut inside a character, so bytes are counted.
        let mut column = bytes.iter().filter(|&&b| b & 0xC0 != 0x80).count();
        if start == 0 && bytes.starts_with(BYTE_ORDER_MARK.as_bytes()) {
            column = column.saturating_sub(1);
        }
        (offset(line), offset(column).saturating_add(1))
    }
}

/// Some editors begin a file with it; it is no part of the content.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

fn line_starts(text: &str) -> Vec<u32> {
    let after_breaks = text
        .bytes()
        .enumerate()
        .filter(|&(_, byte)| byte == b'\n')
        .map(|(at, _)| offset(at).saturating_add(1));
    std::iter::once(0).chain(after_breaks).collect()
}

/// Offsets are 32 bits wide to keep spans small; sources beyond that size are refused before they are read.
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
