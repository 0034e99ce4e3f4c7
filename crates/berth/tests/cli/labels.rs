//! `berth labels check`.

use std::collections::BTreeSet;

use serde_json::json;

use crate::run::{berth, line};

#[test]
fn a_table_says_what_is_legal_and_allowed() {
    insta::assert_snapshot!(line(
        "labels check rack=r1 node-role.kubernetes.io/infra= a//b=x zone=\u{e4}"
    ));
    insta::assert_snapshot!(line("labels check -o wide rack=r1 node-role.kubernetes.io/infra"));
}

#[test]
fn json_has_exactly_the_fields_of_the_contract() {
    let outcome = line("labels check -o json a/b=c");
    let json = outcome.json();
    let fields: BTreeSet<&str> = json[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        BTreeSet::from(["label", "key", "value", "valid", "allowed", "reason", "routes"])
    );
    assert_eq!(
        (&json[0]["label"], &json[0]["key"], &json[0]["value"]),
        (&json!("a/b=c"), &json!("a/b"), &json!("c"))
    );
    assert_eq!(json[0]["routes"], json!(["boot", "preregister", "admission", "live"]));
}

#[test]
fn the_answer_depends_on_flavour_and_writer() {
    let worker = "node-role.kubernetes.io/worker=";
    let infra = "node-role.kubernetes.io/infra=";
    let restricted = "x.node-restriction.kubernetes.io/a=b";
    for (flavour, writer, label, exit) in [
        ("upstream", "flag", worker, 1),
        ("openshift", "flag", worker, 0),
        ("openshift", "create", worker, 0),
        ("openshift", "update", worker, 1),
        ("openshift", "flag", infra, 1),
        ("upstream", "controller", infra, 0),
        ("upstream", "update", "node.kubernetes.io/x=", 0),
        ("upstream", "flag", restricted, 1),
        ("upstream", "controller", restricted, 0),
        ("upstream", "controller", "a=\u{e4}", 1),
    ] {
        let outcome = line(&format!("labels check --flavour {flavour} --as {writer} {label}"));
        assert_eq!(outcome.exit, exit, "{flavour} {writer}\n{outcome}");
    }
    assert_eq!(line("labels check rack=r1").exit, 0);
}

#[test]
fn a_list_is_read_as_the_kubelet_reads_it() {
    let outcome = berth([
        "labels",
        "check",
        "-o",
        "name",
        "--list",
        "rack=r1, zone = a ,,rack=r2,empty,",
    ]);
    assert_eq!(
        (outcome.exit, outcome.stdout.as_str()),
        (0, "rack=r2\nzone=a\nempty=\n"),
        "{outcome}"
    );
    let outcome = berth(["labels", "check", "-o", "json", "--list", ""]);
    assert_eq!((outcome.exit, outcome.json()), (0, json!([])));
}
