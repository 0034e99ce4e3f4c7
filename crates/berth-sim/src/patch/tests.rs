use serde_json::json;

use super::*;
use crate::resources::TYPES;

fn merged(target: &Value, patch: &Value) -> Value {
    let mut target = target.clone();
    strategic_merge(&TYPES.schema("Node"), &mut target, patch).unwrap();
    target
}

#[test]
fn merge_patches_of_the_standard() {
    for (target, patch, expected) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        ),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
    ] {
        let mut found = target.clone();
        merge_patch(&mut found, &patch);
        assert_eq!(found, expected, "{target} {patch}");
    }
}

#[test]
fn lists_with_a_key_are_merged_by_it() {
    let node = json!({"status": {"conditions": [
        {"type": "Ready", "status": "False", "reason": "Starting"},
        {"type": "DiskPressure", "status": "False"},
    ]}});
    let patch = json!({"status": {"conditions": [
        {"type": "Ready", "status": "True"},
        {"type": "DiskPressure", "$patch": "delete"},
        {"type": "PIDPressure", "status": "False"},
    ]}});
    assert_eq!(
        merged(&node, &patch),
        json!({"status": {"conditions": [
            {"type": "Ready", "status": "True", "reason": "Starting"},
            {"type": "PIDPressure", "status": "False"},
        ]}})
    );
}

#[test]
fn directives() {
    let node = json!({
        "metadata": {"finalizers": ["a", "b"], "labels": {"x": "1", "y": "2"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "podCIDRs": ["1", "2"]},
        "status": {"addresses": [{"type": "A", "address": "1"}, {"type": "B", "address": "2"}]},
    });
    for (patch, pointer, expected) in [
        (
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}),
            "/metadata/finalizers",
            json!(["b"]),
        ),
        (
            json!({"metadata": {"finalizers": ["c"]}}),
            "/metadata/finalizers",
            json!(["a", "b", "c"]),
        ),
        (
            json!({"metadata": {"labels": {"$patch": "replace", "z": "3"}}}),
            "/metadata/labels",
            json!({"z": "3"}),
        ),
        (
            json!({"metadata": {"labels": {"$retainKeys": ["y"]}}}),
            "/metadata/labels",
            json!({"y": "2"}),
        ),
        // Taints have no merge key for strategic patches: the list is replaced.
        (json!({"spec": {"taints": []}}), "/spec/taints", json!([])),
        (
            json!({"status": {
                "$setElementOrder/addresses": [{"type": "B"}, {"type": "A"}],
                "addresses": [{"type": "A", "address": "3"}],
            }}),
            "/status/addresses",
            json!([{"type": "B", "address": "2"}, {"type": "A", "address": "3"}]),
        ),
    ] {
        assert_eq!(merged(&node, &patch).pointer(pointer), Some(&expected), "{patch}");
    }
}

#[test]
fn bad_patches_are_refused() {
    let mut node = json!({"status": {"conditions": []}});
    let schema = TYPES.schema("Node");
    for patch in [
        json!([]),
        json!({"status": {"conditions": [{"status": "True"}]}}),
        json!({"metadata": {"$patch": "explode"}}),
    ] {
        assert_eq!(
            strategic_merge(&schema, &mut node, &patch).unwrap_err().code,
            400,
            "{patch}"
        );
    }
    assert_eq!(
        json_patch(&json!({}), &json!([{"op": "remove", "path": "/a"}]))
            .unwrap_err()
            .code,
        422
    );
    assert_eq!(json_patch(&json!({}), &json!({"not": "a list"})).unwrap_err().code, 400);
    let tested = json_patch(&json!({"a": 1}), &json!([{"op": "test", "path": "/a", "value": 2}]));
    assert!(tested.is_err());
}
