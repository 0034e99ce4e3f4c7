//! CEL, the expression language of Kubernetes: validation rules of definitions, and admission policies.
//!
//! ```text
//! text ── Program::compile ──► Program ── evaluate(names, budget) ──► Value
//! ```
//!
//! A text that is compiled once can be evaluated from many threads. Everything here is pure, never panics, and is bounded:
//! texts by their length and depth, evaluations by a budget of steps. The words of errors are those of the API server.
//!
//! There is no type checker: what the API server finds wrong with types when a text is compiled, this finds when the text is
//! evaluated. Names that do not exist are found when the text is compiled, in both.

mod error;
mod eval;
mod functions;
mod lexer;
mod operators;
mod parser;
mod program;
mod re2;
mod syntax;
#[cfg(test)]
mod tests;
mod value;

pub use error::{EvalError, EvalErrorKind, SyntaxError};
pub use eval::{Names, NoNames};
pub use functions::{Format, Quantity, Url};
pub use program::Program;
pub use value::{Key, List, ListKind, Message, Value};
