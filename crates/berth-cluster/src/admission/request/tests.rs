use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::admission::{Endpoint, World, review};

/// What is read of a body, and whether each answer to it is one that the API server takes.
fn check(body: &[u8]) {
    let Ok(asked) = Review::read(body) else {
        // 400, with the reason.
        return;
    };
    // What is passed over need not be text.
    if let Ok(sent) = serde_json::from_slice::<Value>(body) {
        assert_eq!(sent["request"]["uid"], asked.uid.as_str());
    }
    assert_ne!(asked.uid, "");
    for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
        let answer = review(&asked, endpoint, &World::default()).response;
        assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(answer["kind"], "AdmissionReview");
        let response = answer["response"].as_object().unwrap();
        assert_eq!(response["uid"], asked.uid.as_str());
        let allowed = response["allowed"].as_bool().unwrap();
        assert_eq!(allowed, !response.contains_key("status"), "{answer}");
        assert_eq!(
            response.contains_key("patch"),
            response.contains_key("patchType"),
            "{answer}"
        );
        if let Some(status) = response.get("status") {
            assert!(status["code"].is_u64() && status["message"].as_str().is_some_and(|text| !text.is_empty()));
        }
    }
}

/// Any JSON that is not deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~é\u{0}]{0,12}".prop_map(Value::from),
    ];
    let keys = prop_oneof![
        "metadata|spec|labels|annotations|name|kind|apiVersion|match|config|nodeSelector|namePatterns|data|key",
        "[a-z./]{0,8}",
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

const KINDS: [(&str, &str); 7] = [
    ("", "Node"),
    ("berth.dev", "Berth"),
    ("berth.dev", "LabelRule"),
    ("machineconfiguration.openshift.io", "MachineConfig"),
    ("machineconfiguration.openshift.io", "MachineConfigPool"),
    ("machineconfiguration.openshift.io", "KubeletConfig"),
    ("", "Pod"),
];

proptest! {
    #[test]
    fn any_bytes_are_answered_or_refused(body in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&body);
    }

    /// A review with whatever objects, of which some bytes are damaged.
    #[test]
    fn any_review_is_answered_with_its_uid_or_refused(
        (group, kind) in prop::sample::select(&KINDS[..]),
        (object, before) in (any_json(), any_json()),
        uid in "[ -~é]{0,8}",
        group_of_user in "system:nodes|people",
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut object = object;
        if let Value::Object(object) = &mut object {
            object.insert("kind".to_owned(), json!(kind));
        }
        let whole = json!({"request": {
            "uid": uid, "operation": "UPDATE", "kind": {"group": group, "version": "v1", "kind": kind},
            "userInfo": {"username": "somebody", "groups": [group_of_user]}, "object": object, "oldObject": before,
        }});
        let mut body = whole.to_string().into_bytes();
        check(&body);
        for (place, byte) in damage {
            let at = place.index(body.len());
            body[at] = byte;
        }
        check(&body);
    }
}

#[test]
fn a_review_without_a_uid_is_refused() {
    for body in [
        "{}",
        r#"{"request": {}}"#,
        r#"{"request": {"uid": ""}}"#,
        r#"{"request": {"uid": 7}}"#,
    ] {
        assert!(Review::read(body.as_bytes()).is_err(), "{body}");
    }
    assert!(Review::read(br#"{"request": {"uid": "u"}}"#).is_ok());
}

/// Found by fuzzing: a list was taken for an object, field by field.
#[test]
fn a_list_is_not_a_review() {
    for body in [
        r#"[["u"]]"#,
        r#"{"request": ["u"]}"#,
        r#"{"request": {"uid": "u", "kind": ["", "Node"]}}"#,
        r#"{"request": {"uid": "u", "userInfo": [["system:nodes"]]}}"#,
    ] {
        assert!(Review::read(body.as_bytes()).is_err(), "{body}");
    }
    let node = |object: &str| {
        let head =
            r#""uid": "u", "operation": "CREATE", "kind": {"kind": "Node"}, "userInfo": {"groups": ["system:nodes"]}"#;
        let body = format!(r#"{{"request": {{{head}, "object": {object}}}}}"#);
        Review::read(body.as_bytes()).expect("a review").subject
    };
    assert!(matches!(node(r#"{"metadata": {"name": "w1"}}"#), Subject::Node(_)));
    for object in [r#"[{"name": "w1"}]"#, r#"{"metadata": ["w1"]}"#] {
        assert!(matches!(node(object), Subject::Unreadable(_)), "{object}");
    }
}
