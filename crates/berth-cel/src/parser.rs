//! Reads an expression.

mod macros;

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    error::SyntaxError,
    functions,
    lexer::{Spanned, Token, tokens},
    re2,
    syntax::{Expr, Kind, Operator},
    value::Value,
};

/// How deep expressions may be within one another.
const DEEPEST: usize = 120;

/// What may begin a value, in the words of the API server's parser.
const OPERAND: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, \
                       BYTES, IDENTIFIER}";

/// Words that are kept for later and name nothing.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether a word means something in the language, or is kept for it, so that no field can be named by it as it is.
pub fn is_reserved(word: &str) -> bool {
    ["true", "false", "null", "in"].contains(&word) || RESERVED.contains(&word)
}

/// An expression, and the names in it that macros do not bind.
pub(crate) struct Parsed {
    pub(crate) expression: Expr,
    pub(crate) free: BTreeSet<String>,
}

pub(crate) fn parse(text: &str, names: &[&str]) -> Result<Parsed, SyntaxError> {
    let (tokens, unknown) = tokens(text);
    let parser = Parser {
        text,
        tokens,
        next: 0,
        names,
        bound: Vec::new(),
        free: BTreeSet::new(),
        undeclared: None,
        depth: 0,
    };
    let read = parser.whole();
    match (unknown, read) {
        (None, read) => read,
        (Some(unknown), Ok(_)) => Err(unknown),
        (Some(mut unknown), Err(error)) => {
            unknown.and(error);
            Err(unknown)
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Spanned>,
    next: usize,
    names: &'a [&'a str],
    bound: Vec<Arc<str>>,
    free: BTreeSet<String>,
    /// References to what is not there: all are told at once.
    undeclared: Option<SyntaxError>,
    depth: usize,
}

type Read<T = Expr> = Result<T, SyntaxError>;

impl Parser<'_> {
    fn whole(mut self) -> Read<Parsed> {
        let expression = self.expression()?;
        if self.peek() != &Token::End {
            let said = self.said();
            // One that is too many could be left out.
            let words = if self.ahead(1) == &Token::End {
                "extraneous"
            } else {
                "mismatched"
            };
            return self.fail(format!("{words} input '{said}' expecting <EOF>"));
        }
        match self.undeclared {
            Some(error) => Err(error),
            None => Ok(Parsed {
                expression,
                free: self.free,
            }),
        }
    }

    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &Token {
        self.tokens
            .get(self.next + count)
            .map_or(&Token::End, |spanned| &spanned.token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |spanned| spanned.at)
    }

    /// The next token as it is written.
    fn said(&self) -> String {
        let spanned = self.tokens.get(self.next);
        let text = spanned.and_then(|spanned| self.text.get(spanned.at..spanned.end));
        match text {
            Some(text) if !text.is_empty() => text.to_owned(),
            _ => "<EOF>".to_owned(),
        }
    }

    fn step(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len());
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let there = self.is(sign);
        if there {
            self.step();
        }
        there
    }

    fn fail<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(SyntaxError::new(
            self.text,
            self.at(),
            format!("Syntax error: {}", message.into()),
        ))
    }

    fn wrong<T>(&self, at: usize, message: impl Into<String>) -> Read<T> {
        Err(SyntaxError::new(self.text, at, message))
    }

    fn expect(&mut self, sign: &'static str, also: &str) -> Read<()> {
        if self.take(sign) {
            return Ok(());
        }
        let said = self.said();
        if also.is_empty() {
            return self.fail(format!("missing '{sign}' at '{said}'"));
        }
        self.fail(format!("mismatched input '{said}' expecting {also}"))
    }

    /// Whether a token can begin a value.
    fn begins(token: &Token) -> bool {
        match token {
            Token::End => false,
            Token::Sign(sign) => ["[", "{", "(", ".", "-", "!"].contains(sign),
            Token::Word(word) => word != "in",
            _ => true,
        }
    }

    /// A value should be here.
    fn no_operand<T>(&self) -> Read<T> {
        let said = self.said();
        let words = if Self::begins(self.ahead(1)) {
            "extraneous"
        } else {
            "mismatched"
        };
        self.fail(format!("{words} input '{said}' expecting {OPERAND}"))
    }

    fn expr(&self, at: usize, kind: Kind) -> Read {
        let below = |expr: &Expr| expr.depth;
        let deepest = match &kind {
            Kind::Literal(_) | Kind::Name(_) => 0,
            Kind::Select { operand, .. }
            | Kind::Has { operand, .. }
            | Kind::Matches { subject: operand, .. }
            | Kind::Not(operand)
            | Kind::Negative(operand) => below(operand),
            Kind::Index { operand, index, .. } => below(operand).max(below(index)),
            Kind::Call { target, arguments, .. } => {
                let arguments = arguments.iter().map(below).max().unwrap_or_default();
                target.as_deref().map_or(0, below).max(arguments)
            }
            Kind::And(operands) | Kind::Or(operands) => operands.iter().map(below).max().unwrap_or_default(),
            Kind::Chain(first, rest) => {
                let rest = rest.iter().map(|(_, _, expr)| below(expr)).max().unwrap_or_default();
                below(first).max(rest)
            }
            Kind::Choice(parts) => below(&parts.0).max(below(&parts.1)).max(below(&parts.2)),
            Kind::List(items) => items.iter().map(|(_, expr)| below(expr)).max().unwrap_or_default(),
            Kind::Map(entries) => {
                let entries = entries.iter().map(|(_, key, value)| below(key).max(below(value)));
                entries.max().unwrap_or_default()
            }
            Kind::Message(_, fields) => fields.iter().map(|(_, _, expr)| below(expr)).max().unwrap_or_default(),
            Kind::Comprehension(it) => {
                let filter = it.filter.as_ref().map_or(0, below);
                below(&it.range).max(below(&it.body)).max(filter)
            }
        };
        let depth = deepest + 1;
        if depth > 2 * DEEPEST {
            return self.wrong(at, format!("expression recursion limit exceeded: {DEEPEST}"));
        }
        Ok(Expr { at, depth, kind })
    }

    /// `a ? b : c`, and everything that binds more.
    fn expression(&mut self) -> Read {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong(self.at(), format!("expression recursion limit exceeded: {DEEPEST}"));
        }
        let condition = self.operators(0)?;
        let at = self.at();
        let whole = if self.take("?") {
            let yes = self.operators(0)?;
            self.expect(":", "':'")?;
            let no = self.expression()?;
            self.expr(at, Kind::Choice(Box::new((condition, yes, no))))?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(whole)
    }

    fn operator(&self) -> Option<(usize, Operator)> {
        Some(match self.peek() {
            Token::Word(word) if word == "in" => (2, Operator::In),
            Token::Sign(sign) => match *sign {
                "==" => (2, Operator::Equal),
                "!=" => (2, Operator::NotEqual),
                "<" => (2, Operator::Less),
                "<=" => (2, Operator::LessOrEqual),
                ">" => (2, Operator::Greater),
                ">=" => (2, Operator::GreaterOrEqual),
                "+" => (3, Operator::Add),
                "-" => (3, Operator::Subtract),
                "*" => (4, Operator::Multiply),
                "/" => (4, Operator::Divide),
                "%" => (4, Operator::Modulo),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Operators of a rank and those that bind more: 0 `||`, 1 `&&`, 2 comparisons, 3 sums, 4 products.
    fn operators(&mut self, rank: usize) -> Read {
        if rank > 4 {
            return self.unary();
        }
        let at = self.at();
        let first = self.operators(rank + 1)?;
        if rank < 2 {
            let sign = if rank == 0 { "||" } else { "&&" };
            if !self.is(sign) {
                return Ok(first);
            }
            let mut operands = vec![first];
            while self.take(sign) {
                operands.push(self.operators(rank + 1)?);
            }
            let kind = if rank == 0 {
                Kind::Or(operands)
            } else {
                Kind::And(operands)
            };
            return self.expr(at, kind);
        }
        let mut rest = Vec::new();
        while let Some((found, operator)) = self.operator()
            && found == rank
        {
            let at = self.at();
            self.step();
            rest.push((operator, at, self.operators(rank + 1)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        self.expr(at, Kind::Chain(Box::new(first), rest))
    }

    fn unary(&mut self) -> Read {
        let at = self.at();
        let mut nots = 0_usize;
        while self.take("!") {
            nots += 1;
        }
        if nots > 0 {
            if self.peek() == &Token::End {
                return self.fail(format!("extraneous input '<EOF>' expecting {OPERAND}"));
            }
            let operand = self.member()?;
            return if nots % 2 == 1 {
                self.expr(at, Kind::Not(Box::new(operand)))
            } else {
                Ok(operand)
            };
        }
        if self.is("-") {
            let literal = match self.ahead(1) {
                Token::Int(value) => Some(match 0_i64.checked_sub_unsigned(*value) {
                    Some(value) => Value::Int(value),
                    None => return self.wrong(at, "invalid int literal"),
                }),
                Token::Double(value) => Some(Value::Double(-value)),
                _ => None,
            };
            if let Some(literal) = literal {
                self.step();
                self.step();
                let literal = self.expr(at, Kind::Literal(literal))?;
                return self.members(literal);
            }
            let mut minuses = 0_usize;
            while self.take("-") {
                minuses += 1;
            }
            let operand = self.member()?;
            return if minuses % 2 == 1 {
                self.expr(at, Kind::Negative(Box::new(operand)))
            } else {
                Ok(operand)
            };
        }
        self.member()
    }

    fn member(&mut self) -> Read {
        let primary = self.primary()?;
        self.members(primary)
    }

    /// What follows a value: `.field`, `.call()`, `[index]`, `{fields}`.
    fn members(&mut self, mut whole: Expr) -> Read {
        loop {
            let at = self.at();
            if self.take(".") {
                let optional = self.take("?");
                let Token::Word(field) = self.peek().clone() else {
                    let said = self.said();
                    let said = if said == "<EOF>" { "" } else { &said };
                    return self.fail(format!("no viable alternative at input '.{said}'"));
                };
                self.step();
                if !optional && self.is("(") {
                    whole = self.member_call(whole, &field)?;
                    continue;
                }
                let operand = Box::new(whole);
                let field = field.as_str().into();
                whole = self.expr(
                    at,
                    Kind::Select {
                        operand,
                        field,
                        optional,
                    },
                )?;
            } else if self.take("[") {
                let optional = self.take("?");
                let index = self.expression()?;
                self.expect("]", "")?;
                let (operand, index) = (Box::new(whole), Box::new(index));
                whole = self.expr(
                    at,
                    Kind::Index {
                        operand,
                        index,
                        optional,
                    },
                )?;
            } else if self.is("{")
                && let Some(name) = dotted(&whole)
            {
                whole = self.message(at, &name)?;
            } else {
                return Ok(self.checked(whole));
            }
        }
    }

    /// Notes the name at the root of a value, once it is clear that it is one.
    fn checked(&mut self, whole: Expr) -> Expr {
        let mut root = &whole;
        while let Kind::Select { operand, .. } | Kind::Index { operand, .. } = &root.kind {
            root = operand;
        }
        if let Kind::Name(name) = &root.kind {
            let (name, at) = (Arc::clone(name), root.at);
            self.refer(&name, at);
        }
        whole
    }

    fn refer(&mut self, name: &str, at: usize) {
        if self.bound.iter().any(|bound| &**bound == name) {
            return;
        }
        self.free.insert(name.to_owned());
        if !self.names.contains(&name) && functions::type_named(name).is_none() {
            self.undeclare(name, at);
        }
    }

    fn undeclare(&mut self, name: &str, at: usize) {
        let message = format!("undeclared reference to '{name}' (in container '')");
        SyntaxError::add(&mut self.undeclared, self.text, at, message);
    }

    fn primary(&mut self) -> Read {
        let at = self.at();
        let token = self.peek().clone();
        let literal = match token {
            Token::Int(value) => match i64::try_from(value) {
                Ok(value) => Value::Int(value),
                Err(_) => return self.wrong(at, "invalid int literal"),
            },
            Token::Uint(value) => Value::Uint(value),
            Token::Double(value) => Value::Double(value),
            Token::Text(text) => Value::text(text),
            Token::Bytes(bytes) => Value::Bytes(bytes.into()),
            Token::Word(word) => return self.word(at, &word),
            Token::Sign("(") => {
                self.step();
                let inner = self.expression()?;
                self.expect(")", "")?;
                return Ok(inner);
            }
            Token::Sign("[") => return self.list(at),
            Token::Sign("{") => return self.map(at),
            Token::Sign(".") => {
                self.step();
                let Token::Word(word) = self.peek().clone() else {
                    let said = self.said();
                    return self.fail(format!("mismatched input '{said}' expecting IDENTIFIER"));
                };
                return self.word(at, &word);
            }
            Token::Sign(_) | Token::End => return self.no_operand(),
        };
        self.step();
        self.expr(at, Kind::Literal(literal))
    }

    fn word(&mut self, at: usize, word: &str) -> Read {
        let literal = match word {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            "in" => return self.no_operand(),
            _ => None,
        };
        self.step();
        if let Some(literal) = literal {
            return self.expr(at, Kind::Literal(literal));
        }
        if RESERVED.contains(&word) {
            return self.wrong(at, format!("reserved identifier: {word}"));
        }
        if self.is("(") {
            return self.global_call(word);
        }
        self.expr(at, Kind::Name(word.into()))
    }

    fn arguments(&mut self) -> Read<Vec<Expr>> {
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        if self.peek() == &Token::End {
            let expected = OPERAND.replacen("'(', ", "'(', ')', ", 1);
            return self.fail(format!("mismatched input '<EOF>' expecting {expected}"));
        }
        loop {
            arguments.push(self.expression()?);
            if !self.take(",") {
                self.expect(")", "")?;
                return Ok(arguments);
            }
        }
    }

    fn global_call(&mut self, function: &str) -> Read {
        let at = self.at();
        self.step();
        if function == "has" {
            return self.has(at);
        }
        let arguments = self.arguments()?;
        if !functions::is_global(function) {
            self.undeclare(function, at);
        }
        self.call(at, function.into(), None, arguments)
    }

    fn member_call(&mut self, target: Expr, function: &str) -> Read {
        let at = self.at();
        self.step();
        if let Some(name) = dotted(&target) {
            let whole = format!("{name}.{function}");
            if functions::is_global(&whole) {
                let arguments = self.arguments()?;
                return self.call(at, whole.into(), None, arguments);
            }
        }
        let target = self.checked(target);
        if let Some(kind) = macros::named(function) {
            return self.comprehension(at, kind, function, target);
        }
        let arguments = self.arguments()?;
        if !functions::is_member(function) {
            self.undeclare(function, at);
        }
        self.call(at, function.into(), Some(Box::new(target)), arguments)
    }

    fn call(&mut self, at: usize, function: Arc<str>, target: Option<Box<Expr>>, mut arguments: Vec<Expr>) -> Read {
        if &*function == "matches" {
            let mut all: Vec<Expr> = target.into_iter().map(|target| *target).collect();
            all.append(&mut arguments);
            if let [_, pattern] = all.as_slice()
                && let Kind::Literal(Value::Text(text)) = &pattern.kind
            {
                let Ok(pattern) = re2::compile(text) else {
                    return self.wrong(pattern.at, "invalid matches argument");
                };
                all.truncate(1);
                let Some(subject) = all.pop() else {
                    return self.wrong(at, "invalid matches argument");
                };
                let subject = Box::new(subject);
                return self.expr(at, Kind::Matches { subject, pattern });
            }
            arguments = all;
            return self.expr(
                at,
                Kind::Call {
                    function,
                    target: None,
                    arguments,
                },
            );
        }
        self.expr(
            at,
            Kind::Call {
                function,
                target,
                arguments,
            },
        )
    }

    fn list(&mut self, at: usize) -> Read {
        self.step();
        let mut items = Vec::new();
        while !self.take("]") {
            let optional = self.take("?");
            items.push((optional, self.expression()?));
            if !self.take(",") {
                self.expect("]", "{']', ','}")?;
                break;
            }
        }
        self.expr(at, Kind::List(items))
    }

    fn map(&mut self, at: usize) -> Read {
        self.step();
        let mut entries = Vec::new();
        while !self.take("}") {
            let optional = self.take("?");
            let key = self.expression()?;
            self.expect(":", "':'")?;
            entries.push((optional, key, self.expression()?));
            if !self.take(",") {
                self.expect("}", "{'}', ','}")?;
                break;
            }
        }
        self.expr(at, Kind::Map(entries))
    }

    fn message(&mut self, at: usize, name: &str) -> Read {
        self.step();
        if !self.names.contains(&name.split('.').next().unwrap_or_default()) {
            self.undeclare(name, at);
        }
        let mut fields = Vec::new();
        while !self.take("}") {
            let optional = self.take("?");
            let Token::Word(field) = self.peek().clone() else {
                let said = self.said();
                let expected = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}";
                return self.fail(format!("mismatched input '{said}' expecting {expected}"));
            };
            self.step();
            self.expect(":", "':'")?;
            fields.push((optional, field.as_str().into(), self.expression()?));
            if !self.take(",") {
                self.expect("}", "{'}', ','}")?;
                break;
            }
        }
        self.expr(at, Kind::Message(name.into(), fields))
    }
}

/// `a.b.c`, if it is nothing but names.
fn dotted(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Name(name) => Some(name.to_string()),
        Kind::Select {
            operand,
            field,
            optional: false,
        } => Some(format!("{}.{field}", dotted(operand)?)),
        _ => None,
    }
}
