//! Evaluation.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value as Json;

use crate::{
    error::{EvalError, EvalErrorKind},
    functions, operators,
    syntax::{Comprehension, Expr, Kind, Macro, Operator},
    value::{Key, List, Message, Value},
};

/// What names mean.
pub trait Names {
    /// The value of a name.
    fn value(&self, name: &str) -> Option<Result<Value, EvalError>>;

    /// The value of a field of a name, for names whose fields are made when they are asked for. `None` for all others.
    fn field(&self, name: &str, field: &str) -> Option<Result<Value, EvalError>> {
        let _ = (name, field);
        None
    }

    /// The JSON value of a name, if that is what it stands for. Of a large object only what is asked for is looked at then.
    fn json(&self, name: &str) -> Option<&Json> {
        let _ = name;
        None
    }
}

/// No names.
#[derive(Clone, Copy, Debug)]
pub struct NoNames;

impl Names for NoNames {
    fn value(&self, _: &str) -> Option<Result<Value, EvalError>> {
        None
    }
}

impl Names for BTreeMap<String, Value> {
    fn value(&self, name: &str) -> Option<Result<Value, EvalError>> {
        self.get(name).cloned().map(Ok)
    }
}

type Outcome = Result<Value, EvalError>;

/// One evaluation.
pub(crate) struct Evaluation<'a> {
    names: &'a dyn Names,
    /// Names of macros, the innermost last.
    bound: Vec<(Arc<str>, Value)>,
    budget: u64,
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(names: &'a dyn Names, budget: u64) -> Self {
        Self {
            names,
            bound: Vec::new(),
            budget,
        }
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.budget
    }

    /// Pays for a step, and for what it goes through.
    fn pay(&mut self, steps: usize) -> Result<(), EvalError> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        if steps > self.budget {
            self.budget = 0;
            return Err(EvalError::cost());
        }
        self.budget -= steps;
        Ok(())
    }

    pub(crate) fn value(&mut self, expr: &Expr) -> Outcome {
        self.pay(1)?;
        match &expr.kind {
            Kind::Literal(value) => Ok(value.clone()),
            Kind::Name(name) => self.name(name),
            Kind::Select {
                operand,
                field,
                optional,
            } => self.select(operand, field, *optional),
            Kind::Has { operand, field } => self.has(operand, field),
            Kind::Index {
                operand,
                index,
                optional,
            } => self.index(operand, index, *optional),
            Kind::Call {
                function,
                target,
                arguments,
            } => self.call(function, target.as_deref(), arguments),
            Kind::Matches { subject, pattern } => match self.value(subject)? {
                Value::Text(text) => {
                    self.pay(text.len() / 10)?;
                    Ok(Value::Bool(pattern.is_match(&text)))
                }
                _ => Err(EvalError::no_overload()),
            },
            Kind::Not(operand) => match self.value(operand)? {
                Value::Bool(value) => Ok(Value::Bool(!value)),
                _ => Err(EvalError::no_overload()),
            },
            Kind::Negative(operand) => {
                let value = self.value(operand)?;
                operators::negative(&value)
            }
            Kind::And(operands) => self.logic(operands, false),
            Kind::Or(operands) => self.logic(operands, true),
            Kind::Chain(first, rest) => {
                let mut left = self.value(first)?;
                for (operator, _, expr) in rest {
                    if *operator == Operator::In
                        && let Some(Json::Object(map)) = self.place(expr)?
                    {
                        left = Value::Bool(matches!(&left, Value::Text(key) if map.contains_key(&**key)));
                        continue;
                    }
                    let right = self.value(expr)?;
                    self.pay(operators::size_of(&left) / 10)?;
                    left = operators::apply(*operator, &left, &right)?;
                }
                Ok(left)
            }
            Kind::Choice(parts) => match self.value(&parts.0)? {
                Value::Bool(true) => self.value(&parts.1),
                Value::Bool(false) => self.value(&parts.2),
                _ => Err(EvalError::no_overload()),
            },
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(entries),
            Kind::Message(name, fields) => self.message(name, fields),
            Kind::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    /// The place in a JSON value that an expression names: fields and items of a name, and nothing else.
    fn place(&mut self, expr: &Expr) -> Result<Option<&'a Json>, EvalError> {
        match &expr.kind {
            Kind::Name(name) if !self.bound.iter().any(|(bound, _)| bound == name) => Ok(self.names.json(name)),
            Kind::Select {
                operand,
                field,
                optional: false,
            } => match self.place(operand)? {
                Some(Json::Object(map)) => {
                    self.pay(1)?;
                    map.get(&**field).map(Some).ok_or_else(|| EvalError::no_key(field))
                }
                Some(_) => Err(EvalError::no_overload()),
                None => Ok(None),
            },
            Kind::Index {
                operand,
                index,
                optional: false,
            } => match self.place(operand)? {
                Some(Json::Object(map)) => match self.value(index)? {
                    Value::Text(key) => map.get(&*key).map(Some).ok_or_else(|| EvalError::no_key(&key)),
                    other if other.as_key().is_some() => Err(EvalError::no_key(shown(&other))),
                    _ => Err(EvalError::no_overload()),
                },
                // Lists are short, and have kinds of indices.
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn name(&mut self, name: &str) -> Outcome {
        if let Some((_, value)) = self.bound.iter().rev().find(|(bound, _)| **bound == *name) {
            return Ok(value.clone());
        }
        if let Some(value) = self.names.value(name) {
            return value;
        }
        functions::type_named(name)
            .map(|name| Value::Type(name.into()))
            .ok_or_else(|| EvalError::new(format!("no such attribute(s): {name}")))
    }

    /// The value of an operand, or of a field of a name that makes its fields when they are asked for.
    fn made_field(&self, operand: &Expr, field: &str) -> Option<Outcome> {
        match &operand.kind {
            Kind::Name(name) if !self.bound.iter().any(|(bound, _)| bound == name) => self.names.field(name, field),
            _ => None,
        }
    }

    fn select(&mut self, operand: &Expr, field: &Arc<str>, optional: bool) -> Outcome {
        if let Some(value) = self.made_field(operand, field) {
            return if optional {
                value.map(|value| Value::optional(Some(value)))
            } else {
                value
            };
        }
        if let Some(whole) = self.place(operand)? {
            let found = match whole {
                Json::Object(map) => map.get(&**field).map(Value::of_json),
                _ => return Err(EvalError::no_overload()),
            };
            return if optional {
                Ok(Value::optional(found))
            } else {
                found.ok_or_else(|| EvalError::no_key(field))
            };
        }
        let operand = self.value(operand)?;
        match operand {
            // A chain that begins optional stays so.
            Value::Optional(inner) => match inner {
                None => Ok(Value::Optional(None)),
                Some(inner) => member(&inner, field).map(Value::optional),
            },
            value if optional => member(&value, field).map(Value::optional),
            value => member(&value, field)?.ok_or_else(|| EvalError::no_key(field)),
        }
    }

    fn has(&mut self, operand: &Expr, field: &Arc<str>) -> Outcome {
        if let Some(value) = self.made_field(operand, field) {
            return value.map(|_| Value::Bool(true));
        }
        if let Some(whole) = self.place(operand)? {
            return match whole {
                Json::Object(map) => Ok(Value::Bool(map.contains_key(&**field))),
                _ => Err(EvalError::no_overload()),
            };
        }
        let there = match self.value(operand)? {
            Value::Optional(None) => false,
            Value::Optional(Some(inner)) => member(&inner, field)?.is_some(),
            value => member(&value, field)?.is_some(),
        };
        Ok(Value::Bool(there))
    }

    fn index(&mut self, operand: &Expr, index: &Expr, optional: bool) -> Outcome {
        if let Some(Json::Object(map)) = self.place(operand)? {
            let index = self.value(index)?;
            let found = match (&index, index.as_key()) {
                (Value::Text(key), _) => map.get(&**key).map(Value::of_json),
                (_, Some(_)) => None,
                (_, None) => return Err(EvalError::no_overload()),
            };
            return if optional {
                Ok(Value::optional(found))
            } else {
                found.ok_or_else(|| EvalError::no_key(shown(&index)))
            };
        }
        let operand = self.value(operand)?;
        let index = self.value(index)?;
        match operand {
            Value::Optional(None) => Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => item(&inner, &index).map(Value::optional),
            value if optional => item(&value, &index).map(Value::optional),
            value => item(&value, &index)?.ok_or_else(|| match value {
                Value::List(_) => EvalError::new(format!("index out of bounds: {}", shown(&index))),
                _ => EvalError::no_key(shown(&index)),
            }),
        }
    }

    fn call(&mut self, function: &str, target: Option<&Expr>, arguments: &[Expr]) -> Outcome {
        // An alternative is evaluated where it is needed.
        if let (Some(target), [alternative], "orValue" | "or") = (target, arguments, function) {
            return match self.value(target)? {
                Value::Optional(None) => self.value(alternative),
                Value::Optional(Some(inner)) if function == "orValue" => Ok((*inner).clone()),
                value @ Value::Optional(Some(_)) => Ok(value),
                _ => Err(EvalError::no_overload()),
            };
        }
        let target = match target {
            Some(target) => Some(self.value(target)?),
            None => None,
        };
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.value(argument)?);
        }
        let sizes: usize = target.iter().chain(&values).map(operators::size_of).sum();
        self.pay(sizes / 10)?;
        functions::call(function, target.as_ref(), &values)
    }

    /// `&&` and `||`: one operand can decide whatever becomes of the others.
    fn logic(&mut self, operands: &[Expr], deciding: bool) -> Outcome {
        decided(deciding, operands.iter().map(|operand| self.value(operand)))
    }

    /// The value of an item that may be marked with `?`; `None` if it is left out.
    fn marked(&mut self, optional: bool, expr: &Expr) -> Result<Option<Value>, EvalError> {
        let value = self.value(expr)?;
        match (optional, value) {
            (false, value) => Ok(Some(value)),
            (true, Value::Optional(inner)) => Ok(inner.map(|inner| (*inner).clone())),
            (true, _) => Err(EvalError::no_overload()),
        }
    }

    fn list(&mut self, items: &[(bool, Expr)]) -> Outcome {
        let mut values = Vec::with_capacity(items.len());
        for (optional, expr) in items {
            values.extend(self.marked(*optional, expr)?);
        }
        Ok(Value::list(values))
    }

    fn map(&mut self, entries: &[(bool, Expr, Expr)]) -> Outcome {
        let mut map = BTreeMap::new();
        for (optional, key, value) in entries {
            let key = self.value(key)?;
            let key = key
                .as_key()
                .ok_or_else(|| EvalError::new(format!("unsupported key type: {}", key.type_name())))?;
            if let Some(value) = self.marked(*optional, value)? {
                let shown = key.to_string();
                if map.insert(key, value).is_some() {
                    return Err(EvalError::new(format!("Failed with repeated key: {shown}")));
                }
            }
        }
        Ok(Value::Map(Arc::new(map)))
    }

    fn message(&mut self, name: &Arc<str>, entries: &[(bool, Arc<str>, Expr)]) -> Outcome {
        let mut fields = BTreeMap::new();
        for (optional, field, expr) in entries {
            if let Some(value) = self.marked(*optional, expr)? {
                fields.insert(Arc::clone(field), value);
            }
        }
        Ok(Value::Message(Arc::new(Message {
            name: Arc::clone(name),
            fields,
        })))
    }

    /// The elements of a list or map, with what the two names of a macro stand for.
    fn elements(range: &Value, two: bool) -> Result<Vec<(Value, Option<Value>)>, EvalError> {
        match range {
            Value::List(list) => Ok(list
                .items
                .iter()
                .enumerate()
                .map(|(index, item)| {
                    if two {
                        let index = i64::try_from(index).unwrap_or(i64::MAX);
                        (Value::Int(index), Some(item.clone()))
                    } else {
                        (item.clone(), None)
                    }
                })
                .collect()),
            Value::Map(map) => Ok(map
                .iter()
                .map(|(key, value)| (value_of(key), two.then(|| value.clone())))
                .collect()),
            _ => Err(EvalError::no_overload()),
        }
    }

    fn within(&mut self, comprehension: &Comprehension, element: &(Value, Option<Value>), expr: &Expr) -> Outcome {
        let before = self.bound.len();
        self.bound.push((Arc::clone(&comprehension.first), element.0.clone()));
        if let (Some(name), Some(value)) = (&comprehension.second, &element.1) {
            self.bound.push((Arc::clone(name), value.clone()));
        }
        let result = self.value(expr);
        self.bound.truncate(before);
        result
    }

    fn comprehension(&mut self, it: &Comprehension) -> Outcome {
        let range = self.value(&it.range)?;
        if matches!(it.kind, Macro::OptMap | Macro::OptFlatMap) {
            let Value::Optional(inner) = range else {
                return Err(EvalError::no_overload());
            };
            let Some(inner) = inner else {
                return Ok(Value::Optional(None));
            };
            let made = self.within(it, &((*inner).clone(), None), &it.body)?;
            return Ok(if it.kind == Macro::OptMap {
                Value::optional(Some(made))
            } else {
                made
            });
        }
        let elements = Self::elements(&range, it.second.is_some())?;
        match it.kind {
            Macro::All => self.quantified(it, &elements, false),
            Macro::Exists => self.quantified(it, &elements, true),
            _ => self.gathered(it, elements),
        }
    }

    /// `all` and `exists`: one element can decide whatever becomes of the others.
    fn quantified(&mut self, it: &Comprehension, elements: &[(Value, Option<Value>)], deciding: bool) -> Outcome {
        let outcomes = elements.iter().map(|element| self.within(it, element, &it.body));
        decided(deciding, outcomes)
    }

    fn gathered(&mut self, it: &Comprehension, elements: Vec<(Value, Option<Value>)>) -> Outcome {
        let mut count = 0_usize;
        let mut list = Vec::new();
        let mut map: BTreeMap<Key, Value> = BTreeMap::new();
        let mut sorted = Vec::new();
        for element in elements {
            if let Some(filter) = &it.filter {
                match self.within(it, &element, filter)? {
                    Value::Bool(true) => {}
                    Value::Bool(false) => continue,
                    _ => return Err(EvalError::no_overload()),
                }
            }
            let made = self.within(it, &element, &it.body)?;
            match (it.kind, made) {
                (Macro::ExistsOne, Value::Bool(value)) => count += usize::from(value),
                (Macro::Filter, Value::Bool(value)) => {
                    if value {
                        list.push(element.0);
                    }
                }
                (Macro::Map, made) => list.push(made),
                (Macro::TransformMap, made) => {
                    let key = element.0.as_key().ok_or_else(EvalError::no_overload)?;
                    map.insert(key, made);
                }
                (Macro::TransformMapEntry, Value::Map(entries)) => {
                    for (key, value) in entries.iter() {
                        if map.insert(key.clone(), value.clone()).is_some() {
                            return Err(EvalError::new(format!("insert failed: key {key} already exists")));
                        }
                    }
                }
                (Macro::SortBy, key) => sorted.push((key, element.0)),
                _ => return Err(EvalError::no_overload()),
            }
        }
        Ok(match it.kind {
            Macro::ExistsOne => Value::Bool(count == 1),
            Macro::TransformMap | Macro::TransformMapEntry => Value::Map(Arc::new(map)),
            Macro::SortBy => Value::list(functions::sorted_by(sorted)?),
            _ => Value::list(list),
        })
    }
}

fn value_of(key: &Key) -> Value {
    match key {
        Key::Bool(value) => Value::Bool(*value),
        Key::Int(value) => Value::Int(*value),
        Key::Uint(value) => Value::Uint(*value),
        Key::Text(text) => Value::Text(Arc::clone(text)),
    }
}

/// A field of a value, if it has it.
fn member(value: &Value, field: &Arc<str>) -> Result<Option<Value>, EvalError> {
    match value {
        Value::Map(map) => Ok(map.get(&Key::Text(Arc::clone(field))).cloned()),
        Value::Message(message) => Ok(message.fields.get(field).cloned()),
        _ => Err(EvalError::no_overload()),
    }
}

/// An item of a list or map, if it is there.
fn item(value: &Value, index: &Value) -> Result<Option<Value>, EvalError> {
    match value {
        Value::Map(map) => match index.as_key() {
            Some(key) => Ok(map.get(&key).cloned()),
            None => Err(EvalError::no_overload()),
        },
        Value::List(list) => at(list, index),
        Value::Message(message) => match index {
            Value::Text(field) => Ok(message.fields.get(field).cloned()),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn at(list: &List, index: &Value) -> Result<Option<Value>, EvalError> {
    match index.as_key() {
        Some(Key::Int(index)) => Ok(usize::try_from(index)
            .ok()
            .and_then(|index| list.items.get(index))
            .cloned()),
        Some(Key::Uint(_)) => Ok(None),
        _ => Err(EvalError::no_overload()),
    }
}

fn shown(value: &Value) -> String {
    functions::text_of(value).unwrap_or_default()
}

/// The first value that decides, whatever else fails; without one, the first failure; without that, the other value. Nothing goes
/// on when the budget is spent.
fn decided(deciding: bool, outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    let mut failed = None;
    for outcome in outcomes {
        match outcome {
            Ok(Value::Bool(value)) if value == deciding => return Ok(Value::Bool(deciding)),
            Ok(Value::Bool(_)) => {}
            Ok(_) => {
                failed.get_or_insert_with(EvalError::no_overload);
            }
            Err(error) if error.kind() == EvalErrorKind::Cost => return Err(error),
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(Value::Bool(!deciding)), Err)
}
