//! Checking a value against a schema, with the words that Kubernetes uses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Checks, ListKind, Schema, Type, joined};
use crate::failure::Cause;

/// Everything that is wrong with a value.
pub(crate) fn validate(schema: &Schema, value: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    check(schema, value, path, &mut causes);
    if !causes.is_empty() && path.is_empty() && schema.ruled {
        causes.push(Cause::rules_not_checked());
    }
    causes
}

fn check(schema: &Schema, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    if value.is_null() && schema.nullable {
        return;
    }
    if let Some(wanted) = wrong_type(schema, value) {
        causes.push(Cause::wrong_type(path, wanted, type_name(value)));
        return;
    }
    if let Some(checks) = &schema.checks {
        check_value(checks, value, path, causes);
        check_alternatives(checks, value, path, causes);
    }
    match value {
        Value::Object(map) => {
            for name in &schema.required {
                if !map.contains_key(name) {
                    causes.push(Cause::required(joined(path, name), ""));
                }
            }
            for (name, child) in map {
                if let Some(field) = schema.field(name) {
                    let below = if schema.properties.contains_key(name) {
                        joined(path, name)
                    } else {
                        format!("{path}.{name}")
                    };
                    check(field, child, below.trim_start_matches('.'), causes);
                }
            }
        }
        Value::Array(items) => {
            if let Some(item_schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    check(item_schema, item, &format!("{path}[{index}]"), causes);
                }
            }
            check_unique(&schema.list, items, path, causes);
        }
        _ => {}
    }
}

/// The type that the value should have had.
fn wrong_type(schema: &Schema, value: &Value) -> Option<&'static str> {
    if schema.int_or_string {
        let fits = value.is_string() || is_integer(value);
        return (!fits).then_some("integer or string");
    }
    let kind = schema.kind?;
    let fits = match kind {
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::String => value.is_string(),
        Type::Integer => is_integer(value),
        Type::Number => value.is_number(),
        Type::Boolean => value.is_boolean(),
    };
    (!fits).then(|| kind.as_str())
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if is_integer(value) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn check_value(checks: &Checks, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let wrong = |why: String| Cause::invalid(path, value, &format!("{path} in body should {why}"));
    if let Some((limit, exclusive)) = checks.minimum {
        match value.as_f64() {
            Some(number) if exclusive && number <= limit => causes.push(wrong(format!("be greater than {limit}"))),
            Some(number) if number < limit => causes.push(wrong(format!("be greater than or equal to {limit}"))),
            _ => {}
        }
    }
    if let Some((limit, exclusive)) = checks.maximum {
        match value.as_f64() {
            Some(number) if exclusive && number >= limit => causes.push(wrong(format!("be less than {limit}"))),
            Some(number) if number > limit => causes.push(wrong(format!("be less than or equal to {limit}"))),
            _ => {}
        }
    }
    if let (Some(step), Some(number)) = (checks.multiple_of, value.as_f64())
        && (number / step).fract() != 0.0
    {
        causes.push(wrong(format!("be a multiple of {step}")));
    }
    let length = match value {
        Value::String(text) => Some((
            text.chars().count() as u64,
            checks.min_length,
            checks.max_length,
            "chars long",
        )),
        Value::Array(items) => Some((items.len() as u64, checks.min_items, checks.max_items, "items")),
        Value::Object(map) => Some((
            map.len() as u64,
            checks.min_properties,
            checks.max_properties,
            "properties",
        )),
        _ => None,
    };
    if let Some((length, least, most, unit)) = length {
        let (verb, unit) = if unit == "chars long" {
            ("be", unit)
        } else {
            ("have", unit)
        };
        if let Some(least) = least.filter(|least| length < *least) {
            // Of a list its length is told, of a text the text.
            let count = Value::from(length);
            let found = if value.is_string() { value } else { &count };
            let why = format!("{path} in body should {verb} at least {least} {unit}");
            causes.push(Cause::invalid(path, found, &why));
        }
        if let Some(most) = most.filter(|most| length > *most) {
            causes.push(Cause::too_much(path, length, most, unit));
        }
    }
    if let (Some((pattern, Some(regex))), Value::String(text)) = (&checks.pattern, value)
        && !regex.is_match(text)
    {
        causes.push(wrong(format!("match '{pattern}'")));
    }
    if let Some(problem) = checks.format.as_deref().and_then(|format| wrong_format(format, value)) {
        let mut cause = Cause::invalid(path, value, &format!("{path} in body must be {problem}"));
        cause.reason = "FieldValueTypeInvalid";
        causes.push(cause);
    }
    if let Some(choices) = &checks.choices
        && !choices.contains(value)
    {
        causes.push(Cause::unsupported(path, value, choices));
    }
}

/// What a value of this format must be, if it is something else. Formats that are not known are not checked.
fn wrong_format(format: &str, value: &Value) -> Option<String> {
    let fits = match (format, value) {
        ("int32", Value::Number(number)) => {
            number.as_i64().is_none_or(|number| i32::try_from(number).is_ok())
                && number.as_u64().is_none_or(|number| i32::try_from(number).is_ok())
        }
        ("int64", Value::Number(number)) => number.as_u64().is_none_or(|number| i64::try_from(number).is_ok()),
        ("date-time", Value::String(text)) => text.parse::<jiff::Timestamp>().is_ok(),
        ("date", Value::String(text)) => text.parse::<jiff::civil::Date>().is_ok(),
        ("ipv4", Value::String(text)) => text.parse::<std::net::Ipv4Addr>().is_ok(),
        ("ipv6", Value::String(text)) => text.parse::<std::net::Ipv6Addr>().is_ok(),
        _ => true,
    };
    (!fits).then(|| format!("of type {format}: {value}"))
}

fn check_alternatives(checks: &Checks, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    for schema in &checks.all_of {
        check(schema, value, path, causes);
    }
    let fits = |schema: &Schema| validate(schema, value, path).is_empty();
    if !checks.any_of.is_empty() && !checks.any_of.iter().any(fits) {
        let why = format!("{path} in body must validate at least one schema (anyOf)");
        causes.push(Cause::invalid(path, value, &why));
    }
    if !checks.one_of.is_empty() && checks.one_of.iter().filter(|schema| fits(schema)).count() != 1 {
        let why = format!("{path} in body must validate one and only one schema (oneOf)");
        causes.push(Cause::invalid(path, value, &why));
    }
    if checks.not.as_deref().is_some_and(fits) {
        let why = format!("{path} in body must not validate the schema (not)");
        causes.push(Cause::invalid(path, value, &why));
    }
}

fn check_unique(list: &ListKind, items: &[Value], path: &str, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let identity = match list {
            ListKind::Atomic => return,
            ListKind::Set => item.clone(),
            ListKind::Map(keys) => keys
                .iter()
                .filter_map(|key| item.get(key).map(|value| (key.clone(), value.clone())))
                .collect(),
        };
        if !seen.insert(identity.to_string()) {
            causes.push(Cause::duplicate(format!("{path}[{index}]"), &identity));
        }
    }
}
