//! What is wrong with the types of an expression. Where a type is not known nothing is wrong: the evaluation will tell.

use std::sync::Arc;

use crate::{
    error::SyntaxError,
    syntax::{Comprehension, Expr, Kind, Macro, Operator},
    types::Type,
    value::Value,
};

/// The type of an expression, or everything that is wrong with it.
pub(crate) fn check(text: &str, expr: &Expr, names: &[(&str, Type)]) -> Result<Type, SyntaxError> {
    let mut checker = Checker {
        text,
        names,
        bound: Vec::new(),
        wrong: None,
    };
    let found = checker.of(expr);
    checker.wrong.map_or(Ok(found), Err)
}

struct Checker<'a> {
    text: &'a str,
    names: &'a [(&'a str, Type)],
    bound: Vec<(Arc<str>, Type)>,
    wrong: Option<SyntaxError>,
}

/// Where an expression is told to be: operators at their sign, the others where they begin.
fn position(expr: &Expr) -> usize {
    match &expr.kind {
        Kind::Chain(_, rest) => rest.last().map_or(expr.at, |(_, at, _)| *at),
        _ => expr.at,
    }
}

impl Checker<'_> {
    /// Notes what is wrong; nothing more is said of what this is a part of.
    fn fail(&mut self, at: usize, message: String) -> Type {
        SyntaxError::add(&mut self.wrong, self.text, at, message);
        Type::Dyn
    }

    fn no_overload(&mut self, at: usize, function: &str, of: &[&Type]) -> Type {
        let of: Vec<String> = of.iter().map(ToString::to_string).collect();
        let message = format!(
            "found no matching overload for '{function}' applied to '({})'",
            of.join(", ")
        );
        self.fail(at, message)
    }

    fn of(&mut self, expr: &Expr) -> Type {
        match &expr.kind {
            Kind::Literal(value) => literal(value),
            Kind::Name(name) => self.name(name),
            Kind::Select {
                operand,
                field,
                optional,
            } => {
                let of = self.of(operand);
                let found = self.field(&of, field, expr.at);
                if *optional { found.optional() } else { found }
            }
            Kind::Has { operand, field } => {
                let of = self.of(operand);
                self.field(&of, field, expr.at);
                Type::Bool
            }
            Kind::Index {
                operand,
                index,
                optional,
            } => {
                let (of, index) = (self.of(operand), self.of(index));
                let found = self.item(&of, &index, expr.at);
                if *optional { found.optional() } else { found }
            }
            Kind::Call {
                function,
                target,
                arguments,
            } => {
                let target = target.as_ref().map(|target| self.of(target));
                // What is formatted need not be of one type.
                if let (
                    "format",
                    [
                        Expr {
                            kind: Kind::List(items),
                            ..
                        },
                    ],
                ) = (&**function, arguments.as_slice())
                {
                    for (_, item) in items {
                        self.of(item);
                    }
                    return Type::Text;
                }
                let arguments: Vec<Type> = arguments.iter().map(|argument| self.of(argument)).collect();
                self.call(expr.at, function, target.as_ref(), &arguments)
            }
            Kind::Matches { subject, .. } => {
                self.of(subject);
                Type::Bool
            }
            Kind::Not(operand) => match self.of(operand) {
                Type::Bool | Type::Dyn => Type::Bool,
                other => self.no_overload(expr.at, "!_", &[&other]),
            },
            Kind::Negative(operand) => match self.of(operand) {
                number @ (Type::Int | Type::Double | Type::Dyn) => number,
                other => self.no_overload(expr.at, "-_", &[&other]),
            },
            Kind::And(operands) | Kind::Or(operands) => {
                for operand in operands {
                    self.boolean(operand);
                }
                Type::Bool
            }
            Kind::Chain(first, rest) => {
                let mut left = self.of(first);
                for (operator, at, right) in rest {
                    let right = self.of(right);
                    left = self.operator(*operator, *at, &left, &right);
                }
                left
            }
            Kind::Choice(parts) => {
                let (condition, yes, no) = (self.of(&parts.0), self.of(&parts.1), self.of(&parts.2));
                if !condition.fits(&Type::Bool) || !yes.fits(&no) {
                    return self.no_overload(expr.at, "_?_:_", &[&condition, &yes, &no]);
                }
                joined(yes, no)
            }
            Kind::List(items) => {
                let item = self.all_alike(items.iter().map(|(optional, expr)| (*optional, expr)));
                Type::list(item)
            }
            Kind::Map(entries) => {
                let key = self.all_alike(entries.iter().map(|(_, key, _)| (false, key)));
                let value = self.all_alike(entries.iter().map(|(optional, _, value)| (*optional, value)));
                Type::Map(Arc::new(key), Arc::new(value))
            }
            Kind::Message(_, fields) => {
                for (_, _, value) in fields {
                    self.of(value);
                }
                Type::Dyn
            }
            Kind::Comprehension(comprehension) => self.comprehension(expr.at, comprehension),
        }
    }

    fn name(&self, name: &str) -> Type {
        let bound = self.bound.iter().rev().find(|(bound, _)| **bound == *name);
        if let Some((_, found)) = bound {
            return found.clone();
        }
        let named = self.names.iter().find(|(known, _)| *known == name);
        named.map_or(Type::Dyn, |(_, found)| found.clone())
    }

    fn field(&mut self, of: &Type, field: &str, at: usize) -> Type {
        match of {
            Type::Dyn => Type::Dyn,
            Type::Map(_, value) => (**value).clone(),
            Type::Object(object) => match object.fields.get(field) {
                Some(found) => found.clone(),
                None => self.fail(at, format!("undefined field '{field}'")),
            },
            Type::Optional(inner) => self.field(inner, field, at).optional(),
            other => self.fail(at, format!("type '{other}' does not support field selection")),
        }
    }

    fn item(&mut self, of: &Type, index: &Type, at: usize) -> Type {
        match (of, index) {
            (Type::Dyn | Type::Object(_), _) => Type::Dyn,
            (Type::List(item), Type::Int | Type::Dyn) => (**item).clone(),
            (Type::Map(key, value), index) if key.fits(index) => (**value).clone(),
            (Type::Optional(inner), index) => self.item(inner, index, at).optional(),
            _ => self.no_overload(at, "_[_]", &[of, index]),
        }
    }

    fn boolean(&mut self, expr: &Expr) {
        let found = self.of(expr);
        if !found.fits(&Type::Bool) {
            self.fail(position(expr), format!("expected type 'bool' but found '{found}'"));
        }
    }

    fn all_alike<'e>(&mut self, items: impl Iterator<Item = (bool, &'e Expr)>) -> Type {
        let mut whole: Option<Type> = None;
        for (optional, expr) in items {
            let mut found = self.of(expr);
            if optional {
                found = match found {
                    Type::Optional(inner) => (*inner).clone(),
                    _ => Type::Dyn,
                };
            }
            whole = Some(match whole {
                None => found,
                Some(known) if known.fits(&found) => joined(known, found),
                Some(known) => {
                    self.fail(position(expr), format!("expected type '{known}' but found '{found}'"));
                    Type::Dyn
                }
            });
        }
        whole.unwrap_or(Type::Dyn)
    }

    fn operator(&mut self, operator: Operator, at: usize, left: &Type, right: &Type) -> Type {
        let unknown = *left == Type::Dyn || *right == Type::Dyn;
        let (name, found) = match operator {
            Operator::Equal => ("_==_", left.fits(right).then_some(Type::Bool)),
            Operator::NotEqual => ("_!=_", left.fits(right).then_some(Type::Bool)),
            Operator::Less => ("_<_", ordered(left, right)),
            Operator::LessOrEqual => ("_<=_", ordered(left, right)),
            Operator::Greater => ("_>_", ordered(left, right)),
            Operator::GreaterOrEqual => ("_>=_", ordered(left, right)),
            Operator::In => (
                "@in",
                match right {
                    Type::Dyn => Some(Type::Bool),
                    Type::List(item) => item.fits(left).then_some(Type::Bool),
                    Type::Map(key, _) => key.fits(left).then_some(Type::Bool),
                    _ => None,
                },
            ),
            Operator::Add => ("_+_", sum(left, right)),
            Operator::Subtract => ("_-_", difference(left, right)),
            Operator::Multiply => ("_*_", (left == right && left.is_number()).then(|| left.clone())),
            Operator::Divide => ("_/_", (left == right && left.is_number()).then(|| left.clone())),
            Operator::Modulo => {
                let whole = left == right && matches!(left, Type::Int | Type::Uint);
                ("_%_", whole.then(|| left.clone()))
            }
        };
        match found {
            Some(found) => found,
            // What is not known may fit.
            None if unknown && operator != Operator::In => match (left, right) {
                (Type::Dyn, other) | (other, Type::Dyn) if other.is_number() || *other == Type::Text => other.clone(),
                _ => Type::Dyn,
            },
            None => self.no_overload(at, name, &[left, right]),
        }
    }

    fn call(&mut self, at: usize, function: &str, target: Option<&Type>, arguments: &[Type]) -> Type {
        let sized = |of: &Type| matches!(of, Type::Dyn | Type::Text | Type::Bytes | Type::List(_) | Type::Map(..));
        match (target, function, arguments) {
            (None, "size", [of]) if sized(of) => Type::Int,
            (None, "size", _) => self.no_overload(at, function, &arguments.iter().collect::<Vec<_>>()),
            (Some(of), "size", []) if sized(of) => Type::Int,
            (Some(Type::Dyn | Type::Text), "startsWith" | "endsWith" | "contains" | "matches", [part])
                if part.fits(&Type::Text) =>
            {
                Type::Bool
            }
            (Some(of), "size" | "startsWith" | "endsWith" | "contains" | "matches", _) => {
                let given: Vec<String> = arguments.iter().map(ToString::to_string).collect();
                let message = format!(
                    "found no matching overload for '{function}' applied to '{of}.({})'",
                    given.join(", ")
                );
                self.fail(at, message)
            }
            (Some(Type::Optional(inner)), "orValue", [other]) => {
                if inner.fits(other) {
                    return joined((**inner).clone(), other.clone());
                }
                let message =
                    format!("found no matching overload for 'orValue' applied to 'optional_type({inner}).({other})'");
                self.fail(at, message)
            }
            (Some(of), ..) => of_member(of, function),
            (None, ..) => of_global(function, arguments),
        }
    }

    fn comprehension(&mut self, at: usize, it: &Comprehension) -> Type {
        let range = self.of(&it.range);
        let two = it.second.is_some();
        let optional = matches!(it.kind, Macro::OptMap | Macro::OptFlatMap);
        let (first, second) = match &range {
            Type::List(item) if two => (Type::Int, (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Dyn),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Optional(inner) if optional => ((**inner).clone(), Type::Dyn),
            Type::Dyn | Type::Object(_) => (Type::Dyn, Type::Dyn),
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.fail(position(&it.range), message);
                (Type::Dyn, Type::Dyn)
            }
        };
        let before = self.bound.len();
        self.bound.push((Arc::clone(&it.first), first.clone()));
        if let Some(name) = &it.second {
            self.bound.push((Arc::clone(name), second));
        }
        if let Some(filter) = &it.filter {
            self.of(filter);
        }
        let found = match it.kind {
            Macro::All | Macro::Exists => {
                self.boolean(&it.body);
                Type::Bool
            }
            Macro::ExistsOne => {
                self.of(&it.body);
                Type::Bool
            }
            Macro::Filter => {
                let body = self.of(&it.body);
                let whole = Type::list(first);
                if body.fits(&Type::Bool) {
                    whole
                } else {
                    self.no_overload(at, "_?_:_", &[&body, &whole, &whole])
                }
            }
            Macro::Map => Type::list(self.of(&it.body)),
            Macro::OptMap => self.of(&it.body).optional(),
            Macro::OptFlatMap => self.of(&it.body),
            Macro::TransformMap => {
                let value = self.of(&it.body);
                Type::Map(Arc::new(first), Arc::new(value))
            }
            Macro::TransformMapEntry | Macro::SortBy => {
                self.of(&it.body);
                Type::Dyn
            }
        };
        self.bound.truncate(before);
        found
    }
}

/// The type of what a function without a target gives, whatever it is given.
fn of_global(function: &str, arguments: &[Type]) -> Type {
    match (function, arguments) {
        ("int", _) => Type::Int,
        ("uint", _) => Type::Uint,
        ("double", _) => Type::Double,
        ("string", _) => Type::Text,
        ("bytes", _) => Type::Bytes,
        ("duration", _) => Type::Duration,
        ("timestamp", _) => Type::Timestamp,
        (
            "matches" | "bool" | "isURL" | "isIP" | "isCIDR" | "isQuantity" | "sets.contains" | "sets.equivalent"
            | "sets.intersects",
            _,
        ) => Type::Bool,
        ("optional.of", [of]) => Type::Optional(Arc::new(of.clone())),
        ("optional.none", []) => Type::Optional(Arc::new(Type::Dyn)),
        _ => Type::Dyn,
    }
}

/// The type of what a function of a target gives.
fn of_member(of: &Type, function: &str) -> Type {
    match (of, function) {
        (Type::Optional(inner), "value") => (**inner).clone(),
        (Type::Optional(_), "hasValue") | (Type::List(_), "isSorted") => Type::Bool,
        (Type::List(item), "min" | "max" | "sum") => (**item).clone(),
        (list @ Type::List(_), "slice" | "sort" | "distinct" | "reverse") => list.clone(),
        (Type::Text | Type::List(_), "indexOf" | "lastIndexOf") => Type::Int,
        (Type::Text, "split" | "findAll") => Type::list(Type::Text),
        (Type::List(_), "join")
        | (Type::Text, "lowerAscii" | "upperAscii" | "replace" | "substring" | "trim" | "charAt" | "format" | "find") => {
            Type::Text
        }
        _ => Type::Dyn,
    }
}

fn literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Uint(_) => Type::Uint,
        Value::Double(_) => Type::Double,
        Value::Text(_) => Type::Text,
        Value::Bytes(_) => Type::Bytes,
        _ => Type::Dyn,
    }
}

/// What is known of a value that is one or the other.
fn joined(one: Type, other: Type) -> Type {
    if one == other {
        one
    } else if one == Type::Null {
        other
    } else if other == Type::Null {
        one
    } else {
        Type::Dyn
    }
}

fn ordered(left: &Type, right: &Type) -> Option<Type> {
    let orderable = |of: &Type| {
        matches!(
            of,
            Type::Bool | Type::Text | Type::Bytes | Type::Timestamp | Type::Duration
        )
    };
    let fits = match (left, right) {
        (Type::Dyn, other) | (other, Type::Dyn) => *other == Type::Dyn || orderable(other) || other.is_number(),
        (left, right) => left.is_number() && right.is_number() || left == right && orderable(left),
    };
    fits.then_some(Type::Bool)
}

fn sum(left: &Type, right: &Type) -> Option<Type> {
    match (left, right) {
        (Type::Int, Type::Int)
        | (Type::Uint, Type::Uint)
        | (Type::Double, Type::Double)
        | (Type::Text, Type::Text)
        | (Type::Bytes, Type::Bytes)
        | (Type::Duration, Type::Duration) => Some(left.clone()),
        (Type::Timestamp, Type::Duration) | (Type::Duration, Type::Timestamp) => Some(Type::Timestamp),
        (Type::List(a), Type::List(b)) if a.fits(b) => Some(joined(left.clone(), right.clone())),
        _ => None,
    }
}

fn difference(left: &Type, right: &Type) -> Option<Type> {
    match (left, right) {
        (Type::Timestamp, Type::Timestamp) | (Type::Duration, Type::Duration) => Some(Type::Duration),
        (Type::Timestamp, Type::Duration) => Some(Type::Timestamp),
        (left, right) => (left == right && left.is_number()).then(|| left.clone()),
    }
}
