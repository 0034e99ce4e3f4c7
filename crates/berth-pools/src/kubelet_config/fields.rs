//! Which fields a kubelet's configuration has, and of which types.
//!
//! The kubelet ignores a field that it does not know, with a line in its log, and does not start when a value has another type.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::{Map, Value};

/// Every field with its type.
static FIELDS: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("fields.txt").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .collect()
});

/// Every field that the kubelet's configuration has, with its type; `[]` is any item of a list.
pub fn kubelet_fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    FIELDS.iter().map(|(path, kind)| (*path, *kind))
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldProblem {
    /// The kubelet does not know it.
    Unknown,
    /// What it is, and what it should be.
    Type(String, &'static str),
}

/// Everything that the kubelet would not understand, with the paths of the fields.
pub(super) fn check(fields: &Map<String, Value>) -> Vec<(String, FieldProblem)> {
    let mut found = Vec::new();
    members(fields, "", "", &mut found);
    found
}

/// `path` names the field to people, `kind` in the list of fields.
fn members(fields: &Map<String, Value>, path: &str, kind: &str, found: &mut Vec<(String, FieldProblem)>) {
    for (name, value) in fields {
        let join = |parent: &str| match parent {
            "" => name.clone(),
            _ => format!("{parent}.{name}"),
        };
        let (path, kind) = (join(path), join(kind));
        match FIELDS.get(kind.as_str()) {
            None => found.push((path, FieldProblem::Unknown)),
            Some(wanted) => field(value, wanted, path, &kind, found),
        }
    }
}

fn field(value: &Value, wanted: &str, path: String, kind: &str, found: &mut Vec<(String, FieldProblem)>) {
    match (value, wanted.split_once(' ')) {
        // Nothing is said.
        (Value::Null, _) => {}
        (Value::Object(fields), None) if wanted == "object" => members(fields, &path, kind, found),
        (Value::Array(items), None) if wanted == "objects" => {
            let kind = format!("{kind}[]");
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{index}]");
                match item {
                    Value::Object(fields) => members(fields, &path, &kind, found),
                    other => found.push((path, FieldProblem::Type(named(other), "a mapping"))),
                }
            }
        }
        (Value::Array(items), Some(("list", wanted))) => {
            for (index, item) in items.iter().enumerate() {
                scalar(item, wanted, format!("{path}[{index}]"), found);
            }
        }
        (Value::Object(members), Some(("map", wanted))) => {
            for (key, item) in members {
                let path = format!("{path}.{key}");
                match item {
                    Value::Array(items) if wanted == "list" && items.iter().all(Value::is_string) => {}
                    item => scalar(item, wanted, path, found),
                }
            }
        }
        (value, _) => scalar(value, wanted, path, found),
    }
}

fn scalar(value: &Value, wanted: &str, path: String, found: &mut Vec<(String, FieldProblem)>) {
    let between = |low: i64, high: i64| value.as_i64().is_some_and(|number| (low..=high).contains(&number));
    let (fits, expected) = match wanted {
        "text" => (value.is_string(), "a text"),
        "flag" => (value.is_boolean(), "true or false"),
        "int32" => (between(i64::from(i32::MIN), i64::from(i32::MAX)), "a whole number"),
        "int64" => (value.is_i64(), "a whole number"),
        "unsigned" => (between(0, i64::from(u32::MAX)), "a whole number that is not negative"),
        "number" => (value.is_number(), "a number"),
        "duration" => (value.as_str().is_some_and(is_duration), "a duration such as \"10s\""),
        "duration or int64" => (
            value.as_str().map_or_else(|| value.is_i64(), is_duration),
            "a duration such as \"10s\"",
        ),
        "quantity" => (value.is_string() || value.is_number(), "a quantity such as \"1Gi\""),
        "object" | "map text" | "map flag" | "map list" | "map quantity" => (false, "a mapping"),
        "list" => (false, "a list of texts"),
        _ => (false, "a list"),
    };
    if !fits {
        found.push((path, FieldProblem::Type(named(value), expected)));
    }
}

/// Whether Go reads the text as a duration: numbers with units, `1h30m`.
fn is_duration(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    if text == "0" {
        return true;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let digits = rest.get(..rest.len() - number.len()).unwrap_or_default();
        let is_number = digits.contains(|c: char| c.is_ascii_digit()) && digits.matches('.').count() <= 1;
        let unit = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].into_iter().find(|unit| {
            let after = number.strip_prefix(unit);
            after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphabetic()))
        });
        let Some(unit) = unit.filter(|_| is_number) else {
            return false;
        };
        rest = number.strip_prefix(unit).unwrap_or_default();
    }
    !text.is_empty()
}

pub(super) fn named(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text \"{text}\""),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(value: &Value) -> Vec<(String, bool)> {
        let found = check(value.as_object().unwrap()).into_iter();
        found
            .map(|(path, problem)| (path, problem == FieldProblem::Unknown))
            .collect()
    }

    #[test]
    fn what_the_kubelet_reads_is_accepted() {
        let value = json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "maxPods": 500, "podPidsLimit": -1, "registerNode": true, "memoryThrottlingFactor": 0.8,
            "authentication": {"x509": {"clientCAFile": "/ca"}, "webhook": {"cacheTTL": "1m30s"}},
            "evictionHard": {"memory.available": "5%"}, "featureGates": {"A": true}, "clusterDNS": ["10.0.0.10"],
            "syncFrequency": null, "staticPodURLHeader": {"a": ["b"]}, "tlsCurvePreferences": [23],
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-2Mi": 1}}],
            "registerWithTaints": [{"key": "a", "effect": "NoSchedule"}],
            "logging": {"flushFrequency": 5, "verbosity": 3, "vmodule": [{"filePattern": "a", "verbosity": 1}]},
        });
        assert_eq!(found(&value), []);
    }

    #[test]
    fn what_it_does_not_know_or_cannot_read_is_named() {
        for (value, path, unknown) in [
            (json!({"maxPod": 1}), "maxPod", true),
            (
                json!({"authentication": {"x509": {"clientCA": ""}}}),
                "authentication.x509.clientCA",
                true,
            ),
            (
                json!({"registerWithTaints": [{"keys": ""}]}),
                "registerWithTaints[0].keys",
                true,
            ),
            (json!({"maxPods": "500"}), "maxPods", false),
            (json!({"maxPods": 1.5}), "maxPods", false),
            (json!({"maxPods": 3_000_000_000_u64}), "maxPods", false),
            (json!({"registerNode": "true"}), "registerNode", false),
            (json!({"syncFrequency": 10}), "syncFrequency", false),
            (json!({"syncFrequency": "10"}), "syncFrequency", false),
            (json!({"syncFrequency": "10 s"}), "syncFrequency", false),
            (json!({"clusterDNS": "10.0.0.10"}), "clusterDNS", false),
            (json!({"clusterDNS": [10]}), "clusterDNS[0]", false),
            (json!({"systemReserved": {"cpu": 1}}), "systemReserved.cpu", false),
            (json!({"systemReserved": "cpu=1"}), "systemReserved", false),
            (json!({"reservedMemory": {}}), "reservedMemory", false),
            (json!({"reservedMemory": [1]}), "reservedMemory[0]", false),
            (json!({"authentication": []}), "authentication", false),
            (json!({"logging": {"verbosity": -1}}), "logging.verbosity", false),
        ] {
            assert_eq!(found(&value), [(path.to_owned(), unknown)], "{value}");
        }
    }

    #[test]
    fn durations_are_gos() {
        for right in ["0", "10s", "1.5h", "-1m", "1h2m3s", "100ms", "3us", "1µs"] {
            assert!(is_duration(right), "{right}");
        }
        for wrong in ["", "10", "s", "1d", "1.2.3s", ".s", "1s ", "10 s"] {
            assert!(!is_duration(wrong), "{wrong}");
        }
    }
}
