//! What holds for every object, whatever its kind.

use berth_labels::{LabelKey, LabelValue};
use serde_json::{Value, json};

use super::{FieldValidation, WriteOptions};
use crate::{
    failure::{Cause, Failure},
    object::{as_map, at, entry_map, is_terminating, items, meta, name, text},
    patch::drop_nulls,
    resources::Hit,
    schema::{drop_unknown, fill_defaults},
};

/// The taint of Nodes whose kubelet has not said yet that it is ready.
pub(crate) const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Reads an object of a kind: checks that it is one, cuts off what the kind does not have, fills in defaults.
pub(super) fn decode(
    hit: &Hit,
    mut object: Value,
    options: &WriteOptions,
    warnings: &mut Vec<String>,
) -> Result<Value, Failure> {
    if !object.is_object() {
        return Err(Failure::bad_request("the body of the request is not an object"));
    }
    let (kind, api_version) = (hit.resource.kind.as_str(), hit.api_version());
    let said = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let wrong = |key: &str, wanted: &str| !said(key).is_empty() && said(key) != wanted;
    if !hit.resource.builtin && !wrong("kind", kind) && wrong("apiVersion", &api_version) {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({api_version})",
            said("apiVersion")
        )));
    }
    if wrong("kind", kind) || wrong("apiVersion", &api_version) {
        return Err(Failure::bad_request(format!(
            "{} in version {:?} cannot be handled as a {kind}: the provided object is not of {api_version}",
            said("kind"),
            said("apiVersion"),
        )));
    }
    if !hit.resource.builtin && (said("kind").is_empty() || said("apiVersion").is_empty()) {
        return Err(Failure::bad_request(
            "Object 'Kind' is missing: custom resources say apiVersion and kind".to_owned(),
        ));
    }
    if hit.resource.builtin {
        drop_nulls(&mut object);
    }
    object["kind"] = json!(kind);
    object["apiVersion"] = json!(api_version);
    let schema = &hit.version().schema;
    let unknown = drop_unknown(schema, &mut object);
    if !unknown.is_empty() {
        let said = unknown.iter().map(|field| format!("unknown field \"{field}\""));
        match options.validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => warnings.extend(said),
            FieldValidation::Strict => {
                let all: Vec<String> = said.collect();
                return Err(Failure::bad_request(format!(
                    "{kind} in version \"{}\" cannot be handled as a {kind}: strict decoding error: {}",
                    hit.version().name,
                    all.join(", ")
                )));
            }
        }
    }
    fill_defaults(schema, &mut object);
    if let Some(deprecated) = &hit.version().deprecated {
        warnings.push(deprecated.clone());
    }
    Ok(object)
}

/// Removes what is empty from the metadata, which then is as if it had never been there.
pub(super) fn drop_empty_metadata(object: &mut Value) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return;
    };
    for key in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let empty = match metadata.get(key) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            metadata.remove(key);
        }
    }
}

/// What every Node has, and what a new one gets: it is not ready before its kubelet says so.
pub(super) fn complete_node(hit: &Hit, object: &mut Value, new: bool) {
    if hit.resource.kind != "Node" || !hit.resource.builtin {
        return;
    }
    let map = as_map(object);
    if new {
        let taints = entry_map(map, "spec").entry("taints").or_insert_with(|| json!([]));
        if let Value::Array(taints) = taints
            && !taints.iter().any(|taint| text(taint, &["key"]) == NOT_READY)
        {
            taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
        }
    }
    let status = entry_map(map, "status");
    let endpoint = entry_map(entry_map(status, "daemonEndpoints"), "kubeletEndpoint");
    endpoint.entry("Port").or_insert_with(|| json!(0));
    let info = entry_map(status, "nodeInfo");
    for key in [
        "architecture",
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "kubeletVersion",
        "machineID",
        "operatingSystem",
        "osImage",
        "systemUUID",
    ] {
        info.entry(key).or_insert_with(|| json!(""));
    }
}

/// What is wrong with an object's name and labels.
pub(super) fn check_metadata(hit: &Hit, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let found = name(object);
    if found.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if hit.resource.group == "rbac.authorization.k8s.io" {
        if found.contains(['/', '%']) || [".", ".."].contains(&found) {
            causes.push(Cause::invalid(
                "metadata.name",
                &json!(found),
                "may not contain '/' or '%'",
            ));
        }
    } else if !is_subdomain(found) {
        causes.push(Cause::invalid(
            "metadata.name",
            &json!(found),
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ));
    }
    let labels = meta(object).and_then(|meta| meta.get("labels")?.as_object());
    for (key, value) in labels.into_iter().flatten() {
        if let Err(error) = key.parse::<LabelKey>() {
            causes.push(Cause::invalid("metadata.labels", &json!(key), &error.to_string()));
        }
        if let Err(error) = value.as_str().unwrap_or_default().parse::<LabelValue>() {
            causes.push(Cause::invalid("metadata.labels", value, &error.to_string()));
        }
    }
    let annotations = meta(object).and_then(|meta| meta.get("annotations")?.as_object());
    let size: usize = annotations
        .into_iter()
        .flatten()
        .map(|(key, value)| key.len().saturating_add(value.as_str().map_or(0, str::len)))
        .sum();
    if size > 256 * 1024 {
        causes.push(Cause::forbidden(
            "metadata.annotations",
            "must have at most 262144 bytes",
        ));
    }
    causes
}

/// Whether a text can be the name of an object.
pub(crate) fn is_subdomain(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// The generation of an object after a change: one more if what is asked for differs.
pub(super) fn asks_for_other(old: &Value, new: &Value) -> bool {
    let differs = |key: &str| old.get(key) != new.get(key);
    let keys = old.as_object().into_iter().chain(new.as_object()).flatten();
    keys.map(|(key, _)| key.as_str())
        .filter(|key| !["metadata", "status", "apiVersion", "kind"].contains(key))
        .any(differs)
}

/// The generation of an object.
pub(super) fn generation(object: &Value) -> i64 {
    at(object, &["metadata", "generation"])
        .and_then(Value::as_i64)
        .unwrap_or(0)
}

/// An object that is to go waits for those who said so before, and for nobody else.
pub(super) fn check_finalizers(old: &Value, new: &Value) -> Option<Cause> {
    if !is_terminating(old) {
        return None;
    }
    let path = ["metadata", "finalizers"];
    let known: Vec<&Value> = items(old, &path).collect();
    let added: Vec<String> = items(new, &path)
        .filter(|finalizer| !known.contains(finalizer))
        .map(Value::to_string)
        .collect();
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        added.join(", ")
    );
    (!added.is_empty()).then(|| Cause::forbidden("metadata.finalizers", &why))
}

/// What cannot be changed once it is set.
pub(super) fn check_immutable(hit: &Hit, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut fixed = |path: &[&str]| {
        let (before, after) = (at(old, path), at(new, path));
        if before != after && before.is_some() {
            causes.push(Cause::invalid(
                path.join("."),
                after.unwrap_or(&Value::Null),
                "field is immutable",
            ));
        }
    };
    match hit.resource.kind.as_str() {
        "CertificateSigningRequest" => fixed(&["spec"]),
        "CustomResourceDefinition" => {
            fixed(&["spec", "group"]);
            fixed(&["spec", "scope"]);
            fixed(&["spec", "names", "plural"]);
        }
        "Pod" => fixed(&["spec", "nodeName"]),
        "Node" if !text(old, &["spec", "podCIDR"]).is_empty() => fixed(&["spec", "podCIDR"]),
        "ConfigMap" | "Secret" if old.get("immutable") == Some(&Value::Bool(true)) => {
            fixed(&["data"]);
            fixed(&["immutable"]);
        }
        _ => {}
    }
    causes
}
