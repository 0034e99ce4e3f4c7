//! Every answer that a test gets is held against the description of the API.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use berth_repository::read_values;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::fixture::{Reply, YAML};

static DESCRIPTION: LazyLock<Value> = LazyLock::new(berth_airship::Api::description);
/// Schemas as they were made from the description.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// The path of the description that a path of a request means: of several, the one with the fewest parameters.
fn described_path(path: &str) -> Option<&'static str> {
    let path = path.split('?').next().unwrap_or_default();
    let path = match path.strip_prefix("/v1.0") {
        Some(rest) => format!("/api/v1.0{rest}"),
        None => path.to_owned(),
    };
    let is_same = |template: &&String| {
        let fits = |(one, other): (&str, &str)| one == other || one.starts_with('{') && !other.is_empty();
        let count = |text: &str| text.split('/').count();
        count(template) == count(&path) && template.split('/').zip(path.split('/')).all(fits)
    };
    let paths = DESCRIPTION["paths"].as_object()?;
    let found = paths.keys().filter(is_same);
    found
        .min_by_key(|template| template.matches('{').count())
        .map(String::as_str)
}

/// Whether an answer is one that the description has.
pub(crate) fn check(method: &str, path: &str, reply: &Reply) {
    let operation = described_path(path).and_then(|path| DESCRIPTION["paths"][path].get(method.to_ascii_lowercase()));
    let Some(operation) = operation else {
        // What nobody described is refused in the same words, and what the listener refuses never came so far.
        if reply.status >= 400 && is_document(reply) {
            fits("Failure", &reply.yaml_or_json(), path);
        }
        return;
    };
    let responses = &operation["responses"];
    let response = responses.get(reply.status.to_string());
    if response.is_none() && !is_document(reply) {
        return;
    }
    let response = response.unwrap_or_else(|| &responses["default"]);
    let Some(content) = response.get("content").and_then(Value::as_object) else {
        assert_eq!(reply.body, "", "{method} {path} has no body");
        return;
    };
    let given = reply.header("content-type").unwrap_or_default();
    let Some(content) = content.get(given) else {
        // The versions are told in YAML to those who ask for it, as to Shipyard's clients.
        assert_eq!(path, "/versions", "{method} answers {given}: {}", reply.body);
        return;
    };
    let schema = content["schema"]["$ref"].as_str().unwrap();
    let name = schema.strip_prefix("#/components/schemas/").unwrap();
    let body = match given {
        YAML if name == "Documents" => Value::Array(reply.documents()),
        YAML => reply.yaml(),
        "application/json" => reply.json(),
        "text/event-stream" => return,
        _ => Value::from(reply.body.as_str()),
    };
    fits(name, &body, &format!("{method} {path} ({})", reply.status));
}

fn is_document(reply: &Reply) -> bool {
    matches!(reply.header("content-type"), Some("application/json" | YAML))
}

/// Whether the data of an event is what its name promises.
pub(crate) fn check_event(kind: &str, data: &Value) {
    let schema = &DESCRIPTION["components"]["schemas"]["Events"]["x-events"][kind]["$ref"];
    let schema = schema
        .as_str()
        .unwrap_or_else(|| panic!("no event {kind} is described"));
    fits(schema.rsplit('/').next().unwrap(), data, kind);
}

fn fits(schema: &str, value: &Value, what: &str) {
    let validator = {
        let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
        let made = validators.entry(schema.to_owned()).or_insert_with(|| {
            let reference = format!("#/components/schemas/{schema}");
            let document = json!({"$ref": reference, "components": DESCRIPTION["components"]});
            Arc::new(jsonschema::validator_for(&document).unwrap())
        });
        Arc::clone(made)
    };
    let problems: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(
        problems.is_empty(),
        "{what} is not {schema}:\n{}\n{value:#}",
        problems.join("\n")
    );
}

impl Reply {
    fn yaml_or_json(&self) -> Value {
        match self.header("content-type") {
            Some(YAML) => read_values(&self.body).unwrap().remove(0),
            _ => self.json(),
        }
    }
}

#[test]
fn an_answer_of_another_form_is_found() {
    let refused = |body: &Value| {
        let reply = Reply::new(200, "application/json", body.to_string());
        std::panic::catch_unwind(|| check("GET", "/api/v1.0/nodes", &reply)).is_err()
    };
    let node = json!({
        "hostname": "a", "status_name": "Present", "is_declared": true, "pool": null, "rack": null, "labels": {},
        "memory": null, "cpu_count": null, "boot_mac": null, "boot_ip": null, "power_state": null, "power_address": null,
    });
    assert!(!refused(&json!([node])));
    let mut without = node.clone();
    without.as_object_mut().unwrap().remove("is_declared");
    assert!(refused(&json!([without])));
    let mut other = node.clone();
    other["status_name"] = json!("Away");
    assert!(refused(&json!([other])));
    assert!(refused(&node));
}
