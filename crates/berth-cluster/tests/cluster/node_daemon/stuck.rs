//! What keeps nodes from what their pool wants is named with the command that helps, and put right. No controllers and no daemons run.

use std::collections::BTreeSet;

use berth_clock::Clock;
use berth_cluster::{
    MendOptions, Mended,
    doctor::{Expected, Health, doctor},
    inspect,
    install::InstallMode,
    mend, summary,
};
use berth_decide::pools::STEP_DAEMON;
use berth_pools::annotation;
use berth_resources::MachineConfigPool;
use k8s_openapi::api::{
    core::v1::{Node, Pod, ServiceAccount},
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{file, files, said};
use crate::support::{Cluster, Needs, from_json, on_both};

on_both! {
    Needs::NOTHING;
    what_keeps_a_node_is_named_and_put_right,
    a_drain_that_a_budget_holds_up_names_the_pod,
}

const MARK: &str = "test.example/edge";
const OLD: &str = "rendered-edge-old";
const NEW: &str = "rendered-edge-new";

/// A pool with its rendered configs.
async fn pool(cluster: &Cluster) {
    for name in [OLD, NEW] {
        cluster
            .machine_config(name, "rendered", files(&[file("/etc/a", name)]))
            .await;
    }
    let pool: MachineConfigPool = from_json(json!({
        "metadata": {"name": "edge"},
        "spec": {"nodeSelector": {"matchLabels": {MARK: ""}}, "configuration": {"name": NEW}},
    }));
    let created = cluster.api::<MachineConfigPool>();
    created.create(&PostParams::default(), &pool).await.expect("created");
}

/// A node on its way from one config to the other, of which this is also said.
async fn node(cluster: &Cluster, name: &str, says: Value) {
    cluster.node(name, json!({MARK: ""})).await;
    cluster
        .annotate(
            name,
            json!({
                annotation::CURRENT_CONFIG: OLD, annotation::DESIRED_CONFIG: NEW, annotation::STATE: "Working",
            }),
        )
        .await;
    cluster.annotate(name, says).await;
}

async fn repair(cluster: &Cluster, name: &str, options: MendOptions) -> Mended {
    let now = Clock::system().now();
    let found = inspect(&cluster.client, name, now).await.expect("an answer");
    mend(&cluster.client, found.expect("a Node"), options)
        .await
        .expect("repaired")
}

/// What a summary and a doctor say about nodes: the nodes with their steps, and the doctor's sentences.
async fn told(cluster: &Cluster) -> (BTreeSet<(String, &'static str)>, Vec<String>) {
    let now = Clock::system().now();
    let summary = summary(&cluster.client, now).await.expect("a summary");
    let troubled = summary.troubled.into_iter();
    let expected = Expected {
        namespace: "berth-system".to_owned(),
        mode: InstallMode::Full,
        approve: false,
        now,
    };
    let checks = doctor(&cluster.client, &expected).await.expect("a diagnosis");
    let nodes = checks
        .into_iter()
        .filter(|check| check.check == "nodes" && check.health == Health::Warning);
    (
        troubled.map(|found| (found.node, found.trouble.step)).collect(),
        nodes
            .map(|check| format!("{} | {}", check.message, check.advice))
            .collect(),
    )
}

/// One node for each trouble, and one that is on its way.
async fn nodes_in_trouble(cluster: &Cluster) {
    let drain = format!("drain-{NEW}");
    node(
        cluster,
        "n1-config",
        json!({annotation::DESIRED_CONFIG: "rendered-edge-gone"}),
    )
    .await;
    node(cluster, "n2-state", json!({annotation::STATE: "Dreaming"})).await;
    node(cluster, "n3-asks", json!({annotation::DESIRED_DRAIN: "dance"})).await;
    let cordoned = json!({
        annotation::CURRENT_CONFIG: NEW, annotation::STATE: "Done",
        annotation::DESIRED_DRAIN: drain, annotation::LAST_APPLIED_DRAIN: drain,
    });
    node(cluster, "n4-cordon", cordoned).await;
    let cordon = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    let nodes = cluster.api::<Node>();
    let patched = nodes.patch("n4-cordon", &PatchParams::default(), &cordon).await;
    patched.expect("cordoned");
    node(
        cluster,
        "n5-reboot",
        json!({annotation::POST_CONFIG_ACTION: "Rebooting"}),
    )
    .await;
    let silent = Patch::Merge(json!({"status": {"conditions": [{
        "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "lastHeartbeatTime": "2026-01-01T00:00:00Z",
    }]}}));
    let patched = nodes.patch_status("n5-reboot", &PatchParams::default(), &silent).await;
    patched.expect("silent");
    let says = |state: &str| json!({annotation::STATE: state, annotation::REASON: "no space left on device"});
    node(cluster, "n6-update", says("Degraded")).await;
    node(cluster, "n7-plan", says("Unreconcilable")).await;
    let drifted = json!({
        annotation::CURRENT_CONFIG: NEW, annotation::STATE: "Done",
        annotation::DRIFT: "content mismatch for file \"/etc/a\"\n-a\n+b",
    });
    node(cluster, "n8-drift", drifted).await;
    node(cluster, "n9-moves", json!({annotation::DESIRED_DRAIN: drain})).await;
}

async fn what_keeps_a_node_is_named_and_put_right(cluster: &mut Cluster) {
    pool(cluster).await;
    nodes_in_trouble(cluster).await;
    let nodes = cluster.api::<Node>();
    let (troubled, sentences) = told(cluster).await;
    let expected = [
        ("n1-config", "config"),
        ("n2-state", "state"),
        ("n3-asks", "drain"),
        ("n4-cordon", "cordon"),
        ("n5-reboot", "reboot"),
        ("n6-update", "update"),
        ("n7-plan", "plan"),
        ("n8-drift", "drift"),
    ];
    let expected: BTreeSet<_> = expected.map(|(node, step)| (node.to_owned(), step)).into();
    assert_eq!(troubled, expected);
    assert_eq!(sentences.len(), 6, "{sentences:#?}");
    for (sentence, node, helps) in [
        (
            &sentences[0],
            "n1-config stops at step config",
            "berth node repair n1-config",
        ),
        (
            &sentences[3],
            "n4-cordon stops at step cordon",
            "berth node repair n4-cordon",
        ),
        (&sentences[4], "has not been heard of for", "look at its console"),
        (&sentences[5], "3 more nodes", "berth status"),
    ] {
        assert!(sentence.contains(node) && sentence.contains(helps), "{sentence}");
    }

    // A trial changes nothing.
    let dry = MendOptions {
        dry_run: true,
        ..MendOptions::default()
    };
    assert_eq!(repair(cluster, "n1-config", dry).await.done.len(), 1);
    assert_eq!(told(cluster).await.0, expected);
    for name in ["n1-config", "n2-state", "n3-asks", "n4-cordon"] {
        let mended = repair(cluster, name, MendOptions::default()).await;
        assert_eq!((mended.done.len(), mended.left.len()), (1, 0), "{name}: {mended:?}");
        let again = repair(cluster, name, MendOptions::default()).await;
        // No daemon runs here to say anew what was forgotten.
        assert!(
            again.done.is_empty() && again.left.iter().all(|left| left.step == STEP_DAEMON),
            "{name}: {again:?}"
        );
    }
    for (name, key, text) in [
        ("n1-config", annotation::DESIRED_CONFIG, NEW),
        ("n2-state", annotation::STATE, ""),
        ("n3-asks", annotation::DESIRED_DRAIN, ""),
    ] {
        let node = nodes.get(name).await.expect("a Node");
        assert_eq!(said(&node, key), text, "{name}");
    }
    let node = nodes.get("n4-cordon").await.expect("a Node");
    assert_eq!(node.spec.and_then(|spec| spec.unschedulable), None);
    // What only the machine can put right is left, and named.
    for name in ["n5-reboot", "n6-update", "n7-plan", "n8-drift"] {
        let mended = repair(cluster, name, MendOptions::default()).await;
        assert_eq!((mended.done.len(), mended.left.len()), (0, 1), "{name}: {mended:?}");
    }
}

async fn a_drain_that_a_budget_holds_up_names_the_pod(cluster: &mut Cluster) {
    pool(cluster).await;
    node(
        cluster,
        "n1",
        json!({annotation::DESIRED_DRAIN: format!("drain-{NEW}")}),
    )
    .await;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), "default");
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(cluster.client.clone(), "default");
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), "default");
    let account = from_json(json!({"metadata": {"name": "default"}}));
    // A cluster with more controllers has it already.
    let _ = accounts.create(&PostParams::default(), &account).await;
    for (name, app) in [("database", "database"), ("web", "web")] {
        let pod = from_json(json!({
            "metadata": {"name": name, "labels": {"app": app}},
            "spec": {
                "nodeName": "n1", "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false,
                "containers": [{"name": "main", "image": "registry.example/main"}],
            },
        }));
        pods.create(&PostParams::default(), &pod).await.expect("a Pod");
        let runs =
            Patch::Merge(json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}));
        let patched = pods.patch_status(name, &PatchParams::default(), &runs).await;
        patched.expect("it runs");
    }
    let budget = from_json(json!({
        "metadata": {"name": "database"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "database"}}},
    }));
    let created = budgets.create(&PostParams::default(), &budget).await.expect("a budget");
    // What the controller of budgets counts, where none runs.
    let counted = Patch::Merge(json!({"status": {
        "observedGeneration": created.metadata.generation, "disruptionsAllowed": 0, "currentHealthy": 1,
        "desiredHealthy": 1, "expectedPods": 1,
    }}));
    let patched = budgets
        .patch_status("database", &PatchParams::default(), &counted)
        .await;
    patched.expect("counted");

    let (troubled, sentences) = told(cluster).await;
    assert_eq!(troubled, [("n1".to_owned(), "drain")].into());
    let [sentence] = &sentences[..] else {
        panic!("{sentences:?}");
    };
    for part in [
        "n1 stops at step drain: its drain waits for default/database",
        "the disruption budget database allows no disruption (healthy: 1 of 1, needed: 1)",
        "kubectl -n default edit pdb database",
        "berth node repair n1 --delete-pods",
    ] {
        assert!(sentence.contains(part), "{sentence}");
    }
    // Nobody deletes what a budget holds without being told to.
    let mended = repair(cluster, "n1", MendOptions::default()).await;
    assert_eq!((mended.done.len(), mended.left.len()), (0, 1));
    let delete = |dry_run| MendOptions {
        dry_run,
        delete_pods: true,
    };
    repair(cluster, "n1", delete(true)).await;
    assert!(pods.get_opt("database").await.expect("an answer").is_some());
    let mended = repair(cluster, "n1", delete(false)).await;
    assert_eq!((mended.done.len(), mended.left.len()), (1, 0));
    assert_eq!(
        pods.get_opt("database")
            .await
            .expect("an answer")
            .map(|pod| pod.name_any()),
        None
    );
    assert!(
        pods.get_opt("web").await.expect("an answer").is_some(),
        "nothing held it"
    );
    assert_eq!(told(cluster).await.0, BTreeSet::new());
    let gone = DeleteParams::default();
    drop(pods.delete("web", &gone).await.expect("deleted"));
    drop(budgets.delete("database", &gone).await.expect("deleted"));
}
