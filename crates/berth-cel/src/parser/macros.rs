//! What looks like a call and is none: its names are bound by it.

use std::sync::Arc;

use super::{Parser, Read};
use crate::{
    error::SyntaxError,
    syntax::{Comprehension, Expr, Kind, Macro},
};

/// The macro of a name.
pub(super) fn named(name: &str) -> Option<Macro> {
    Some(match name {
        "all" => Macro::All,
        "exists" => Macro::Exists,
        "exists_one" | "existsOne" => Macro::ExistsOne,
        "filter" => Macro::Filter,
        "map" | "transformList" => Macro::Map,
        "transformMap" => Macro::TransformMap,
        "transformMapEntry" => Macro::TransformMapEntry,
        "sortBy" => Macro::SortBy,
        "optMap" => Macro::OptMap,
        "optFlatMap" => Macro::OptFlatMap,
        _ => return None,
    })
}

impl Parser<'_> {
    /// `has(a.b)`, after its parenthesis.
    pub(super) fn has(&mut self, at: usize) -> Read {
        let arguments = self.arguments()?;
        let invalid = |parser: &Self, at: usize| parser.wrong(at, "invalid argument to has() macro");
        let Ok([argument]) = <[Expr; 1]>::try_from(arguments) else {
            return invalid(self, at);
        };
        match argument.kind {
            Kind::Select {
                operand,
                field,
                optional: false,
            } => self.expr(at, Kind::Has { operand, field }),
            _ => invalid(self, argument.at),
        }
    }

    /// How many names a macro has with so many arguments, and whether it filters.
    fn shape(kind: Macro, function: &str, count: usize) -> Option<(usize, bool)> {
        match (kind, count) {
            (Macro::All | Macro::Exists | Macro::ExistsOne, 3) if function != "exists_one" => Some((2, false)),
            (Macro::Map, 2) if function != "map" => None,
            (Macro::TransformMap | Macro::TransformMapEntry, 2) => None,
            (_, 2) => Some((1, false)),
            (Macro::Map, 3) if function == "map" => Some((1, true)),
            (Macro::Map | Macro::TransformMap | Macro::TransformMapEntry, 3) => Some((2, false)),
            (Macro::Map | Macro::TransformMap | Macro::TransformMapEntry, 4) if function != "map" => Some((2, true)),
            _ => None,
        }
    }

    /// How many arguments there are up to the parenthesis that ends them.
    fn count_arguments(&self) -> usize {
        let mut depth = 0_usize;
        let mut commas = 0;
        for ahead in 0.. {
            match self.ahead(ahead) {
                crate::lexer::Token::End => break,
                crate::lexer::Token::Sign("(" | "[" | "{") => depth += 1,
                crate::lexer::Token::Sign(")" | "]" | "}") if depth == 0 => {
                    return if ahead == 0 { 0 } else { commas + 1 };
                }
                crate::lexer::Token::Sign(")" | "]" | "}") => depth -= 1,
                crate::lexer::Token::Sign(",") if depth == 0 => commas += 1,
                _ => {}
            }
        }
        commas + 1
    }

    /// `target.all(x, ...)` and the like, after their parenthesis.
    pub(super) fn comprehension(&mut self, at: usize, kind: Macro, function: &str, range: Expr) -> Read {
        let Some((names, filters)) = Self::shape(kind, function, self.count_arguments()) else {
            self.arguments()?;
            self.undeclare(function, at);
            return Ok(range);
        };
        let mut bound = Vec::new();
        for _ in 0..names {
            let place = self.at();
            let crate::lexer::Token::Word(name) = self.peek().clone() else {
                return self.wrong(place, "argument must be a simple name");
            };
            self.step();
            if !self.take(",") {
                return self.wrong(place, "argument must be a simple name");
            }
            bound.push(Arc::<str>::from(name.as_str()));
        }
        let before = self.bound.len();
        self.bound.extend(bound.iter().cloned());
        let filter = if filters {
            let filter = self.expression()?;
            self.expect(",", "','")?;
            Some(filter)
        } else {
            None
        };
        let body = self.expression();
        self.bound.truncate(before);
        let body = body?;
        self.expect(")", "")?;
        let mut bound = bound.into_iter();
        let Some(first) = bound.next() else {
            return Err(SyntaxError::new(self.text, at, "argument must be a simple name"));
        };
        let comprehension = Comprehension {
            kind,
            range,
            first,
            second: bound.next(),
            filter,
            body,
        };
        self.expr(at, Kind::Comprehension(Box::new(comprehension)))
    }
}
