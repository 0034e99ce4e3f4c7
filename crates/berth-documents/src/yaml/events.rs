//! Feeding the events of `saphyr-parser` to the tree. No other module names that crate.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::{
    Piece, Stream,
    brackets::{Brackets, too_long},
    tree::{Finished, Properties, ScalarText, TagName, Tree},
};
use crate::{
    allowance::Allowance,
    diagnostic::Diagnostic,
    lints::{YAML_SYNTAX, YAML_TAB, too_deep},
    mapping::Interner,
    node::Style,
    yaml::scalar::Dialect,
};

/// Why a document could not be read.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) finding: Diagnostic,
    /// Offset in the piece after the last document that was read to its end.
    pub(super) resume_at: usize,
}

/// Reads the documents of a piece into the stream, up to the first one that cannot be read.
///
/// What the document that cannot be read took of the allowance is given back: it may be read again.
pub(super) fn read_piece(
    piece: Piece<'_>,
    interner: &mut Interner,
    allowance: &mut Allowance,
    stream: &mut Stream,
) -> Result<(), Box<Stop>> {
    let mut left = *allowance;
    let result = read_documents(piece, Dialect::default(), interner, allowance, &mut left, stream);
    if result.is_err() {
        *allowance = left;
    }
    result
}

/// Reads a document again, in the dialect that is not the default one. It lies between two offsets of the piece.
fn read_again(
    tree: &mut Tree<'_>,
    piece: Piece<'_>,
    (start, end): (usize, usize),
    mut left: Allowance,
) -> Option<Finished> {
    let piece = Piece {
        source: piece.source,
        base: piece.base.saturating_add(start),
        text: piece.text.get(start..end)?,
    };
    let mut stream = Stream::default();
    let (interner, allowance) = tree.lend();
    *allowance = left;
    read_documents(piece, Dialect::PyYaml, interner, allowance, &mut left, &mut stream).ok()?;
    Some(Finished {
        root: stream.roots.pop(),
        findings: stream.diagnostics,
        is_foreign: false,
    })
}

/// `left` becomes the allowance after the last document that was read to its end.
fn read_documents(
    piece: Piece<'_>,
    dialect: Dialect,
    interner: &mut Interner,
    allowance: &mut Allowance,
    left: &mut Allowance,
    stream: &mut Stream,
) -> Result<(), Box<Stop>> {
    let mut resume_at = 0;
    // A document that ended without a marker. It counts only if the text ends there too.
    let mut unmarked: Option<Finished> = None;
    let mut tree = Tree::new(piece, dialect, interner, allowance);
    let mut offsets = Offsets::new(piece.text);
    let mut parser = Parser::new_from_str(piece.text);
    let mut brackets = Brackets::new(piece.text);
    let mut at = 0;
    loop {
        if let Some(start) = brackets.too_long(at) {
            let finding = too_long(piece, start);
            return Err(Box::new(Stop { finding, resume_at }));
        }
        let Some(next) = parser.next_event() else { break };
        let (event, span) = match next {
            Ok(next) => next,
            Err(error) => {
                let finding = syntax_finding(piece, &mut offsets, &error);
                return Err(Box::new(Stop { finding, resume_at }));
            }
        };
        let start = offsets.byte(span.start.index());
        let end = offsets.byte(span.end.index()).max(start);
        at = end;
        let result = match event {
            Event::Nothing | Event::StreamStart => Ok(()),
            Event::StreamEnd => break,
            Event::DocumentStart(_) => {
                tree.begin_document();
                match unmarked {
                    Some(_) => Err(Box::new(outside_document(piece, start))),
                    None => Ok(()),
                }
            }
            Event::DocumentEnd => {
                let mut finished = tree.end_document();
                // Once: what makes it an Airship document may be something else in PyYAML's dialect, as in `schema: 7:7`.
                if finished.is_foreign
                    && dialect == Dialect::default()
                    && let Some(again) = read_again(&mut tree, piece, (resume_at, start), *left)
                {
                    finished = again;
                }
                let rest = piece.text.get(start..).unwrap_or("");
                if rest.starts_with("---") || rest.starts_with("...") {
                    stream.add(finished);
                    *left = *tree.allowance();
                    resume_at = start + if rest.starts_with("...") { 3 } else { 0 };
                } else {
                    unmarked = Some(finished);
                }
                Ok(())
            }
            Event::Alias(anchor) => tree.alias(anchor, start, end),
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = ScalarText {
                    text: text.into_owned(),
                    style: style_of(style),
                };
                tree.scalar(scalar, properties(anchor, tag.as_deref()), start, end)
            }
            Event::SequenceStart(anchor, tag) => tree.begin_sequence(properties(anchor, tag.as_deref()), start, end),
            Event::MappingStart(anchor, tag) => tree.begin_mapping(properties(anchor, tag.as_deref()), start, end),
            Event::SequenceEnd | Event::MappingEnd => tree.end_collection(start, end),
        };
        if let Err(finding) = result {
            let finding = *finding;
            return Err(Box::new(Stop { finding, resume_at }));
        }
    }
    if let Some(finished) = unmarked {
        stream.add(finished);
    }
    Ok(())
}

/// The event parser begins a new document where a line does not fit the one before. Without a `---` line that is a
/// mistake in the indentation.
fn outside_document(piece: Piece<'_>, at: usize) -> Diagnostic {
    Diagnostic::new(
        &YAML_SYNTAX,
        piece.span(at, at),
        "this is not YAML: the line does not belong to the document before it",
    )
    .with_help("check the indentation, or put a `---` line between two documents")
}

const fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal | ScalarStyle::Folded => Style::BlockScalar,
    }
}

fn properties(anchor: usize, tag: Option<&Tag>) -> Properties {
    Properties {
        anchor: (anchor != 0).then_some(anchor),
        tag: tag.map(|tag| {
            if tag.is_yaml_core_schema() {
                return TagName::Core(tag.suffix.clone());
            }
            if let Some(name) = tag.suffix.strip_prefix("tag:yaml.org,2002:") {
                return TagName::Core(name.to_owned());
            }
            match (tag.handle.as_str(), tag.suffix.as_str()) {
                ("", "!") | ("!", "") => TagName::NonSpecific,
                _ => TagName::Other(tag.to_string()),
            }
        }),
    }
}

/// The event parser counts characters, spans count bytes.
#[derive(Debug)]
struct Offsets<'a> {
    text: &'a str,
    ascii: bool,
    /// The last position asked for. Events come in order, so the next one is near it.
    characters: usize,
    bytes: usize,
}

impl<'a> Offsets<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            ascii: text.is_ascii(),
            characters: 0,
            bytes: 0,
        }
    }

    fn byte(&mut self, character: usize) -> usize {
        if self.ascii {
            return character.min(self.text.len());
        }
        if character >= self.characters {
            let ahead = self.text.get(self.bytes..).unwrap_or("");
            for skipped in ahead.chars().take(character - self.characters) {
                self.bytes += skipped.len_utf8();
                self.characters += 1;
            }
        } else {
            let behind = self.text.get(..self.bytes).unwrap_or("");
            for skipped in behind.chars().rev().take(self.characters - character) {
                self.bytes -= skipped.len_utf8();
                self.characters -= 1;
            }
        }
        self.bytes
    }
}

fn syntax_finding(piece: Piece<'_>, offsets: &mut Offsets<'_>, error: &ScanError) -> Diagnostic {
    let at = offsets.byte(error.marker().index());
    let info = error.info();
    if info.contains("recursion limit") {
        return too_deep(piece.span(at, at));
    }
    if let Some(finding) = tab_mistake(piece, at, info) {
        return finding;
    }
    let rest = piece.text.get(at..).unwrap_or("");
    let end = at + rest.chars().next().map_or(0, char::len_utf8);
    let finding = |message: String| Diagnostic::new(&YAML_SYNTAX, piece.span(at, end), message);
    if info.contains("unknown anchor") {
        let name: String = rest.chars().take_while(|c| !c.is_whitespace()).collect();
        let name = name.trim_end_matches([',', ']', '}']);
        return finding(format!("the alias `{name}` refers to no anchor before it"))
            .with_help("define the anchor with `&` earlier in the same document, or quote the value");
    }
    if let Some((message, help)) = quote_mistake(rest, info) {
        return finding(format!("this is not YAML: {message}")).with_help(help);
    }
    let finding = finding(format!("this is not YAML: {info}"));
    match help(info) {
        Some(help) => finding.with_help(help),
        None => finding,
    }
}

fn help(info: &str) -> Option<&'static str> {
    let table = [
        (
            "mapping values are not allowed",
            "quote the value if it contains `: `, or check the indentation",
        ),
        (
            "unexpected character",
            "quote the value: it begins with a character that has a meaning in YAML",
        ),
        (
            "trailing content after double-quoted",
            "check that the quote before this one is closed, and write a quote inside the text as `\\\"`",
        ),
        ("quoted scalar", "close the quote"),
        ("bracket", "check that every bracket is closed"),
        (
            "flow",
            "check that every bracket is closed and that commas are between the elements",
        ),
        (
            "simple key",
            "a key needs a colon and a space after it; check the indentation of this line and the one before",
        ),
        ("block mapping", "check the indentation of this line and the one before"),
        (
            "block collection",
            "check the indentation of this line and the one before",
        ),
    ];
    table
        .iter()
        .find(|(part, _)| info.contains(part))
        .map(|&(_, help)| help)
}

/// What is wrong with a quoted text that begins at `rest`, and what would be right.
fn quote_mistake(rest: &str, info: &str) -> Option<(&'static str, &'static str)> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let not_closed = Some(("the quote that opens here is not closed", "close the quote"));
    if info.contains("unexpected end of stream") || info.contains("unexpected document indicator") {
        return not_closed;
    }
    if !info.contains("invalid indentation in quoted scalar") {
        return None;
    }
    // The text ends at a quote that it was not meant to end at, if there is a key or list item before that.
    let inside = rest.get(1..)?.split_once(quote).map(|(inside, _)| inside);
    let looks_like_yaml =
        |line: &str| line.contains(": ") || line.ends_with(':') || line.trim_start().starts_with("- ");
    match inside {
        Some(inside) if !inside.lines().skip(1).any(looks_like_yaml) => Some((
            "the quoted text that begins here goes on in a line that is not indented",
            "indent every line of the text more than its key, or write it on one line",
        )),
        _ => not_closed,
    }
}

/// The finding for an error that a tab caused.
fn tab_mistake(piece: Piece<'_>, at: usize, info: &str) -> Option<Diagnostic> {
    if info.contains("valid YAML whitespace") {
        // kubectl takes a tab after a colon for a space, the standard leaves room for doubt.
        let before = piece.text.get(..at)?;
        let blank = before.trim_end_matches([' ', '\t']).len();
        let tab = blank + before.get(blank..)?.find('\t')?;
        let message = "a tab stands here where YAML needs a space";
        return Some(Diagnostic::new(&YAML_TAB, piece.span(tab, tab + 1), message).with_help("use spaces"));
    }
    let about_tabs = ["tab cannot", "tabs disallowed", "a tab"];
    if !about_tabs.iter().any(|part| info.contains(part)) {
        return None;
    }
    Some(tab_finding(piece, tab_in_indentation(piece.text, at)?))
}

/// The first tab that indents a line, on the line of `at` or after it.
fn tab_in_indentation(text: &str, at: usize) -> Option<usize> {
    let line_start = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let mut start = line_start;
    for line in text.get(line_start..)?.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t']);
        let indentation = line.get(..line.len() - content.len())?;
        if let Some(tab) = indentation.find('\t')
            && !content.trim().is_empty()
        {
            return Some(start + tab);
        }
        start += line.len();
    }
    None
}

/// The finding for a tab at an offset of a piece.
pub(super) fn tab_finding(piece: Piece<'_>, at: usize) -> Diagnostic {
    Diagnostic::new(
        &YAML_TAB,
        piece.span(at, at + 1),
        "a tab is used as indentation, which YAML does not allow",
    )
    .with_help("use spaces")
}
