//! `berth diff`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::run::{Folder, command, finish, line, with_stdin};

const BOTH: &str = "tests/fixtures/diff/old tests/fixtures/diff/new";

#[test]
fn for_people_and_programs() {
    insta::assert_snapshot!("table", line(&format!("diff {BOTH}")));
    insta::assert_snapshot!("pool", line(&format!("diff {BOTH} --pool infra")));
    insta::assert_snapshot!("name", line(&format!("diff {BOTH} -o name")));
    let outcome = line(&format!("diff {BOTH} -o json"));
    assert_eq!(outcome.exit, 1);
    let json = outcome.json();
    let fields = |value: &Value| -> BTreeSet<String> { value.as_object().unwrap().keys().cloned().collect() };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(fields(&json), names(&["pools", "nodes"]));
    let pool = &json["pools"][1];
    assert_eq!(fields(pool), names(&["pool", "old", "new", "changes", "actions"]));
    assert_eq!(
        pool["changes"][0],
        json!({"kind": "kernel-argument", "name": "hugepages=16", "change": "added", "actions": ["reboot"]})
    );
    assert_eq!(pool["actions"], json!(["reboot"]));
    assert_eq!(
        json["nodes"],
        json!([{
            "node": "dal-w1",
            "pool_before": "worker",
            "pool_after": "infra",
            "set": {"node-role.kubernetes.io/infra": "", "power": "b", "rack": "r1"},
            "remove": ["node-role.kubernetes.io/worker", "old"],
            "actions": ["reboot"],
        }])
    );
}

#[test]
fn the_same_folder_is_no_difference() {
    let outcome = line("diff tests/fixtures/diff/old tests/fixtures/diff/old");
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (0, "nothing differs\n"));
    let outcome = line("diff tests/fixtures/diff/old tests/fixtures/diff/old -o json");
    assert_eq!(outcome.exit, 0);
    assert_eq!(outcome.json()["nodes"], json!([]));
}

#[test]
fn backwards_is_the_opposite() {
    let json = line("diff tests/fixtures/diff/new tests/fixtures/diff/old -o json").json();
    assert_eq!(json["pools"][0]["changes"][0]["change"], json!("removed"));
    assert_eq!(
        json["nodes"][0]["remove"],
        json!(["node-role.kubernetes.io/infra", "rack"])
    );
}

#[test]
fn labels_alone_cost_nothing() {
    let old = std::fs::read_to_string("tests/fixtures/diff/old/site.yaml").unwrap();
    let new = old.replace("power: a", "power: c");
    let outcome = with_stdin("diff tests/fixtures/diff/old - -o json", &new);
    assert_eq!(outcome.exit, 1);
    let json = outcome.json();
    assert_eq!(json["pools"][0]["actions"], json!(["none"]));
    assert_eq!(json["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(json["nodes"][0]["set"], json!({"power": "c"}));
}

#[test]
fn pools_and_nodes_that_come_and_go() {
    let old = std::fs::read_to_string("tests/fixtures/diff/old/site.yaml").unwrap();
    let parts: Vec<&str> = old.split("---\n").collect();
    // Without the pool `infra` and without the last node.
    let less: Vec<&str> = parts
        .iter()
        .enumerate()
        .filter(|(number, _)| *number != 1 && number + 1 != parts.len())
        .map(|(_, part)| *part)
        .collect();
    let outcome = with_stdin("diff tests/fixtures/diff/old -", less.join("---\n"));
    insta::assert_snapshot!("gone", outcome);
    let outcome = with_stdin("diff - tests/fixtures/diff/old", less.join("---\n"));
    insta::assert_snapshot!("new", outcome);
}

#[test]
fn bad_input_is_exit_2() {
    let folder = Folder::new();
    folder.write("broken.yaml", "kind: [");
    for words in [
        format!("diff {}/broken.yaml tests/fixtures/diff/new", folder.path().display()),
        format!("diff tests/fixtures/diff/old {}/broken.yaml", folder.path().display()),
        "diff tests/fixtures/diff/old nowhere".to_owned(),
        "diff - -".to_owned(),
        format!("diff {BOTH} --pool wrker"),
        "diff tests/fixtures/diff/old".to_owned(),
    ] {
        let outcome = line(&words);
        assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{words}\n{outcome}");
        assert!(outcome.stderr.contains("error: "), "{outcome}");
    }
}

#[test]
fn a_terminal_gets_colours() {
    let args = ["diff", "tests/fixtures/diff/old", "tests/fixtures/diff/new"];
    let plain = finish(command().args(args), b"");
    assert!(!plain.stdout.contains('\u{1b}'));
    let forced = finish(command().args(args).env("CLICOLOR_FORCE", "1"), b"");
    assert!(forced.stdout.contains("\u{1b}[32m+2"), "{forced}");
    assert!(forced.stdout.contains("\u{1b}[31m-two"), "{forced}");
}
