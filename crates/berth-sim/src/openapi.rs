//! The `OpenAPI` documents that `kubectl explain`, `apply` and `edit` read.

mod kinds;

pub(crate) use kinds::{PROTOBUF, PROTOBUF_ANSWER, kinds, kinds_in_protobuf};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::resources::{Described, Registry, Resource, TYPES, Version};

/// What a write can be told.
const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

/// What a list can be told.
const LIST: [&str; 6] = [
    "labelSelector",
    "fieldSelector",
    "limit",
    "continue",
    "resourceVersion",
    "watch",
];

/// `/openapi/v3`: where the document of each group and version is.
pub(crate) fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for (group, versions) in registry.groups() {
        for version in versions {
            let path = path_of(group, version);
            let document = document(registry, group, version).unwrap_or_default().to_string();
            let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(document.as_bytes()));
            let url = format!("/openapi/v3/{path}?hash={hash}");
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

/// The document of a group and version. Nothing if there is none.
pub(crate) fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut schemas = Map::new();
    let mut paths = Map::new();
    let base = format!("/{}", path_of(group, version));
    for resource in registry.iter().filter(|resource| resource.group == group) {
        let Some(served) = resource.version(version) else {
            continue;
        };
        let reference = describe(resource, served, &mut schemas);
        let kind = json!({"group": group, "version": version, "kind": resource.kind});
        let place = if resource.namespaced {
            "/namespaces/{namespace}"
        } else {
            ""
        };
        let collection = format!("{base}{place}/{}", resource.plural);
        let one = format!("{collection}/{{name}}");
        let answer = json!({"200": {
            "description": "OK",
            "content": {"application/json": {"schema": {"$ref": reference}}},
        }});
        let operation = |action: &str, parameters: &[&str]| {
            json!({
                "operationId": format!("{action}{}", resource.kind),
                "x-kubernetes-action": action,
                "x-kubernetes-group-version-kind": kind,
                "parameters": parameters
                    .iter()
                    .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}))
                    .collect::<Vec<_>>(),
                "responses": answer,
            })
        };
        paths.insert(
            collection,
            json!({"get": operation("list", &LIST), "post": operation("post", &WRITE)}),
        );
        paths.insert(
            one,
            json!({
                "get": operation("get", &[]),
                "put": operation("put", &WRITE),
                "patch": operation("patch", &["dryRun", "fieldManager", "fieldValidation", "force"]),
                "delete": operation("delete", &["dryRun", "gracePeriodSeconds", "propagationPolicy"]),
            }),
        );
    }
    (!paths.is_empty()).then(|| {
        json!({
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": super::discovery::version()["gitVersion"]},
            "paths": paths,
            "components": {"schemas": schemas},
        })
    })
}

/// Adds the schema of a kind and what it refers to, and gives its reference.
fn describe(resource: &Resource, version: &Version, schemas: &mut Map<String, Value>) -> String {
    let kind = json!([{"group": resource.group, "version": version.name, "kind": resource.kind}]);
    let name = match &version.described {
        Described::Type(name) => {
            TYPES.components(name, schemas);
            TYPES.full_name(name)
        }
        Described::Inline(schema) => {
            TYPES.components("ObjectMeta", schemas);
            let name = format!("{}.{}.{}", reversed(&resource.group), version.name, resource.kind);
            let mut schema = schema.clone();
            if !schema.is_object() {
                schema = json!({"type": "object"});
            }
            let metadata = format!("#/components/schemas/{}", TYPES.full_name("ObjectMeta"));
            schema["properties"]["apiVersion"] =
                json!({"type": "string", "description": "The group and version of the kind."});
            schema["properties"]["kind"] = json!({"type": "string", "description": "What kind of object this is."});
            schema["properties"]["metadata"] = json!({"allOf": [{"$ref": metadata}]});
            schemas.insert(name.clone(), schema);
            name
        }
    };
    if let Some(schema) = schemas.get_mut(&name) {
        schema["x-kubernetes-group-version-kind"] = kind;
    }
    format!("#/components/schemas/{name}")
}

/// `berth.dev` is `dev.berth` in the names of schemas.
fn reversed(group: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').collect();
    parts.reverse();
    parts.join(".")
}

/// Which group and version a path below `/openapi/v3/` asks for.
pub(crate) fn parse_path(path: &str) -> Option<(String, String)> {
    let mut parts = path.split('/');
    match (parts.next()?, parts.next()?, parts.next()) {
        ("api", version, None) => Some((String::new(), version.to_owned())),
        ("apis", group, Some(version)) => Some((group.to_owned(), version.to_owned())),
        _ => None,
    }
}
