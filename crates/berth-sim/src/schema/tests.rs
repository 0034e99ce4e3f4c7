use serde_json::json;

use super::*;
use crate::resources::TYPES;

fn boat() -> Schema {
    Schema::read(&json!({
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 1, "maximum": 9},
            "colour": {"type": "string", "default": "white", "enum": ["white", "red"]},
            "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
            "port": {"x-kubernetes-int-or-string": true},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "maybe": {"type": "string", "nullable": true},
            "crew": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}, "rank": {"type": "string", "default": "hand"}}},
            },
            "flags": {"type": "object", "additionalProperties": {"type": "boolean"}},
        },
    }))
}

#[test]
fn what_is_wrong_is_told_in_the_words_of_kubernetes() {
    for (value, expected) in [
        (json!({"size": 3}), vec![]),
        (json!({}), vec!["size: Required value"]),
        (
            json!({"size": 0}),
            vec!["size: Invalid value: 0: size in body should be greater than or equal to 1"],
        ),
        (
            json!({"size": "3"}),
            vec!["size: Invalid value: \"string\": size in body must be of type integer: \"string\""],
        ),
        (
            json!({"size": 3, "colour": "blue"}),
            vec!["colour: Unsupported value: \"blue\": supported values: \"white\", \"red\""],
        ),
        (
            json!({"size": 3, "name": "ABCD"}),
            vec![
                "name: Too long: may not be more than 3 bytes",
                "name: Invalid value: \"ABCD\": name in body should match '^[a-z]+$'",
            ],
        ),
        (json!({"size": 3, "port": "http"}), vec![]),
        (json!({"size": 3, "maybe": null}), vec![]),
        (
            json!({"size": 3, "crew": [{"name": "a"}, {"name": "a"}]}),
            vec!["crew[1]: Duplicate value: {\"name\":\"a\"}"],
        ),
        (
            json!({"size": 3, "flags": {"x": 1}}),
            vec!["flags.x: Invalid value: \"integer\": flags.x in body must be of type boolean: \"integer\""],
        ),
    ] {
        let found: Vec<String> = validate(&boat(), &value, "")
            .into_iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        assert_eq!(found, expected, "{value}");
    }
}

#[test]
fn defaults_and_pruning() {
    let mut value = json!({
        "size": 1,
        "unknown": {"a": 1},
        "free": {"anything": [1]},
        "crew": [{"name": "a", "what": 1}],
    });
    let gone = drop_unknown(&boat(), &mut value);
    assert_eq!(gone, ["unknown", "crew[0].what"]);
    fill_defaults(&boat(), &mut value);
    assert_eq!(
        value,
        json!({
            "size": 1,
            "colour": "white",
            "free": {"anything": [1]},
            "crew": [{"name": "a", "rank": "hand"}],
        })
    );
}

#[test]
fn alternatives() {
    let schema = Schema::read(&json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        "not": {"required": ["c"]},
    }));
    let problems = |value| validate(&schema, &value, "spec").len();
    assert_eq!(problems(json!({"a": "x"})), 0);
    assert_eq!(problems(json!({"a": "x", "b": "y"})), 1);
    assert_eq!(problems(json!({"a": "x", "c": 1})), 1);
}

#[test]
fn the_texts_of_the_builtin_kinds_hold_together() {
    assert_eq!(TYPES.dangling(), Vec::<String>::new());
    for name in TYPES.names() {
        let schema = TYPES.schema(name);
        assert!(schema.kind.is_some(), "{name}");
    }
    let node = TYPES.schema("Node");
    let conditions = node.field("status").unwrap().field("conditions").unwrap();
    assert_eq!(conditions.list, ListKind::Map(vec!["type".to_owned()]));
    assert_eq!(conditions.strategy.key.as_deref(), Some("type"));
}
