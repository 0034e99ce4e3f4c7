//! Admission policies: expressions that change or refuse what is written.
//!
//! Everything here is pure. What a write concerns, and where parameters come from, is the cluster's business.

mod check;
mod mutate;
mod scope;

use std::sync::{Arc, OnceLock};

use berth_cel::{Program, SyntaxError};
use serde_json::Value;

use crate::object::{at, items, name, text};

pub(crate) use check::check;
pub(crate) use mutate::mutate;
pub(crate) use scope::{Scope, Subject};

/// Messages that are longer are not told.
const LONGEST_MESSAGE: usize = 5_120;
/// What the expressions of one policy may cost, and what its conditions may.
const BUDGET: u64 = 10_000_000;
const BUDGET_OF_CONDITIONS: u64 = 2_500_000;

/// A text that is compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct Expression {
    text: String,
    names: &'static [&'static str],
    program: OnceLock<Result<Program, SyntaxError>>,
}

/// The names that expressions of policies know.
const NAMES: [&str; 6] = [
    "object",
    "oldObject",
    "request",
    "namespaceObject",
    "params",
    "variables",
];
/// Those of mutations: the types that they make, too.
const NAMES_OF_MUTATIONS: [&str; 9] = [
    "object",
    "oldObject",
    "request",
    "namespaceObject",
    "params",
    "variables",
    "authorizer",
    "Object",
    "JSONPatch",
];

impl Expression {
    fn new(text: &str, names: &'static [&'static str]) -> Self {
        Self {
            text: text.to_owned(),
            names,
            program: OnceLock::new(),
        }
    }

    fn program(&self) -> Result<&Program, &SyntaxError> {
        self.program
            .get_or_init(|| Program::compile(&self.text, self.names))
            .as_ref()
    }
}

/// One validation.
#[derive(Debug)]
struct Validation {
    expression: Expression,
    message_expression: Option<Expression>,
    message: String,
    reason: String,
}

/// How a mutation changes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MutationKind {
    /// By the steps of a JSON patch.
    JsonPatch,
    /// By a configuration that is merged into it.
    ApplyConfiguration,
}

/// A policy.
#[derive(Debug)]
pub(crate) struct Policy {
    source: Arc<Value>,
    conditions: Vec<Expression>,
    variables: Vec<(String, Expression)>,
    validations: Vec<Validation>,
    mutations: Vec<(MutationKind, Expression)>,
}

/// What a policy says of a write.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) message: String,
    /// The reason that it names; empty if none.
    pub(crate) reason: String,
}

impl Policy {
    fn read(source: &Arc<Value>) -> Self {
        let expression = |json: &Value| Expression::new(text(json, &["expression"]), &NAMES);
        Self {
            source: Arc::clone(source),
            conditions: conditions(source, &["spec", "matchConditions"]),
            variables: items(source, &["spec", "variables"])
                .map(|json| (text(json, &["name"]).to_owned(), expression(json)))
                .collect(),
            validations: items(source, &["spec", "validations"])
                .map(|json| {
                    let message = text(json, &["messageExpression"]);
                    Validation {
                        expression: expression(json),
                        message_expression: (!message.is_empty()).then(|| Expression::new(message, &NAMES)),
                        message: text(json, &["message"]).to_owned(),
                        reason: text(json, &["reason"]).to_owned(),
                    }
                })
                .collect(),
            mutations: items(source, &["spec", "mutations"])
                .map(|json| {
                    let (kind, key) = match text(json, &["patchType"]) {
                        "ApplyConfiguration" => (MutationKind::ApplyConfiguration, "applyConfiguration"),
                        _ => (MutationKind::JsonPatch, "jsonPatch"),
                    };
                    let expression = text(json, &[key, "expression"]).trim();
                    (kind, Expression::new(expression, &NAMES_OF_MUTATIONS))
                })
                .collect(),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        name(&self.source)
    }

    /// What it is about.
    pub(crate) fn constraints(&self) -> Option<&Value> {
        at(&self.source, &["spec", "matchConstraints"])
    }

    /// The kind of its parameters.
    pub(crate) fn param_kind(&self) -> Option<(&str, &str)> {
        let kind = at(&self.source, &["spec", "paramKind"])?;
        Some((text(kind, &["apiVersion"]), text(kind, &["kind"])))
    }

    /// Whether a write fails when the policy cannot be evaluated.
    pub(crate) fn fails(&self) -> bool {
        text(&self.source, &["spec", "failurePolicy"]) != "Ignore"
    }

    /// Whether its conditions hold; the error if that cannot be said and matters.
    pub(crate) fn applies(&self, subject: Subject<'_>) -> Result<bool, String> {
        conditions_hold(&self.conditions, &self.variables, subject, self.fails())
    }

    /// The validations that are not met.
    pub(crate) fn validate(&self, subject: Subject<'_>) -> Vec<Decision> {
        match self.applies(subject) {
            Ok(true) => {}
            Ok(false) => return Vec::new(),
            Err(message) => {
                return vec![Decision {
                    message,
                    reason: String::new(),
                }];
            }
        }
        let scope = Scope::new(subject, &self.variables, BUDGET);
        let mut decisions = Vec::new();
        for validation in &self.validations {
            match scope.evaluate(&validation.expression) {
                Ok(value) if value.is_true() => {}
                Ok(_) => decisions.push(Decision {
                    message: validation.told(&scope),
                    reason: validation.reason.clone(),
                }),
                Err(message) if self.fails() => decisions.push(Decision {
                    message,
                    reason: String::new(),
                }),
                Err(message) => tracing::debug!(policy = self.name(), message, "the policy is ignored"),
            }
        }
        decisions
    }
}

impl Validation {
    fn told(&self, scope: &Scope<'_>) -> String {
        let made = self
            .message_expression
            .as_ref()
            .and_then(|expression| scope.evaluate(expression).ok());
        let made = made.as_ref().and_then(berth_cel::Value::as_text).map(str::trim);
        match made {
            Some(made) if !made.is_empty() && made.len() <= LONGEST_MESSAGE && !made.contains('\n') => made.to_owned(),
            _ if !self.message.is_empty() => self.message.trim().to_owned(),
            _ => format!("failed expression: {}", self.expression.text.trim()),
        }
    }
}

/// The conditions at a place of an object.
pub(crate) fn conditions(object: &Value, path: &[&str]) -> Vec<Expression> {
    items(object, path)
        .map(|json| Expression::new(text(json, &["expression"]), &NAMES))
        .collect()
}

/// Whether conditions hold. One that is false decides; one that cannot be evaluated is an error where that matters, and
/// otherwise as good as false.
pub(crate) fn conditions_hold(
    conditions: &[Expression],
    variables: &[(String, Expression)],
    subject: Subject<'_>,
    fails: bool,
) -> Result<bool, String> {
    if conditions.is_empty() {
        return Ok(true);
    }
    let scope = Scope::new(subject, variables, BUDGET_OF_CONDITIONS);
    let mut errors = Vec::new();
    for condition in conditions {
        match scope.evaluate(condition) {
            Ok(berth_cel::Value::Bool(false)) => return Ok(false),
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
    }
    match (errors.as_slice(), fails) {
        ([], _) => Ok(true),
        (_, false) => Ok(false),
        ([only], true) => Err(only.clone()),
        (many, true) => Err(format!("[{}]", many.join(", "))),
    }
}

/// All policies of one kind with their bindings, by name.
#[derive(Debug, Default)]
pub(crate) struct PolicySet {
    policies: Vec<(Arc<Policy>, Vec<Arc<Value>>)>,
}

impl PolicySet {
    /// Reads policies and bindings. A policy that has not changed is not compiled again.
    pub(crate) fn read(&self, policies: &[Arc<Value>], bindings: &[Arc<Value>]) -> Self {
        let known = |source: &Arc<Value>| {
            let known = self.policies.iter().map(|(policy, _)| policy);
            known
                .into_iter()
                .find(|policy| Arc::ptr_eq(&policy.source, source))
                .cloned()
        };
        let mut policies: Vec<_> = policies
            .iter()
            .map(|source| {
                let policy = known(source).unwrap_or_else(|| Arc::new(Policy::read(source)));
                let of_it = bindings
                    .iter()
                    .filter(|binding| text(binding, &["spec", "policyName"]) == name(source));
                let mut of_it: Vec<Arc<Value>> = of_it.cloned().collect();
                of_it.sort_by(|one, other| name(one).cmp(name(other)));
                (policy, of_it)
            })
            .filter(|(_, bindings)| !bindings.is_empty())
            .collect();
        policies.sort_by(|(one, _), (other, _)| one.name().cmp(other.name()));
        Self { policies }
    }

    /// The policies that are put to work, with their bindings.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<Policy>, &[Arc<Value>])> {
        self.policies
            .iter()
            .map(|(policy, bindings)| (policy, bindings.as_slice()))
    }
}
