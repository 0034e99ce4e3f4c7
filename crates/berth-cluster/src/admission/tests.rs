#![expect(clippy::needless_pass_by_value, reason = "tables of values read better")]

use std::sync::Arc;

use berth_labels::Flavour;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::{policy::MOST_ENTRIES, *};
use berth_decide::Definitions;
use berth_resources::Berth;

fn pool(name: &str, labels: Value, explicit: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": {"name": name, "annotations": {"berth.dev/node-labels": explicit}},
        "spec": {"nodeSelector": {"matchLabels": labels}},
    })
}

fn rule(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": name}, "spec": spec})
}

/// Nobody registers in the pool without a place in it.
fn reserved_only(mut pool: Value) -> Value {
    pool["metadata"]["annotations"]["berth.dev/reserved-only"] = json!("true");
    pool
}

fn objects() -> Vec<Value> {
    vec![
        pool("worker", json!({"node-role.kubernetes.io/worker": ""}), ""),
        reserved_only(pool(
            "gold",
            json!({"example.com/tier": "gold"}),
            "example.com/fast=yes",
        )),
        rule(
            "a-site",
            json!({"match": {"namePatterns": ["(?<site>[a-z]{3})-w[0-9]+"]}, "tables": {"sites": {"atl": "atlanta"}},
                "labels": {"example.com/site": "${site | sites}", "example.com/kind": "worker"}}),
        ),
        rule(
            "b-gold",
            json!({"match": {"namePatterns": ["gold-.*"]}, "pool": "gold"}),
        ),
        rule(
            "c-roles",
            json!({"match": {"namePatterns": [".*"]}, "labels": {"node-role.kubernetes.io/infra": "", "example.com/all": "1"}}),
        ),
        rule(
            "d-rack",
            json!({"match": {"racks": ["r1"]}, "labels": {"example.com/rack": "r1"}}),
        ),
        rule(
            "e-vague",
            json!({"match": {"namePatterns": ["(?<a>[a-z]+)[a-z]+"]}, "labels": {"example.com/a": "${a}"}}),
        ),
        rule(
            "f-pool",
            json!({"match": {"pools": ["gold"]}, "labels": {"example.com/by-pool": "gold"}}),
        ),
        rule(
            "g-later",
            json!({"match": {"namePatterns": [".*"]}, "admission": "never", "labels": {"example.com/later": "1"}}),
        ),
    ]
}

fn made() -> Policies {
    let objects = objects();
    let definitions = Definitions::new(&objects, Flavour::Upstream);
    policies(definitions.site(), Flavour::Upstream, FailurePolicy::Ignore)
}

#[test]
fn policies_have_what_kubelets_may_set_and_say_what_is_left_out() {
    let made = made();
    let kinds: Vec<&str> = made
        .objects
        .iter()
        .filter_map(|object| object["kind"].as_str())
        .collect();
    assert_eq!(
        kinds,
        [
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding"
        ]
    );
    let text = made.objects[0].to_string();
    for there in [
        "example.com~1site",
        "example.com~1all",
        "example.com~1fast",
        "example.com~1tier",
        "example.com~1by-pool",
    ] {
        assert!(text.contains(there), "{there} in {text}");
    }
    for absent in [
        "node-role",
        "example.com~1rack",
        "example.com~1a'",
        "example.com~1later",
    ] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
    let left: Vec<(&str, Option<&str>)> = made
        .left_out
        .iter()
        .map(|left| (left.rule.as_str(), left.key.as_deref()))
        .collect();
    assert_eq!(
        left,
        [
            ("c-roles", Some("node-role.kubernetes.io/infra")),
            ("e-vague", Some("example.com/a"))
        ]
    );
    let claims = made.objects[2]["spec"]["validations"].as_array().unwrap();
    let messages: Vec<&str> = claims.iter().filter_map(|claim| claim["message"].as_str()).collect();
    assert_eq!(
        messages,
        [
            "the node has more than 1000 labels",
            "the labels of pool gold are not for this node",
            "a label of another pool is not for this node",
        ],
        "the base pool is nobody's claim"
    );
    // What needs no roster does not depend on one.
    assert_eq!(made.objects[4]["spec"].get("paramKind"), None);
    assert_eq!(made.objects[5]["spec"].get("paramRef"), None);
    let notes = made.objects[4]["spec"]["validations"].to_string();
    assert!(
        notes.contains("annotations of berth.dev are not the kubelet's to write"),
        "{notes}"
    );
}

#[test]
fn the_same_site_gives_the_same_policies_whatever_the_order() {
    let mut objects = objects();
    let first = made();
    objects.reverse();
    let definitions = Definitions::new(&objects, Flavour::Upstream);
    let second = policies(definitions.site(), Flavour::Upstream, FailurePolicy::Ignore);
    assert_eq!(first.objects[0], second.objects[0]);
}

fn node_review(operation: &str, name: &str, labels: &Value, before: &Value) -> Value {
    json!({"request": {
        "uid": "u", "operation": operation, "kind": {"group": "", "version": "v1", "kind": "Node"},
        "userInfo": {"username": format!("system:node:{name}"), "groups": ["system:nodes"]},
        "object": {"metadata": {"name": name, "labels": labels}},
        "oldObject": {"metadata": {"name": name, "labels": before}},
    }})
}

fn review(asked: &Value, endpoint: Endpoint, world: &World) -> Outcome {
    let asked = Review::read(asked.to_string().as_bytes()).unwrap();
    super::review(&asked, endpoint, world)
}

fn shared(objects: impl IntoIterator<Item = Value>) -> Vec<Arc<Value>> {
    objects.into_iter().map(Arc::new).collect()
}

fn world(berth: Option<Value>) -> World {
    World {
        definitions: shared(objects()),
        berths: berth
            .into_iter()
            .map(|spec| Arc::new(Berth::new("gold-1", serde_json::from_value(spec).unwrap())))
            .collect(),
        ..World::default()
    }
}

fn patch(outcome: &Outcome) -> Vec<(String, Value)> {
    let Some(patch) = outcome.response.pointer("/response/patch") else {
        return Vec::new();
    };
    let bytes: k8s_openapi::ByteString = serde_json::from_value(patch.clone()).unwrap();
    let patch: Vec<Value> = serde_json::from_slice(&bytes.0).unwrap();
    patch
        .iter()
        .map(|one| (one["path"].as_str().unwrap().to_owned(), one["value"].clone()))
        .collect()
}

#[test]
fn the_webhook_adds_what_the_policy_would_add() {
    let ask = |name: &str, world: &World| {
        review(
            &node_review("CREATE", name, &json!({}), &json!({})),
            Endpoint::Mutate,
            world,
        )
    };
    let labels = |outcome: &Outcome| -> Vec<String> { patch(outcome).into_iter().map(|(path, _)| path).collect() };
    assert_eq!(
        labels(&ask("atl-w1", &world(None))),
        [
            "/metadata/labels/example.com~1all",
            "/metadata/labels/example.com~1kind",
            "/metadata/labels/example.com~1site"
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    let gold = labels(&ask(
        "gold-1",
        &world(Some(json!({"pool": "gold", "labels": {"example.com/own": "1"}}))),
    ));
    assert!(
        gold.contains(&"/metadata/labels/example.com~1own".to_owned()),
        "{gold:?}"
    );
    assert!(
        gold.contains(&"/metadata/labels/example.com~1tier".to_owned()),
        "{gold:?}"
    );
}

#[test]
fn a_claim_is_refused_unless_it_is_the_machines_place() {
    let gold = json!({"example.com/tier": "gold"});
    let ask = |operation: &str, name: &str, before: &Value, berth: Option<Value>| {
        review(
            &node_review(operation, name, &gold, before),
            Endpoint::Validate,
            &world(berth),
        )
    };
    let refused = ask("CREATE", "w1", &json!({}), None);
    assert_eq!(refused.response["response"]["allowed"], false);
    assert_eq!(
        refused.response["response"]["status"]["message"],
        "node w1 claims the labels of pool gold, which is not reserved for it; correct its --node-labels, or reserve the \
         place with a Berth"
    );
    assert_eq!(refused.claim.as_ref().map(|claim| claim.pool.as_str()), Some("gold"));
    for (operation, name, before, berth) in [
        ("CREATE", "gold-7", json!({}), None),
        ("UPDATE", "w1", gold.clone(), None),
        ("CREATE", "gold-1", json!({}), Some(json!({"pool": "gold"}))),
    ] {
        let outcome = ask(operation, name, &before, berth);
        assert_eq!(outcome.response["response"]["allowed"], true, "{operation} {name}");
    }
    let elsewhere = ask("UPDATE", "gold-1", &json!({}), Some(json!({"pool": "worker"})));
    assert!(
        elsewhere
            .claim
            .is_some_and(|claim| claim.message().contains("its place is in pool worker"))
    );
}

#[test]
fn a_machine_with_a_place_takes_no_single_label_of_another_pool() {
    let objects = vec![
        pool(
            "worker",
            json!({"node-role.kubernetes.io/worker": ""}),
            "example.com/plain=yes",
        ),
        pool(
            "infra",
            json!({"node-role.kubernetes.io/infra": ""}),
            "zone=red,example.com/shared=yes",
        ),
        pool(
            "edge",
            json!({"node-role.kubernetes.io/edge": ""}),
            "zone=blue,example.com/shared=yes,kubernetes.io/arch=arm64",
        ),
        rule(
            "tiers",
            json!({"match": {"namePatterns": ["x.*"]}, "labels": {"zone": "blue"}}),
        ),
    ];
    // Labels as `key=value`, one at most.
    let ask = |name: &str, label: &str, before: &str, berth: &str| {
        let one = |label: &str| match label.split_once('=') {
            Some((key, value)) => json!({key: value}),
            None => json!({}),
        };
        let world = World {
            definitions: shared(objects.clone()),
            berths: (!berth.is_empty())
                .then(|| Arc::new(Berth::new(name, serde_json::from_str(berth).unwrap())))
                .into_iter()
                .collect(),
            ..World::default()
        };
        let asked = node_review("UPDATE", name, &one(label), &one(before));
        let outcome = review(&asked, Endpoint::Validate, &world);
        outcome.claim.map(|claim| claim.message())
    };
    let infra = r#"{"pool": "infra"}"#;
    assert_eq!(
        ask("w1", "zone=blue", "", infra).as_deref(),
        Some(
            "node w1 claims the label zone=blue of pool edge, which is not reserved for it (its place is in pool infra); \
             correct its --node-labels, or declare the label in its Berth"
        )
    );
    let (declared, given_up) = (
        r#"{"pool": "infra", "labels": {"zone": "blue"}}"#,
        r#"{"pool": "infra", "release": true}"#,
    );
    for (what, name, label, before, berth, refused) in [
        ("its own pool's", "w1", "zone=red", "", infra, false),
        ("another value", "w1", "zone=green", "", infra, false),
        ("both pools'", "w1", "example.com/shared=yes", "", infra, false),
        ("the base pool's", "w1", "example.com/plain=yes", "", infra, true),
        (
            "demanded by the base pool",
            "w1",
            "node-role.kubernetes.io/worker=",
            "",
            infra,
            false,
        ),
        ("the kubelet's own", "w1", "kubernetes.io/arch=arm64", "", infra, false),
        ("there before", "w1", "zone=blue", "zone=blue", infra, false),
        ("there with another value", "w1", "zone=blue", "zone=red", infra, true),
        ("given by a rule", "x1", "zone=blue", "", infra, false),
        ("declared by its Berth", "w1", "zone=blue", "", declared, false),
        ("of nobody's machine", "w1", "zone=blue", "", "", false),
        ("of a place that was given up", "w1", "zone=blue", "", given_up, false),
    ] {
        assert_eq!(ask(name, label, before, berth).is_some(), refused, "{what}");
    }
}

/// A machine that was off while its place changed creates its Node with what it booted with. On a Node that is there, the same labels
/// would be a move.
#[test]
fn a_machine_may_come_with_what_it_had_in_an_earlier_place() {
    let objects = || {
        vec![
            pool("infra", json!({"example.com/role": "infra"}), "zone=red"),
            pool("edge", json!({"example.com/role": "edge"}), "zone=blue,fast=yes"),
            pool("vault", json!({"example.com/role": "vault"}), ""),
        ]
    };
    let ask = |operation: &str, labels: Value| {
        let mut berth = Berth::new("w1", serde_json::from_value(json!({"pool": "infra"})).unwrap());
        let status = json!({
            "pool": "infra", "labels": {"zone": "blue"},
            "retiredLabels": {"example.com/role": "edge"}, "removedLabels": {"fast": "yes"},
        });
        berth.status = Some(serde_json::from_value(status).unwrap());
        let world = World {
            definitions: shared(objects()),
            berths: vec![Arc::new(berth)],
            ..World::default()
        };
        let asked = node_review(operation, "w1", &labels, &json!({}));
        review(&asked, Endpoint::Validate, &world).claim.map(|claim| claim.pool)
    };
    for (labels, create, update) in [
        (
            json!({"example.com/role": "edge", "zone": "blue", "fast": "yes"}),
            None,
            Some("edge"),
        ),
        (json!({"zone": "blue"}), None, Some("edge")),
        (json!({"fast": "yes"}), None, Some("edge")),
        (json!({"example.com/role": "vault"}), Some("vault"), Some("vault")),
        (json!({"example.com/role": "infra", "zone": "red"}), None, None),
    ] {
        assert_eq!(ask("CREATE", labels.clone()).as_deref(), create, "{labels}");
        assert_eq!(ask("UPDATE", labels.clone()).as_deref(), update, "{labels}");
    }
}

#[test]
fn of_several_berths_of_a_node_the_one_that_holds_the_place_says_where_it_is() {
    let objects = [
        pool("infra", json!({"example.com/role": "infra"}), ""),
        pool("edge", json!({"example.com/role": "edge"}), ""),
    ];
    let berth = |name: &str, second: i64, spec: Value, leaving: bool| {
        let time = |second| Timestamp::from_second(second).unwrap();
        let mut berth = Berth::new(name, serde_json::from_value(spec).unwrap());
        berth.metadata.creation_timestamp = Some(Time(time(second)));
        berth.metadata.deletion_timestamp = leaving.then(|| Time(time(9)));
        Arc::new(berth)
    };
    let released = berth("w1", 1, json!({"pool": "edge", "release": true}), false);
    let leaving = berth("w1-leaving", 2, json!({"pool": "edge", "nodeName": "w1"}), true);
    let first = berth("w1-first", 3, json!({"pool": "infra", "nodeName": "w1"}), false);
    let later = berth("a", 4, json!({"pool": "edge", "nodeName": "w1"}), false);
    let all = [released, leaving, first, later];
    for turn in 0..all.len() {
        let mut berths = all.to_vec();
        berths.rotate_left(turn);
        let world = World {
            definitions: shared(objects.clone()),
            berths,
            ..World::default()
        };
        for (role, refused) in [("infra", false), ("edge", true)] {
            let asked = node_review("CREATE", "w1", &json!({"example.com/role": role}), &json!({}));
            let claim = review(&asked, Endpoint::Validate, &world).claim;
            assert_eq!(claim.is_some(), refused, "{role} {turn}: {claim:?}");
        }
    }
}

#[test]
fn built_in_pools_of_a_machine_that_nobody_reserved_are_not_berths_business() {
    let mut objects = objects();
    objects.push(pool("master", json!({"node-role.kubernetes.io/master": ""}), ""));
    let master = json!({"node-role.kubernetes.io/master": ""});
    let ask = |berth: Option<Value>| {
        let world = World {
            definitions: shared(objects.clone()),
            berths: berth
                .into_iter()
                .map(|spec| Arc::new(Berth::new("m1", serde_json::from_value(spec).unwrap())))
                .collect(),
            ..World::default()
        };
        review(
            &node_review("CREATE", "m1", &master, &json!({})),
            Endpoint::Validate,
            &world,
        )
        .claim
    };
    assert_eq!(ask(None), None);
    assert!(ask(Some(json!({"pool": "gold"}))).is_some(), "one with another place");
}

/// Whether a pool is open to anybody is the pool's to say; who has a place elsewhere is refused in either case.
#[test]
fn a_machine_without_a_place_is_refused_by_pools_that_are_reserved_only() {
    let silver = || pool("silver", json!({"example.com/tier": "silver"}), "");
    let claim = json!({"example.com/tier": "silver"});
    let ask = |silver: Value, berth: Option<Value>| {
        let mut objects = objects();
        objects.push(silver);
        let world = World {
            definitions: shared(objects),
            berths: berth
                .into_iter()
                .map(|spec| Arc::new(Berth::new("w1", serde_json::from_value(spec).unwrap())))
                .collect(),
            ..World::default()
        };
        let asked = node_review("CREATE", "w1", &claim, &json!({}));
        review(&asked, Endpoint::Validate, &world).claim.is_some()
    };
    for (what, berth, open, closed) in [
        ("nobody's machine", None, false, true),
        ("one with a place there", Some(json!({"pool": "silver"})), false, false),
        (
            "one with a place elsewhere",
            Some(json!({"pool": "worker"})),
            true,
            true,
        ),
        ("one whose reservation names no pool", Some(json!({})), false, true),
        (
            "one whose place was given up",
            Some(json!({"pool": "worker", "release": true})),
            false,
            true,
        ),
    ] {
        assert_eq!(ask(silver(), berth.clone()), open, "{what}, in an open pool");
        assert_eq!(
            ask(reserved_only(silver()), berth),
            closed,
            "{what}, in one that is reserved-only"
        );
    }
}

#[test]
fn what_berth_notes_on_a_node_is_not_the_kubelets_to_write() {
    let ask = |operation: &str, before: Value, after: Value| {
        let mut asked = node_review(operation, "w1", &json!({}), &json!({}));
        asked["request"]["object"]["metadata"]["annotations"] = after;
        asked["request"]["oldObject"]["metadata"]["annotations"] = before;
        review(&asked, Endpoint::Validate, &world(None)).response["response"].clone()
    };
    let owned = json!({"berth.dev/owned-labels": "{}"});
    for (operation, before, after, allowed) in [
        ("CREATE", json!(null), owned.clone(), false),
        ("CREATE", json!(null), json!({"example.com/a": "b"}), true),
        (
            "UPDATE",
            owned.clone(),
            json!({"berth.dev/owned-labels": "{\"a\":\"b\"}"}),
            false,
        ),
        ("UPDATE", owned.clone(), json!({}), false),
        (
            "UPDATE",
            owned.clone(),
            json!({"berth.dev/owned-labels": "{}", "berth.dev/pool": "gold"}),
            false,
        ),
        (
            "UPDATE",
            owned.clone(),
            json!({"berth.dev/owned-labels": "{}", "example.com/a": "b"}),
            true,
        ),
    ] {
        let answer = ask(operation, before.clone(), after.clone());
        assert_eq!(answer["allowed"], allowed, "{operation} {before} {after}: {answer}");
    }
    assert_eq!(
        ask("CREATE", json!(null), owned)["status"]["message"],
        "node w1 writes annotations that begin with berth.dev/; only Berth and administrators may do that"
    );
}

#[test]
fn wrong_objects_are_kept_out_with_the_words_of_lint() {
    let ask = |kind: &str, group: &str, object: Value, configs: Vec<Value>| {
        let world = World {
            definitions: shared([objects(), configs].concat()),
            ..World::default()
        };
        let request = json!({"request": {"uid": "u", "operation": "CREATE", "kind": {"group": group, "kind": kind}, "object": object}});
        review(&request, Endpoint::Validate, &world).response["response"].clone()
    };
    let bad = rule("x", json!({"match": {"namePatterns": ["("]}, "labels": {"a": "b"}}));
    let answer = ask("LabelRule", "berth.dev", bad, Vec::new());
    assert_eq!(answer["allowed"], false);
    assert!(
        answer["status"]["message"]
            .as_str()
            .unwrap()
            .starts_with("invalid-pattern: "),
        "{answer}"
    );
    let role = rule(
        "x",
        json!({"match": {"namePatterns": [".*"]}, "admission": "required", "labels": {"node-role.kubernetes.io/infra": ""}}),
    );
    let answer = ask("LabelRule", "berth.dev", role, Vec::new());
    assert!(
        answer["status"]["message"]
            .as_str()
            .unwrap()
            .starts_with("not-at-admission: "),
        "{answer}"
    );
    let good = rule("x", json!({"match": {"namePatterns": ["w.*"]}, "labels": {"a": "b"}}));
    assert_eq!(ask("LabelRule", "berth.dev", good, Vec::new())["allowed"], true);
    // All patterns of the cluster have one limit.
    let large = |name: &str| {
        rule(
            name,
            json!({"match": {"namePatterns": ["(a{40}){99}"]}, "labels": {"a": "b"}}),
        )
    };
    let many: Vec<Value> = (0..24).map(|number| large(&format!("large-{number}"))).collect();
    assert_eq!(
        ask("LabelRule", "berth.dev", large("x"), many[1..].to_vec())["allowed"],
        true
    );
    let answer = ask("LabelRule", "berth.dev", large("x"), many);
    assert!(
        answer["status"]["message"]
            .as_str()
            .unwrap()
            .contains("invalid-pattern: LabelRule/x "),
        "{answer}"
    );
    let berth = json!({"apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": "w1"}, "spec": {"labels": {"a b": "c"}}});
    let answer = ask("Berth", "berth.dev", berth, Vec::new());
    assert!(
        answer["status"]["message"]
            .as_str()
            .unwrap()
            .starts_with("invalid-label-key: "),
        "{answer}"
    );
}

#[test]
fn what_keeps_the_nodes_of_a_pool_away_is_refused_wherever_it_comes_from() {
    let api = "machineconfiguration.openshift.io/v1";
    let edge = |label: &str| {
        json!({"apiVersion": api, "kind": "MachineConfigPool",
            "metadata": {"name": "edge", "labels": {"example.com/pool": label}},
            "spec": {"nodeSelector": {"matchLabels": {"example.com/edge": ""}}}})
    };
    let kubelet = |pool: &str, register: bool| {
        json!({"apiVersion": api, "kind": "KubeletConfig", "metadata": {"name": "k"}, "spec": {
            "machineConfigPoolSelector": {"matchLabels": {"example.com/pool": pool}},
            "kubeletConfig": {"registerNode": register}}})
    };
    let ask = |object: &Value, before: Option<&Value>, others: &[Value]| {
        let world = World {
            definitions: shared(others.to_vec()),
            ..World::default()
        };
        let request = json!({"request": {
            "uid": "u", "operation": if before.is_some() { "UPDATE" } else { "CREATE" },
            "kind": {"group": "machineconfiguration.openshift.io", "kind": object["kind"]},
            "object": object, "oldObject": before,
        }});
        let answer = review(&request, Endpoint::Validate, &world).response["response"].clone();
        let message = answer["status"]["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(answer["allowed"], message.is_empty(), "{answer}");
        message
    };
    let (own, none) = (edge("edge"), edge("none"));
    let away = kubelet("edge", false);
    // The kubelet config comes, or changes; the pool comes, or changes.
    for message in [
        ask(&away, None, std::slice::from_ref(&own)),
        ask(
            &away,
            Some(&kubelet("edge", true)),
            &[own.clone(), kubelet("edge", true)],
        ),
        ask(&own, None, std::slice::from_ref(&away)),
        ask(&own, Some(&none), &[none.clone(), away.clone()]),
    ] {
        assert!(
            message.starts_with("node-not-registered: KubeletConfig/k spec.kubeletConfig.registerNode: "),
            "{message}"
        );
    }
    // It is for no pool, it is right, it goes, or what is wrong was so before.
    let mut going = away.clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut held = away.clone();
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    let mut paused = own.clone();
    paused["spec"]["paused"] = json!(true);
    let both = [own.clone(), away.clone()];
    for message in [
        ask(&away, None, std::slice::from_ref(&none)),
        ask(&kubelet("edge", true), None, std::slice::from_ref(&own)),
        ask(&kubelet("edge", true), Some(&away), &both),
        ask(&going, Some(&away), &both),
        ask(&held, Some(&away), &both),
        ask(&paused, Some(&own), &both),
    ] {
        assert_eq!(message, "");
    }
}

#[test]
fn a_node_is_judged_by_its_metadata_whatever_else_is_in_it() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut asked = node_review("CREATE", "w1", &json!({"example.com/tier": "gold"}), &json!({}));
        change(&mut asked["request"]);
        let answer = review(&asked, Endpoint::Validate, &world(None)).response["response"].clone();
        (
            answer["allowed"] == false,
            answer["status"]["message"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let claims = "claims the labels of pool gold";
    for (what, change, message) in [
        ("nothing", (|_| {}) as fn(&mut Value), claims),
        (
            "a strange spec",
            |request| request["object"]["spec"] = json!([1]),
            claims,
        ),
        (
            "a strange status",
            |request| request["object"]["status"] = json!({"conditions": 1}),
            claims,
        ),
        (
            "no time",
            |request| request["object"]["metadata"]["creationTimestamp"] = json!("never"),
            claims,
        ),
        (
            "strange labels",
            |request| request["object"]["metadata"]["labels"] = json!({"a": 1}),
            "cannot be read",
        ),
        (
            "strange metadata",
            |request| request["object"]["metadata"] = json!("gold"),
            "cannot be read",
        ),
        (
            "too many labels",
            |request| {
                let labels = (0..=MOST_ENTRIES).map(|label| (format!("l{label}"), json!("")));
                request["object"]["metadata"]["labels"] = labels.collect();
            },
            "more than 1000 entries",
        ),
    ] {
        let (refused, said) = refused(&change);
        assert!(refused && said.contains(message), "{what}: {said}");
    }
}
