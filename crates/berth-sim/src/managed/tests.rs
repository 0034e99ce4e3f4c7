use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    ApplyRequest, Manager, Operation, apply,
    compare::{compare, fields_of},
    merge::{merged, without},
    record_update,
    set::FieldSet,
};
use crate::{
    failure::Failure,
    resources::TYPES,
    schema::{Schema, drop_unknown},
};

fn schema() -> Schema {
    TYPES.schema("Node")
}

fn applied(live: Option<&Value>, config: &Value, manager: &str, force: bool) -> Result<Value, Failure> {
    apply(
        live,
        &ApplyRequest {
            schema: &schema(),
            config,
            manager: &Manager {
                name: manager.to_owned(),
                operation: Operation::Apply,
                api_version: "v1".to_owned(),
                subresource: String::new(),
            },
            force,
            has_status: true,
            now: "2026-01-01T00:00:00Z",
        },
    )
    .map(|applied| applied.object)
}

fn updated(old: Option<&Value>, new: &Value, manager: &str) -> Value {
    let mut new = new.clone();
    let manager = Manager {
        name: manager.to_owned(),
        operation: Operation::Update,
        api_version: "v1".to_owned(),
        subresource: String::new(),
    };
    record_update(
        &schema(),
        &["metadata", "spec", "status"],
        old,
        &mut new,
        &manager,
        "2026-01-01T00:00:00Z",
    );
    new
}

fn node(labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}})
}

fn fields(object: &Value, manager: &str) -> Value {
    object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|entry| entry["manager"] == manager)
        .map_or(Value::Null, |entry| entry["fieldsV1"].clone())
}

#[test]
fn an_update_owns_what_it_changed() {
    let first = updated(None, &node(&json!({"a": "1", "b": "1"})), "one");
    assert_eq!(
        fields(&first, "one"),
        json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}, "f:b": {}}}})
    );
    let mut second = first.clone();
    second["metadata"]["labels"] = json!({"a": "2", "c": "1"});
    let second = updated(Some(&first), &second, "two");
    assert_eq!(fields(&second, "one"), json!({"f:metadata": {"f:labels": {}}}));
    assert_eq!(
        fields(&second, "two"),
        json!({"f:metadata": {"f:labels": {"f:a": {}, "f:c": {}}}})
    );
}

#[test]
fn an_apply_conflicts_with_others_unless_it_is_forced() {
    let live = updated(None, &node(&json!({"a": "1"})), "other");
    let config = node(&json!({"a": "2"}));
    let refused = applied(Some(&live), &config, "me", false).unwrap_err();
    assert_eq!(refused.code, 409);
    assert_eq!(
        refused.message,
        "Apply failed with 1 conflict: conflict with \"other\" using v1: .metadata.labels.a"
    );
    let forced = applied(Some(&live), &config, "me", true).unwrap();
    assert_eq!(forced["metadata"]["labels"], json!({"a": "2"}));
    assert_eq!(fields(&forced, "me"), json!({"f:metadata": {"f:labels": {"f:a": {}}}}));
    assert_eq!(fields(&forced, "other"), json!({"f:metadata": {"f:labels": {}}}));
    // The same value is not a conflict: both own it.
    let shared = applied(Some(&live), &node(&json!({"a": "1"})), "me", false).unwrap();
    assert_eq!(fields(&shared, "me"), json!({"f:metadata": {"f:labels": {"f:a": {}}}}));
    assert_ne!(fields(&shared, "other"), Value::Null);
}

#[test]
fn kubectl_takes_over_what_it_noted_and_nobody_changed() {
    const NOTE: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let first = node(&json!({"a": "1", "b": "1"}));
    let mut noted = first.clone();
    noted["metadata"]["annotations"] = json!({NOTE: first.to_string()});
    let live = updated(None, &noted, "kubectl-client-side-apply");
    let config = node(&json!({"a": "2", "b": "1"}));
    assert_eq!(applied(Some(&live), &config, "other", false).unwrap_err().code, 409);
    let taken = applied(Some(&live), &config, "kubectl", false).unwrap();
    assert_eq!(taken["metadata"]["labels"], json!({"a": "2", "b": "1"}));
    let of_before = fields(&taken, "kubectl-client-side-apply");
    assert_eq!(of_before["f:metadata"]["f:labels"], json!({".": {}, "f:b": {}}));
    let note = taken["metadata"]["annotations"][NOTE].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(note).unwrap(), config);

    // What somebody else set meanwhile is theirs, and only that is a conflict.
    let mut changed = live.clone();
    changed["metadata"]["labels"]["b"] = json!("3");
    let changed = updated(Some(&live), &changed, "somebody");
    let both = node(&json!({"a": "2", "b": "2"}));
    let refused = applied(Some(&changed), &both, "kubectl", false).unwrap_err();
    assert_eq!(
        refused.message,
        "Apply failed with 1 conflict: conflict with \"somebody\" using v1: .metadata.labels.b"
    );
    // An object without the note gets none.
    let plain = updated(None, &first, "kubectl-client-side-apply");
    assert_eq!(applied(Some(&plain), &config, "kubectl", false).unwrap_err().code, 409);
    let forced = applied(Some(&plain), &config, "kubectl", true).unwrap();
    assert_eq!(forced["metadata"].get("annotations"), None);
}

#[test]
fn what_is_no_longer_applied_goes_unless_somebody_else_has_it() {
    let one = applied(None, &node(&json!({"a": "1", "b": "1"})), "me", false).unwrap();
    let both = applied(Some(&one), &node(&json!({"b": "1"})), "you", false).unwrap();
    let less = applied(Some(&both), &node(&json!({})), "me", false).unwrap();
    assert_eq!(less["metadata"]["labels"], json!({"b": "1"}));
}

#[test]
fn items_of_keyed_lists_are_owned_one_by_one() {
    let config = |kind: &str| {
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
            "spec": {"podCIDRs": [kind]},
            "status": {"addresses": [{"type": kind, "address": "1"}]},
        })
    };
    let live = updated(None, &config("A"), "kubelet");
    let merged = applied(Some(&live), &config("B"), "me", false).unwrap();
    // The status is not written with the object itself.
    assert_eq!(merged["status"], live["status"]);
    assert_eq!(merged["spec"]["podCIDRs"], json!(["A", "B"]));
    assert_eq!(
        fields(&merged, "me"),
        json!({"f:spec": {"f:podCIDRs": {"v:\"B\"": {}}}})
    );
}

#[test]
fn the_order_of_merged_lists() {
    let list = |values: &[&str]| json!({"spec": {"podCIDRs": values}});
    for (live, config, expected) in [
        (vec!["a", "b"], vec!["b", "a"], vec!["b", "a"]),
        (vec!["x", "a", "y"], vec!["n", "a"], vec!["x", "n", "a", "y"]),
        (vec!["a", "x", "b"], vec!["b", "a"], vec!["x", "b", "a"]),
        (vec![], vec!["b", "a"], vec!["b", "a"]),
        (vec!["a"], vec![], vec!["a"]),
    ] {
        let found = merged(Some(&schema()), &list(&live), &list(&config));
        assert_eq!(found, list(&expected), "{live:?} {config:?}");
    }
}

#[test]
fn the_wire_form_is_that_of_kubernetes() {
    let wire = json!({
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}, "f:status": {}}}},
        "f:spec": {"f:podCIDRs": {".": {}, "v:\"10.0.0.0/24\"": {}}},
    });
    assert_eq!(FieldSet::from_wire(&wire).to_wire(), wire);
}

fn labels() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-e]", "[0-3]", 0..5).prop_map(|map| node(&json!(map)))
}

proptest! {
    /// Whatever others did, a forced apply gives the manager what it asked for and leaves nothing of its earlier wishes.
    #[test]
    fn a_forced_apply_gets_its_way(base in labels(), first in labels(), second in labels()) {
        let live = updated(None, &base, "other");
        let once = applied(Some(&live), &first, "me", true).unwrap();
        let twice = applied(Some(&once), &second, "me", true).unwrap();
        let found = twice["metadata"]["labels"].as_object().cloned().unwrap_or_default();
        for (key, value) in second["metadata"]["labels"].as_object().unwrap() {
            prop_assert_eq!(found.get(key), Some(value));
        }
        for key in found.keys() {
            let wanted = second["metadata"]["labels"].get(key).is_some();
            let of_others = base["metadata"]["labels"].get(key).is_some();
            prop_assert!(wanted || of_others, "{} is left over", key);
        }
        // Applying again changes nothing.
        prop_assert_eq!(&applied(Some(&twice), &second, "me", true).unwrap(), &twice);
    }

    /// Equal values do not differ, and taking a value's own fields out leaves no leaf.
    #[test]
    fn sets_and_values_agree(object in labels()) {
        let schema = schema();
        prop_assert!(compare(Some(&schema), &object, &object).is_empty());
        let set = fields_of(Some(&schema), &object);
        let rest = without(Some(&schema), &object, &set).unwrap();
        prop_assert!(rest["metadata"]["labels"].as_object().is_none_or(serde_json::Map::is_empty));
        prop_assert_eq!(merged(Some(&schema), &rest, &object), object.clone());
        prop_assert!(drop_unknown(&schema, &mut object.clone()).is_empty());
    }
}
