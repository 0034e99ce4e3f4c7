//! Texts and objects that documents are read from, and positions in them.
//!
//! A [`Span`] is 12 bytes and `Copy`, so that every node of a large site can carry one. File names, lines, columns and
//! fields are looked up in [`Sources`] only when something is printed.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use crate::{node::Node, object};

/// The number of one text or object in a [`Sources`] registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// A range of one source, bytes of a text or parts of an object: `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// What the offsets count in.
    pub source: SourceId,
    /// Offset of the beginning.
    pub start: u32,
    /// Offset after the end.
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
    /// Where in it.
    pub place: Place,
}

/// A position in one source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A place in a text.
    Text {
        /// Line, counted from 1.
        line: u32,
        /// Column, counted from 1 in characters (not bytes). A byte order mark does not count.
        column: u32,
    },
    /// A field of an object, such as `spec.machines[3].name`; empty for the whole object.
    Field(String),
}

impl Location {
    /// The line, if there are lines.
    pub const fn line(&self) -> Option<u32> {
        match self.place {
            Place::Text { line, .. } => Some(line),
            Place::Field(_) => None,
        }
    }

    /// The column, if there are columns.
    pub const fn column(&self) -> Option<u32> {
        match self.place {
            Place::Text { column, .. } => Some(column),
            Place::Field(_) => None,
        }
    }

    /// The field, if this is one of an object.
    pub fn field(&self) -> Option<&str> {
        match &self.place {
            Place::Field(field) if !field.is_empty() => Some(field),
            Place::Field(_) | Place::Text { .. } => None,
        }
    }

    /// `file:line`, or what a place without lines is called.
    pub fn without_column(&self) -> String {
        match self.line() {
            Some(line) => format!("{}:{line}", self.file),
            None => self.to_string(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.file;
        match &self.place {
            Place::Text { line, column } => write!(f, "{file}:{line}:{column}"),
            Place::Field(field) if field.is_empty() => f.write_str(file),
            Place::Field(field) => write!(f, "{file} {field}"),
        }
    }
}

/// All texts and objects of one run, by number.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
}

#[derive(Clone, Debug)]
struct Source {
    name: String,
    content: Content,
}

/// What a source holds.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Text(Text),
    /// The tree of an object.
    Object(Node),
    /// An object that is nested too deeply for a tree.
    TooDeep,
}

#[derive(Clone, Debug)]
pub(crate) struct Text {
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
        let text = text.into();
        let lines = OnceLock::new();
        self.push(name.into(), |_| Content::Text(Text { text, lines }))
    }

    /// Registers an object under the name that messages show for it, such as `Kind/name`.
    pub fn add_object(&mut self, name: impl Into<String>, value: &serde_json::Value) -> SourceId {
        self.push(name.into(), |id| {
            object::tree(id, value).map_or(Content::TooDeep, Content::Object)
        })
    }

    fn push(&mut self, name: String, content: impl FnOnce(SourceId) -> Content) -> SourceId {
        let id = SourceId(offset(self.list.len()));
        let content = content(id);
        self.list.push(Source { name, content });
        id
    }

    /// The name a source was registered under; empty for a number this registry did not give.
    pub fn name(&self, id: SourceId) -> &str {
        self.source(id).map_or("", |source| &source.name)
    }

    /// The text of a source; empty for an object and for a number this registry did not give.
    pub fn text(&self, id: SourceId) -> &str {
        match self.content(id) {
            Some(Content::Text(text)) => &text.text,
            _ => "",
        }
    }

    /// The numbers of all sources, in the order they were added.
    pub fn ids(&self) -> impl Iterator<Item = SourceId> + use<> {
        (0..offset(self.list.len())).map(SourceId)
    }

    /// What a span covers: of a text exactly as written, of an object as JSON writes it. Empty where the span does not fit
    /// its source.
    pub fn snippet(&self, span: Span) -> Cow<'_, str> {
        match self.content(span.source) {
            Some(Content::Object(root)) => object::find(root, span).1.written(),
            _ => Cow::Borrowed(
                self.text(span.source)
                    .get(span.start as usize..span.end as usize)
                    .unwrap_or(""),
            ),
        }
    }

    /// The beginning of a span: file, line and column of a text, name and field of an object.
    pub fn location(&self, span: Span) -> Location {
        Location {
            file: self.name(span.source).to_owned(),
            place: match self.content(span.source) {
                Some(Content::Text(text)) => text.place(span.start),
                Some(Content::Object(root)) => Place::Field(object::find(root, span).0),
                Some(Content::TooDeep) => Place::Field(String::new()),
                None => Place::Text { line: 1, column: 1 },
            },
        }
    }

    fn source(&self, id: SourceId) -> Option<&Source> {
        self.list.get(id.0 as usize)
    }

    pub(crate) fn content(&self, id: SourceId) -> Option<&Content> {
        Some(&self.source(id)?.content)
    }
}

impl Text {
    fn place(&self, at: u32) -> Place {
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
        Place::Text {
            line: offset(line),
            column: offset(column).saturating_add(1),
        }
    }
}

/// Some editors begin a file with it; it is not part of the content.
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
