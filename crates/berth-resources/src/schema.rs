//! Schemas that cannot be derived.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Labels: values are at most 63 characters long. Keys and the rest of the syntax are checked by Berth itself.
pub(super) fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": {"type": "string", "maxLength": 63}})
}

/// Labels of a rule: values are templates. The bounds let the API server tell what checking them costs.
pub(super) fn rule_labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 1000,
        "additionalProperties": {"type": "string", "maxLength": 4096},
    })
}

/// A point in time.
pub(super) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}

/// A point in time or null.
pub(super) fn nullable_time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time", "nullable": true})
}

/// An object that is kept as it is.
pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "nullable": true, "x-kubernetes-preserve-unknown-fields": true})
}
