//! Functions of texts. Positions are counted in characters.

use super::{Outcome, count, pattern, printf, size};
use crate::{error::EvalError, value::Value};

pub(super) fn matches(subject: &Value, with: &Value) -> Outcome {
    match subject {
        Value::Text(text) => Ok(Value::Bool(pattern(with)?.is_match(text))),
        _ => Err(EvalError::no_overload()),
    }
}

pub(super) fn member(name: &str, text: &str, arguments: &[Value]) -> Outcome {
    let owned = |text: String| Ok(Value::text(text));
    match (name, arguments) {
        ("size", []) => size(&Value::text(text)),
        ("contains", [Value::Text(part)]) => Ok(Value::Bool(text.contains(&**part))),
        ("startsWith", [Value::Text(part)]) => Ok(Value::Bool(text.starts_with(&**part))),
        ("endsWith", [Value::Text(part)]) => Ok(Value::Bool(text.ends_with(&**part))),
        ("lowerAscii", []) => owned(text.to_ascii_lowercase()),
        ("upperAscii", []) => owned(text.to_ascii_uppercase()),
        ("trim", []) => Ok(Value::text(text.trim())),
        ("charAt", [Value::Int(at)]) => char_at(text, *at),
        ("indexOf", [Value::Text(part)]) => Ok(index_of(text, part, 0)),
        ("indexOf", [Value::Text(part), Value::Int(from)]) => {
            let from = within(*from, text.chars().count())?;
            Ok(index_of(text, part, from))
        }
        ("lastIndexOf", [Value::Text(part)]) => Ok(last_index_of(text, part, usize::MAX)),
        ("lastIndexOf", [Value::Text(part), Value::Int(from)]) => {
            let from = within(*from, text.chars().count())?;
            Ok(last_index_of(text, part, from))
        }
        ("replace", [Value::Text(old), Value::Text(new)]) => owned(text.replace(&**old, new)),
        ("replace", [Value::Text(old), Value::Text(new), Value::Int(limit)]) => owned(match usize::try_from(*limit) {
            Ok(limit) => text.replacen(&**old, new, limit),
            Err(_) => text.replace(&**old, new),
        }),
        ("split", [Value::Text(separator)]) => Ok(split(text, separator, -1)),
        ("split", [Value::Text(separator), Value::Int(limit)]) => Ok(split(text, separator, *limit)),
        ("substring", [Value::Int(from)]) => substring(text, *from, None),
        ("substring", [Value::Int(from), Value::Int(to)]) => substring(text, *from, Some(*to)),
        ("find", [with]) => {
            let found = pattern(with)?;
            Ok(Value::text(found.find(text).map_or("", |found| found.as_str())))
        }
        ("findAll", [with]) => find_all(text, with, -1),
        ("findAll", [with, Value::Int(limit)]) => find_all(text, with, *limit),
        ("format", [Value::List(list)]) => printf::format(text, &list.items).map(Value::text),
        _ => Err(EvalError::no_overload()),
    }
}

fn within(index: i64, length: usize) -> Result<usize, EvalError> {
    usize::try_from(index)
        .ok()
        .filter(|index| *index <= length)
        .ok_or_else(|| EvalError::new(format!("index out of range: {index}")))
}

fn char_at(text: &str, at: i64) -> Outcome {
    let at = within(at, text.chars().count())?;
    Ok(Value::text(text.chars().nth(at).map(String::from).unwrap_or_default()))
}

fn index_of(text: &str, part: &str, from: usize) -> Value {
    let start = text.char_indices().nth(from).map_or(text.len(), |(at, _)| at);
    let rest = text.get(start..).unwrap_or_default();
    match rest.find(part) {
        Some(at) => count(from + rest.get(..at).unwrap_or_default().chars().count()),
        None => Value::Int(-1),
    }
}

fn last_index_of(text: &str, part: &str, from: usize) -> Value {
    let mut best = None;
    for (index, (at, _)) in text.char_indices().chain([(text.len(), ' ')]).enumerate() {
        if index > from {
            break;
        }
        if text.get(at..).unwrap_or_default().starts_with(part) {
            best = Some(index);
        }
    }
    best.map_or(Value::Int(-1), count)
}

fn split(text: &str, separator: &str, limit: i64) -> Value {
    let mut parts: Vec<Value> = match usize::try_from(limit) {
        Ok(0) => Vec::new(),
        Ok(limit) if !separator.is_empty() => text.splitn(limit, separator).map(Value::text).collect(),
        _ if separator.is_empty() => text.chars().map(String::from).map(Value::text).collect(),
        _ => text.split(separator).map(Value::text).collect(),
    };
    if let (true, Ok(limit)) = (separator.is_empty(), usize::try_from(limit))
        && parts.len() > limit
        && limit > 0
    {
        let rest: String = text.chars().skip(limit - 1).collect();
        parts.truncate(limit - 1);
        parts.push(Value::text(rest));
    }
    Value::list(parts)
}

fn substring(text: &str, from: i64, to: Option<i64>) -> Outcome {
    let length = text.chars().count();
    let start = within(from, length)?;
    let end = match to {
        Some(to) => within(to, length)?,
        None => length,
    };
    if start > end {
        return Err(EvalError::new(format!(
            "invalid substring range. start: {start}, end: {end}"
        )));
    }
    let part: String = text.chars().skip(start).take(end - start).collect();
    Ok(Value::text(part))
}

fn find_all(text: &str, with: &Value, limit: i64) -> Outcome {
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = pattern(with)?;
    let all = found.find_iter(text).take(most);
    Ok(Value::list(all.map(|found| Value::text(found.as_str())).collect()))
}
