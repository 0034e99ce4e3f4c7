//! A limit on what stands in brackets where a key could stand.
//!
//! A list or mapping in brackets may be the key of a mapping (`[a, b]: c`), so the event parser keeps all its tokens until
//! it has seen what follows the closing bracket, and a token takes a hundred times the memory of the comma it stands for.
//! YAML allows keys of 1024 characters; here brackets may go on for longer, because people write long lists, and then they
//! end. Before the parser steps into such brackets, a parser of its own looks whether they do, on a part of that size.

use saphyr_parser::{Event, Parser};

use super::Piece;
use crate::{diagnostic::Diagnostic, lints::YAML_SYNTAX};

/// How many commas, colons and brackets there may be in brackets where a key could stand.
const MOST: usize = 16 << 10;

/// Most brackets end soon, so parts of these lengths are looked at first.
const SHORT: [usize; 2] = [512, 8 << 10];

/// A mistake this near to the end of a part may be that the part ends.
const NEAR: usize = 256;

/// The brackets of a text, in the order that a parser comes to them.
#[derive(Debug)]
pub(super) struct Brackets<'a> {
    text: &'a str,
    /// What begins before this offset is known.
    known: usize,
}

impl<'a> Brackets<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, known: 0 }
    }

    /// Where the brackets begin that the parser steps into next, after the event that ended at `at`, if they are too long.
    pub(super) fn too_long(&mut self, at: usize) -> Option<usize> {
        if at < self.known {
            return None;
        }
        let (start, is_key) = next(self.text, at);
        self.known = start.saturating_add(1);
        if !is_key {
            return None;
        }
        match self.end(start) {
            Some(end) => {
                self.known = end;
                None
            }
            None => Some(start),
        }
    }

    /// Where brackets end, if they end soon enough.
    fn end(&self, start: usize) -> Option<usize> {
        let rest = self.text.get(start..)?;
        let within = |length: usize| {
            let part = rest.get(..rest.floor_char_boundary(length))?;
            end_in(part, part.len() == rest.len()).map(|end| start + end)
        };
        SHORT.into_iter().find_map(within).or_else(|| within(longest(rest)))
    }
}

/// How much of a text may be in brackets where a key could stand.
fn longest(text: &str) -> usize {
    let is_token = |byte: &u8| matches!(byte, b',' | b':' | b'[' | b']' | b'{' | b'}');
    let mut tokens = text.bytes().enumerate().filter(|(_, byte)| is_token(byte));
    tokens.nth(MOST).map_or(text.len(), |(at, _)| at)
}

/// Where the next thing begins that is not a blank, comment, indicator, anchor or tag, and whether it is a bracket where a key
/// can stand. The value of a key on the same line cannot be a key.
fn next(text: &str, at: usize) -> (usize, bool) {
    let mut rest = text.get(at..).unwrap_or("");
    let mut after_key = false;
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '[' | '{' => return (text.len() - rest.len(), !after_key),
            '\n' | '\r' => {
                after_key = false;
                1
            }
            ':' => {
                after_key = true;
                1
            }
            ' ' | '\t' | '-' | '?' | ',' | '.' | '\u{feff}' => first.len_utf8(),
            '#' | '%' => rest.find('\n').unwrap_or(rest.len()),
            '&' | '!' => rest
                .find(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}'))
                .unwrap_or(rest.len()),
            _ => break,
        };
        rest = rest.get(skipped..).unwrap_or("");
    }
    (text.len() - rest.len(), false)
}

/// Where the brackets end that a part begins with, or what is wrong with them: the parser of the whole stops there too.
fn end_in(part: &str, is_whole: bool) -> Option<usize> {
    // An alias refers to an anchor before the part. As a word it ends in the same places.
    let words = part.replace('*', "x");
    let bytes = |characters: usize| part.char_indices().nth(characters).map_or(part.len(), |(at, _)| at);
    let mut depth = 0_usize;
    let mut parser = Parser::new_from_str(&words);
    while let Some(next) = parser.next_event() {
        match next {
            Ok((Event::SequenceStart(..) | Event::MappingStart(..), _)) => depth += 1,
            Ok((Event::SequenceEnd | Event::MappingEnd, span)) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(bytes(span.end.index()));
                }
            }
            Ok(_) => {}
            Err(error) => {
                let at = bytes(error.marker().index());
                let is_at_end = error.info().contains("end of stream") || at.saturating_add(NEAR) >= part.len();
                return (is_whole || !is_at_end || error.info().contains("recursion limit")).then_some(at);
            }
        }
    }
    None
}

/// Where the brackets begin that a long document consists of: it may be JSON, which is read without keeping tokens.
pub(super) fn long_document(text: &str) -> Option<usize> {
    if longest(text) == text.len() {
        return None;
    }
    let mut rest = text.trim_start();
    loop {
        rest = match rest.strip_prefix("---") {
            Some(after) => after,
            None if rest.starts_with(['#', '%']) => rest.split_once('\n')?.1,
            None => return rest.starts_with(['[', '{']).then(|| text.len() - rest.len()),
        }
        .trim_start();
    }
}

/// The finding for brackets that go on for too long.
pub(super) fn too_long(piece: Piece<'_>, start: usize) -> Diagnostic {
    let message = "the list or mapping in brackets that begins here is too long for a place where a key can stand";
    Diagnostic::new(&YAML_SYNTAX, piece.span(start, start + 1), message).with_help(format!(
        "close the bracket, write the value in lines without brackets, or put it on the line of its key; there it may have \
         more than {MOST} elements"
    ))
}
