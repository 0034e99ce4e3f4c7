//! Strict JSON with spans; several documents may follow each other.

use std::{borrow::Cow, sync::Arc};

use crate::{
    allowance::Allowance,
    diagnostic::Diagnostic,
    findings::Findings,
    lints::{JSON_SYNTAX, too_deep, too_many_values},
    mapping::{Interner, MappingBuilder, Spares},
    node::{Key, MAX_DEPTH, Node, Style, Value},
    source::{SourceId, Span, offset},
};

/// What a JSON text holds.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// The documents before the first mistake.
    pub(crate) roots: Vec<Node>,
    /// Findings about documents that could be read.
    pub(crate) diagnostics: Findings,
    /// The mistake that stopped the reader.
    pub(crate) failure: Option<Diagnostic>,
}

/// Reads all JSON documents of `text` from byte `from` on.
pub(crate) fn read(source: SourceId, text: &str, from: usize, allowance: &mut Allowance) -> Stream {
    let mut stream = Stream::default();
    let mut reader = Reader {
        source,
        text,
        at: from,
        depth: 0,
        interner: Interner::default(),
        spare_nodes: Spares::default(),
        spare_entries: Spares::default(),
        findings: Findings::default(),
        allowance,
    };
    loop {
        reader.skip_blank();
        if reader.at >= text.len() {
            return stream;
        }
        match reader.value() {
            Ok(root) => {
                stream.roots.push(root);
                stream.diagnostics.append(std::mem::take(&mut reader.findings));
            }
            Err(failure) => {
                stream.failure = Some(*failure);
                return stream;
            }
        }
    }
}

type Read<T> = Result<T, Box<Diagnostic>>;

struct Reader<'a> {
    source: SourceId,
    text: &'a str,
    at: usize,
    depth: usize,
    interner: Interner,
    spare_nodes: Spares<Node>,
    spare_entries: Spares<(Key, Node)>,
    findings: Findings,
    allowance: &'a mut Allowance,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(self.source, offset(start), offset(self.at))
    }

    /// The mistake that something else than `expected` is at the current place.
    fn expected(&self, expected: &str) -> Diagnostic {
        let found = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        let message = found.map_or_else(
            || format!("the JSON ends where {expected} is expected"),
            |found| format!("expected {expected} in JSON, found `{}`", visible(found)),
        );
        self.failure(self.at, found.map_or(0, char::len_utf8), message)
    }

    fn failure(&self, at: usize, length: usize, message: impl Into<String>) -> Diagnostic {
        let span = Span::new(self.source, offset(at), offset(at.saturating_add(length)));
        Diagnostic::new(&JSON_SYNTAX, span, message)
    }

    fn value(&mut self) -> Read<Node> {
        let start = self.at;
        let (style, value) = match self.peek() {
            Some(b'{') => (Style::Collection, self.nested(Self::object)?),
            Some(b'[') => (Style::Collection, self.nested(Self::array)?),
            Some(b'"') => (Style::DoubleQuoted, Value::String(self.string()?.into())),
            Some(b'-' | b'0'..=b'9') => (Style::Plain, self.number()?),
            Some(b'a'..=b'z') => (Style::Plain, self.word()?),
            _ => return Err(self.expected("a value").into()),
        };
        let span = self.span_from(start);
        if !self.allowance.take_value() {
            return Err(Box::new(too_many_values(span)));
        }
        Ok(Node { span, style, value })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Read<Value>) -> Read<Value> {
        if self.depth >= MAX_DEPTH {
            let span = Span::new(self.source, offset(self.at), offset(self.at + 1));
            return Err(Box::new(too_deep(span)));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blank();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Read<Value> {
        let mut builder = MappingBuilder::new(&mut self.spare_entries);
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Map(builder.finish(&mut self.spare_entries)));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.expected("a quoted key").into());
            }
            let start = self.at;
            let text = self.string()?;
            let key = Key {
                span: self.span_from(start),
                text: self.interner.intern(&text),
            };
            self.skip_blank();
            if self.peek() != Some(b':') {
                return Err(self.expected("a colon after the key").into());
            }
            self.at += 1;
            self.skip_blank();
            let node = self.value()?;
            self.findings.extend(builder.insert(key, node));
            if self.ends(b'}', "a comma or `}`")? {
                return Ok(Value::Map(builder.finish(&mut self.spare_entries)));
            }
        }
    }

    fn array(&mut self) -> Read<Value> {
        let mut nodes = self.spare_nodes.take();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Seq(Arc::default()));
        }
        loop {
            nodes.push(self.value()?);
            if self.ends(b']', "a comma or `]`")? {
                return Ok(Value::Seq(self.spare_nodes.finish(nodes)));
            }
        }
    }

    /// After an element: whether the collection ends here, or a comma announces the next element.
    fn ends(&mut self, close: u8, expected: &str) -> Read<bool> {
        self.skip_blank();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_blank();
                Ok(false)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.expected(expected).into()),
        }
    }

    fn word(&mut self) -> Read<Value> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let value = match rest.get(..length) {
            Some("null") => Value::Null,
            Some("true") => Value::Bool(true),
            Some("false") => Value::Bool(false),
            _ => return Err(self.expected("a value").into()),
        };
        self.at += length;
        Ok(value)
    }

    fn number(&mut self) -> Read<Value> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let first = self.peek();
        let digits = self.digits()?;
        if first == Some(b'0') && digits > 1 {
            return Err(self
                .failure(start, self.at - start, "a number in JSON does not begin with 0")
                .into());
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or("");
        if whole {
            if let Ok(value) = text.parse() {
                return Ok(Value::Int(value));
            }
            if let Ok(value) = text.parse() {
                return Ok(Value::UInt(value));
            }
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Value::Float(value)),
            _ => Err(self.failure(start, text.len(), "the number is too large").into()),
        }
    }

    /// Skips one digit or more and says how many.
    fn digits(&mut self) -> Read<usize> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.expected("a digit").into());
        }
        Ok(self.at - start)
    }

    /// Reads a string; the opening quote is at the current place.
    fn string(&mut self) -> Read<Cow<'a, str>> {
        let start = self.at;
        self.at += 1;
        let mut text = Cow::Borrowed("");
        loop {
            let part = self.unescaped();
            self.at += part.len();
            if text.is_empty() {
                text = Cow::Borrowed(part);
            } else {
                text.to_mut().push_str(part);
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.to_mut().push(self.escape()?),
                Some(b'\n' | b'\r') | None => {
                    let message = "the string is not closed on its line";
                    return Err(self.failure(start, 1, message).into());
                }
                Some(_) => {
                    let message = "a control character in a string must be escaped";
                    return Err(self.failure(self.at, 1, message).into());
                }
            }
        }
    }

    /// The text from here to the next quote, escape or control character.
    fn unescaped(&self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or("");
        let length = rest
            .bytes()
            .position(|byte| byte < 0x20 || matches!(byte, b'"' | b'\\'))
            .unwrap_or(rest.len());
        rest.get(..length).unwrap_or("")
    }

    fn escape(&mut self) -> Read<char> {
        let start = self.at;
        self.at += 1;
        let letter = self.peek();
        self.at += 1;
        let character = match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => {
                return Err(self.failure(start, 1, "this is not an escape that JSON knows").into());
            }
        };
        Ok(character)
    }

    /// The character of `\uXXXX`, or of two of them where it needs a pair.
    fn unicode(&mut self, start: usize) -> Read<char> {
        let first = self.four_digits(start)?;
        let pair = match first {
            0xD800..=0xDBFF if self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\u")) => {
                self.at += 2;
                [first, self.four_digits(start)?]
            }
            _ => [first, 0],
        };
        let units = if pair[1] == 0 { &pair[..1] } else { &pair[..] };
        let mut characters = char::decode_utf16(units.iter().copied());
        match (characters.next(), characters.next()) {
            (Some(Ok(character)), None) => Ok(character),
            _ => Err(self.failure(start, 6, "this escape is half of a character").into()),
        }
    }

    fn four_digits(&mut self, start: usize) -> Read<u16> {
        let digits = self
            .text
            .get(self.at..self.at.saturating_add(4))
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u16::from_str_radix(digits, 16).ok());
        self.at += 4;
        digits.ok_or_else(|| self.failure(start, 2, "`\\u` needs four hexadecimal digits").into())
    }
}

/// A character as messages show it: quotes and backslashes as they are, what cannot be seen as an escape.
fn visible(character: char) -> String {
    match character {
        '"' | '\'' | '\\' => character.to_string(),
        other => other.escape_debug().to_string(),
    }
}
