//! What parts of Berth once answered differently. Each question has its test here or where it can be asked of more cases:
//!
//! | asked | test |
//! |---|---|
//! | which labels may `relabel` remove? | [`relabel_removes_nothing_that_berth_did_not_set`] |
//! | which config does a new machine get? | `a_new_machine_gets_a_config_that_the_cluster_has_and_that_survived` (berth-decide), `machine_configs_are_served` (`in_cluster`), [`machines_of_up_get_a_config_that_its_cluster_has`] |
//! | in which pool is a moved machine? | `a_moved_machine_that_is_provisioned_again_comes_back_in_its_new_pool` (here, embedded and real API server), scenario 14 |
//! | which labels does a pool's machine boot with? | [`a_pool_boots_with_the_same_labels_by_the_command_and_the_server`] |
//! | are the seed's own machine configs right? | `the_machine_configs_are_taken_and_keep_the_pools_label` (`seeds`) |
//! | what would change? | [`where_the_controllers_are_content_nobody_wants_a_change`] |
//! | how many reboots are saved? | [`reboots_are_counted_by_the_policy_of_the_site_everywhere`] |
//! | what is a foreign or removed label's state? | [`a_label_that_somebody_changed_or_removed_is_not_in_sync`] |
//! | which flavour holds? | `one_flavour_holds_for_everything_that_runs` (berth-cluster) |

use serde_json::{Value, json};

use super::{
    Documents, Door as _,
    doors::{Machines, Up},
    nothing_is_left_to_do, patiently,
    sites::Site,
    text,
};
use crate::{
    run::{command, finish},
    up::program,
};

/// Labels of storage and network operators, and of people.
const OF_OTHERS: [&str; 6] = [
    "cluster.ocs.openshift.io/openshift-storage=",
    "topology.rook.io/rack=rack0",
    "topology.ebs.csi.aws.com/zone=eu-1a",
    "feature.node.kubernetes.io/network-sriov.capable=true",
    "topology.topolvm.io/node=here",
    "people.example/own=yes",
];

/// `up` on a small site, where there is kubectl.
fn up() -> Option<(Site, Up)> {
    let kubectl = program("kubectl")?;
    let site = Site::random(2);
    let up = Up::start(&site, kubectl);
    Some((site, up))
}

fn relabel(up: &Up, words: &str) -> Value {
    let mut relabel = command();
    relabel.args(["relabel", "--all", "--dry-run", "-o", "json", "--server", &up.documents]);
    let outcome = finish(relabel.args(words.split_whitespace()), b"");
    assert_eq!(outcome.exit, 0, "{outcome}");
    outcome.json()
}

#[test]
fn relabel_removes_nothing_that_berth_did_not_set() {
    let Some((_, up)) = up() else { return };
    up.api.kubectl(&format!("label node a1 {}", OF_OTHERS.join(" ")));
    let removed = |words: &str| {
        let nodes = relabel(&up, words)["nodes"].clone();
        let nodes = nodes.as_array().unwrap().clone();
        let node = nodes.into_iter().find(|node| node["name"] == "a1").unwrap();
        let removed = node["diff"]["removed"].as_object().unwrap().clone();
        removed.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!(removed(""), [""; 0], "what is declared is all that Berth looks after");
    // Airship's way takes what nobody declared, and still not what operators need.
    assert_eq!(
        removed("--strategy mirror --allow-mass-removal"),
        ["people.example/own"]
    );
}

#[test]
fn a_pool_boots_with_the_same_labels_by_the_command_and_the_server() {
    for site in [Site::random(2), Site::telco()] {
        let live = site.bare_nodes();
        let (truth, served) = (
            Documents.ask(&site, &live),
            Machines::of_folder(&site).ask(&site, &live),
        );
        let pools = served.iter().filter(|(about, _)| about.starts_with("pool "));
        for (about, answer) in pools {
            assert_eq!(answer["boot"], truth[about]["boot"], "{about} of {}", site.name);
        }
        let has_labels = |answer: &Value| answer["boot"].to_string().contains('=');
        assert!(
            served
                .iter()
                .any(|(about, answer)| about.starts_with("pool ") && has_labels(answer))
        );
    }
}

/// A pool that is paused stays at the config that it has, also for new machines; nobody renders another one for them.
#[test]
fn machines_of_up_get_a_config_that_its_cluster_has() {
    let Some(kubectl) = program("kubectl") else { return };
    let site = Site::random(2);
    let up = Up::start_in("full", &site, kubectl);
    let of_cluster = |pool: &str, part: &str| {
        let pool = up.api.kubectl(&format!("get machineconfigpool {pool} -o json")).json();
        pool[part]["configuration"]["name"].clone()
    };
    let config = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": "99-motd", "labels": {"machineconfiguration.openshift.io/role": "worker"}},
        "spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": [
            {"path": "/etc/motd", "mode": 420, "contents": {"source": "data:,hello"}}]}}},
    });
    let before = of_cluster("worker", "status");
    assert_eq!(up.machines.config_of("worker"), before);
    let patch = r#"patch machineconfigpool worker --type merge -p {"spec":{"paused":true}}"#;
    assert_eq!(up.api.kubectl(patch).exit, 0);
    let seen = || {
        let pool = up.api.kubectl("get machineconfigpool worker -o json").json();
        pool["status"]["observedGeneration"] == pool["metadata"]["generation"]
    };
    patiently(
        || "the controllers have not seen the pause".to_owned(),
        || seen().then_some(()),
    );
    up.api.make(&config);
    patiently(
        || format!("{} is not rendered anew", of_cluster("worker", "spec")),
        || (of_cluster("worker", "spec") != before).then_some(()),
    );
    // What is rendered for it is in the cluster, and no machine runs it.
    assert_eq!(up.machines.config_of("worker"), before);
    let patch = r#"patch machineconfigpool worker --type merge -p {"spec":{"paused":false}}"#;
    assert_eq!(up.api.kubectl(patch).exit, 0);
    patiently(
        || format!("{} is served", up.machines.config_of("worker")),
        || (up.machines.config_of("worker") == of_cluster("worker", "spec")).then_some(()),
    );
    assert_ne!(up.machines.config_of("worker"), before);
}

#[test]
fn where_the_controllers_are_content_nobody_wants_a_change() {
    let Some(kubectl) = program("kubectl") else { return };
    // Racks, profiles and tags are labels of this one.
    let site = Site::telco();
    let up = Up::start(&site, kubectl);
    nothing_is_left_to_do(&site, &up.api.nodes());
    for node in relabel(&up, "")["nodes"].as_array().unwrap() {
        let diff = json!({"set": {}, "changed": {}, "removed": {}});
        assert_eq!(node["diff"], diff, "{node}");
    }
}

#[test]
fn reboots_are_counted_by_the_policy_of_the_site_everywhere() {
    let Some(kubectl) = program("kubectl") else { return };
    // With the policy and without it: what differs between worker and infra are files that it names.
    for (policy, reboots) in [(true, false), (false, true)] {
        let site = Site::with_policy(policy);
        let truth = Documents.ask(&site, &site.joined("worker"));
        assert_eq!(truth["node a1"]["reboots"], json!(reboots), "plan, {policy}");
        let mut forecast = super::Forecast;
        let foretold = forecast.ask(&site, &site.joined("worker"));
        assert_eq!(foretold["node a1"]["reboots"], json!(reboots), "forecast, {policy}");
        // It compares what it saved with the forecast.
        Up::start(&site, kubectl.clone());
    }
}

#[test]
fn a_label_that_somebody_changed_or_removed_is_not_in_sync() {
    let Some((site, up)) = up() else { return };
    let truth = Documents.ask(&site, &up.api.nodes());
    let key = |node: &str| {
        let labels = truth[node]["labels"].as_object().unwrap();
        text(&json!(
            labels.keys().find(|key| key.starts_with("example.com/")).unwrap()
        ))
    };
    up.api.kubectl(&format!("label node a1 {}-", key("node a1")));
    up.api
        .kubectl(&format!("label node b1 --overwrite {}=theirs", key("node b1")));
    for (node, reason) in [("a1", "RemovedOnPurpose"), ("b1", "LabelConflict")] {
        let status = || {
            let mut status = command();
            status
                .args(["status", "-o", "json", "--kubeconfig"])
                .arg(&up.api.kubeconfig);
            finish(&mut status, b"")
        };
        patiently(
            || format!("{node} is not {reason}: {}", status()),
            || {
                let status = status().json();
                let berths = status["berths"].as_array().unwrap();
                berths
                    .iter()
                    .any(|berth| berth["node"] == node && berth["reason"] == reason)
                    .then_some(())
            },
        );
    }
}
