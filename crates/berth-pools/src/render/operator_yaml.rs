//! YAML byte for byte as the Machine Config Operator writes it before it hashes it.
//!
//! The operator writes a spec with Go's `gopkg.in/yaml.v2`, and the name of a rendered config is a hash of that text. So
//! everything that leaves its writer a choice matters here: which style a text gets, where a long one is folded, how lists
//! are indented. A test compares this with that writer.

mod plain;

use serde_json::Value;

/// Columns after which a text is folded at its next blank.
const WIDTH: usize = 80;

/// Columns of one level.
const INDENT: usize = 2;

/// Writes a value, with the keys of every object sorted.
pub(super) fn write(value: &Value) -> String {
    let mut writer = Writer {
        text: String::new(),
        column: 0,
        indent: None,
        whitespace: true,
        indention: true,
    };
    writer.node(value, false);
    writer.begin_line();
    writer.text
}

struct Writer {
    text: String,
    column: usize,
    /// Nothing outside of the outermost object.
    indent: Option<usize>,
    /// Whether the last character separates what comes next.
    whitespace: bool,
    /// Whether the line has nothing but indentation and dashes so far.
    indention: bool,
}

impl Writer {
    fn node(&mut self, value: &Value, in_mapping: bool) {
        match value {
            Value::Null => self.plain("null", false),
            Value::Bool(true) => self.plain("true", false),
            Value::Bool(false) => self.plain("false", false),
            Value::Number(number) => self.plain(&number.to_string(), false),
            Value::String(text) => self.string(text, false),
            Value::Array(items) if items.is_empty() => self.empty("[", "]"),
            Value::Object(members) if members.is_empty() => self.empty("{", "}"),
            Value::Array(items) => {
                let outer = self.indent;
                // A list in an object is not indented further.
                if !in_mapping || self.indention {
                    self.indent = Some(outer.map_or(0, |indent| indent + INDENT));
                }
                for item in items {
                    self.begin_line();
                    self.indicator("-", true, false, true);
                    self.node(item, false);
                }
                self.indent = outer;
            }
            Value::Object(members) => {
                let outer = self.indent;
                self.indent = Some(outer.map_or(0, |indent| indent + INDENT));
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(key, _)| key.as_bytes());
                for (key, value) in members {
                    self.begin_line();
                    self.string(key, true);
                    self.indicator(":", false, false, false);
                    self.node(value, true);
                }
                self.indent = outer;
            }
        }
    }

    fn empty(&mut self, open: &str, close: &str) {
        self.indicator(open, true, true, false);
        self.indicator(close, false, false, false);
    }

    fn string(&mut self, text: &str, is_key: bool) {
        let wanted = if text.contains('\n') {
            Style::Literal
        } else if plain::reads_as_text(text) {
            Style::Plain
        } else {
            Style::Double
        };
        let style = Allowed::of(text).style(wanted, is_key);
        let outer = self.indent;
        self.indent = Some(outer.map_or(INDENT, |indent| indent + INDENT));
        match style {
            Style::Plain => self.plain(text, !is_key),
            Style::Single => self.single(text, !is_key),
            Style::Double => self.double(text, !is_key),
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    fn plain(&mut self, text: &str, folds: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        self.flow(text, folds, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn single(&mut self, text: &str, folds: bool) {
        self.indicator("'", true, false, false);
        self.flow(text, folds, true);
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// What is written as it is, apart from folding, and from doubled quotes in quotes.
    fn flow(&mut self, text: &str, folds: bool, quoted: bool) {
        let (mut spaces, mut breaks) = (false, false);
        let mut rest = text.chars().peekable();
        let mut is_first = true;
        while let Some(character) = rest.next() {
            let next = rest.peek();
            if character == ' ' {
                let inside = !quoted || !is_first && next.is_some();
                if folds && !spaces && self.column > WIDTH && inside && next != Some(&' ') {
                    self.begin_line();
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else if is_break(character) {
                if !breaks && character == '\n' {
                    self.end_line();
                }
                self.write_break(character);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.begin_line();
                }
                if quoted && character == '\'' {
                    self.put('\'');
                }
                self.put(character);
                self.indention = false;
                (spaces, breaks) = (false, false);
            }
            is_first = false;
        }
    }

    fn double(&mut self, text: &str, folds: bool) {
        self.indicator("\"", true, false, false);
        let mut spaces = false;
        let mut rest = text.chars().peekable();
        let mut is_first = true;
        // The writer asks of every character whether the text begins with a byte order mark.
        let escape_all = text.starts_with('\u{feff}');
        while let Some(character) = rest.next() {
            if escape_all || !is_printable(character) || is_break(character) || matches!(character, '"' | '\\') {
                self.escape(character);
                spaces = false;
            } else if character == ' ' {
                if folds && !spaces && self.column > WIDTH && !is_first && rest.peek().is_some() {
                    self.begin_line();
                    if rest.peek() == Some(&' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else {
                self.put(character);
                spaces = false;
            }
            is_first = false;
        }
        self.indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn escape(&mut self, character: char) {
        self.put('\\');
        let short = match character {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = u32::from(character);
                let text = match code {
                    0..=0xff => format!("x{code:02X}"),
                    0x100..=0xffff => format!("u{code:04X}"),
                    _ => format!("U{code:08X}"),
                };
                text.chars().for_each(|digit| self.put(digit));
                return;
            }
        };
        self.put(short);
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        if text.starts_with([' ', '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
            self.indicator("2", false, false, false);
        }
        let mut backwards = text.chars().rev();
        match (backwards.next().map(is_break), backwards.next().map(is_break)) {
            (Some(true), None | Some(true)) => self.indicator("+", false, false, false),
            (Some(true), Some(false)) => {}
            _ => self.indicator("-", false, false, false),
        }
        self.end_line();
        self.indention = true;
        self.whitespace = true;
        let mut breaks = true;
        for character in text.chars() {
            if is_break(character) {
                self.write_break(character);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.begin_line();
                }
                self.put(character);
                self.indention = false;
                breaks = false;
            }
        }
    }

    fn begin_line(&mut self) {
        let indent = self.indent.unwrap_or_default();
        if !self.indention || self.column > indent || self.column == indent && !self.whitespace {
            self.end_line();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, text: &str, needs_whitespace: bool, is_whitespace: bool, is_indention: bool) {
        if needs_whitespace && !self.whitespace {
            self.put(' ');
        }
        text.chars().for_each(|character| self.put(character));
        self.whitespace = is_whitespace;
        self.indention &= is_indention;
    }

    fn put(&mut self, character: char) {
        self.text.push(character);
        self.column += 1;
    }

    fn end_line(&mut self) {
        self.text.push('\n');
        self.column = 0;
    }

    fn write_break(&mut self, character: char) {
        self.text.push(character);
        self.column = 0;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// The styles in which a text reads back as itself.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one per style")]
struct Allowed {
    multiline: bool,
    plain: bool,
    single: bool,
    literal: bool,
}

impl Allowed {
    fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self {
                multiline: false,
                plain: true,
                single: true,
                literal: false,
            };
        }
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let (mut special, mut multiline) = (false, false);
        let (mut break_space, mut space_break) = (false, false);
        let mut previous = None;
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            let is_last_of_word = rest.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
            indicators |= match (previous, character) {
                (None, '?' | ':' | '-') | (Some(_), ':') => is_last_of_word,
                (None, _) => "#,[]{}&*!|>'\"%@`".contains(character),
                (Some(before), '#') => matches!(before, ' ' | '\t' | '\0') || is_break(before),
                (Some(_), _) => false,
            };
            special |= !is_printable(character);
            multiline |= is_break(character);
            break_space |= character == ' ' && previous.is_some_and(is_break);
            space_break |= is_break(character) && previous == Some(' ');
            previous = Some(character);
        }
        let at_an_end = |found: fn(char) -> bool| text.starts_with(found) || text.ends_with(found);
        let never = space_break || special;
        Self {
            multiline,
            plain: !(never || indicators || multiline || break_space || at_an_end(|c| c == ' ' || is_break(c))),
            single: !(never || break_space),
            literal: !(never || text.ends_with(' ')),
        }
    }

    fn style(self, wanted: Style, is_key: bool) -> Style {
        match wanted {
            _ if is_key && self.multiline => Style::Double,
            Style::Plain if self.plain => Style::Plain,
            Style::Plain | Style::Single if self.single => Style::Single,
            Style::Literal if self.literal && !is_key => Style::Literal,
            _ => Style::Double,
        }
    }
}

fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What is written without an escape: nothing outside of the basic plane is, and no tab.
fn is_printable(character: char) -> bool {
    matches!(
        character,
        '\n' | '\u{20}'..='\u{7e}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}'
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_and_lists_are_indented_as_go_does() {
        let value = json!({
            "b": [{"y": 1, "x": [[1, 2], []]}, {}],
            "a": {"n": null, "t": true, "f": false, "z": {}},
        });
        let expected =
            "a:\n  f: false\n  \"n\": null\n  t: true\n  z: {}\nb:\n- x:\n  - - 1\n    - 2\n  - []\n  \"y\": 1\n- {}\n";
        assert_eq!(write(&value), expected);
    }

    #[test]
    fn a_text_gets_the_style_in_which_it_reads_back() {
        for (text, expected) in [
            ("abc", "abc"),
            ("", "\"\""),
            ("420", "\"420\""),
            ("a: b", "'a: b'"),
            ("#x", "'#x'"),
            ("it's # x", "'it''s # x'"),
            ("a\tb", "\"a\\tb\""),
            ("😀", "\"\\U0001F600\""),
            ("é", "é"),
            ("[Unit]\nA=b\n", "|\n  [Unit]\n  A=b"),
            ("a\n\n", "|+\n  a\n"),
            (" a\nb", "|2-\n   a\n  b"),
            ("a \nb", "\"a \\nb\""),
            ("2024-01-02", "\"2024-01-02\""),
            ("12:30", "\"12:30\""),
            ("data:,a%20b", "data:,a%20b"),
        ] {
            assert_eq!(write(&json!({"k": text})), format!("k: {expected}\n"), "{text:?}");
        }
    }

    #[test]
    fn long_texts_are_folded_at_blanks() {
        let text = format!("{} {} end", "a".repeat(50), "b".repeat(50));
        let expected = format!("k: {} {}\n  end\n", "a".repeat(50), "b".repeat(50));
        assert_eq!(write(&json!({"k": text})), expected);
    }
}
