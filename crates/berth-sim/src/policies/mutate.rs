//! What a policy changes.

use berth_cel::{Message, Value};
use serde_json::Value as Json;

use super::{BUDGET, MutationKind, Policy, Scope, Subject};
use crate::{
    managed::merged,
    schema::{ListKind, Schema},
};

/// The object as a policy changes it; the words of the API server where it cannot.
///
/// `between` is what becomes of an object from one mutation to the next.
pub(crate) fn mutate(
    policy: &Policy,
    subject: Subject<'_>,
    schema: &Schema,
    between: impl Fn(&mut Json),
) -> Result<Option<Json>, Vec<String>> {
    let Some(mut object) = subject.object.cloned() else {
        return Ok(None);
    };
    match policy.applies(subject) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(error) => return Err(vec![error]),
    }
    let mut errors = Vec::new();
    for (kind, expression) in &policy.mutations {
        let now = Subject {
            object: Some(&object),
            ..subject
        };
        let made = Scope::new(now, &policy.variables, BUDGET)
            .evaluate(expression)
            .and_then(|value| match kind {
                MutationKind::JsonPatch => patched(&object, &value),
                MutationKind::ApplyConfiguration => applied(schema, &object, &value),
            });
        match made {
            Ok(mut made) => {
                between(&mut made);
                object = made;
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(Some(object))
    } else {
        Err(errors)
    }
}

fn patched(object: &Json, value: &Value) -> Result<Json, String> {
    let wrong = || "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch".to_owned();
    let Value::List(list) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    let mut steps = Vec::new();
    for item in &list.items {
        let Value::Message(message) = item else {
            return Err(wrong());
        };
        if &*message.name != "JSONPatch" {
            return Err(wrong());
        }
        if let Some(Value::Message(inner)) = message.fields.get("value") {
            check_names(inner, None)?;
        }
        steps.push(
            item.to_json().ok_or_else(|| {
                "JSONPath valueExpression evaluated to a type that could not marshal to JSON".to_owned()
            })?,
        );
    }
    let steps: json_patch::Patch =
        serde_json::from_value(Json::Array(steps)).map_err(|error| format!("JSON Patch: {error}"))?;
    let mut new = object.clone();
    match json_patch::patch(&mut new, &steps) {
        Ok(()) => Ok(new),
        // A test that fails is how a patch says that it is not for this object.
        Err(error) if matches!(error.kind, json_patch::PatchErrorKind::TestFailed) => Ok(object.clone()),
        Err(error) => Err(format!("JSON Patch: {error}")),
    }
}

fn applied(schema: &Schema, object: &Json, value: &Value) -> Result<Json, String> {
    let Value::Message(message) = value else {
        return Err(format!(
            "unsupported return type from ApplyConfiguration expression: {}",
            value.type_name()
        ));
    };
    check_names(message, Some("Object"))?;
    let config = value.to_json().ok_or("invalid return type: ObjectVal")?;
    let mut atomic = Vec::new();
    find_atomic(schema, &config, "", &mut atomic);
    if !atomic.is_empty() {
        return Err(format!(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomic.join(", ")
        ));
    }
    Ok(merged(Some(schema), object, &config))
}

/// The type of an object below another is named by where it stands.
fn check_names(message: &Message, expected: Option<&str>) -> Result<(), String> {
    if let Some(expected) = expected
        && &*message.name != expected
    {
        return Err(format!(
            "type mismatch: unexpected type name \"{}\", expected \"{expected}\", which matches field name path from root \
             Object type",
            message.name
        ));
    }
    for (field, value) in &message.fields {
        let path = format!("{}.{field}", message.name);
        match value {
            Value::Message(inner) => check_names(inner, Some(&path))?,
            Value::List(list) => {
                for item in &list.items {
                    if let Value::Message(inner) = item {
                        check_names(inner, Some(&path))?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn find_atomic(schema: &Schema, value: &Json, path: &str, found: &mut Vec<String>) {
    match value {
        Json::Object(map) => {
            if schema.atomic_map {
                found.push(path.to_owned());
            }
            for (name, child) in map {
                if let Some(field) = schema.field(name) {
                    find_atomic(field, child, &format!("{path}.{name}"), found);
                }
            }
        }
        Json::Array(items) => {
            let Some(item_schema) = &schema.items else {
                return;
            };
            if schema.list == ListKind::Atomic {
                found.push(path.to_owned());
            }
            for (index, item) in items.iter().enumerate() {
                find_atomic(item_schema, item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}
