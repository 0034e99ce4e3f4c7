//! What names mean in the expressions of policies.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use berth_cel::{EvalError, Names, Value};
use serde_json::Value as Json;

use super::Expression;

/// A write, as expressions see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) object: Option<&'a Json>,
    pub(crate) old: Option<&'a Json>,
    pub(crate) request: &'a Json,
    /// The namespace of the object.
    pub(crate) namespace: Option<&'a Json>,
    pub(crate) params: Option<&'a Json>,
}

/// The names of a write.
const NAMES: [&str; 5] = ["object", "oldObject", "request", "namespaceObject", "params"];

impl<'a> Subject<'a> {
    /// What a name of the write stands for, if there is something.
    fn named(&self, name: &str) -> Option<&'a Json> {
        match name {
            "object" => self.object,
            "oldObject" => self.old,
            "request" => Some(self.request),
            "namespaceObject" => self.namespace,
            "params" => self.params,
            _ => None,
        }
    }
}

/// One evaluation of a policy: variables are made once, when they are asked for.
pub(crate) struct Scope<'a> {
    subject: Subject<'a>,
    variables: &'a [(String, Expression)],
    made: RefCell<BTreeMap<&'a str, Option<Result<Value, EvalError>>>>,
    budget: Cell<u64>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(subject: Subject<'a>, variables: &'a [(String, Expression)], budget: u64) -> Self {
        Self {
            subject,
            variables,
            made: RefCell::new(BTreeMap::new()),
            budget: Cell::new(budget),
        }
    }

    /// The value of an expression, or the words of the API server for why it has none.
    pub(crate) fn evaluate(&self, expression: &Expression) -> Result<Value, String> {
        let program = expression
            .program()
            .map_err(|error| format!("compilation error: compilation failed: {error}"))?;
        self.run(program)
            .map_err(|error| format!("expression '{}' resulted in error: {error}", expression.text))
    }

    fn run(&self, program: &berth_cel::Program) -> Result<Value, EvalError> {
        // What variables use meanwhile is taken from what is left afterwards.
        let mut left = self.budget.get();
        let before = left;
        let value = program.evaluate(self, &mut left);
        let used = before - left;
        self.budget.set(self.budget.get().saturating_sub(used));
        value
    }

    fn variable(&self, name: &str) -> Option<Result<Value, EvalError>> {
        let (name, expression) = self.variables.iter().find(|(known, _)| known == name)?;
        if let Some(made) = self.made.borrow().get(name.as_str()) {
            // One that asks for itself has no value.
            return Some(
                made.clone()
                    .unwrap_or_else(|| Err(EvalError::new(format!("no such key: {name}")))),
            );
        }
        self.made.borrow_mut().insert(name, None);
        let result = match expression.program() {
            Ok(program) => self
                .run(program)
                .map_err(|error| EvalError::new(format!("composited variable \"{name}\" fails to evaluate: {error}"))),
            Err(error) => Err(EvalError::new(format!(
                "composited variable \"{name}\" fails to compile: compilation failed: {error}"
            ))),
        };
        self.made.borrow_mut().insert(name, Some(result.clone()));
        Some(result)
    }
}

impl Names for Scope<'_> {
    fn value(&self, name: &str) -> Option<Result<Value, EvalError>> {
        NAMES
            .contains(&name)
            .then(|| Ok(self.subject.named(name).map_or(Value::Null, Value::of_json)))
    }

    fn json(&self, name: &str) -> Option<&Json> {
        self.subject.named(name)
    }

    fn field(&self, name: &str, field: &str) -> Option<Result<Value, EvalError>> {
        if name != "variables" {
            return None;
        }
        Some(
            self.variable(field)
                .unwrap_or_else(|| Err(EvalError::new(format!("no such key: {field}")))),
        )
    }
}
