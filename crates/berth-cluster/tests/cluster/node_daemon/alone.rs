//! What happens to a node when things get lost, change in the middle or are ended. The test does what controllers would do.

use std::fs;

use berth_daemon::{DriftPolicy, announce};
use berth_pools::{FORCE_FILE, annotation};
use k8s_openapi::api::{core::v1::Node, events::v1::Event};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, DynamicObject, ListParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use berth_resources::MachineConfig;

use super::{
    file, files,
    machine::{Machine, possible},
    runs, said, settings,
};
use crate::support::{Cluster, Needs, from_json, on_both};

on_both! {
    Needs::NOTHING;
    a_config_that_is_deleted_strands_nobody,
    lost_annotations_and_a_deleted_node,
    a_pool_that_changes_in_the_middle,
    a_daemon_that_is_killed_again_and_again,
    drift_is_seen_when_it_happens,
    the_clusters_policies_say_what_a_change_needs,
    boot_labels_follow_the_node,
}

const A: &str = "rendered-edge-a";
const B: &str = "rendered-edge-b";
const C: &str = "rendered-edge-c";

/// Needs a reboot when it changes.
const FILE: &str = "/etc/test.conf";

async fn config(cluster: &Cluster, name: &str, text: &str) {
    cluster
        .machine_config(name, "rendered", files(&[file(FILE, text)]))
        .await;
}

async fn delete(cluster: &Cluster, config: &str) {
    let configs = cluster.api::<MachineConfig>();
    configs.delete(config, &DeleteParams::default()).await.expect("deleted");
}

/// A machine in a cluster with nowhere to drain to, which runs the first of three configs.
async fn running(cluster: &Cluster) -> Machine {
    for (name, text) in [(A, "a"), (B, "b"), (C, "c")] {
        config(cluster, name, text).await;
    }
    cluster.node("n1", json!({})).await;
    cluster
        .annotate(
            "n1",
            json!({annotation::DESIRED_CONFIG: A, annotation::TOPOLOGY: "SingleReplica"}),
        )
        .await;
    let machine = Machine::start(cluster, "n1", settings()).await;
    is_at(cluster, &machine, A, "a").await;
    machine
}

async fn want(cluster: &Cluster, config: &str) {
    cluster
        .annotate("n1", json!({annotation::DESIRED_CONFIG: config}))
        .await;
}

async fn is_at(cluster: &Cluster, machine: &Machine, config: &str, text: &str) {
    cluster.node_with("n1", "got there", |node| runs(node, config)).await;
    assert_eq!(machine.read(FILE).as_deref(), Some(text));
}

/// The Node that says this.
async fn node_that(cluster: &Cluster, key: &str, text: &str) -> Node {
    cluster.node_with("n1", "said it", |node| said(node, key) == text).await
}

async fn a_config_that_is_deleted_strands_nobody(cluster: &mut Cluster) {
    if !possible() {
        return;
    }
    let machine = running(cluster).await;
    // The one that runs is on the disk: the node goes on to another.
    delete(cluster, A).await;
    want(cluster, B).await;
    is_at(cluster, &machine, B, "b").await;
    // The one that is wanted is gone: the node says so and serves on.
    delete(cluster, C).await;
    want(cluster, C).await;
    let node = node_that(cluster, annotation::STATE, "Degraded").await;
    assert_eq!(
        said(&node, annotation::REASON),
        format!("{C} is wanted and is not in the cluster; the node goes on with {B}")
    );
    // Nothing but the config tells that it is back.
    config(cluster, C, "c").await;
    is_at(cluster, &machine, C, "c").await;
}

async fn lost_annotations_and_a_deleted_node(cluster: &mut Cluster) {
    if !possible() {
        return;
    }
    let machine = running(cluster).await;
    let nothing = json!({
        annotation::CURRENT_CONFIG: null, annotation::DESIRED_CONFIG: null, annotation::STATE: null,
        annotation::REASON: "somebody's own words",
    });
    cluster.annotate("n1", nothing).await;
    let node = cluster.node_with("n1", "said it again", |node| runs(node, A)).await;
    assert_eq!(said(&node, annotation::DESIRED_CONFIG), A);

    // Deleted in the middle: what has begun is ended, and the new object is told.
    want(cluster, B).await;
    let gone = node_that(cluster, annotation::POST_CONFIG_ACTION, "Rebooting").await;
    cluster.delete_node("n1").await;
    machine
        .sees("was started again", |machine| machine.reboots() == 2)
        .await;
    cluster.node("n1", json!({})).await;
    is_at(cluster, &machine, B, "b").await;
    let back = cluster.node_with("n1", "was there", |_| true).await;
    assert_ne!(back.uid(), gone.uid());
    assert_eq!(said(&back, annotation::DESIRED_CONFIG), B, "it stays in its own pool");
    assert_eq!(machine.reboots(), 2);
}

async fn a_pool_that_changes_in_the_middle(cluster: &mut Cluster) {
    if !possible() {
        return;
    }
    let machine = running(cluster).await;
    // While it waits for its drain a change of mind is free.
    cluster.annotate("n1", json!({annotation::TOPOLOGY: null})).await;
    want(cluster, B).await;
    node_that(cluster, annotation::DESIRED_DRAIN, &format!("drain-{B}")).await;
    want(cluster, C).await;
    let asked = format!("drain-{C}");
    node_that(cluster, annotation::DESIRED_DRAIN, &asked).await;
    assert_eq!(machine.read(FILE).as_deref(), Some("a"), "nothing was touched");
    cluster
        .annotate("n1", json!({annotation::LAST_APPLIED_DRAIN: asked}))
        .await;
    let uncordon = format!("uncordon-{C}");
    node_that(cluster, annotation::DESIRED_DRAIN, &uncordon).await;
    cluster
        .annotate("n1", json!({annotation::LAST_APPLIED_DRAIN: uncordon}))
        .await;
    is_at(cluster, &machine, C, "c").await;
    assert_eq!(machine.reboots(), 2, "one for the first config, one for the last");

    // Once it has begun it is ended first.
    cluster
        .annotate("n1", json!({annotation::TOPOLOGY: "SingleReplica"}))
        .await;
    want(cluster, A).await;
    node_that(cluster, annotation::POST_CONFIG_ACTION, "Rebooting").await;
    want(cluster, B).await;
    is_at(cluster, &machine, B, "b").await;
}

async fn a_daemon_that_is_killed_again_and_again(cluster: &mut Cluster) {
    if !possible() {
        return;
    }
    let mut machine = running(cluster).await;
    for (round, (config, text)) in [(B, "b"), (A, "a"), (C, "c"), (B, "b")].into_iter().enumerate() {
        want(cluster, config).await;
        // Killed when it has written so many versions of its Node, and at once after its start.
        let versions = cluster.history().await;
        machine.sees("wrote", |_| versions.of("n1").len() >= round).await;
        machine.kill().await;
        machine.power_on();
        machine.kill().await;
        machine.power_on();
        is_at(cluster, &machine, config, text).await;
        let left: Vec<_> = fs::read_dir(machine.path("/etc"))
            .expect("a folder")
            .flatten()
            .collect();
        let staged = left
            .iter()
            .any(|entry| entry.file_name().to_string_lossy().ends_with(".berth-new"));
        assert!(!staged, "{left:?}");
    }
    // Told to end, it ends, and the next one finds everything as it was.
    machine.terminate();
    machine.kill().await;
    let before = cluster.node_with("n1", "was there", |_| true).await;
    let reboots = machine.reboots();
    machine.power_on();
    machine.write(FILE, "meddled");
    let after = cluster
        .node_with("n1", "saw the drift", |node| !said(node, announce::DRIFT).is_empty())
        .await;
    assert_eq!(said(&after, annotation::STATE), said(&before, annotation::STATE));
    assert_eq!(machine.reboots(), reboots);
}

async fn drift_is_seen_when_it_happens(cluster: &mut Cluster) {
    if !possible() {
        return;
    }
    let mut machine = running(cluster).await;
    machine.write(FILE, "theirs");
    // Whoever looks between the two writes of a program sees an empty file first.
    let drift = format!("content mismatch for file {FILE:?}\n-a\n+theirs");
    let node = node_that(cluster, announce::DRIFT, &drift).await;
    assert_eq!(said(&node, annotation::STATE), "Done", "it is only reported");
    let events = Api::<Event>::all(cluster.client.clone());
    machine.sees("told it", |_| true).await;
    let told = async || {
        let events = events.list(&ListParams::default()).await.expect("events").items;
        events.iter().any(|event| {
            event.reason.as_deref() == Some("ConfigDriftDetected")
                && event.regarding.as_ref().and_then(|about| about.name.as_deref()) == Some("n1")
                && event.note.as_deref().is_some_and(|note| note.contains(FILE))
        })
    };
    while !told().await {
        tokio::task::yield_now().await;
    }
    // Put right by hand, by a rename as editors do.
    machine.write("/etc/other", "a");
    fs::rename(machine.path("/etc/other"), machine.path(FILE)).expect("renamed");
    node_that(cluster, announce::DRIFT, "").await;
    // The force file appears in a folder that was empty.
    machine.write(FILE, "theirs");
    machine.write(FORCE_FILE, "");
    machine
        .sees("wrote everything anew", |machine| {
            machine.read(FILE).as_deref() == Some("a") && machine.read(FORCE_FILE).is_none()
        })
        .await;
    is_at(cluster, &machine, A, "a").await;

    machine
        .change_settings(|settings| settings.drift = DriftPolicy::Repair)
        .await;
    let reboots = machine.reboots();
    fs::remove_file(machine.path(FILE)).expect("removed");
    machine
        .sees("was repaired", |machine| machine.read(FILE).as_deref() == Some("a"))
        .await;
    is_at(cluster, &machine, A, "a").await;
    assert_eq!(machine.reboots(), reboots, "what is put right costs nothing");

    machine
        .change_settings(|settings| settings.drift = DriftPolicy::Degrade)
        .await;
    machine.write(FILE, "theirs");
    let node = node_that(cluster, annotation::STATE, "Degraded").await;
    assert!(said(&node, annotation::REASON).starts_with("content mismatch for file"));
    // Whoever asks for it gets everything anew.
    cluster.annotate("n1", json!({announce::FORCE: "now"})).await;
    is_at(cluster, &machine, A, "a").await;
    node_that(cluster, announce::FORCED, "now").await;
}

fn policies() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        "operator.openshift.io",
        "v1",
        "MachineConfiguration",
    ))
}

async fn the_clusters_policies_say_what_a_change_needs(cluster: &mut Cluster) {
    if !possible() {
        return;
    }
    cluster
        .define(json!({
            "metadata": {"name": "machineconfigurations.operator.openshift.io"},
            "spec": {
                "group": "operator.openshift.io", "scope": "Cluster",
                "names": {"kind": "MachineConfiguration", "plural": "machineconfigurations"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }}}],
            },
        }))
        .await;
    let policy: Value = json!({
        "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": {"name": "cluster"},
        "spec": {"nodeDisruptionPolicy": {"files": [{
            "path": FILE, "actions": [{"type": "Restart", "restart": {"serviceName": "chronyd.service"}}],
        }]}},
    });
    let machine = running(cluster).await;
    assert_eq!(machine.reboots(), 1, "without a policy it is a reboot");
    let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &policies());
    api.create(&PostParams::default(), &from_json(policy))
        .await
        .expect("created");
    want(cluster, B).await;
    is_at(cluster, &machine, B, "b").await;
    assert_eq!(machine.reboots(), 1);
    assert_eq!(machine.log(), "restart chronyd.service\n");
    api.delete("cluster", &DeleteParams::default()).await.expect("deleted");
}

async fn boot_labels_follow_the_node(cluster: &mut Cluster) {
    if !possible() {
        return;
    }
    let machine = running(cluster).await;
    fs::create_dir_all(machine.path("/etc/berth")).expect("a folder");
    // As the machine booted with it.
    machine.write("/etc/berth/labels", "tier=worker\n");
    fs::create_dir_all(machine.path("/etc/kubernetes")).expect("a folder");
    let environment = "/etc/kubernetes/kubelet-env";
    machine.write(environment, "X=1\nCUSTOM_KUBELET_LABELS=theirs=1,tier=worker\n");
    let owned = |tier: &str| json!({"berth.dev/owned-labels": json!({"tier": tier}).to_string()});
    let labels = |machine: &Machine| machine.read("/etc/berth/labels").unwrap_or_default();
    let (reboots, done) = (machine.reboots(), machine.log());
    for tier in ["infra", "storage"] {
        cluster.label("n1", json!({"tier": tier, "theirs": "x"})).await;
        cluster.annotate("n1", owned(tier)).await;
        let line = format!("tier={tier}");
        machine
            .sees("followed", |machine| labels(machine).lines().any(|found| found == line))
            .await;
        assert!(!labels(&machine).contains("theirs"), "only what Berth gave it");
        let expected = format!("X=1\nCUSTOM_KUBELET_LABELS=theirs=1,tier={tier}\n");
        assert_eq!(
            machine.read(environment),
            Some(expected),
            "the kubelet's own variable follows too"
        );
    }
    is_at(cluster, &machine, A, "a").await;
    assert_eq!(
        (machine.reboots(), machine.log()),
        (reboots, done),
        "nothing had to notice"
    );
}
