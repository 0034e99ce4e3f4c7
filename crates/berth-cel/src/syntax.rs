//! Expressions that have been read.

use std::sync::Arc;

use regex::Regex;

use crate::value::Value;

/// An expression and where it begins in the text.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) at: usize,
    /// How many expressions are within one another here.
    pub(crate) depth: usize,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Literal(Value),
    Name(Arc<str>),
    /// `operand.field`; with `optional`, `operand.?field`.
    Select {
        operand: Box<Expr>,
        field: Arc<str>,
        optional: bool,
    },
    /// `has(operand.field)`.
    Has {
        operand: Box<Expr>,
        field: Arc<str>,
    },
    /// `operand[index]`; with `optional`, `operand[?index]`.
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    Call {
        function: Arc<str>,
        target: Option<Box<Expr>>,
        arguments: Vec<Expr>,
    },
    /// `matches` with a pattern that is known.
    Matches {
        subject: Box<Expr>,
        pattern: Regex,
    },
    Not(Box<Expr>),
    Negative(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// Operators of one rank with their places, from left to right.
    Chain(Box<Expr>, Vec<(Operator, usize, Expr)>),
    Choice(Box<(Expr, Expr, Expr)>),
    /// `true` before an item that is left out if it is an empty optional.
    List(Vec<(bool, Expr)>),
    Map(Vec<(bool, Expr, Expr)>),
    Message(Arc<str>, Vec<(bool, Arc<str>, Expr)>),
    Comprehension(Box<Comprehension>),
}

/// What a macro over a list or map makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Macro {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
    TransformMap,
    TransformMapEntry,
    SortBy,
    OptMap,
    OptFlatMap,
}

#[derive(Debug)]
pub(crate) struct Comprehension {
    pub(crate) kind: Macro,
    pub(crate) range: Expr,
    pub(crate) first: Arc<str>,
    /// The value, where `first` is the index or key.
    pub(crate) second: Option<Arc<str>>,
    pub(crate) filter: Option<Expr>,
    pub(crate) body: Expr,
}
