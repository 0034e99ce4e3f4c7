//! JSON forms.

use berth_labels::{
    ConflictPolicy, Flavour, LabelKey, LabelSelector, LabelSet, LabelValue, OwnershipDiff, Route, Writer, permission,
};
use serde_json::{from_value, json, to_value};

use crate::support::{key, map, selector, set};

#[test]
fn keys_and_values_are_checked_when_read() {
    assert_eq!(from_value::<LabelKey>(json!("a/b")).unwrap(), key("a/b"));
    let error = from_value::<LabelKey>(json!("a/b/c")).unwrap_err().to_string();
    assert!(error.starts_with("a valid label key must consist of"), "{error}");
    let error = from_value::<LabelValue>(json!("a b")).unwrap_err().to_string();
    assert!(error.starts_with("a valid label must be an empty string"), "{error}");
    assert!(
        from_value::<LabelValue>(json!(true)).is_err(),
        "only texts are label values"
    );
}

#[test]
fn a_set_is_a_plain_map() {
    let labels = set("b=,a=1");
    assert_eq!(to_value(&labels).unwrap(), json!({"a": "1", "b": ""}));
    assert_eq!(from_value::<LabelSet>(json!({"a": "1", "b": ""})).unwrap(), labels);
    assert!(from_value::<LabelSet>(json!({"a": "1", "-": ""})).is_err());
    assert!(from_value::<LabelSet>(json!({"a": 1})).is_err());
}

#[test]
fn selectors_have_the_wire_form_of_kubernetes() {
    let read = |value| from_value::<LabelSelector>(value).unwrap();
    let full = json!({
        "matchLabels": {"a": "b"},
        "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["x", "y"]},
            {"key": "d", "operator": "Exists"},
        ],
    });
    let expected = selector(&[("a", "b")], &[("c", "In", &["x", "y"]), ("d", "Exists", &[])]);
    assert_eq!(read(full.clone()), expected);
    assert_eq!(to_value(&expected).unwrap(), full);
    assert_eq!(to_value(LabelSelector::default()).unwrap(), json!({}));
    let empty = [
        json!({}),
        json!({"matchLabels": null, "matchExpressions": null}),
        json!({"matchLabels": {}, "matchExpressions": []}),
    ];
    for value in empty {
        assert!(read(value).is_empty());
    }
    let nulls =
        json!({"matchLabels": {"a": null}, "matchExpressions": [{"key": "d", "operator": "Exists", "values": null}]});
    assert_eq!(read(nulls), selector(&[("a", "")], &[("d", "Exists", &[])]));
}

#[test]
fn output_types() {
    assert_eq!(to_value(Route::Preregister).unwrap(), json!("preregister"));
    assert_eq!(from_value::<Flavour>(json!("openshift")).unwrap(), Flavour::Openshift);
    assert_eq!(to_value(Writer::Flag).unwrap(), json!("flag"));
    assert_eq!(to_value(ConflictPolicy::TakeOver).unwrap(), json!("take-over"));
    let answer = to_value(permission(
        Flavour::Openshift,
        Writer::Flag,
        &key("node-role.kubernetes.io/etcd"),
    ))
    .unwrap();
    assert_eq!(
        answer,
        json!({"allowed": true, "reason": "OpenShift's kubelet accepts this role in --node-labels."})
    );
    let diff = OwnershipDiff::compute(
        &set("a=1,c=2"),
        &map("b=1"),
        &map("b=1,c=3,d=4"),
        ConflictPolicy::Report,
        &std::collections::BTreeSet::new(),
    );
    assert_eq!(
        to_value(diff).unwrap(),
        json!({
            "set": {"a": "1"},
            "change": {},
            "remove": ["b"],
            "keep": ["d"],
            "withheld": [],
            "conflicts": [{"key": "c", "declared": "2", "live": "3", "owned": null}],
        })
    );
    let inversion = selector(&[("a", "b")], &[("c", "NotIn", &["x"]), ("d", "DoesNotExist", &[])])
        .compile()
        .unwrap()
        .invert(&std::collections::BTreeMap::new())
        .unwrap();
    assert_eq!(
        to_value(inversion).unwrap(),
        json!({
            "labels": {"a": "b"},
            "constraints": [
                {"key": "c", "operator": "NotIn", "values": ["x"]},
                {"key": "d", "operator": "DoesNotExist"},
            ],
        })
    );
}
