//! What names mean in the expressions of policies.

use std::{
    cell::{Cell, OnceCell, RefCell},
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

/// One evaluation of a policy: variables are made once, when they are asked for.
pub(crate) struct Scope<'a> {
    subject: Subject<'a>,
    variables: &'a [(String, Expression)],
    made: RefCell<BTreeMap<&'a str, Option<Result<Value, EvalError>>>>,
    budget: Cell<u64>,
    seen: [OnceCell<Value>; 5],
}

impl<'a> Scope<'a> {
    pub(crate) fn new(subject: Subject<'a>, variables: &'a [(String, Expression)], budget: u64) -> Self {
        Self {
            subject,
            variables,
            made: RefCell::new(BTreeMap::new()),
            budget: Cell::new(budget),
            seen: Default::default(),
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
        let (index, json) = match name {
            "object" => (0, self.subject.object),
            "oldObject" => (1, self.subject.old),
            "request" => (2, Some(self.subject.request)),
            "namespaceObject" => (3, self.subject.namespace),
            "params" => (4, self.subject.params),
            _ => return None,
        };
        let value = self
            .seen
            .get(index)?
            .get_or_init(|| json.map_or(Value::Null, Value::of_json));
        Some(Ok(value.clone()))
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
