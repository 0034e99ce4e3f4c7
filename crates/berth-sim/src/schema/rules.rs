//! Rules in CEL that a definition gives its values.

mod typed;

use std::sync::{Arc, OnceLock};

use berth_cel::{EvalError, EvalErrorKind, Names, Program, SyntaxError, Type};
use serde_json::Value;

use super::{ListKind, Schema};
use crate::failure::Cause;

/// What the rules of one object may cost together, and what one of them may.
const BUDGET: u64 = 10_000_000;
const BUDGET_OF_ONE: u64 = 1_000_000;
/// Messages that are longer are not told.
const LONGEST_MESSAGE: usize = 5_120;
const NAMES: [&str; 2] = ["self", "oldSelf"];

/// One rule. It is compiled when it is first needed: most definitions are read more often than they are used.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    text: String,
    message: String,
    message_expression: String,
    reason: String,
    field_path: String,
    optional_old: bool,
    compiled: Arc<OnceLock<Result<Program, SyntaxError>>>,
    compiled_message: Arc<OnceLock<Option<Program>>>,
}

impl Rule {
    /// Reads one of `x-kubernetes-validations`.
    pub(crate) fn read(json: &Value) -> Self {
        let text = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            text: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: text("reason"),
            field_path: text("fieldPath"),
            optional_old: json.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false),
            compiled: Arc::default(),
            compiled_message: Arc::default(),
        }
    }

    fn program(&self) -> Result<&Program, &SyntaxError> {
        self.compiled
            .get_or_init(|| Program::compile(&self.text, &NAMES))
            .as_ref()
    }

    fn message_program(&self) -> Option<&Program> {
        self.compiled_message
            .get_or_init(|| {
                (!self.message_expression.is_empty())
                    .then(|| Program::compile(&self.message_expression, &NAMES).ok())
                    .flatten()
            })
            .as_ref()
    }

    /// How the rule is called where it could not be evaluated.
    fn called(&self) -> &str {
        if self.message.is_empty() {
            self.text.trim()
        } else {
            self.message.trim()
        }
    }
}

struct Selves {
    own: berth_cel::Value,
    old: Option<berth_cel::Value>,
}

impl Names for Selves {
    fn value(&self, name: &str) -> Option<Result<berth_cel::Value, EvalError>> {
        match name {
            "self" => Some(Ok(self.own.clone())),
            "oldSelf" => self.old.clone().map(Ok),
            _ => None,
        }
    }
}

/// What the rules of a schema say of an object: causes of a refusal, and warnings about what was wrong before and has not
/// changed.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) causes: Vec<Cause>,
    pub(crate) warnings: Vec<String>,
}

/// Evaluates the rules of an object that meets its schema otherwise.
pub(crate) fn evaluate(schema: &Schema, object: &Value, old: Option<&Value>) -> Verdict {
    let mut walk = Walk {
        verdict: Verdict::default(),
        budget: BUDGET,
    };
    if schema.ruled {
        let unchanged = old == Some(object);
        let _ = walk.value(schema, object, Old { value: old, unchanged }, "");
    }
    walk.verdict
}

/// What was there before a value.
#[derive(Clone, Copy)]
struct Old<'a> {
    /// The value that this one replaces, where that can be said.
    value: Option<&'a Value>,
    /// It, or the nearest value around it of which that can be said, is as before.
    unchanged: bool,
}

/// No further rules are evaluated.
struct Stop;

struct Walk {
    verdict: Verdict,
    budget: u64,
}

impl Walk {
    fn value(&mut self, schema: &Schema, value: &Value, old: Old<'_>, path: &str) -> Result<(), Stop> {
        if !schema.ruled || value.is_null() {
            return Ok(());
        }
        if let Some(checks) = &schema.checks {
            self.rules(schema, &checks.rules, value, old, path)?;
            for also in &checks.all_of {
                if let Some(checks) = &also.checks {
                    self.rules(schema, &checks.rules, value, old, path)?;
                }
            }
        }
        match value {
            Value::Object(map) => {
                for (name, child) in map {
                    let below = old.value.and_then(|old| old.get(name));
                    let old = match old.value {
                        Some(_) => Old {
                            value: below.filter(|below| !below.is_null()),
                            unchanged: below == Some(child),
                        },
                        None => Old { value: None, ..old },
                    };
                    match (schema.properties.get(name), &schema.additional) {
                        (Some(field), _) => self.value(field, child, old, &super::joined(path, name))?,
                        (None, Some(field)) => self.value(field, child, old, &format!("{path}[{name}]"))?,
                        (None, None) => {}
                    }
                }
            }
            Value::Array(items) => {
                let Some(item_schema) = &schema.items else {
                    return Ok(());
                };
                for (index, item) in items.iter().enumerate() {
                    // Only items that are told apart by keys can be found again.
                    let before = match (&schema.list, old.value.and_then(Value::as_array)) {
                        (ListKind::Map(keys), Some(before)) => {
                            let same = |other: &&Value| keys.iter().all(|key| other.get(key) == item.get(key));
                            before.iter().find(same)
                        }
                        _ => None,
                    };
                    let unchanged = match (&schema.list, before) {
                        (ListKind::Map(_), Some(before)) => before == item,
                        _ => old.unchanged,
                    };
                    let old = Old {
                        value: before,
                        unchanged,
                    };
                    self.value(item_schema, item, old, &format!("{path}[{index}]"))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rules(&mut self, schema: &Schema, rules: &[Rule], value: &Value, old: Old<'_>, path: &str) -> Result<(), Stop> {
        if rules.is_empty() {
            return Ok(());
        }
        let own = typed::value(schema, value);
        let before = old.value.map(|old| typed::value(schema, old));
        for rule in rules {
            self.rule(schema, rule, (value, &own), (old, before.as_ref()), path)?;
        }
        Ok(())
    }

    fn rule(
        &mut self,
        schema: &Schema,
        rule: &Rule,
        (value, own): (&Value, &berth_cel::Value),
        (old, before): (Old<'_>, Option<&berth_cel::Value>),
        path: &str,
    ) -> Result<(), Stop> {
        let kind = schema.kind.map_or("", crate::schema::Type::as_str);
        let refuse = |why: &str| Cause::invalid(named(path), &Value::from(kind), why);
        let program = match rule.program() {
            Ok(program) => program,
            Err(error) => {
                let why = format!("rule compile error: compilation failed: {error}");
                self.verdict.causes.push(refuse(&why));
                return Ok(());
            }
        };
        let transition = program.mentions("oldSelf");
        if transition && before.is_none() && !rule.optional_old {
            return Ok(());
        }
        let names = Selves {
            own: own.clone(),
            old: if rule.optional_old {
                Some(berth_cel::Value::optional(before.cloned()))
            } else {
                before.cloned()
            },
        };
        let error = match self.run(program, &names) {
            Ok(value) if value.is_true() => return Ok(()),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            let called = rule.called();
            let (why, stop) = match error.kind() {
                EvalErrorKind::NoSuchOverload => (
                    format!(
                        "'{error}': call arguments did not match a supported operator, function or macro signature for \
                         rule: {called}"
                    ),
                    false,
                ),
                EvalErrorKind::Cost => (
                    format!(
                        "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: \
                         {called}"
                    ),
                    true,
                ),
                EvalErrorKind::Other => (format!("{error} evaluating rule: {called}"), false),
            };
            self.verdict.causes.push(refuse(&why));
            return if stop { Err(Stop) } else { Ok(()) };
        }
        let message = self.message(rule, &names);
        let at = format!("{path}{}", rule.field_path.trim());
        let at = at.trim_start_matches('.');
        let cause = cause(rule, at, value, &message);
        if !transition && old.unchanged {
            self.verdict
                .warnings
                .push(format!("{}: {}", cause.field, cause.message));
        } else {
            self.verdict.causes.push(cause);
        }
        Ok(())
    }

    fn run(&mut self, program: &Program, names: &Selves) -> Result<berth_cel::Value, EvalError> {
        let given = self.budget.min(BUDGET_OF_ONE);
        let mut left = given;
        let value = program.evaluate(names, &mut left);
        self.budget -= given - left;
        value
    }

    fn message(&mut self, rule: &Rule, names: &Selves) -> String {
        let made = rule.message_program().and_then(|program| self.run(program, names).ok());
        let made = made.as_ref().and_then(berth_cel::Value::as_text).map(str::trim);
        match made {
            Some(made) if !made.is_empty() && made.len() <= LONGEST_MESSAGE && !made.contains('\n') => made.to_owned(),
            _ if rule.message.is_empty() => format!("failed rule: {}", rule.text.trim()),
            _ => rule.message.trim().to_owned(),
        }
    }
}

/// A path as causes tell it.
fn named(path: &str) -> &str {
    if path.is_empty() { "<nil>" } else { path }
}

fn cause(rule: &Rule, path: &str, value: &Value, message: &str) -> Cause {
    let path = named(path);
    // What is large is not told.
    let value = (!value.is_object() && !value.is_array()).then_some(value);
    match rule.reason.as_str() {
        "FieldValueForbidden" => Cause::forbidden(path, message),
        "FieldValueRequired" => Cause::required(path, message),
        "FieldValueDuplicate" => match value {
            Some(value) => Cause::duplicate(path, value),
            None => Cause {
                field: path.to_owned(),
                reason: "FieldValueDuplicate",
                message: "Duplicate value".to_owned(),
            },
        },
        _ => match value {
            Some(value) => Cause::invalid(path, value, message),
            None => Cause {
                field: path.to_owned(),
                reason: "FieldValueInvalid",
                message: format!("Invalid value: {message}"),
            },
        },
    }
}

/// What is wrong with the rules of a definition's schema.
pub(crate) fn check(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    check_below(schema, true, path, causes);
}

fn check_below(schema: &Value, root: bool, path: &str, causes: &mut Vec<Cause>) {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    if let Some(rules) = rules.filter(|rules| !rules.is_empty()) {
        let own = typed::type_of(&Schema::read(schema), root).unwrap_or(Type::Dyn);
        for (index, json) in rules.iter().enumerate() {
            let path = format!("{path}.x-kubernetes-validations[{index}]");
            check_rule(schema, &own, json, &path, causes);
        }
    }
    let embedded = |child: &Value| {
        let flag = child.get("x-kubernetes-embedded-resource");
        flag.and_then(Value::as_bool).unwrap_or(false)
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, child) in properties.into_iter().flatten() {
        check_below(child, embedded(child), &format!("{path}.properties[{name}]"), causes);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child @ Value::Object(_)) = schema.get(key) {
            check_below(child, embedded(child), &format!("{path}.{key}"), causes);
        }
    }
}

const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

fn check_rule(schema: &Value, own: &Type, json: &Value, path: &str, causes: &mut Vec<Cause>) {
    let rule = Rule::read(json);
    let before = causes.len();
    let text = rule.text.trim();
    let message = rule.message.trim();
    if text.is_empty() {
        causes.push(Cause::required(format!("{path}.rule"), "rule is not specified"));
    } else if !rule.message.is_empty() && message.is_empty() {
        let given = Value::from(rule.message.as_str());
        causes.push(Cause::invalid(
            format!("{path}.message"),
            &given,
            "must be non-empty if specified",
        ));
    } else if message.contains('\n') {
        let given = Value::from(rule.message.as_str());
        causes.push(Cause::invalid(
            format!("{path}.message"),
            &given,
            "must not contain line breaks",
        ));
    } else if text.contains('\n') && message.is_empty() {
        causes.push(Cause::required(
            format!("{path}.message"),
            "message must be specified if rule contains line breaks",
        ));
    }
    if !rule.reason.is_empty() && !REASONS.contains(&rule.reason.as_str()) {
        causes.push(Cause::unsupported(
            format!("{path}.reason"),
            &Value::from(rule.reason.as_str()),
            &REASONS.map(Value::from),
        ));
    }
    if !rule.field_path.is_empty() && !leads_somewhere(schema, &rule.field_path) {
        let given = Value::from(rule.field_path.as_str());
        causes.push(Cause::invalid(
            format!("{path}.fieldPath"),
            &given,
            "must be a valid path",
        ));
    }
    if causes.len() > before {
        return;
    }
    let refuse = |part: &str, why: String| Cause {
        field: format!("{path}.{part}"),
        reason: "FieldValueInvalid",
        message: format!("Invalid value: {}: {why}", shown(&rule, json)),
    };
    let old = if rule.optional_old {
        Type::Optional(Arc::new(own.clone()))
    } else {
        own.clone()
    };
    let names = [("self", own.clone()), ("oldSelf", old)];
    let is = |program: &Program, wanted: &Type| program.result() == wanted || *program.result() == Type::Dyn;
    match Program::compile_typed(&rule.text, &names) {
        Ok(program) if !is(&program, &Type::Bool) => {
            causes.push(refuse("rule", "cel expression must evaluate to a bool".to_owned()));
        }
        Err(error) => causes.push(refuse("rule", format!("compilation failed: {error}"))),
        Ok(program) if !program.mentions("oldSelf") => {
            if let Some(given) = json.get("optionalOldSelf").filter(|given| given.is_boolean()) {
                causes.push(Cause::invalid(
                    format!("{path}.optionalOldSelf"),
                    given,
                    "may not be set if oldSelf is not used in rule",
                ));
            }
        }
        Ok(_) => {}
    }
    if !rule.message_expression.is_empty() {
        let why = match Program::compile_typed(&rule.message_expression, &names) {
            Err(error) => format!("messageExpression compilation failed: {error}"),
            Ok(program) if !is(&program, &Type::Text) => "messageExpression must evaluate to a string".to_owned(),
            Ok(_) => return,
        };
        causes.push(refuse("messageExpression", why));
    }
}

/// A rule as the API server tells it.
fn shown(rule: &Rule, json: &Value) -> String {
    let quoted = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted
            .replace('&', r"\u0026")
            .replace('<', r"\u003c")
            .replace('>', r"\u003e")
    };
    let reason = if rule.reason.is_empty() {
        "null".to_owned()
    } else {
        quoted(&rule.reason)
    };
    let optional = json.get("optionalOldSelf").filter(|given| given.is_boolean());
    format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{reason},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        quoted(&rule.text),
        quoted(&rule.message),
        quoted(&rule.message_expression),
        quoted(&rule.field_path),
        optional.unwrap_or(&Value::Null)
    )
}

/// Whether a path such as `.a.b` or `['a']` names a field of a schema.
fn leads_somewhere(schema: &Value, path: &str) -> bool {
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let (name, after) = if let Some(after) = rest.strip_prefix("['") {
            match after.split_once("']") {
                Some((name, after)) => (name, after),
                None => return false,
            }
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            match after.split_at_checked(end) {
                Some((name, after)) if !name.is_empty() => (name, after),
                _ => return false,
            }
        } else {
            return false;
        };
        let named = schema.get("properties").and_then(|properties| properties.get(name));
        let Some(found) = named.or_else(|| schema.get("additionalProperties")) else {
            return false;
        };
        schema = found;
        rest = after;
    }
    true
}
