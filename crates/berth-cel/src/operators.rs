//! Operators between two values.

use std::{cmp::Ordering, sync::Arc};

use crate::{error::EvalError, syntax::Operator, value::Value};

fn overflow() -> EvalError {
    EvalError::new("integer overflow")
}

fn unsigned_overflow() -> EvalError {
    EvalError::new("unsigned integer overflow")
}

/// How much there is to go through in a value, roughly.
pub(crate) fn size_of(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.items.len(),
        Value::Map(map) => map.len(),
        _ => 1,
    }
}

pub(crate) fn negative(value: &Value) -> Result<Value, EvalError> {
    match value {
        Value::Int(value) => value.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Double(value) => Ok(Value::Double(-value)),
        _ => Err(EvalError::no_overload()),
    }
}

pub(crate) fn apply(operator: Operator, left: &Value, right: &Value) -> Result<Value, EvalError> {
    let ordered = |fits: fn(Ordering) -> bool| match left.compare(right) {
        Some(ordering) => Ok(Value::Bool(fits(ordering))),
        // A NaN is neither less nor more; all others have no order at all.
        None if matches!(left, Value::Double(_)) && matches!(right, Value::Double(_)) => Ok(Value::Bool(false)),
        None => Err(EvalError::no_overload()),
    };
    match operator {
        Operator::Equal => Ok(Value::Bool(left.equals(right))),
        Operator::NotEqual => Ok(Value::Bool(!left.equals(right))),
        Operator::Less => ordered(Ordering::is_lt),
        Operator::LessOrEqual => ordered(Ordering::is_le),
        Operator::Greater => ordered(Ordering::is_gt),
        Operator::GreaterOrEqual => ordered(Ordering::is_ge),
        Operator::In => within(left, right),
        Operator::Add => add(left, right),
        Operator::Subtract => subtract(left, right),
        Operator::Multiply | Operator::Divide | Operator::Modulo => multiply(operator, left, right),
    }
}

fn within(item: &Value, whole: &Value) -> Result<Value, EvalError> {
    match whole {
        Value::List(list) => Ok(Value::Bool(list.holds(item))),
        Value::Map(map) => Ok(Value::Bool(item.as_key().is_some_and(|key| map.contains_key(&key)))),
        _ => Err(EvalError::no_overload()),
    }
}

fn add(left: &Value, right: &Value) -> Result<Value, EvalError> {
    let out_of_range = || EvalError::new("timestamp overflow");
    Ok(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_add(*b).ok_or_else(overflow)?),
        (Value::Uint(a), Value::Uint(b)) => Value::Uint(a.checked_add(*b).ok_or_else(unsigned_overflow)?),
        (Value::Double(a), Value::Double(b)) => Value::Double(a + b),
        (Value::Text(a), Value::Text(b)) => Value::text(format!("{a}{b}")),
        (Value::Bytes(a), Value::Bytes(b)) => Value::Bytes([&**a, &**b].concat().into()),
        (Value::List(a), Value::List(b)) => Value::List(Arc::new(a.joined(b))),
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.checked_add(*b).ok_or_else(overflow)?),
        (Value::Timestamp(moment), Value::Duration(length)) | (Value::Duration(length), Value::Timestamp(moment)) => {
            Value::Timestamp(moment.checked_add(*length).map_err(|_| out_of_range())?)
        }
        _ => return Err(EvalError::no_overload()),
    })
}

fn subtract(left: &Value, right: &Value) -> Result<Value, EvalError> {
    Ok(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_sub(*b).ok_or_else(overflow)?),
        (Value::Uint(a), Value::Uint(b)) => Value::Uint(a.checked_sub(*b).ok_or_else(unsigned_overflow)?),
        (Value::Double(a), Value::Double(b)) => Value::Double(a - b),
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.checked_sub(*b).ok_or_else(overflow)?),
        (Value::Timestamp(a), Value::Timestamp(b)) => Value::Duration(a.duration_since(*b)),
        (Value::Timestamp(moment), Value::Duration(length)) => {
            let moment = moment.checked_sub(*length);
            Value::Timestamp(moment.map_err(|_| EvalError::new("timestamp overflow"))?)
        }
        _ => return Err(EvalError::no_overload()),
    })
}

fn multiply(operator: Operator, left: &Value, right: &Value) -> Result<Value, EvalError> {
    let zero = matches!(right, Value::Int(0) | Value::Uint(0));
    let whole = matches!(
        (left, right),
        (Value::Int(_), Value::Int(_)) | (Value::Uint(_), Value::Uint(_))
    );
    if zero && whole {
        match operator {
            Operator::Divide => return Err(EvalError::new("division by zero")),
            Operator::Modulo => return Err(EvalError::new("modulus by zero")),
            _ => {}
        }
    }
    Ok(match (operator, left, right) {
        (Operator::Multiply, Value::Int(a), Value::Int(b)) => Value::Int(a.checked_mul(*b).ok_or_else(overflow)?),
        (Operator::Multiply, Value::Uint(a), Value::Uint(b)) => {
            Value::Uint(a.checked_mul(*b).ok_or_else(unsigned_overflow)?)
        }
        (Operator::Multiply, Value::Double(a), Value::Double(b)) => Value::Double(a * b),
        (Operator::Divide, Value::Int(a), Value::Int(b)) => Value::Int(a.checked_div(*b).ok_or_else(overflow)?),
        (Operator::Divide, Value::Uint(a), Value::Uint(b)) => {
            Value::Uint(a.checked_div(*b).ok_or_else(unsigned_overflow)?)
        }
        (Operator::Divide, Value::Double(a), Value::Double(b)) => Value::Double(a / b),
        (Operator::Modulo, Value::Int(a), Value::Int(b)) => Value::Int(a.checked_rem(*b).ok_or_else(overflow)?),
        (Operator::Modulo, Value::Uint(a), Value::Uint(b)) => {
            Value::Uint(a.checked_rem(*b).ok_or_else(unsigned_overflow)?)
        }
        _ => return Err(EvalError::no_overload()),
    })
}
