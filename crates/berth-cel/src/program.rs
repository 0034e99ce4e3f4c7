//! Expressions that can be evaluated.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    check::check,
    error::{EvalError, SyntaxError},
    eval::{Evaluation, Names},
    parser::{Parsed, parse},
    syntax::{Expr, Kind},
    types::Type,
    value::Value,
};

/// Texts longer than this are refused.
const LONGEST: usize = 100_000;

/// An expression that has been compiled.
#[derive(Clone, Debug)]
pub struct Program {
    expression: Arc<Expr>,
    names: Arc<BTreeSet<String>>,
    result: Type,
}

impl Program {
    /// Compiles a text in which these names mean something of which nothing is known.
    pub fn compile(text: &str, names: &[&str]) -> Result<Self, SyntaxError> {
        let names: Vec<(&str, Type)> = names.iter().map(|name| (*name, Type::Dyn)).collect();
        Self::compile_typed(text, &names)
    }

    /// Compiles a text in which these names have these types.
    pub fn compile_typed(text: &str, names: &[(&str, Type)]) -> Result<Self, SyntaxError> {
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
        let plain: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let Parsed { expression, free } = parse(text, &plain)?;
        let result = check(text, &expression, names)?;
        Ok(Self {
            result,
            expression: Arc::new(expression),
            names: Arc::new(free),
        })
    }

    /// The type of its value, as far as it is known.
    pub fn result(&self) -> &Type {
        &self.result
    }

    /// The name at its beginning, if it is nothing but fields and items of a name.
    pub fn root(&self) -> Option<&str> {
        let mut root = &*self.expression;
        while let Kind::Select { operand, .. } | Kind::Index { operand, .. } = &root.kind {
            root = operand;
        }
        match &root.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
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
