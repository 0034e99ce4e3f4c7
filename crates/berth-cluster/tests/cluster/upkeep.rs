//! Label upkeep: each thing that people do, and what Berth does about it.

use std::sync::Arc;

use berth_clock::Clock;
use berth_cluster::request_node;
use berth_decide::names;
use berth_resources::{Berth, LabelRule, Phase};
use berth_site::Site;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{Cluster, INFRA, Needs, STORAGE, WORKER, condition, from_json, has, lacks, on_both, site};

on_both! {
    Needs::NOTHING;
    labels_are_kept_and_what_others_do_is_respected,
    after_a_restart_nothing_is_written_if_nothing_changed,
    enforce_repairs_and_follow_follows,
    another_manager_keeps_what_it_applied,
    a_revision_that_is_rolled_back_gives_places_and_labels_back,
}

fn rule(name: &str, labels: &serde_json::Value) -> LabelRule {
    from_json(json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": name},
        "spec": {"match": {"namePatterns": ["w.*"]}, "labels": labels},
    }))
}

async fn labels_are_kept_and_what_others_do_is_respected(cluster: &mut Cluster) {
    let rules: Api<LabelRule> = cluster.api();
    rules
        .create(
            &PostParams::default(),
            &rule("site", &json!({"telco.example/site": "atl"})),
        )
        .await
        .expect("a rule");
    for index in 0..12 {
        cluster.node(&format!("w{index}"), json!({WORKER: ""})).await;
    }
    let controllers = cluster.controllers(|_| {});

    // Nodes that exist are adopted, in the pool they are in, and get what rules say.
    let adopted = cluster
        .node_with("w3", "got the label of the rule", |node| {
            has(node, "telco.example/site", "atl")
        })
        .await;
    assert!(adopted.annotations()[names::OWNED_LABELS].contains("telco.example/site"));
    assert!(
        !adopted.annotations()[names::OWNED_LABELS].contains(WORKER),
        "what it found is not Berth's"
    );
    cluster
        .berth_with("w3", "knew its pool", |berth| {
            berth
                .status
                .as_ref()
                .is_some_and(|status| status.pool.as_deref() == Some("worker"))
        })
        .await;

    // Nobody takes away or changes what is not there yet.
    for index in 0..12 {
        cluster
            .berth_with(&format!("w{index}"), "was settled", |berth| {
                condition(berth, "LabelsInSync") == Some(("True", "InSync"))
            })
            .await;
    }

    // A foreign value is kept and reported.
    cluster
        .label("w3", json!({"telco.example/site": "elsewhere", "foreign": "1"}))
        .await;
    cluster
        .berth_with("w3", "reported the conflict", |berth| {
            condition(berth, "LabelsInSync") == Some(("False", "LabelConflict"))
        })
        .await;

    // A label removed by hand stays removed.
    cluster.label("w4", json!({"telco.example/site": null})).await;
    cluster
        .berth_with("w4", "remembered the removal", |berth| {
            berth
                .status
                .as_ref()
                .is_some_and(|status| status.removed_labels.contains_key("telco.example/site"))
        })
        .await;

    // A lost annotation is written again.
    let nodes: Api<Node> = cluster.api();
    let patch = Patch::Merge(json!({"metadata": {"annotations": {names::OWNED_LABELS: null}}}));
    nodes
        .patch("w5", &PatchParams::default(), &patch)
        .await
        .expect("patched");
    cluster
        .node_with("w5", "got its annotation back", |node| {
            node.annotations()
                .get(names::OWNED_LABELS)
                .is_some_and(|text| text.contains("telco.example/site"))
        })
        .await;

    // A deleted Berth leaves the Node as it is, and the Node is not adopted again.
    let berths: Api<Berth> = cluster.api();
    berths.delete("w6", &DeleteParams::default()).await.expect("deleted");
    let released = cluster
        .node_with("w6", "was marked", |node| {
            node.annotations().contains_key(names::RELEASED)
        })
        .await;
    assert!(has(&released, "telco.example/site", "atl") && has(&released, WORKER, ""));

    // A rule that goes takes more than a tenth of all labels along: that is held.
    rules.delete("site", &DeleteParams::default()).await.expect("deleted");
    cluster
        .berth_with("w7", "held the removal", |berth| {
            condition(berth, "LabelsInSync") == Some(("False", "MassRemovalHeld"))
        })
        .await;
    assert!(has(
        &nodes.get("w7").await.expect("a Node"),
        "telco.example/site",
        "atl"
    ));
    controllers.stop().await;
    assert!(berths.get_opt("w6").await.expect("an answer").is_none());

    // With permission it goes, but only what is Berth's.
    let controllers = cluster.controllers(|options| options.allow_mass_removal = true);
    cluster
        .node_with("w7", "lost the label", |node| lacks(node, "telco.example/site"))
        .await;
    let foreign = nodes.get("w3").await.expect("a Node");
    assert!(has(&foreign, "telco.example/site", "elsewhere") && has(&foreign, "foreign", "1"));
    controllers.stop().await;
}

async fn after_a_restart_nothing_is_written_if_nothing_changed(cluster: &mut Cluster) {
    for index in 0..5 {
        let name = format!("w{index}");
        cluster.node(&name, json!({WORKER: ""})).await;
        cluster
            .berth(
                &name,
                json!({"pool": if index < 2 { "infra" } else { "worker" }, "labels": {"a": "b"}}),
            )
            .await;
    }
    let controllers = cluster.controllers(|_| {});
    for index in 0..5 {
        cluster
            .berth_with(&format!("w{index}"), "was settled", |berth| {
                condition(berth, "LabelsInSync") == Some(("True", "InSync"))
            })
            .await;
    }
    controllers.stop().await;
    let versions = async || {
        let nodes = cluster.api::<Node>().list(&ListParams::default()).await.expect("Nodes");
        let berths = cluster
            .api::<Berth>()
            .list(&ListParams::default())
            .await
            .expect("Berths");
        let nodes = nodes.iter().map(ResourceExt::resource_version);
        nodes
            .chain(berths.iter().map(ResourceExt::resource_version))
            .collect::<Vec<_>>()
    };
    let before = versions().await;
    let again = cluster.controllers(|_| {});
    // It has looked at everything once it does something new.
    cluster.node("w9", json!({WORKER: ""})).await;
    cluster
        .berth_with("w9", "was adopted", |berth| berth.status.is_some())
        .await;
    again.stop().await;
    cluster.delete_node("w9").await;
    cluster
        .api::<Berth>()
        .delete("w9", &DeleteParams::default())
        .await
        .expect("deleted");
    let after = versions().await;
    let old: Vec<_> = before.iter().filter(|version| after.contains(version)).collect();
    assert_eq!(old.len(), before.len(), "every object is as it was");
}

async fn enforce_repairs_and_follow_follows(cluster: &mut Cluster) {
    cluster
        .berth(
            "w1",
            json!({"pool": "infra", "preregister": "Now", "poolPolicy": "enforce"}),
        )
        .await;
    cluster
        .berth("w2", json!({"pool": "infra", "preregister": "Now"}))
        .await;
    let controllers = cluster.controllers(|_| {});
    for name in ["w1", "w2"] {
        cluster
            .node_with(name, "was created", |node| has(node, INFRA, ""))
            .await;
        cluster
            .berth_with(name, "was settled", |berth| {
                berth.status.as_ref().is_some_and(|s| s.node_uid.is_some())
            })
            .await;
        cluster.label(name, json!({INFRA: null, STORAGE: ""})).await;
    }
    cluster
        .node_with("w1", "was put back", |node| {
            has(node, INFRA, "") && lacks(node, STORAGE)
        })
        .await;
    cluster
        .node_with("w2", "was followed", |node| {
            has(node, "tier", "storage") && lacks(node, INFRA)
        })
        .await;
    // A machine that fetches its Ignition is about to join: its Node is created.
    cluster
        .berth("fetching", json!({"nodeName": "w7", "pool": "infra"}))
        .await;
    let now = Clock::system().now();
    assert!(
        !request_node(&cluster.client, "w8", now).await.expect("an answer"),
        "nobody reserved it"
    );
    assert!(request_node(&cluster.client, "w7", now).await.expect("an answer"));
    cluster
        .node_with("w7", "was created", |node| has(node, INFRA, ""))
        .await;
    cluster.edit_berth("w2", json!({"pool": "worker"})).await;
    cluster
        .node_with("w2", "went where the new declaration wants it", |node| {
            has(node, WORKER, "") && lacks(node, STORAGE) && lacks(node, "tier")
        })
        .await;
    let berth = cluster
        .berth_with("w2", "was reserved", |berth| berth.phase() == Phase::Reserved)
        .await;
    assert!(berth.finalizers().contains(&names::FINALIZER.to_owned()));
    controllers.stop().await;
}

/// What another program applied is its own, also where a declaration wants another value; what Berth wrote is Berth's.
async fn another_manager_keeps_what_it_applied(cluster: &mut Cluster) {
    let nodes: Api<Node> = cluster.api();
    let other = |labels: serde_json::Value| {
        Patch::Apply(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "w1", "labels": labels},
        }))
    };
    let parameters = PatchParams::apply("other-tool");
    cluster
        .berth(
            "w1",
            json!({"pool": "worker", "preregister": "Now", "labels": {"example.com/ours": "1"}}),
        )
        .await;
    let controllers = cluster.controllers(|_| {});
    cluster
        .berth_with("w1", "was settled", |berth| {
            condition(berth, "LabelsInSync") == Some(("True", "InSync"))
        })
        .await;
    nodes
        .patch("w1", &parameters, &other(json!({"example.com/owner": "them"})))
        .await
        .expect("applied");
    cluster
        .edit_berth("w1", json!({"labels": {"example.com/owner": "us"}}))
        .await;
    cluster
        .berth_with("w1", "reported the conflict", |berth| {
            condition(berth, "LabelsInSync") == Some(("False", "LabelConflict"))
        })
        .await;
    let node = cluster
        .node_with("w1", "got the rest", |node| has(node, "example.com/ours", "1"))
        .await;
    assert!(has(&node, "example.com/owner", "them"), "{:?}", node.labels());
    assert_eq!(managers(&node, "example.com/owner"), ["other-tool"]);
    assert_eq!(managers(&node, "example.com/ours").len(), 1);

    // Applying again what it applied before is not a conflict with Berth, and wanting Berth's own is one.
    nodes
        .patch(
            "w1",
            &parameters,
            &other(json!({"example.com/owner": "them", WORKER: ""})),
        )
        .await
        .expect("applied again");
    let taken = nodes
        .patch("w1", &parameters, &other(json!({"example.com/ours": "2"})))
        .await
        .expect_err("a conflict");
    let kube::Error::Api(status) = taken else {
        panic!("{taken}")
    };
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"), "{status:?}");
    assert!(
        status.message.contains(".metadata.labels.example.com/ours"),
        "{status:?}"
    );

    // What it stops applying goes, and then there is nothing in the way.
    nodes
        .patch("w1", &parameters, &other(json!({})))
        .await
        .expect("applied less");
    cluster
        .node_with("w1", "got what was declared", |node| {
            has(node, "example.com/owner", "us")
        })
        .await;
    controllers.stop().await;
}

/// Who manages a label.
fn managers(node: &Node, key: &str) -> Vec<String> {
    let field = format!("f:{key}");
    let entries = node.managed_fields().iter().filter(|entry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        fields.is_some_and(|fields| !fields["f:metadata"]["f:labels"][&field].is_null())
    });
    entries.filter_map(|entry| entry.manager.clone()).collect()
}

/// The documents of a site: its pools, and machines in them with one label each.
fn revision(machines: &[(&str, &str, Value)]) -> Arc<Site> {
    let pools = [("infra", INFRA, "tier=infra"), ("storage", STORAGE, "tier=storage")];
    let pools = pools.iter().map(|(name, selector, explicit)| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name, "annotations": {"berth.dev/node-labels": explicit}},
            "spec": {"nodeSelector": {"matchLabels": {*selector: ""}}},
        })
    });
    let machines = machines.iter().map(|(name, pool, labels)| {
        json!({
            "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": name},
            "spec": {"pool": pool, "preregister": "Now", "labels": labels},
        })
    });
    site(&pools.chain(machines).collect::<Vec<_>>())
}

/// What the newer revision gave goes again, what it took comes back, and what an administrator did in between stays.
async fn a_revision_that_is_rolled_back_gives_places_and_labels_back(cluster: &mut Cluster) {
    let first = revision(&[
        (
            "w1",
            "infra",
            json!({"example.com/kept": "1", "example.com/taken": "1"}),
        ),
        ("w2", "infra", json!({"example.com/kept": "1"})),
    ]);
    let second = revision(&[
        (
            "w1",
            "storage",
            json!({"example.com/kept": "2", "example.com/given": "2"}),
        ),
        ("w2", "infra", json!({"example.com/kept": "2"})),
        ("w3", "storage", json!({})),
    ]);
    let (commit, documents) = watch::channel(first.clone());
    let controllers = cluster.controllers(|options| {
        options.documents = Some(documents);
        options.allow_mass_removal = true;
    });
    let as_first = |node: &Node| {
        has(node, INFRA, "")
            && has(node, "tier", "infra")
            && has(node, "example.com/kept", "1")
            && has(node, "example.com/taken", "1")
            && lacks(node, STORAGE)
            && lacks(node, "example.com/given")
    };
    cluster
        .node_with("w1", "had what the first revision says", as_first)
        .await;

    commit.send_replace(second);
    cluster
        .node_with("w1", "had what the second revision says", |node| {
            has(node, STORAGE, "")
                && has(node, "tier", "storage")
                && has(node, "example.com/kept", "2")
                && has(node, "example.com/given", "2")
                && lacks(node, INFRA)
                && lacks(node, "example.com/taken")
        })
        .await;
    cluster
        .node_with("w3", "was created", |node| has(node, STORAGE, ""))
        .await;
    // The Berth notes a label before the Node has it, so only the Node shows that there is something to remove.
    cluster
        .node_with("w2", "had the value of the second revision", |node| {
            has(node, "example.com/kept", "2")
        })
        .await;
    cluster
        .label("w2", json!({"example.com/kept": null, "foreign": "1"}))
        .await;
    cluster
        .berth_with("w2", "remembered the removal", |berth| {
            let status = berth.status.as_ref();
            status.is_some_and(|status| status.removed_labels.contains_key("example.com/kept"))
        })
        .await;

    commit.send_replace(first);
    cluster.node_with("w1", "was as before", as_first).await;
    // Its place is given up, and the Node stays for whoever runs on it.
    let left = cluster
        .node_with("w3", "was released", |node| {
            node.annotations().contains_key(names::RELEASED)
        })
        .await;
    assert!(has(&left, STORAGE, ""), "{:?}", left.labels());
    // Another value is a newer declaration than the removal.
    let node = cluster
        .node_with("w2", "got the value of the first revision", |node| {
            has(node, "example.com/kept", "1")
        })
        .await;
    assert!(has(&node, "foreign", "1"), "{:?}", node.labels());
    controllers.stop().await;
}
