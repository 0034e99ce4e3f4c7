//! Expressions that can be evaluated.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    error::{EvalError, SyntaxError},
    eval::{Evaluation, Names},
    parser::{Parsed, parse},
    syntax::Expr,
    value::Value,
};

/// Texts longer than this are refused.
const LONGEST: usize = 100_000;

/// An expression that has been compiled.
#[derive(Clone, Debug)]
pub struct Program {
    expression: Arc<Expr>,
    names: Arc<BTreeSet<String>>,
}

impl Program {
    /// Compiles a text in which these names mean something.
    pub fn compile(text: &str, names: &[&str]) -> Result<Self, SyntaxError> {
        if text.len() > LONGEST {
            return Err(SyntaxError::new(
                text,
                0,
                format!(
                    "expression code point size exceeds limit: size: {}, limit {LONGEST}",
                    text.chars().count()
                ),
            ));
        }
        let Parsed { expression, free } = parse(text, names)?;
        Ok(Self {
            expression: Arc::new(expression),
            names: Arc::new(free),
        })
    }

    /// Whether it refers to a name.
    pub fn mentions(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Evaluates it. `budget` counts down with every step, so that several evaluations can share one.
    pub fn evaluate(&self, names: &dyn Names, budget: &mut u64) -> Result<Value, EvalError> {
        let mut evaluation = Evaluation::new(names, *budget);
        let result = evaluation.value(&self.expression);
        *budget = evaluation.remaining();
        result
    }
}
