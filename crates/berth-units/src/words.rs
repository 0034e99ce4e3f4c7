//! systemd's way to split a value into words, and to write a word so that it comes back unchanged.

use std::ops::Range;

use crate::unit_file::is_blank;

/// Which of systemd's splitting rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Splitting {
    /// Command lines: quotes, C escapes; an unknown escape stays as it is written.
    Setting,
    /// `Environment=`: quotes, C escapes; an unknown escape is as bad as an open quote.
    Assignment,
    /// The value of a `$VARIABLE` that stands alone: quotes, a backslash makes the next character plain, and an open
    /// quote ends with the text.
    Variable,
}

/// One word of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// The bytes of the value that make the word, quotes included.
    pub(crate) span: Range<usize>,
    /// An escape that systemd does not know; it stays in the word with its backslash.
    pub(crate) unknown_escape: bool,
    /// Escapes gave bytes that are not UTF-8; `text` is not exact then.
    pub(crate) not_utf8: bool,
}

/// A quote without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unbalanced {
    /// Byte of the value where the word starts.
    pub(crate) at: usize,
}

/// Takes the next word at or after `from`. The second part of the answer is where to go on.
pub(crate) fn next_word(value: &str, from: usize, splitting: Splitting) -> Result<Option<(Word, usize)>, Unbalanced> {
    let bytes = value.as_bytes();
    let start = skip_blanks(bytes, from);
    if start >= bytes.len() {
        return Ok(None);
    }
    let taken = match splitting {
        Splitting::Variable => take(bytes, start, Rules::VARIABLE).map(|taken| (taken, false)),
        Splitting::Assignment => take(bytes, start, Rules::STRICT).map(|taken| (taken, false)),
        // systemd tries the strict rules first and repeats the word with the relaxed ones.
        Splitting::Setting => take(bytes, start, Rules::STRICT)
            .map(|taken| (taken, false))
            .or_else(|| take(bytes, start, Rules::RELAXED).map(|taken| (taken, true))),
    };
    let Some(((text, end), unknown_escape)) = taken else {
        return Err(Unbalanced { at: start });
    };
    let (text, not_utf8) = match String::from_utf8(text) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    };
    let word = Word {
        text,
        span: start..end,
        unknown_escape,
        not_utf8,
    };
    Ok(Some((word, skip_blanks(bytes, end))))
}

/// All words of a value.
pub(crate) fn words(value: &str, splitting: Splitting) -> Result<Vec<Word>, Unbalanced> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some((word, next)) = next_word(value, at, splitting)? {
        all.push(word);
        at = next;
    }
    Ok(all)
}

pub(crate) fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let blanks = bytes
        .get(from..)
        .unwrap_or_default()
        .iter()
        .take_while(|byte| is_blank(**byte))
        .count();
    from + blanks
}

#[derive(Clone, Copy)]
struct Rules {
    c_escapes: bool,
    keep_unknown_escapes: bool,
    open_quote_is_fine: bool,
}

impl Rules {
    const STRICT: Self = Self {
        c_escapes: true,
        keep_unknown_escapes: false,
        open_quote_is_fine: false,
    };
    const RELAXED: Self = Self {
        c_escapes: true,
        keep_unknown_escapes: true,
        open_quote_is_fine: false,
    };
    const VARIABLE: Self = Self {
        c_escapes: false,
        keep_unknown_escapes: false,
        open_quote_is_fine: true,
    };
}

fn take(bytes: &[u8], start: usize, rules: Rules) -> Option<(Vec<u8>, usize)> {
    let mut text = Vec::new();
    let mut quote = None;
    let mut at = start;
    loop {
        let Some(&byte) = bytes.get(at) else {
            let fine = quote.is_none() || rules.open_quote_is_fine;
            return fine.then_some((text, at));
        };
        if byte == b'\\' {
            let rest = bytes.get(at + 1..).unwrap_or_default();
            let Some(&next) = rest.first() else {
                if rules.keep_unknown_escapes && quote.is_none() {
                    text.push(b'\\');
                    return Some((text, at + 1));
                }
                return rules.open_quote_is_fine.then_some((text, at + 1));
            };
            at += 1;
            if !rules.c_escapes {
                text.push(next);
                at += 1;
            } else if let Some((unescaped, length)) = c_unescape(rest) {
                text.extend_from_slice(&unescaped);
                at += length;
            } else if rules.keep_unknown_escapes {
                text.extend_from_slice(&[b'\\', next]);
                at += 1;
            } else {
                return None;
            }
            continue;
        }
        match quote {
            Some(open) if byte == open => quote = None,
            None if matches!(byte, b'\'' | b'"') => quote = Some(byte),
            None if is_blank(byte) => return Some((text, at)),
            Some(_) | None => text.push(byte),
        }
        at += 1;
    }
}

/// The bytes that the escape behind a backslash stands for, and how many bytes it takes.
fn c_unescape(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let plain = |byte: u8| Some((vec![byte], 1));
    match *rest.first()? {
        b'a' => plain(7),
        b'b' => plain(8),
        b'f' => plain(12),
        b'n' => plain(b'\n'),
        b'r' => plain(b'\r'),
        b't' => plain(b'\t'),
        b'v' => plain(11),
        b's' => plain(b' '),
        byte @ (b'\\' | b'"' | b'\'') => plain(byte),
        b'x' => number(rest.get(1..3)?, 16).and_then(|code| one_byte(code, 3)),
        b'0'..=b'7' => number(rest.get(..3)?, 8).and_then(|code| one_byte(code, 3)),
        b'u' => number(rest.get(1..5)?, 16).and_then(|code| one_char(code, 5)),
        b'U' => number(rest.get(1..9)?, 16).and_then(|code| one_char(code, 9)),
        _ => None,
    }
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()?;
    // A NUL cannot be in an argument.
    (code != 0).then_some(code)
}

fn one_byte(code: u32, length: usize) -> Option<(Vec<u8>, usize)> {
    Some((vec![u8::try_from(code).ok()?], length))
}

fn one_char(code: u32, length: usize) -> Option<(Vec<u8>, usize)> {
    let c = char::from_u32(code)?;
    Some((c.to_string().into_bytes(), length))
}

/// Writes an argument for a command line in a unit, so that systemd splits and expands it to exactly `argument`.
pub fn quote_argument(argument: &str, variables_are_expanded: bool) -> String {
    let mut text = String::with_capacity(argument.len());
    let mut quotes = argument.is_empty() || argument == ";";
    for c in argument.chars() {
        match c {
            '%' => text.push_str("%%"),
            '$' if variables_are_expanded => text.push_str("$$"),
            '"' | '\\' => {
                quotes = true;
                text.push('\\');
                text.push(c);
            }
            '\n' => {
                quotes = true;
                text.push_str("\\n");
            }
            '\r' => {
                quotes = true;
                text.push_str("\\r");
            }
            '\t' => {
                quotes = true;
                text.push_str("\\t");
            }
            ' ' | '\'' => {
                quotes = true;
                text.push(c);
            }
            _ => text.push(c),
        }
    }
    if quotes { format!("\"{text}\"") } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(value: &str) -> Vec<String> {
        words(value, Splitting::Setting)
            .unwrap()
            .into_iter()
            .map(|word| word.text)
            .collect()
    }

    #[test]
    fn splits_as_systemd_does() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  a\tb  ", &["a", "b"]),
            ("'a b' \"c d\"", &["a b", "c d"]),
            ("a'b c'd", &["ab cd"]),
            ("\"\" ''", &["", ""]),
            (r#""a\"b" '\'' "#, &["a\"b", "'"]),
            (r"a\sb \x41 \101 \u00e9 \U0001F600", &["a b", "A", "A", "é", "😀"]),
            (r"\t\n\\", &["\t\n\\"]),
            // Unknown escapes stay as they are written, with the rest of their word unescaped.
            (r"\q \x4 \x00 \z\x41", &[r"\q", r"\x4", r"\x00", r"\zA"]),
            (r"kubelet \", &["kubelet", r"\"]),
            ("# ;", &["#", ";"]),
        ];
        for (value, expected) in table {
            assert_eq!(split(value), *expected, "{value}");
        }
    }

    #[test]
    fn open_quotes_are_an_error_in_settings_and_fine_in_variables() {
        assert_eq!(words("a \"b c", Splitting::Setting), Err(Unbalanced { at: 2 }));
        assert_eq!(words("'a\\", Splitting::Setting), Err(Unbalanced { at: 0 }));
        let relaxed = words("a \"b c", Splitting::Variable).unwrap();
        assert_eq!(relaxed.last().unwrap().text, "b c");
    }

    #[test]
    fn variables_take_a_backslash_as_plain_escape() {
        let found = words(r#"--a=\n 'x y' \""#, Splitting::Variable).unwrap();
        let texts: Vec<_> = found.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["--a=n", "x y", "\""]);
    }

    proptest! {
        #[test]
        fn splitting_never_panics(value in any::<String>(), from in 0usize..64) {
            let _ = words(&value, Splitting::Setting);
            let _ = words(&value, Splitting::Variable);
            let _ = next_word(&value, from, Splitting::Setting);
        }

        #[test]
        fn a_quoted_argument_is_one_word_again(argument in "[^\0%$]*") {
            let quoted = quote_argument(&argument, true);
            prop_assert_eq!(split(&quoted), vec![argument]);
        }
    }
}
