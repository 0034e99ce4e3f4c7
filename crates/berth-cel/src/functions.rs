//! Functions: those of the language, and those that Kubernetes adds to it.

mod format;
mod lists;
mod network;
mod printf;
mod quantity;
mod strings;
mod time;

use std::sync::Arc;

use crate::{
    error::EvalError,
    operators, re2,
    value::{Key, Value},
};

pub(crate) use lists::sorted_by;

pub use format::Format;
pub use network::Url;
pub use quantity::Quantity;

type Outcome = Result<Value, EvalError>;

/// Functions without a target.
const GLOBAL: [&str; 44] = [
    "size",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "bool",
    "duration",
    "timestamp",
    "dyn",
    "type",
    "matches",
    "optional.of",
    "optional.ofNonZeroValue",
    "optional.none",
    "sets.contains",
    "sets.equivalent",
    "sets.intersects",
    "lists.range",
    "strings.quote",
    "jsonpatch.escapeKey",
    "url",
    "isURL",
    "ip",
    "isIP",
    "ip.isCanonical",
    "cidr",
    "isCIDR",
    "quantity",
    "isQuantity",
    "format.named",
    "format.dns1123Label",
    "format.dns1123Subdomain",
    "format.dns1035Label",
    "format.qualifiedName",
    "format.dns1123LabelPrefix",
    "format.dns1123SubdomainPrefix",
    "format.dns1035LabelPrefix",
    "format.labelValue",
    "format.uri",
    "format.uuid",
    "format.byte",
    "format.date",
    "format.datetime",
];

/// Functions of a target.
const MEMBER: [&str; 98] = [
    "size",
    "matches",
    "contains",
    "startsWith",
    "endsWith",
    "charAt",
    "indexOf",
    "lastIndexOf",
    "lowerAscii",
    "upperAscii",
    "replace",
    "split",
    "substring",
    "trim",
    "join",
    "format",
    "find",
    "findAll",
    "isSorted",
    "sum",
    "min",
    "max",
    "slice",
    "flatten",
    "sort",
    "distinct",
    "reverse",
    "first",
    "last",
    "hasValue",
    "value",
    "or",
    "orValue",
    "unwrapOpt",
    "getScheme",
    "getHost",
    "getHostname",
    "getPort",
    "getEscapedPath",
    "getQuery",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "containsIP",
    "containsCIDR",
    "ip",
    "masked",
    "prefixLength",
    "sign",
    "add",
    "sub",
    "asInteger",
    "isInteger",
    "asApproximateFloat",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "validate",
    "getFullYear",
    "getMonth",
    "getDate",
    "getDayOfMonth",
    "getDayOfYear",
    "getDayOfWeek",
    "getHours",
    "getMinutes",
    "getSeconds",
    "getMilliseconds",
    "all",
    "exists",
    "exists_one",
    "existsOne",
    "filter",
    "map",
    "transformList",
    "transformMap",
    "transformMapEntry",
    "sortBy",
    "optMap",
    "optFlatMap",
    "path",
    "group",
    "serviceAccount",
    "resource",
    "check",
    "allowed",
    "reason",
    "errored",
    "error",
    "subresource",
    "namespace",
    "name",
    "fieldSelector",
    "labelSelector",
    "unwrap",
];

/// Whether there is such a function.
pub(crate) fn is_global(name: &str) -> bool {
    GLOBAL.contains(&name)
}

/// Whether there is such a function of something.
pub(crate) fn is_member(name: &str) -> bool {
    MEMBER.contains(&name)
}

/// The type of a name.
pub(crate) fn type_named(name: &str) -> Option<&'static str> {
    Some(match name {
        "int" => "int",
        "uint" => "uint",
        "double" => "double",
        "bool" => "bool",
        "string" => "string",
        "bytes" => "bytes",
        "list" => "list",
        "map" => "map",
        "null_type" => "null_type",
        "type" => "type",
        "optional_type" => "optional_type",
        _ => return None,
    })
}

/// Calls a function.
pub(crate) fn call(name: &str, target: Option<&Value>, arguments: &[Value]) -> Outcome {
    match target {
        None => global(name, arguments),
        Some(target) => member(name, target, arguments),
    }
}

fn global(name: &str, arguments: &[Value]) -> Outcome {
    if let Some(format) = name.strip_prefix("format.") {
        return format::global(format, arguments);
    }
    match (name, arguments) {
        ("matches", [subject, pattern]) => strings::matches(subject, pattern),
        ("optional.none", []) => Ok(Value::Optional(None)),
        ("optional.of", [value]) => Ok(Value::optional(Some(value.clone()))),
        ("optional.ofNonZeroValue", [value]) => Ok(Value::optional((!is_zero(value)).then(|| value.clone()))),
        ("sets.contains" | "sets.equivalent" | "sets.intersects", [a, b]) => lists::sets(name, a, b),
        ("lists.range", [Value::Int(count)]) => lists::range(*count),
        ("strings.quote", [Value::Text(text)]) => Ok(Value::text(printf::quoted(text))),
        ("jsonpatch.escapeKey", [Value::Text(text)]) => Ok(Value::text(text.replace('~', "~0").replace('/', "~1"))),
        ("url" | "isURL" | "ip" | "isIP" | "ip.isCanonical" | "cidr" | "isCIDR", [value]) => {
            network::global(name, value)
        }
        ("quantity" | "isQuantity", [value]) => quantity::global(name, value),
        (_, [value]) => convert(name, value),
        _ => Err(EvalError::no_overload()),
    }
}

fn member(name: &str, target: &Value, arguments: &[Value]) -> Outcome {
    match (target, name, arguments) {
        (_, "size", []) => size(target),
        (Value::Text(text), ..) => strings::member(name, text, arguments),
        (Value::List(list), ..) => lists::member(name, list, arguments),
        (Value::Optional(inner), "hasValue", []) => Ok(Value::Bool(inner.is_some())),
        (Value::Optional(inner), "value", []) => inner
            .as_deref()
            .cloned()
            .ok_or_else(|| EvalError::new("optional.none() dereference")),
        (Value::Timestamp(moment), ..) => time::of_moment(name, *moment, arguments),
        (Value::Duration(length), _, []) => time::of_length(name, *length),
        (Value::Url(_) | Value::Ip(_) | Value::Cidr(..), ..) => network::member(name, target, arguments),
        (Value::Quantity(quantity), ..) => quantity::member(name, quantity, arguments),
        (Value::Format(format), "validate", [Value::Text(text)]) => Ok(format.validate(text)),
        _ => Err(EvalError::no_overload()),
    }
}

fn size(value: &Value) -> Outcome {
    let count = match value {
        Value::Text(text) => text.chars().count(),
        Value::Bytes(_) | Value::List(_) | Value::Map(_) => operators::size_of(value),
        _ => return Err(EvalError::no_overload()),
    };
    Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Optional(None) | Value::Bool(false) | Value::Int(0) | Value::Uint(0) => true,
        Value::Double(value) => *value == 0.0,
        Value::Text(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_) => operators::size_of(value) == 0,
        Value::Message(message) => message.fields.is_empty(),
        Value::Duration(length) => length.is_zero(),
        _ => false,
    }
}

fn convert(name: &str, value: &Value) -> Outcome {
    match name {
        "size" => size(value),
        "dyn" => Ok(value.clone()),
        "type" => Ok(Value::Type(value.type_name())),
        "string" => text_of(value).map(Value::text),
        "int" => to_int(value),
        "uint" => to_uint(value),
        "double" => to_double(value),
        "bytes" => match value {
            Value::Bytes(_) => Ok(value.clone()),
            Value::Text(text) => Ok(Value::Bytes(text.as_bytes().into())),
            _ => Err(EvalError::no_overload()),
        },
        "bool" => match value {
            Value::Bool(_) => Ok(value.clone()),
            Value::Text(text) => match &**text {
                "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
                "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
                _ => Err(no_conversion("bool")),
            },
            _ => Err(EvalError::no_overload()),
        },
        "duration" => match value {
            Value::Duration(_) => Ok(value.clone()),
            Value::Text(text) => time::length(text).map(Value::Duration),
            _ => Err(EvalError::no_overload()),
        },
        "timestamp" => match value {
            Value::Timestamp(_) => Ok(value.clone()),
            Value::Text(text) => time::moment(text).map(Value::Timestamp),
            Value::Int(seconds) => jiff::Timestamp::from_second(*seconds)
                .map(Value::Timestamp)
                .map_err(|_| EvalError::new("timestamp overflow")),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn no_conversion(wanted: &str) -> EvalError {
    EvalError::new(format!("type conversion error from 'string' to '{wanted}'"))
}

fn to_int(value: &Value) -> Outcome {
    let overflow = || EvalError::new("integer overflow");
    Ok(Value::Int(match value {
        Value::Int(value) => *value,
        Value::Uint(value) => i64::try_from(*value).map_err(|_| overflow())?,
        #[expect(clippy::cast_possible_truncation, reason = "the limits are checked")]
        Value::Double(value) if value.abs() < 9.22e18 => *value as i64,
        Value::Double(_) => return Err(overflow()),
        Value::Text(text) => text.parse().map_err(|_| no_conversion("int"))?,
        Value::Timestamp(moment) => moment.as_second(),
        Value::Duration(length) => i64::try_from(length.as_nanos()).map_err(|_| overflow())?,
        _ => return Err(EvalError::no_overload()),
    }))
}

fn to_uint(value: &Value) -> Outcome {
    let overflow = || EvalError::new("unsigned integer overflow");
    Ok(Value::Uint(match value {
        Value::Uint(value) => *value,
        Value::Int(value) => u64::try_from(*value).map_err(|_| overflow())?,
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the limits are checked"
        )]
        Value::Double(value) if (0.0..1.84e19).contains(value) => *value as u64,
        Value::Double(_) => return Err(overflow()),
        Value::Text(text) => text.parse().map_err(|_| no_conversion("uint"))?,
        _ => return Err(EvalError::no_overload()),
    }))
}

#[expect(clippy::cast_precision_loss, reason = "the language says so")]
fn to_double(value: &Value) -> Outcome {
    Ok(Value::Double(match value {
        Value::Double(value) => *value,
        Value::Int(value) => *value as f64,
        Value::Uint(value) => *value as f64,
        Value::Text(text) => text.parse().map_err(|_| no_conversion("double"))?,
        _ => return Err(EvalError::no_overload()),
    }))
}

/// A value as a text, where it has one.
pub(crate) fn text_of(value: &Value) -> Result<String, EvalError> {
    Ok(match value {
        Value::Text(text) => text.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => printf::double(*value),
        Value::Bytes(bytes) => String::from_utf8(bytes.to_vec())
            .map_err(|_| EvalError::new("invalid UTF-8 in bytes, cannot convert to string"))?,
        Value::Timestamp(moment) => moment.to_string(),
        Value::Duration(length) => time::shown(*length),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(address, length) => format!("{address}/{length}"),
        Value::Url(url) => url.text.clone(),
        _ => return Err(EvalError::no_overload()),
    })
}

/// A pattern that is only known now.
fn pattern(value: &Value) -> Result<regex::Regex, EvalError> {
    match value {
        Value::Text(text) => re2::compile(text).map_err(EvalError::new),
        _ => Err(EvalError::no_overload()),
    }
}

/// A map of texts to lists of texts.
fn multimap(entries: impl IntoIterator<Item = (String, Vec<String>)>) -> Value {
    Value::map(entries.into_iter().map(|(key, values)| {
        let values = values.iter().map(Value::text).collect();
        (Key::Text(Arc::from(key)), Value::list(values))
    }))
}

fn count(value: usize) -> Value {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}
