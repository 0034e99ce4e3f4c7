//! Keys and scalar values of a tree.

use std::sync::Arc;

use super::{Content, Pending, Properties, ScalarText, TagName, Tree};
use crate::{
    diagnostic::Diagnostic,
    lints::{COMPLEX_KEY, NON_STRING_KEY, YAML_TAG},
    node::{Key, Node, Style, Value},
    source::Span,
    yaml::{
        events::tab_finding,
        scalar::{decode_base64, means_the_same},
    },
};

/// A longer placeholder is not repeated in the message.
const LONGEST_PLACEHOLDER: usize = 60;

impl Tree<'_> {
    /// Whether the next value is the key of a mapping.
    pub(super) fn expects_key(&self) -> bool {
        self.frames.last().is_some_and(|frame| {
            matches!(
                frame.content,
                Content::Mapping {
                    pending: Pending::Key,
                    ..
                }
            )
        })
    }

    /// A scalar stands where a key is expected. Gives its text back, which the key shares.
    pub(super) fn key(&mut self, scalar: &ScalarText, span: Span) -> Arc<str> {
        let text = self.interner.intern(&scalar.text);
        let plain = scalar.style == Style::Plain;
        let next = if plain && scalar.text == "<<" {
            Pending::Merge
        } else {
            if plain {
                self.check_key(&scalar.text, span);
            }
            Pending::ValueOf(Key {
                span,
                text: Arc::clone(&text),
            })
        };
        if let Some(frame) = self.frames.last_mut()
            && let Content::Mapping { pending, .. } = &mut frame.content
        {
            *pending = next;
        }
        text
    }

    /// Warns of keys that other readers do not take as the text that is written.
    fn check_key(&mut self, text: &str, span: Span) {
        self.dialects_differ |= !means_the_same(text);
        let read_as = match self.dialect.resolve(text) {
            Some(Value::Bool(_)) => "a boolean",
            Some(Value::Null) => "nothing",
            _ => return,
        };
        self.findings.push(
            Diagnostic::new(
                &NON_STRING_KEY,
                span,
                format!("without quotes the key `{text}` is {read_as} to other readers of YAML"),
            )
            .with_help(format!("write \"{text}\"")),
        );
    }

    /// The key that a node stands for: an alias, a tagged scalar, or something that cannot be a key.
    pub(super) fn key_of_node(&mut self, node: &Node) -> Pending {
        let text = match &node.value {
            Value::String(text) => self.interner.intern_shared(text),
            Value::Seq(_) | Value::Map(_) => {
                let finding = self.placeholder(node).unwrap_or_else(|| {
                    let message = format!("{} is used as a key", node.type_name());
                    Diagnostic::new(&COMPLEX_KEY, node.span, message)
                        .with_help("a key is text; quote it if it is meant as text")
                });
                self.findings.push(finding);
                return Pending::Dropped;
            }
            // The spelling counts, as for keys without a tag.
            _ => self.interner.intern(self.piece.written(node.span)),
        };
        Pending::ValueOf(Key { span: node.span, text })
    }

    /// The finding for `{{ name }}`, which is two mappings to YAML and something else to the person who wrote it.
    fn placeholder(&self, key: &Node) -> Option<Diagnostic> {
        let inner = (key.span.start as usize).checked_sub(self.piece.base)?;
        let outer = inner.checked_sub(1)?;
        let rest = self.piece.text.get(outer..)?;
        if !rest.starts_with("{{") {
            return None;
        }
        let line = rest.lines().next().unwrap_or_default();
        let written = line
            .find("}}")
            .and_then(|end| line.get(..end + 2))
            .filter(|written| written.len() <= LONGEST_PLACEHOLDER)
            .unwrap_or("{{ … }}");
        let message = format!("`{written}` looks like a template placeholder that was not filled in");
        let help = "fill it in before the file is read, or put quotes around the whole value if it is meant as text";
        Some(Diagnostic::new(&COMPLEX_KEY, key.span, message).with_help(help))
    }

    /// What a scalar means under its tag.
    pub(super) fn scalar_value(
        &mut self,
        scalar: ScalarText,
        tag: Option<TagName>,
        span: Span,
        tag_span: Option<Span>,
    ) -> Value {
        let ScalarText { text, style } = scalar;
        self.dialects_differ |= !means_the_same(&text);
        let dialect = self.dialect;
        let spelled = |text: String| match dialect.resolve(&text) {
            Some(value) if style == Style::Plain => value,
            _ => Value::String(text.as_str().into()),
        };
        let name = match tag {
            None => return spelled(text),
            Some(TagName::NonSpecific) => return Value::String(text.into()),
            Some(TagName::Other(name)) => {
                self.findings.push(bad_tag(span, tag_span, &name));
                return spelled(text);
            }
            Some(TagName::Core(name)) => name,
        };
        let value = match (name.as_str(), dialect.resolve(&text)) {
            ("str" | "timestamp", _) => Some(Value::String(text.as_str().into())),
            ("int", Some(value @ (Value::Int(_) | Value::UInt(_)))) | ("bool", Some(value @ Value::Bool(_))) => {
                Some(value)
            }
            ("float", Some(Value::Float(value))) => Some(Value::Float(value)),
            #[expect(clippy::cast_precision_loss, reason = "the tag asks for a float")]
            ("float", Some(Value::Int(value))) => Some(Value::Float(value as f64)),
            #[expect(clippy::cast_precision_loss, reason = "the tag asks for a float")]
            ("float", Some(Value::UInt(value))) => Some(Value::Float(value as f64)),
            ("null", Some(Value::Null)) => Some(Value::Null),
            ("binary", _) => decode_base64(&text)
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .map(|text| Value::String(text.into())),
            _ => None,
        };
        value.unwrap_or_else(|| {
            self.findings.push(bad_tag(span, tag_span, &format!("!!{name}")));
            spelled(text)
        })
    }

    /// Finds a tab before the first token of a line outside brackets. The event parser lets some of them pass.
    pub(super) fn check_tab(&mut self, start: usize) {
        if !self.has_tabs || self.frames.last().is_some_and(|frame| frame.flow) {
            return;
        }
        let before = self.piece.text.get(..start).unwrap_or("");
        let content = before.trim_end_matches([' ', '\t']);
        let at_line_start = content.is_empty() || content.ends_with(['\n', '\r']);
        let indentation = before.get(content.len()..).unwrap_or("");
        if at_line_start && let Some(tab) = indentation.find('\t') {
            let finding = tab_finding(self.piece, content.len() + tab);
            // A mapping and its first key begin at the same place.
            if self.findings.last().is_none_or(|last| last != &finding) {
                self.findings.push(finding);
            }
        }
    }

    /// The tag of a value whose event begins at `start`: there, or in the words before it.
    pub(super) fn tag_span(&self, properties: &Properties, start: usize) -> Option<Span> {
        properties.tag.as_ref()?;
        let ends_word = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}');
        let text = self.piece.text;
        let mut at = start;
        let mut rest = text.get(start..)?;
        while rest.starts_with(['&', '!']) {
            let length = rest.find(ends_word).unwrap_or(rest.len());
            if rest.starts_with('!') {
                return Some(self.piece.span(at, at + length));
            }
            let after = rest.get(length..)?.trim_start();
            at = text.len() - after.len();
            rest = after;
        }
        let mut before = text.get(..start)?.trim_end();
        loop {
            let word = before.rfind(ends_word).map_or(0, |space| {
                space
                    + before
                        .get(space..)
                        .and_then(|rest| rest.chars().next())
                        .map_or(0, char::len_utf8)
            });
            match before.get(word..)?.chars().next()? {
                '!' => return Some(self.piece.span(word, before.len())),
                '&' => before = before.get(..word)?.trim_end(),
                _ => return None,
            }
        }
    }

    /// The offset of a value after its anchor and tag, if it is on the same line.
    pub(super) fn after_properties(&self, properties: &Properties, start: usize, end: usize) -> usize {
        if properties.anchor.is_none() && properties.tag.is_none() {
            return start;
        }
        let Some(mut rest) = self.piece.text.get(start..end) else {
            return start;
        };
        let all = rest.len();
        while rest.starts_with(['&', '!']) {
            let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
            rest = rest.get(word..).unwrap_or("").trim_start_matches([' ', '\t']);
        }
        if rest.is_empty() || rest.starts_with(['\n', '\r']) {
            return start;
        }
        start + (all - rest.len())
    }
}

/// The finding for a tag that does not fit: at the value if the tag is known, else at the tag.
pub(super) fn bad_tag(span: Span, tag_span: Option<Span>, tag: &str) -> Diagnostic {
    let known = [
        "!!str",
        "!!int",
        "!!float",
        "!!bool",
        "!!null",
        "!!binary",
        "!!timestamp",
        "!!seq",
        "!!map",
    ];
    if known.contains(&tag) {
        let message = format!("the value cannot be read as `{tag}` says");
        return Diagnostic::new(&YAML_TAG, span, message).with_help("remove the tag, or correct the value");
    }
    let message = format!("the tag `{tag}` is not known");
    Diagnostic::new(&YAML_TAG, tag_span.unwrap_or(span), message)
        .with_help("remove the tag; only those of YAML itself are read, such as `!!str`")
}
