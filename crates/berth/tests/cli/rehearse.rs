//! `berth rehearse`.

use serde_json::{Value, json};

use crate::run::{Folder, at_root};

const TELCO: &str = "-f examples/telco-site --nodes examples/telco-cluster/nodes.yaml";

#[test]
fn the_telco_cluster_played_through() {
    insta::assert_snapshot!("rehearse", at_root(&format!("rehearse {TELCO} --window 4h")));
    insta::assert_snapshot!(
        "rehearse_fail",
        at_root(&format!(
            "rehearse {TELCO} --window 40m --drain-minutes 5 --fail atlngamaw02 -o wide --journal"
        ))
    );
    let outcome = at_root(&format!("rehearse {TELCO} --fail atlngamaw02=slow-boot:40m -o json"));
    insta::assert_snapshot!("rehearse_json", outcome);
}

/// Where nothing goes wrong, both commands say the same about every node.
#[test]
fn the_forecast_says_the_same() {
    let rehearsed = at_root(&format!("rehearse {TELCO} --reboot-minutes 25 -o json")).json();
    let foretold = at_root(&format!("forecast {TELCO} --reboot-minutes 25 -o json")).json();
    assert_eq!(rehearsed["finish_seconds"], foretold["finish_seconds"]);
    let times = |pool: &Value, nodes: &str| {
        let mut times: Vec<String> = pool[nodes]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| format!("{} {} {}", node["node"], node["start_seconds"], node["end_seconds"]))
            .collect();
        times.sort();
        times
    };
    for (rehearsed, foretold) in rehearsed["pools"]
        .as_array()
        .unwrap()
        .iter()
        .zip(foretold["pools"].as_array().unwrap())
    {
        assert_eq!(times(rehearsed, "outages"), times(foretold, "nodes"));
    }
}

const POOL: &str = "\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: \"\"}}
  configuration: {name: rendered-worker-2}
  maxUnavailable: 10%
";

fn fleet(count: usize) -> Value {
    let node = |index: usize| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": format!("n{index:04}"),
                "labels": {"node-role.kubernetes.io/worker": ""},
                "annotations": {
                    "machineconfiguration.openshift.io/currentConfig": "rendered-worker-1",
                    "machineconfiguration.openshift.io/desiredConfig": "rendered-worker-1",
                    "machineconfiguration.openshift.io/state": "Done",
                },
            },
        })
    };
    json!({"apiVersion": "v1", "kind": "List", "items": (0..count).map(node).collect::<Vec<_>>()})
}

#[test]
fn five_thousand_nodes() {
    let folder = Folder::new();
    folder
        .write("pool.yaml", POOL)
        .write("nodes.json", fleet(5_000).to_string());
    let outcome = folder.line(
        "rehearse -f pool.yaml --nodes nodes.json --reboot-minutes 25 --window 4h --fail n0007 --svg night.svg -o json",
    );
    assert_eq!(outcome.exit, 1, "{}", outcome.stderr);
    let answer = outcome.json();
    // Ten waves of 500; one slot is lost, so the last node of each wave comes in the next.
    assert_eq!(answer["consequences"]["finish_without_seconds"], json!(250 * 60));
    assert_eq!(answer["finish_seconds"], json!(275 * 60));
    assert_eq!(answer["pools"][0]["most_out"], json!(500));
    assert_eq!(answer["consequences"]["never"], json!(["n0007"]));
    let chart = std::fs::read_to_string(folder.path().join("night.svg")).unwrap();
    assert!(chart.contains("n0007: 0m for good, did not come back"));
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new();
    folder
        .write("pool.yaml", POOL)
        .write("nodes.json", fleet(3).to_string())
        .write("bad.txt", "fail n0001 lost\n1h explode n0002\n")
        .write("other.txt", "1h pause workers\n");
    let rehearse = |more: &str| folder.line(&format!("rehearse -f pool.yaml --nodes nodes.json {more}"));
    for (more, words) in [
        ("--fail nobody", "node `nobody` does not exist"),
        ("--fail n0001=gone", "\"gone\" is not a mishap"),
        (
            "--scenario bad.txt",
            "bad.txt: line 2: \"explode n0002\" is not understood",
        ),
        ("--scenario other.txt", "pool `workers` is not in the site"),
        ("--scenario nowhere.txt", "cannot read `nowhere.txt`"),
    ] {
        let outcome = rehearse(more);
        assert_eq!(outcome.exit, 2, "{more}");
        assert!(outcome.stderr.contains(words), "{more}: {}", outcome.stderr);
    }
    assert_eq!(rehearse("").exit, 0);
}
