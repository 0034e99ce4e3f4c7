//! The words of an expression.

use crate::error::SyntaxError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Int(u64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Word(String),
    /// Punctuation and operators, as they are written.
    Sign(&'static str),
    End,
}

/// A token, where it begins and where it ends.
#[derive(Clone, Debug)]
pub(crate) struct Spanned {
    pub(crate) token: Token,
    pub(crate) at: usize,
    pub(crate) end: usize,
}

/// Longer ones first.
const SIGNS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")", "[", "]",
    "{", "}",
];

/// The tokens, and what between them is none. The reader goes on after it, so that everything wrong is told at once,
/// unless that is too much.
pub(crate) fn tokens(text: &str) -> (Vec<Spanned>, Option<SyntaxError>) {
    let mut lexer = Lexer { text, at: 0 };
    let mut found = Vec::new();
    let mut wrong: Option<SyntaxError> = None;
    loop {
        let began = lexer.at;
        match lexer.next() {
            Ok(token) => {
                let ended = token.token == Token::End;
                found.push(token);
                if ended {
                    return (found, wrong);
                }
            }
            Err(error) => {
                match &mut wrong {
                    Some(known) => known.and(error),
                    none => *none = Some(error),
                }
                if wrong.as_ref().is_some_and(SyntaxError::is_full) {
                    lexer.at = text.len();
                }
                // Something was read, or the next character is none that could be.
                if lexer.at == began {
                    lexer.at += lexer.rest().chars().next().map_or(1, char::len_utf8);
                }
            }
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn fail<T>(&self, at: usize, message: impl Into<String>) -> Result<T, SyntaxError> {
        Err(SyntaxError::new(
            self.text,
            at,
            format!("Syntax error: {}", message.into()),
        ))
    }

    fn next(&mut self) -> Result<Spanned, SyntaxError> {
        loop {
            let blank = self.rest().bytes().take_while(u8::is_ascii_whitespace).count();
            self.at += blank;
            if !self.rest().starts_with("//") {
                break;
            }
            self.at += self.rest().find('\n').unwrap_or_else(|| self.rest().len());
        }
        let at = self.at;
        let token = match self.peek(0) {
            None => Token::End,
            Some(b'0'..=b'9') => self.number()?,
            Some(b'.') if self.peek(1).is_some_and(|next| next.is_ascii_digit()) => self.number()?,
            Some(b'"' | b'\'') => self.string(false, false)?,
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => match self.prefix() {
                Some((length, raw, bytes)) => {
                    self.at += length;
                    self.string(raw, bytes)?
                }
                None => self.word(),
            },
            Some(_) => {
                let Some(sign) = SIGNS.into_iter().find(|sign| self.rest().starts_with(sign)) else {
                    return self.unknown(at);
                };
                self.at += sign.len();
                Token::Sign(sign)
            }
        };
        Ok(Spanned {
            token,
            at,
            end: self.at,
        })
    }

    /// A character that begins nothing. One that could have begun an operator is told with its neighbour.
    fn unknown(&mut self, at: usize) -> Result<Spanned, SyntaxError> {
        let count = if self.rest().starts_with(['=', '&', '|']) { 2 } else { 1 };
        let said: String = self.rest().chars().take(count).collect();
        self.at += self.rest().chars().next().map_or(1, char::len_utf8);
        self.fail(at, format!("token recognition error at: '{said}'"))
    }

    fn word(&mut self) -> Token {
        let length = self
            .rest()
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            .count();
        let word = self.rest().get(..length).unwrap_or_default().to_owned();
        self.at += length;
        Token::Word(word)
    }

    /// The letters before a string: how many, whether it is raw, whether it is bytes.
    fn prefix(&self) -> Option<(usize, bool, bool)> {
        let letters = self.rest().bytes().take(3).collect::<Vec<_>>();
        let quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\''));
        let (first, second) = (letters.first()?.to_ascii_lowercase(), letters.get(1));
        match first {
            b'r' if quote(second) => Some((1, true, false)),
            b'b' if quote(second) => Some((1, false, true)),
            b'r' | b'b' => {
                let other = if first == b'r' { b'b' } else { b'r' };
                let both = second.is_some_and(|byte| byte.to_ascii_lowercase() == other) && quote(letters.get(2));
                both.then_some((2, true, true))
            }
            _ => None,
        }
    }

    fn number(&mut self) -> Result<Token, SyntaxError> {
        let at = self.at;
        let bytes = self.rest().as_bytes();
        let digits = |from: usize, what: fn(&u8) -> bool| {
            bytes
                .get(from..)
                .unwrap_or_default()
                .iter()
                .take_while(|byte| what(byte))
                .count()
        };
        if bytes.first() == Some(&b'0') && matches!(bytes.get(1), Some(b'x' | b'X')) {
            let count = digits(2, u8::is_ascii_hexdigit);
            let text = self.rest().get(2..2 + count).unwrap_or_default().to_owned();
            let unsigned = matches!(bytes.get(2 + count), Some(b'u' | b'U'));
            let Ok(value) = u64::from_str_radix(&text, 16) else {
                return Err(SyntaxError::new(self.text, at, "invalid int literal"));
            };
            self.at += 2 + count + usize::from(unsigned);
            return Ok(if unsigned {
                Token::Uint(value)
            } else {
                Token::Int(value)
            });
        }
        let mut length = digits(0, u8::is_ascii_digit);
        let mut double = false;
        if bytes.get(length) == Some(&b'.') && bytes.get(length + 1).is_some_and(u8::is_ascii_digit) {
            double = true;
            length += 1 + digits(length + 1, u8::is_ascii_digit);
        }
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            let exponent = digits(length + 1 + sign, u8::is_ascii_digit);
            if exponent > 0 {
                double = true;
                length += 1 + sign + exponent;
            }
        }
        let text = self.rest().get(..length).unwrap_or_default().to_owned();
        let unsigned = !double && matches!(bytes.get(length), Some(b'u' | b'U'));
        self.at += length + usize::from(unsigned);
        if double {
            return match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Token::Double(value)),
                _ => Err(SyntaxError::new(self.text, at, "invalid double literal")),
            };
        }
        match text.parse::<u64>() {
            Ok(value) if unsigned => Ok(Token::Uint(value)),
            Ok(value) => Ok(Token::Int(value)),
            Err(_) => Err(SyntaxError::new(
                self.text,
                at,
                if unsigned {
                    "invalid uint literal"
                } else {
                    "invalid int literal"
                },
            )),
        }
    }

    fn string(&mut self, raw: bool, bytes: bool) -> Result<Token, SyntaxError> {
        let at = self.at;
        let quote = if self.rest().starts_with('"') { '"' } else { '\'' };
        let triple = quote.to_string().repeat(3);
        let (mark, long) = if self.rest().starts_with(&triple) {
            (triple, true)
        } else {
            (quote.to_string(), false)
        };
        self.at += mark.len();
        let mut value = Vec::new();
        loop {
            if self.rest().starts_with(&mark) {
                self.at += mark.len();
                break;
            }
            let Some(character) = self.rest().chars().next() else {
                let begun: String = self.text.get(at..).unwrap_or_default().to_owned();
                return self.fail(at, format!("token recognition error at: '{begun}'"));
            };
            if !long && (character == '\n' || character == '\r') {
                let begun = self.text.get(at..self.at).unwrap_or_default().to_owned();
                return self.fail(at, format!("token recognition error at: '{begun}'"));
            }
            self.at += character.len_utf8();
            if character == '\\' && !raw {
                self.escape(at, bytes, &mut value)?;
            } else if character == '\\' {
                value.push(b'\\');
                // A quote after it does not end a raw string.
                if let Some(next) = self.rest().chars().next()
                    && (next == quote || next == '\\')
                {
                    self.at += next.len_utf8();
                    value.push(if next == quote {
                        u8::try_from(quote).unwrap_or(b'"')
                    } else {
                        b'\\'
                    });
                }
            } else {
                let mut buffer = [0; 4];
                value.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            }
        }
        if bytes {
            return Ok(Token::Bytes(value));
        }
        match String::from_utf8(value) {
            Ok(text) => Ok(Token::Text(text)),
            Err(_) => Err(SyntaxError::new(self.text, at, "invalid string literal")),
        }
    }

    /// One escape, after its backslash.
    fn escape(&mut self, start: usize, bytes: bool, value: &mut Vec<u8>) -> Result<(), SyntaxError> {
        let at = self.at;
        let wrong = |lexer: &Self| {
            let begun = lexer.text.get(start..lexer.at).unwrap_or_default();
            lexer.fail(start, format!("token recognition error at: '{begun}'"))
        };
        let Some(letter) = self.rest().chars().next() else {
            return wrong(self);
        };
        self.at += letter.len_utf8();
        let simple = match letter {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' => b'\\',
            '\'' => b'\'',
            '"' => b'"',
            '`' => b'`',
            '?' => b'?',
            'x' | 'X' => return self.coded(2, 16, bytes, value),
            'u' if !bytes => return self.coded(4, 16, false, value),
            'U' if !bytes => return self.coded(8, 16, false, value),
            '0'..='3' => {
                self.at = at;
                return self.coded(3, 8, bytes, value);
            }
            _ => return wrong(self),
        };
        value.push(simple);
        Ok(())
    }

    fn coded(&mut self, length: usize, base: u32, byte: bool, value: &mut Vec<u8>) -> Result<(), SyntaxError> {
        let at = self.at;
        let digits = self
            .rest()
            .get(..length)
            .filter(|text| text.bytes().all(|b| b.is_ascii_alphanumeric()));
        let code = digits.and_then(|text| u32::from_str_radix(text, base).ok());
        self.at += length;
        let pushed = if byte {
            code.and_then(|code| u8::try_from(code).ok())
                .map(|code| value.push(code))
        } else {
            code.and_then(char::from_u32).map(|character| {
                let mut buffer = [0; 4];
                value.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            })
        };
        match pushed {
            Some(()) => Ok(()),
            None => self.fail(at, "token recognition error: invalid escape sequence"),
        }
    }
}
