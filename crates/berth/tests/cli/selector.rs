//! `berth selector`.

use serde_json::json;

use crate::run::{Folder, Outcome, berth, with_stdin};

fn to_map(selector: &str) -> Outcome {
    berth(["selector", "--to-map", selector, "-o", "json"])
}

fn invert(selector: &str, more: &[&str]) -> Outcome {
    let args = ["selector", "--invert", selector, "-o", "json"];
    berth(args.iter().chain(more).copied())
}

#[test]
fn a_map_or_the_error_of_the_api_machinery() {
    for (selector, exit, answer) in [
        (
            r#"{"matchLabels": {"a": "b"}}"#,
            0,
            json!({"map": {"a": "b"}, "error": null}),
        ),
        ("{}", 0, json!({"map": {}, "error": null})),
        (
            "matchExpressions: [{key: a, operator: In, values: [b]}]",
            0,
            json!({"map": {"a": "b"}, "error": null}),
        ),
        (
            "{matchExpressions: [{key: a, operator: Exists}]}",
            1,
            json!({"map": null, "error": "operator \"Exists\" cannot be converted into the old label selector format"}),
        ),
    ] {
        let outcome = to_map(selector);
        assert_eq!((outcome.exit, outcome.json()), (exit, answer), "{selector}\n{outcome}");
        assert_eq!(outcome.stderr, "");
    }
}

#[test]
fn the_labels_that_satisfy_a_selector() {
    for (selector, more, exit, answer) in [
        (
            "{matchLabels: {role: infra}, matchExpressions: [{key: gpu, operator: DoesNotExist}]}",
            &[][..],
            0,
            json!({
                "labels": {"role": "infra"},
                "constraints": [{"key": "gpu", "operator": "DoesNotExist"}],
                "error": null,
            }),
        ),
        (
            "{matchExpressions: [{key: rack, operator: In, values: [r1, r2]}]}",
            &["--choose", "rack=r2"],
            0,
            json!({"labels": {"rack": "r2"}, "constraints": [], "error": null}),
        ),
        (
            "{matchExpressions: [{key: rack, operator: In, values: [r1, r2]}]}",
            &[],
            1,
            json!({
                "labels": {},
                "constraints": [],
                "error": "the selector allows several values for rack: choose one of \"r1\", \"r2\"",
            }),
        ),
    ] {
        let outcome = invert(selector, more);
        assert_eq!((outcome.exit, outcome.json()), (exit, answer), "{selector}\n{outcome}");
    }
}

#[test]
fn the_node_selector_of_a_pool_or_ingress_controller_is_taken() {
    let pool = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\n\
                metadata: {name: infra}\nspec: {nodeSelector: {matchLabels: {role: infra}}}\n";
    let ingress = "apiVersion: operator.openshift.io/v1\nkind: IngressController\n\
                   metadata: {name: default}\nspec: {nodePlacement: {nodeSelector: {matchLabels: {role: infra}}}}\n";
    let folder = Folder::new();
    folder.write("pool.yaml", pool);
    let expected = json!({"labels": {"role": "infra"}, "constraints": [], "error": null});
    assert_eq!(folder.line("selector --invert -f pool.yaml -o json").json(), expected);
    assert_eq!(with_stdin("selector --invert -f - -o json", ingress).json(), expected);
    assert_eq!(with_stdin("selector --invert - -o json", ingress).json(), expected);

    let without =
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: infra}\n";
    let outcome = with_stdin("selector --invert -f - -o json", without);
    assert_eq!((outcome.exit, &outcome.json()["labels"]), (1, &json!({})));
    assert!(outcome.json()["error"].is_string(), "{outcome}");
}

#[test]
fn people_get_a_table_and_the_error_beside_it() {
    let selector = "{matchLabels: {b: '', a: x}, matchExpressions: [{key: c, operator: NotIn, values: [v, w]}]}";
    insta::assert_snapshot!(berth(["selector", "--invert", selector]));
    insta::assert_snapshot!(berth(["selector", "--to-map", selector]));
}

#[test]
fn what_is_no_selector_is_exit_2() {
    for (selector, part) in [
        ("{matchLables: {a: b}}", "`matchLables`"),
        ("[a]", "not a label selector"),
        ("{matchLabels: {a: 1}}", "not a label selector"),
        ("{matchLabels: ", "<selector>"),
        ("", "0 documents"),
        ("a: 1\n---\nb: 2", "2 documents"),
    ] {
        let outcome = to_map(selector);
        assert_eq!(
            (outcome.exit, outcome.stdout.as_str()),
            (2, ""),
            "{selector}\n{outcome}"
        );
        assert!(outcome.stderr.contains(part), "{selector}\n{outcome}");
    }
    let outcome = invert("{}", &["--choose", "-=x"]);
    assert_eq!(outcome.exit, 2, "{outcome}");
    let outcome = invert("{matchLabels: {rack: r1}}", &["--choose", "rakc=r1"]);
    assert_eq!(outcome.exit, 2, "{outcome}");
    assert!(outcome.stderr.contains("did you mean `rack`?"), "{outcome}");
    let node = with_stdin(
        "selector --invert -f -",
        "apiVersion: v1\nkind: Node\nmetadata: {name: one}\n",
    );
    assert_eq!(node.exit, 2);
    assert!(node.stderr.contains("`Node`"), "{node}");
}
