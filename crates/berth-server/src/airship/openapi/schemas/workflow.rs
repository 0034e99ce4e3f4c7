//! The forms of bodies of the workflow.

use serde_json::{Map, Value, json};

use super::strings;

/// Every schema by name.
#[expect(clippy::too_many_lines, reason = "a table of schemas")]
pub(super) fn all() -> Map<String, Value> {
    let labels = || json!({"type": "object", "additionalProperties": {"type": "string"}});
    let text = || json!({"type": "string"});
    let number = || json!({"type": "integer"});
    let maybe = || json!({"type": ["string", "null"]});
    let list = |of: &str| json!({"type": "array", "items": {"$ref": format!("#/components/schemas/{of}")}});
    let schemas = json!({
        "NewAction": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"enum": ["update_labels", "relabel_nodes"]},
                "parameters": {
                    "type": "object",
                    "required": ["target_nodes"],
                    "properties": {
                        "target_nodes": {"oneOf": [strings(), {"type": "string", "description": "With commas between."}]},
                        "strategy": {"enum": ["mirror", "owned", "promenade"]},
                        "allow-mass-removal": {"type": ["boolean", "string"]},
                    },
                },
            },
        },
        "Actions": list("Action"),
        "Action": {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "A ULID: 26 letters and digits that sort by time."},
                "name": text(),
                "parameters": {"type": "object"},
                "dag_id": text(),
                "dag_execution_date": text(),
                "dag_status": text(),
                "action_lifecycle": {"enum": ["Pending", "Processing", "Paused", "Complete", "Failed"]},
                "user": text(),
                "datetime": {"type": "string", "description": "When it was made; `timestamp` right after that."},
                "timestamp": text(),
                "context_marker": text(),
                "committed_rev_id": {"type": ["integer", "null"]},
                "allow_intermediate_commits": {"type": ["boolean", "null"]},
                "strategy": maybe(),
                "task_id": {"type": "string", "description": "The same as a task, with a subtask for each node."},
                "attempt": number(),
                "progress": {"$ref": "#/components/schemas/Progress"},
                "steps": list("Step"),
                "notes": list("Note"),
                "validations": list("ActionValidation"),
                "command_audit": {"type": "array", "items": {"type": "object", "properties": {
                    "id": text(), "action_id": text(), "command": text(), "user": text(), "datetime": text(),
                }}},
                "nodes": list("NodeOutcome"),
            },
        },
        "ActionPreview": {
            "type": "object",
            "properties": {
                "kind": {"const": "DryRun"},
                "name": text(),
                "parameters": {"type": "object"},
                "committed_rev_id": number(),
                "strategy": text(),
                "nodes": list("NodeOutcome"),
                "findings": strings(),
                "moves": strings(),
                "moves_from": {
                    "type": "object",
                    "description": "How it is known what would move: from what the cluster shows, or by OVN-Kubernetes' assignment, simulated.",
                    "properties": {"source": {"enum": ["cluster", "simulation"]}, "reason": text()},
                },
            },
        },
        "Progress": {
            "type": "object",
            "properties": {
                "nodes": number(), "succeeded": number(), "failed": number(), "pending": number(), "skipped": number(),
            },
        },
        "LabelDiff": {
            "type": "object",
            "properties": {
                "set": labels(),
                "changed": {"type": "object", "additionalProperties": {
                    "type": "object", "properties": {"from": text(), "to": text()},
                }},
                "removed": {"type": "object", "description": "With the values that they had."},
            },
        },
        "NodeOutcome": {
            "type": "object",
            "properties": {
                "name": text(),
                "state": {"enum": ["pending", "running", "success", "failure", "skipped"]},
                "message": maybe(),
                "attempts": number(),
                "diff": {"$ref": "#/components/schemas/LabelDiff"},
                "protected": strings(),
                "conflicts": labels(),
                "failed": {"type": "array", "items": {
                    "type": "object", "properties": {"key": text(), "message": text()},
                }},
                "labels": {"description": "All labels that the node has now, if that is known.", "type": ["object", "null"]},
                "task_id": text(),
                "updated": maybe(),
            },
        },
        "Step": {
            "type": "object",
            "properties": {
                "id": text(), "url": text(), "task_id": text(), "dag_id": text(), "state": maybe(), "index": number(),
                "start_date": maybe(), "end_date": maybe(), "duration": {"type": ["number", "null"]},
                "execution_date": text(), "try_number": number(), "operator": text(), "queued_dttm": maybe(),
                "notes": list("Note"),
            },
        },
        "Note": {
            "type": "object",
            "properties": {
                "assoc_id": text(), "subject": text(), "sub_type": text(), "note_val": text(), "verbosity": number(),
                "note_id": text(), "note_timestamp": text(), "resolved_url_value": maybe(),
            },
        },
        "ActionValidation": {
            "type": "object",
            "properties": {"id": text(), "action_id": text(), "validation_name": text(), "details": {}},
        },
        "Workflows": list("Workflow"),
        "Workflow": {
            "type": "object",
            "properties": {
                "workflow_id": text(), "dag_id": text(), "dag_status": text(), "execution_date": text(),
                "action_id": text(), "start_date": maybe(), "end_date": maybe(), "steps": list("Step"),
            },
        },
        "SiteStatuses": {
            "type": "object",
            "properties": {
                "nodes_provision_status": {"type": "array", "items": {"type": "object"}},
                "machines_powerstate": {"type": "array", "items": {"type": "object"}},
            },
        },
        "Text": text(),
        "Events": {"type": "string", "description": "Server-sent events."},
        "NewTask": {
            "type": "object",
            "required": ["action", "design_ref"],
            "properties": {
                "action": {"const": "relabel_nodes"},
                "design_ref": text(),
                "node_filter": {"$ref": "#/components/schemas/NodeFilter"},
            },
        },
        "NodeFilter": {
            "description": "Null means all nodes.",
            "type": ["object", "null"],
            "required": ["filter_set_type", "filter_set"],
            "properties": {
                "filter_set_type": {"enum": ["union", "intersection"]},
                "filter_set": {"type": "array", "items": {
                    "type": "object",
                    "required": ["filter_type"],
                    "properties": {
                        "filter_type": {"enum": ["union", "intersection"]},
                        "node_names": strings(),
                        "node_tags": strings(),
                        "node_labels": labels(),
                        "rack_names": strings(),
                        "rack_labels": labels(),
                    },
                }},
            },
        },
        "FilterQuestion": {
            "type": "object",
            "required": ["design_ref"],
            "properties": {"design_ref": text(), "node_filter": {"$ref": "#/components/schemas/NodeFilter"}},
        },
        "Names": strings(),
        "Tasks": list("Task"),
        "Task": {
            "type": "object",
            "properties": {
                "kind": {"const": "Task"}, "apiVersion": text(), "task_id": text(), "action": text(),
                "parent_task_id": maybe(), "design_ref": maybe(),
                "status": {"enum": ["requested", "queued", "running", "terminating", "terminated", "complete"]},
                "result": {
                    "type": "object",
                    "properties": {
                        "status": {"enum": ["incomplete", "success", "partial_success", "failure", "unreported"]},
                        "successes": strings(), "failures": strings(), "links": strings(),
                        "details": {"type": "object"},
                    },
                },
                "node_filter": {"$ref": "#/components/schemas/NodeFilter"},
                "subtask_id_list": strings(), "created": text(), "created_by": text(), "updated": text(),
                "terminated": maybe(), "terminated_by": maybe(), "terminate": {"type": "boolean"}, "retry": number(),
            },
        },
        "Removed": {"type": "object", "properties": {"removed": number()}},
        "Nodes": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "hostname": text(), "status_name": {"enum": ["Present", "Absent"]}, "is_declared": {"type": "boolean"},
                "pool": maybe(), "rack": maybe(), "labels": {"type": ["object", "null"]},
            },
        }},
        "Labels": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        "NodeLabels": {
            "type": "object",
            "properties": {
                "kind": {"const": "NodeLabels"}, "node": text(), "labels": labels(), "owned": strings(),
                "declared": {"type": ["object", "null"]},
            },
        },
        "LabelStatus": {
            "description": "A Status whose details have the difference and what was protected.",
            "type": "object",
            "properties": {
                "kind": {"const": "Status"},
                "status": {"const": "Success"},
                "details": {
                    "type": "object",
                    "properties": {
                        "diff": {"$ref": "#/components/schemas/LabelDiff"},
                        "protected": strings(),
                        "labels": labels(),
                        "strategy": text(),
                        "dryRun": {"type": "boolean"},
                    },
                },
            },
        },
    });
    match schemas {
        Value::Object(schemas) => schemas,
        _ => Map::new(),
    }
}
