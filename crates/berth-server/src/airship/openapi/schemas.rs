//! The forms of bodies.

mod workflow;

use serde_json::{Value, json};

/// Every schema by name.
pub(super) fn all() -> Value {
    let mut schemas = documents();
    if let Value::Object(schemas) = &mut schemas {
        schemas.extend(workflow::all());
    }
    schemas
}

#[expect(clippy::too_many_lines, reason = "a table of schemas")]
fn documents() -> Value {
    json!({
        "Documents": {
            "description": "A stream of documents, with `---` between them.",
            "type": "array",
            "items": {"$ref": "#/components/schemas/Document"},
        },
        "Document": {
            "type": "object",
            "properties": {
                "schema": {"type": "string", "pattern": "^[A-Za-z]+/[A-Za-z]+/v\\d+$"},
                "metadata": {
                    "type": "object",
                    "required": ["schema", "name"],
                    "properties": {
                        "schema": {"type": "string", "pattern": "^metadata/(Document|Control)/v\\d+$"},
                        "name": {"type": "string"},
                        "labels": {"type": "object"},
                        "storagePolicy": {"enum": ["cleartext", "encrypted"]},
                        "replacement": {"type": "boolean"},
                        "layeringDefinition": {
                            "type": "object",
                            "properties": {
                                "layer": {"type": "string"},
                                "abstract": {"type": "boolean"},
                                "parentSelector": {"type": "object"},
                                "actions": {"type": "array", "items": {
                                    "type": "object",
                                    "properties": {
                                        "method": {"enum": ["merge", "replace", "delete"]},
                                        "path": {"type": "string"},
                                    },
                                }},
                            },
                        },
                        "substitutions": {"type": "array", "items": {"type": "object"}},
                    },
                },
                "data": {},
                "status": {
                    "description": "Where it is filed; in replies only.",
                    "type": "object",
                    "properties": {
                        "bucket": {"type": "string"},
                        "revision": {"type": "integer"},
                        "secretPaths": {
                            "description": "Which parts of the data are secret. Keyed hashes stand for them unless \
                                            they are asked for in cleartext by those who may see them.",
                            "type": "array",
                            "items": {"type": "string"},
                        },
                    },
                },
            },
        },
        "RevisionList": list(json!({
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "createdAt": {"type": "string", "format": "date-time"},
                "tags": strings(),
                "buckets": strings(),
            },
        })),
        "Revision": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "createdAt": {"type": "string", "format": "date-time"},
                "url": {"type": "string"},
                "validationPolicies": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "url": {"type": "string"},
                        "status": {"enum": ["success", "failure"]},
                    },
                }},
                "status": {"enum": ["success", "failed"]},
                "tags": {"$ref": "#/components/schemas/Tags"},
                "buckets": strings(),
            },
        },
        "Diff": {"type": "object", "additionalProperties": {"enum": ["created", "deleted", "modified", "unmodified"]}},
        "DeepDiff": {
            "description": "As Diff, and for each modified bucket `<bucket> diff` with what was added, deleted and changed.",
            "type": "object",
        },
        "Tags": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/TagData"}},
        "TagData": {"type": "object"},
        "ValidationReport": {
            "type": "object",
            "required": ["status", "validator"],
            "properties": {
                "status": {"enum": ["success", "failure"]},
                "validator": validator(),
                "errors": {"type": "array", "items": {"type": "object"}},
                "expiresAfter": {"type": "string"},
            },
        },
        "ValidationReceipt": {
            "type": "object",
            "properties": {"status": {"type": "string"}, "validator": validator()},
        },
        "ValidationList": list(json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "status": {"enum": ["success", "failure", "ignored [success]", "ignored [failure]"]},
            },
        })),
        "ValidationEntries": list(json!({
            "type": "object",
            "properties": {"id": {"type": "integer"}, "status": {"type": "string"}},
        })),
        "ValidationDetails": list(json!({"$ref": "#/components/schemas/ValidationEntry"})),
        "ValidationEntry": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "name": {"type": "string"},
                "status": {"type": "string"},
                "createdAt": {"type": "string", "format": "date-time"},
                "expiresAfter": {"type": ["string", "null"]},
                "errors": {"type": "array", "items": {"type": "object"}},
            },
        },
        "Collections": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "collection_name": {"type": "string"},
                    "base_version": {"type": "string"},
                    "base_revision": {"type": "integer"},
                    "base_status": {"enum": ["present", "not present"]},
                    "new_version": {"type": "string"},
                    "new_revision": {"type": "integer"},
                    "new_status": {"enum": ["unmodified", "modified", "created", "deleted"]},
                },
            },
        },
        "Versions": {"type": "object", "additionalProperties": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "status": {"type": "string"}},
        }},
        "Status": status("Status", "The result of a validation."),
        "Failure": status("Status, or status on staging routes", "Why a request was refused."),
    })
}

fn strings() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

fn validator() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}, "version": {"type": "string"}}})
}

fn list(item: Value) -> Value {
    let mut list = json!({
        "type": "object",
        "properties": {"count": {"type": "integer"}, "results": {"type": "array"}},
    });
    list["properties"]["results"]["items"] = item;
    list
}

fn status(kind: &str, description: &str) -> Value {
    json!({
        "description": description,
        "type": "object",
        "properties": {
            "kind": {"type": "string", "description": kind},
            "apiVersion": {"type": "string"},
            "metadata": {"type": "object"},
            "status": {"enum": ["Success", "Failure"]},
            "message": {"type": "string"},
            "reason": {"type": "string"},
            "details": {
                "type": "object",
                "properties": {
                    "errorType": {"type": "string"},
                    "errorCount": {"type": "integer"},
                    "messageList": {"type": "array", "items": {
                        "type": "object",
                        "properties": {
                            "message": {"type": "string"},
                            "error": {"type": "boolean"},
                            "name": {"type": "string"},
                            "documents": {"type": "array", "items": {"type": "object"}},
                            "level": {"enum": ["Error", "Warning", "Info"]},
                            "diagnostic": {},
                            "source": {"type": "string"},
                            "kind": {"type": "string"},
                        },
                    }},
                },
            },
            "code": {"type": "string", "description": "The status line, such as 409 Conflict."},
            "retry": {"type": "boolean"},
        },
    })
}
