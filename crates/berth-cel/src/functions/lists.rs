//! Functions of lists.

use std::cmp::Ordering;

use super::{Outcome, count, size};
use crate::{
    error::EvalError,
    operators,
    syntax::Operator,
    value::{List, Value},
};

/// Lists that a function makes are not longer.
const LONGEST: i64 = 1_000_000;

pub(super) fn member(name: &str, list: &List, arguments: &[Value]) -> Outcome {
    let items = &list.items;
    match (name, arguments) {
        ("size", []) => size(&Value::list(items.clone())),
        ("isSorted", []) => {
            for (left, right) in items.iter().zip(items.iter().skip(1)) {
                if left.compare(right).ok_or_else(EvalError::no_overload)? == Ordering::Greater {
                    return Ok(Value::Bool(false));
                }
            }
            Ok(Value::Bool(true))
        }
        ("sum", []) => {
            let mut items = items.iter();
            let Some(first) = items.next() else {
                return Ok(Value::Int(0));
            };
            items.try_fold(first.clone(), |sum, item| operators::apply(Operator::Add, &sum, item))
        }
        ("min" | "max", []) => {
            let mut items = items.iter();
            let mut best = items
                .next()
                .ok_or_else(|| EvalError::new(format!("{name} called on empty list")))?;
            for item in items {
                let ordering = item.compare(best).ok_or_else(EvalError::no_overload)?;
                if ordering
                    == if name == "min" {
                        Ordering::Less
                    } else {
                        Ordering::Greater
                    }
                {
                    best = item;
                }
            }
            Ok(best.clone())
        }
        ("indexOf", [wanted]) => Ok(items
            .iter()
            .position(|item| item.equals(wanted))
            .map_or(Value::Int(-1), count)),
        ("lastIndexOf", [wanted]) => Ok(items
            .iter()
            .rposition(|item| item.equals(wanted))
            .map_or(Value::Int(-1), count)),
        ("join", []) => join(items, ""),
        ("join", [Value::Text(separator)]) => join(items, separator),
        ("slice", [Value::Int(from), Value::Int(to)]) => slice(items, *from, *to),
        ("flatten", []) => Ok(Value::list(flat(items, 1))),
        ("flatten", [Value::Int(depth)]) => match usize::try_from(*depth) {
            Ok(depth) => Ok(Value::list(flat(items, depth.min(32)))),
            Err(_) => Err(EvalError::new("level must be non-negative")),
        },
        ("sort", []) => {
            let pairs = items.iter().map(|item| (item.clone(), item.clone())).collect();
            sorted_by(pairs).map(Value::list)
        }
        ("distinct", []) => {
            let mut distinct = List::default();
            for item in items {
                if !distinct.holds(item) {
                    distinct.items.push(item.clone());
                }
            }
            Ok(Value::list(distinct.items))
        }
        ("reverse", []) => Ok(Value::list(items.iter().rev().cloned().collect())),
        ("first", []) => Ok(Value::optional(items.first().cloned())),
        ("last", []) => Ok(Value::optional(items.last().cloned())),
        ("unwrapOpt", []) => {
            let mut found = Vec::new();
            for item in items {
                match item {
                    Value::Optional(inner) => found.extend(inner.as_deref().cloned()),
                    _ => return Err(EvalError::no_overload()),
                }
            }
            Ok(Value::list(found))
        }
        _ => Err(EvalError::no_overload()),
    }
}

fn join(items: &[Value], separator: &str) -> Outcome {
    let texts: Option<Vec<&str>> = items.iter().map(Value::as_text).collect();
    texts
        .map(|texts| Value::text(texts.join(separator)))
        .ok_or_else(EvalError::no_overload)
}

fn slice(items: &[Value], from: i64, to: i64) -> Outcome {
    let refuse = |why: &str| Err(EvalError::new(format!("cannot slice({from}, {to}), {why}")));
    let (Ok(start), Ok(end)) = (usize::try_from(from), usize::try_from(to)) else {
        return refuse("negative indexes not supported");
    };
    if end < start {
        return refuse("start index must be less than or equal to end index");
    }
    match items.get(start..end) {
        Some(part) => Ok(Value::list(part.to_vec())),
        None => refuse(&format!("list is length {}", items.len())),
    }
}

fn flat(items: &[Value], depth: usize) -> Vec<Value> {
    let mut all = Vec::new();
    for item in items {
        match item {
            Value::List(inner) if depth > 0 => all.extend(flat(&inner.items, depth - 1)),
            other => all.push(other.clone()),
        }
    }
    all
}

/// Values sorted by their keys.
pub(crate) fn sorted_by(mut pairs: Vec<(Value, Value)>) -> Result<Vec<Value>, EvalError> {
    let mut comparable = true;
    pairs.sort_by(|(left, _), (right, _)| {
        left.compare(right).unwrap_or_else(|| {
            comparable = false;
            Ordering::Equal
        })
    });
    if comparable {
        Ok(pairs.into_iter().map(|(_, value)| value).collect())
    } else {
        Err(EvalError::new("list elements must be comparable"))
    }
}

pub(super) fn range(length: i64) -> Outcome {
    if length > LONGEST {
        return Err(EvalError::cost());
    }
    Ok(Value::list((0..length).map(Value::Int).collect()))
}

pub(super) fn sets(name: &str, left: &Value, right: &Value) -> Outcome {
    let (Value::List(left), Value::List(right)) = (left, right) else {
        return Err(EvalError::no_overload());
    };
    let contains = |whole: &List, part: &List| part.items.iter().all(|item| whole.holds(item));
    Ok(Value::Bool(match name {
        "sets.contains" => contains(left, right),
        "sets.equivalent" => contains(left, right) && contains(right, left),
        _ => left.items.iter().any(|item| right.holds(item)),
    }))
}
