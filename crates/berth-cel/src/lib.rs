//! CEL, the expression language of Kubernetes: validation rules of definitions, and admission policies.
//!
//! ```text
//! text ── Program::compile ──► Program ── evaluate(names, budget) ──► Value
//! ```
//!
//! A text that is compiled once can be evaluated from many threads. Everything here is pure, never panics, and is bounded:
//! texts by their length and depth, evaluations by a budget of steps. The words of errors are those of the API server.
//!
//! Types are checked when a text is compiled, as far as they are known: by [`Type`] of the names, of literals and of the
//! functions that rules use most. What is not known may be anything, and is checked when the text is evaluated.

mod check;
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
mod types;
mod value;

pub use error::{EvalError, EvalErrorKind, SyntaxError};
pub use eval::{Names, NoNames};
pub use functions::{Format, Quantity, Url};
pub use parser::is_reserved;
pub use program::Program;
pub use re2::compile as pattern;
pub use types::{ObjectType, Type};
pub use value::{Key, List, ListKind, Message, Value};
