//! `berth resolve`, `explain`, `pools` and `plan` on small sites.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::run::{Folder, Outcome, line, with_stdin};

const SITE: &str = "-f tests/fixtures/site";
const CONFLICT: &str = "-f tests/fixtures/conflict";
const NODES: &str = "--nodes tests/fixtures/nodes.yaml";

fn fields(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn resolve_for_people() {
    insta::assert_snapshot!("resolve", line(&format!("resolve {SITE}")));
    insta::assert_snapshot!("resolve_wide", line(&format!("resolve {SITE} -o wide")));
    insta::assert_snapshot!("resolve_name", line(&format!("resolve {SITE} -o name")));
}

#[test]
fn resolve_for_programs() {
    let outcome = line(&format!("resolve {SITE} --node dal-w1 -o json"));
    insta::assert_snapshot!("resolve_json", outcome);
    let json = outcome.json();
    assert_eq!(
        fields(&json[0]),
        BTreeSet::from(["node", "pool", "labels", "provenance", "routes", "diagnostics"])
    );
    assert_eq!(
        fields(&json[0]["provenance"]["power"]),
        BTreeSet::from(["value", "source", "file", "line", "beats"])
    );
    insta::assert_snapshot!("resolve_yaml", line(&format!("resolve {SITE} --node dal-w2 -o yaml")));
}

#[test]
fn the_flavour_decides_the_route() {
    let route = |flavour: &str| {
        let outcome = line(&format!("resolve {SITE} --flavour {flavour} --node dal-w2 -o json"));
        outcome.json()[0]["routes"]["node-role.kubernetes.io/worker"].clone()
    };
    assert_eq!(route("upstream"), json!("preregister"));
    assert_eq!(route("openshift"), json!("boot"));
}

#[test]
fn nodes_are_named_once_in_order_whatever_was_typed() {
    let outcome = line(&format!(
        "resolve {SITE} --node dal-w2 --node dal-w1 --node dal-w2 -o name"
    ));
    assert_eq!(outcome.stdout, "node/dal-w1\nnode/dal-w2\n");
}

#[test]
fn an_unknown_node_is_exit_2_with_close_matches() {
    insta::assert_snapshot!("unknown_node", line(&format!("resolve {SITE} --node dal-w3")));
    let outcome = line(&format!("explain {SITE} --node zzz"));
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{outcome}");
}

#[test]
fn errors_are_shown_beside_what_could_be_resolved() {
    insta::assert_snapshot!("resolve_conflict", line(&format!("resolve {CONFLICT}")));
    let json = line(&format!("resolve {CONFLICT} -o json")).json();
    assert_eq!(json[0]["diagnostics"], json!([]));
    assert_eq!(json[1]["diagnostics"][0]["code"], json!("pool-mismatch"));
    // The mistake of another node is not this node's.
    assert_eq!(line(&format!("resolve {CONFLICT} --node good")).exit, 0);
    assert_eq!(line(&format!("resolve {CONFLICT} --node torn")).exit, 1);
    insta::assert_snapshot!("lint_conflict", line(&format!("lint {CONFLICT}")));
}

#[test]
fn explain_for_people_and_programs() {
    insta::assert_snapshot!("explain", line(&format!("explain {SITE} --node dal-w1")));
    insta::assert_snapshot!(
        "explain_label",
        line(&format!("explain {SITE} --node dal-w1 --label tier"))
    );
    insta::assert_snapshot!(
        "explain_json",
        line(&format!("explain {SITE} --node dal-w1 --label power -o json"))
    );
    let removed = line(&format!("explain {SITE} --node dal-w1 --label debug"));
    assert!(removed.stdout.contains("debug is not set"), "{removed}");
    insta::assert_snapshot!(
        "explain_unknown_label",
        line(&format!("explain {SITE} --node dal-w1 --label teir"))
    );
}

#[test]
fn pools_of_the_documents_and_of_live_nodes() {
    insta::assert_snapshot!("pools", line(&format!("pools {SITE} -o wide")));
    insta::assert_snapshot!("pools_live", line(&format!("pools {SITE} {NODES}")));
    insta::assert_snapshot!("pools_conflict", line(&format!("pools {CONFLICT}")));
    let outcome = line(&format!("pools {CONFLICT} -o json"));
    assert_eq!(outcome.exit, 1);
    assert_eq!(
        outcome.json(),
        json!([
            {"node": "good", "pool": "infra", "pools": ["infra"], "error": null},
            {
                "node": "torn",
                "pool": null,
                "pools": [],
                "candidates": ["infra", "storage"],
                "error": "node torn belongs to 2 custom roles, cannot proceed with this Node",
            },
        ])
    );
}

#[test]
fn an_invalid_selector_does_not_blind_the_other_pools() {
    let folder = Folder::new();
    folder.write(
        "site.yaml",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: bad}\n\
         spec: {nodeSelector: {matchExpressions: [{key: a, operator: Is}]}}\n---\n\
         apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: good}\n\
         spec: {nodeSelector: {matchLabels: {a: b}}}\n",
    );
    folder.write(
        "nodes.json",
        r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one", "labels": {"a": "b"}}}"#,
    );
    let outcome = folder.line("pools -f site.yaml --nodes nodes.json -o json");
    assert_eq!(outcome.json()[0]["pool"], json!("good"), "{outcome}");
    assert_eq!(outcome.exit, 1, "{outcome}");
    assert!(outcome.stderr.contains("site.yaml:4:"), "{outcome}");
}

#[test]
fn plan_for_people_and_programs() {
    insta::assert_snapshot!("plan", line(&format!("plan {SITE} {NODES}")));
    insta::assert_snapshot!("plan_wide", line(&format!("plan {SITE} {NODES} -o wide")));
    let outcome = line(&format!("plan {SITE} {NODES} -o json"));
    insta::assert_snapshot!("plan_json", outcome);
    let json = outcome.json();
    assert_eq!(fields(&json), BTreeSet::from(["nodes", "totals"]));
    assert_eq!(
        fields(&json["nodes"][0]),
        BTreeSet::from([
            "node",
            "set",
            "remove",
            "keep",
            "conflicts",
            "pool_before",
            "pool_after",
            "reboot",
            "reason"
        ])
    );
}

#[test]
fn promenade_takes_over_and_removes_what_is_not_declared() {
    let keys = |outcome: Outcome| {
        let json = outcome.json();
        (
            json["nodes"][0]["set"]["power"].clone(),
            json["totals"]["conflicts"].clone(),
            outcome.exit,
        )
    };
    let owned = keys(line(&format!("plan {SITE} {NODES} -o json")));
    assert_eq!(owned, (Value::Null, json!(1), 1));
    let promenade = keys(line(&format!("plan {SITE} {NODES} --promenade -o json")));
    assert_eq!(promenade, (json!("b"), json!(0), 0));
}

#[test]
fn live_nodes_come_from_standard_input_too_but_not_twice() {
    let nodes = std::fs::read("tests/fixtures/nodes.yaml").unwrap();
    let from_file = line(&format!("plan {SITE} {NODES}"));
    let from_stdin = with_stdin(&format!("plan {SITE} --nodes -"), nodes);
    assert_eq!(from_file.stdout, from_stdin.stdout);
    let outcome = with_stdin("plan -f - --nodes -", "");
    assert_eq!(outcome.exit, 2);
    assert!(outcome.stderr.contains("not to both"), "{outcome}");
}

#[test]
fn a_nodes_file_without_nodes_is_noticed() {
    let outcome = line(&format!("pools {SITE} --nodes tests/fixtures/site/pools.yaml"));
    insta::assert_snapshot!("no_nodes", outcome);
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: one}\n";
    let outcome = with_stdin(&format!("plan {SITE} --nodes -"), namespace);
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{outcome}");
    let empty = "apiVersion: v1\nkind: List\nitems: []\n";
    let outcome = with_stdin(&format!("plan {SITE} --nodes -"), empty);
    assert_eq!(outcome.exit, 0, "{outcome}");
    assert!(outcome.stderr.contains("warning: there is no Node in `-`"), "{outcome}");
}

#[test]
fn no_plan_is_made_where_a_node_cannot_be_read() {
    let nodes = "\
apiVersion: v1
kind: Node
metadata: {name: dal-w1, labels: {a: b}}
---
apiVersion: v1
kind: Node
metadata: {name: dal-w2, labels: {a: 1}}
";
    insta::assert_snapshot!("plan_bad_node", with_stdin(&format!("plan {SITE} --nodes -"), nodes));
    let outcome = with_stdin(&format!("plan {SITE} --nodes -"), "kind: [");
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{outcome}");
    assert!(outcome.stderr.contains("--> <stdin>:1:"), "{outcome}");
}
