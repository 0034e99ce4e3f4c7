//! From a `CustomResourceDefinition` to a resource.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Described, Generation, Resource, TYPES, Version, version_rank};
use crate::{
    failure::Cause,
    object::{as_map, at, entry_map, items, name, text},
    schema::{Schema, Type, check_rules},
    table::Columns,
};

/// The resource that a definition brings.
pub(super) fn resource(definition: &Value) -> Resource {
    let names = |key: &str| text(definition, &["spec", "names", key]).to_owned();
    let lists = |key: &str| -> Vec<String> {
        items(definition, &["spec", "names", key])
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let group = text(definition, &["spec", "group"]).to_owned();
    let plural = names("plural");
    let mut versions: Vec<(&Value, Version)> = items(definition, &["spec", "versions"])
        .filter(|version| version.get("served").and_then(Value::as_bool).unwrap_or(false))
        .map(|json| (json, version(json, &group, &names("kind"))))
        .collect();
    versions.sort_by_key(|(_, version)| std::cmp::Reverse(version_rank(&version.name)));
    let storage_version = items(definition, &["spec", "versions"])
        .find(|version| version.get("storage").and_then(Value::as_bool).unwrap_or(false))
        .map(|version| text(version, &["name"]).to_owned())
        .unwrap_or_default();
    let mut selectable: Vec<String> = versions
        .iter()
        .flat_map(|(json, _)| items(json, &["selectableFields"]))
        .map(|field| text(field, &["jsonPath"]).trim_start_matches('.').to_owned())
        .collect();
    selectable.dedup();
    Resource {
        stored_as: format!("{plural}.{group}").into(),
        singular: names("singular"),
        kind: names("kind"),
        list_kind: names("listKind"),
        short_names: lists("shortNames"),
        categories: lists("categories"),
        namespaced: text(definition, &["spec", "scope"]) == "Namespaced",
        versions: versions.into_iter().map(|(_, version)| version).collect(),
        storage_version,
        subresources: &[],
        selectable,
        generation: Generation::Counted,
        builtin: false,
        unconditional: false,
        group,
        plural,
    }
}

fn version(json: &Value, group: &str, kind: &str) -> Version {
    let written = at(json, &["schema", "openAPIV3Schema"])
        .cloned()
        .unwrap_or_else(|| json!({}));
    let mut schema = Schema::read(&written);
    let text_schema = Arc::new(Schema {
        kind: Some(Type::String),
        ..Schema::default()
    });
    schema
        .properties
        .insert("apiVersion".to_owned(), Arc::clone(&text_schema));
    schema.properties.insert("kind".to_owned(), text_schema);
    schema
        .properties
        .insert("metadata".to_owned(), Arc::new(TYPES.schema("ObjectMeta")));
    let name = text(json, &["name"]).to_owned();
    let deprecated = json
        .get("deprecated")
        .and_then(Value::as_bool)
        .unwrap_or(false)
        .then(|| {
            json.get("deprecationWarning")
                .and_then(Value::as_str)
                .map_or_else(|| format!("{group}/{name} {kind} is deprecated"), str::to_owned)
        });
    Version {
        schema: Arc::new(schema),
        described: Described::Inline(written),
        columns: Columns::of_definition(json),
        status: at(json, &["subresources", "status"]).is_some(),
        deprecated,
        name,
    }
}

/// Fills in the names that can be left out, and on first sight the status of a definition that is accepted.
pub(crate) fn complete_definition(definition: &mut Value, now: &str) {
    let kind = text(definition, &["spec", "names", "kind"]).to_owned();
    {
        let spec = entry_map(as_map(definition), "spec");
        let names = entry_map(spec, "names");
        names.entry("singular").or_insert_with(|| json!(kind.to_lowercase()));
        names.entry("listKind").or_insert_with(|| json!(format!("{kind}List")));
        spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    }
    let names = at(definition, &["spec", "names"]).cloned().unwrap_or_default();
    let storage: Vec<Value> = items(definition, &["spec", "versions"])
        .filter(|version| version.get("storage").and_then(Value::as_bool).unwrap_or(false))
        .filter_map(|version| version.get("name").cloned())
        .collect();
    let status = entry_map(as_map(definition), "status");
    status.insert("acceptedNames".to_owned(), names);
    let mut stored = status
        .get("storedVersions")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for version in storage {
        if !stored.contains(&version) {
            stored.push(version);
        }
    }
    status.insert("storedVersions".to_owned(), Value::Array(stored));
    status.entry("conditions").or_insert_with(|| {
        json!([
            {
                "type": "NamesAccepted",
                "status": "True",
                "lastTransitionTime": now,
                "reason": "NoConflicts",
                "message": "no conflicts found",
            },
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": now,
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ])
    });
}

/// What is wrong with a definition, beyond its schema.
pub(crate) fn check_definition(definition: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let group = text(definition, &["spec", "group"]);
    let plural = text(definition, &["spec", "names", "plural"]);
    let wanted = format!("{plural}.{group}");
    if name(definition) != wanted {
        causes.push(Cause::invalid(
            "metadata.name",
            &json!(name(definition)),
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    let scope = at(definition, &["spec", "scope"]).cloned().unwrap_or_default();
    if !["Cluster", "Namespaced"].contains(&scope.as_str().unwrap_or_default()) {
        causes.push(Cause::unsupported(
            "spec.scope",
            &scope,
            &[json!("Cluster"), json!("Namespaced")],
        ));
    }
    let storage = items(definition, &["spec", "versions"])
        .filter(|version| version.get("storage").and_then(Value::as_bool).unwrap_or(false))
        .count();
    if storage != 1 {
        causes.push(Cause::invalid(
            "spec.versions",
            &at(definition, &["spec", "versions"]).cloned().unwrap_or_default(),
            "must have exactly one version marked as storage version",
        ));
    }
    let alone = items(definition, &["spec", "versions"]).count() == 1;
    for (index, version) in items(definition, &["spec", "versions"]).enumerate() {
        // The schema of an only version is reported as that of all.
        let field = if alone {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("spec.versions[{index}].schema.openAPIV3Schema")
        };
        match at(version, &["schema", "openAPIV3Schema"]) {
            None => causes.push(Cause::required(field, "schemas are required")),
            Some(schema) => {
                if text(schema, &["type"]).is_empty() {
                    causes.push(Cause::required(
                        format!("{field}.type"),
                        "must not be empty at the root",
                    ));
                    continue;
                }
                if text(schema, &["type"]) != "object" {
                    causes.push(Cause::invalid(
                        format!("{field}.type"),
                        &json!(text(schema, &["type"])),
                        "must be object at the root",
                    ));
                }
                let before = causes.len();
                check_structure(schema, &field, &mut causes);
                // Rules are looked at where the schema makes sense.
                if causes.len() == before {
                    check_rules(schema, &field, &mut causes);
                }
            }
        }
    }
    causes
}

/// A structural schema says of every value what type it has.
fn check_structure(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let flag = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or(false);
    let free = flag("x-kubernetes-int-or-string") || flag("x-kubernetes-preserve-unknown-fields");
    if text(schema, &["type"]).is_empty() && !free {
        causes.push(Cause::required(
            format!("{path}.type"),
            "must not be empty for specified object fields",
        ));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, child) in properties.into_iter().flatten() {
        check_structure(child, &format!("{path}.properties[{name}]"), causes);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child @ Value::Object(_)) = schema.get(key) {
            check_structure(child, &format!("{path}.{key}"), causes);
        }
    }
    if text(schema, &["type"]) == "array" && schema.get("items").is_none() {
        causes.push(Cause::required(format!("{path}.items"), "must be specified"));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        && berth_cel::pattern(pattern).is_err()
    {
        causes.push(Cause::invalid(
            format!("{path}.pattern"),
            &json!(pattern),
            "must be a valid regular expression",
        ));
    }
    if let Some(default) = schema.get("default") {
        let wrong = crate::schema::validate(&Schema::read(schema), default, &format!("{path}.default"));
        causes.extend(wrong);
    }
}
