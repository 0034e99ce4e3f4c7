//! `berth rollout plan` and `berth forecast`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::run::{Folder, at_root, line, with_stdin};

const TELCO: &str = "-f examples/telco-site --nodes examples/telco-cluster/nodes.yaml";

fn fields(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn plan_of_the_telco_cluster() {
    insta::assert_snapshot!("plan", at_root(&format!("rollout plan {TELCO}")));
    insta::assert_snapshot!(
        "plan_wide",
        at_root(&format!("rollout plan {TELCO} --pool worker -o wide"))
    );
    let outcome = at_root(&format!("rollout plan {TELCO} -o json"));
    insta::assert_snapshot!("plan_json", outcome);
    let json = outcome.json();
    let wanted = [
        "pool",
        "target",
        "paused",
        "max_unavailable",
        "unavailable",
        "capacity",
        "candidates",
        "waiting",
        "conditions",
    ];
    for pool in json.as_array().unwrap() {
        assert!(fields(pool).is_superset(&wanted.into()), "{pool}");
    }
    // The masters of the example run what the documents say, so that they stay.
    assert_eq!(json[1]["pool"], json!("master"));
    assert_eq!(json[1]["counts"]["updated"], json!(3), "{}", json[1]);
    assert_eq!(json[1]["candidates"], json!([]));
}

const POOL: &str = "\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: \"\"}}
  configuration: {name: rendered-worker-1}
  maxUnavailable: 2
";

fn node(name: &str, current: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"node-role.kubernetes.io/worker": ""},
            "annotations": {
                "machineconfiguration.openshift.io/currentConfig": current,
                "machineconfiguration.openshift.io/desiredConfig": current,
                "machineconfiguration.openshift.io/state": "Done",
            },
        },
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn nodes(nodes: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": nodes}).to_string()
}

#[test]
fn without_machine_configs_the_pool_itself_names_the_target() {
    let folder = Folder::new();
    let live = nodes(&[
        node("a", "rendered-worker-0"),
        node("b", "rendered-worker-1"),
        node("c", "rendered-worker-0"),
        node("d", "rendered-worker-0"),
    ]);
    folder.write("pool.yaml", POOL).write("nodes.json", live);
    let outcome = folder.line("rollout plan -f pool.yaml --nodes nodes.json -o json");
    assert_eq!(outcome.exit, 0, "{outcome}");
    let plan = &outcome.json()[0];
    assert_eq!(plan["target"], json!("rendered-worker-1"));
    assert_eq!(plan["candidates"], json!(["a", "c"]));
    assert_eq!(plan["waiting"][0]["node"], json!("d"));
    assert_eq!(plan["counts"]["updated"], json!(1));

    folder.write("paused.yaml", POOL.replace("maxUnavailable: 2", "paused: true"));
    let plan = &folder
        .line("rollout plan -f paused.yaml --nodes nodes.json -o json")
        .json()[0];
    assert_eq!((&plan["paused"], &plan["candidates"]), (&json!(true), &json!([])));
}

#[test]
fn a_pool_that_cannot_be_rendered_keeps_its_target_and_is_degraded() {
    let folder = Folder::new();
    let pool = POOL.replace(
        "spec:\n",
        "spec:\n  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}\n",
    );
    let config = "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\n\
        metadata: {name: a, labels: {machineconfiguration.openshift.io/role: worker}}\nspec: {kernelType: fast}\n";
    folder
        .write("site.yaml", format!("{pool}{config}"))
        .write("nodes.json", nodes(&[node("a", "rendered-worker-1")]));
    let outcome = folder.line("rollout plan -f site.yaml --nodes nodes.json -o json");
    assert_eq!(outcome.exit, 1, "{outcome}");
    let plan = &outcome.json()[0];
    assert_eq!(plan["target"], json!("rendered-worker-1"));
    let degraded = plan["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["type"] == "RenderDegraded");
    assert_eq!(degraded.unwrap()["status"], json!("True"), "{plan}");
}

#[test]
fn nodes_in_two_custom_pools_are_reported_and_not_moved() {
    let folder = Folder::new();
    let custom = |name: &str| {
        format!(
            "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\n\
             metadata: {{name: {name}}}\nspec: {{nodeSelector: {{matchLabels: {{node-role.kubernetes.io/worker: \"\"}}}}}}\n"
        )
    };
    folder
        .write("site.yaml", format!("{POOL}{}{}", custom("one"), custom("two")))
        .write("nodes.json", nodes(&[node("torn", "rendered-worker-0")]));
    let outcome = folder.line("rollout plan -f site.yaml --nodes nodes.json -o name");
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (1, ""), "{outcome}");
    assert!(
        outcome.stderr.contains("node torn belongs to 2 custom roles"),
        "{outcome}"
    );
}

#[test]
fn nodes_that_a_rollout_cannot_use_are_exit_2() {
    for (nodes, word) in [
        ("kind: [", "cannot be read"),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: a, creationTimestamp: soon}\n",
            "creationTimestamp",
        ),
    ] {
        for command in ["rollout plan", "forecast"] {
            let outcome = with_stdin(&format!("{command} -f tests/fixtures/site --nodes -"), nodes);
            assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{outcome}");
            assert!(outcome.stderr.contains(word), "{outcome}");
        }
    }
}

#[test]
fn forecast_of_the_telco_cluster() {
    insta::assert_snapshot!("forecast", at_root(&format!("forecast {TELCO} --window 4h")));
    insta::assert_snapshot!(
        "forecast_wide",
        at_root(&format!("forecast {TELCO} --window 40m --drain-minutes 5 -o wide"))
    );
    let outcome = at_root(&format!("forecast {TELCO} -o json"));
    insta::assert_snapshot!("forecast_json", outcome);
    assert_eq!(outcome.exit, 0, "without a window there is nothing to miss");
}

#[test]
fn the_window_decides_the_exit_code() {
    let folder = Folder::new();
    let live = nodes(&["a", "b", "c", "d"].map(|name| node(name, "rendered-worker-0")));
    folder.write("pool.yaml", POOL).write("nodes.json", live);
    let forecast = |more: &str| folder.line(&format!("forecast -f pool.yaml --nodes nodes.json {more}"));
    // Two waves of two nodes.
    let fits = forecast("--window 30m");
    assert_eq!(fits.exit, 0, "{fits}");
    assert!(
        fits.stdout.contains("fits the window of 30m, with 0m to spare"),
        "{fits}"
    );
    let late = forecast("--window 30m --reboot-minutes 20");
    assert_eq!(late.exit, 1, "{late}");
    assert!(late.stdout.contains("10m too long; first to be late is c"), "{late}");
    for wrong in [
        "--window 30",
        "--window x",
        "--reboot-minutes -1",
        "--reboot-minutes 99999",
    ] {
        let outcome = forecast(wrong);
        assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{outcome}");
    }
}

#[test]
fn the_chart_is_written_whole_or_not_at_all() {
    let folder = Folder::new();
    folder
        .write("pool.yaml", POOL)
        .write("nodes.json", nodes(&[node("a", "rendered-worker-0")]))
        .write("chart.svg", "old");
    let outcome = folder.line("forecast -f pool.yaml --nodes nodes.json --svg chart.svg");
    assert_eq!(outcome.exit, 0, "{outcome}");
    let chart = std::fs::read_to_string(folder.path().join("chart.svg")).unwrap();
    assert!(
        chart.starts_with("<svg") && chart.trim_end().ends_with("</svg>"),
        "{chart}"
    );
    assert!(chart.contains(">a</text>"), "{chart}");
    let files: BTreeSet<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        files,
        ["chart.svg", "nodes.json", "pool.yaml"].map(str::to_owned).into()
    );

    let outcome = folder.line("forecast -f pool.yaml --nodes nodes.json --svg nowhere/chart.svg");
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{outcome}");
    assert!(outcome.stderr.contains("cannot write `nowhere/chart.svg`"), "{outcome}");
}

#[test]
fn an_unknown_pool_is_exit_2() {
    let outcome = line("rollout plan -f tests/fixtures/site --nodes tests/fixtures/nodes.yaml --pool infrs");
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{outcome}");
    assert!(outcome.stderr.contains("did you mean `infra`?"), "{outcome}");
}

/// A cluster without node daemons: what its pools wanted is what its nodes run, or a reboot is counted.
#[test]
fn nodes_that_no_daemon_reported_take_part() {
    let folder = Folder::new();
    folder.write(
        "site.yaml",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: worker}\n\
         spec:\n  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ''}}\n  \
         machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}\n---\n\
         apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\n\
         metadata: {name: 00-worker, labels: {machineconfiguration.openshift.io/role: worker}}\n\
         spec: {config: {ignition: {version: 3.4.0}}}\n",
    );
    let node = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{node-role.kubernetes.io/worker: ''}}}}\n"
        )
    };
    folder.write("nodes.yaml", node("w1") + &node("w2"));
    for command in ["forecast", "rehearse"] {
        let outcome = folder.line(&format!("{command} -f site.yaml --nodes nodes.yaml"));
        assert_eq!(outcome.exit, 0, "{outcome}");
        let assumed = "no node daemon has reported what 2 nodes run; each is counted with one reboot";
        assert!(outcome.stderr.contains(assumed), "{outcome}");
    }
    let forecast = folder.line("forecast -f site.yaml --nodes nodes.yaml -o json").json();
    let pool = &forecast["pools"][0];
    assert_eq!(
        (&pool["reboots_with"], &pool["left"]),
        (&json!(2), &json!([])),
        "{forecast}"
    );
}
