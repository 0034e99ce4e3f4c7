//! Machines that join: a real kubelet on the real API server, a simulated one on the embedded API.

use berth_cluster::{api::Phase, bootstrap::bootstrap_token, controller::Options};
use berth_testing::BootstrapToken;
use k8s_openapi::api::{
    certificates::v1::CertificateSigningRequest,
    core::v1::{Node, Secret},
};
use kube::{Api, ResourceExt as _, api::PostParams};
use serde_json::json;

use crate::support::{Cluster, INFRA, Needs, STORAGE, has, is_filled, lacks, on_both};

on_both! {
    Needs { machines: true, ..Needs::NOTHING };
    a_name_that_is_not_reserved_and_another_machines_token_get_nothing,
    a_machine_joins_moves_and_comes_back_and_is_never_seen_without_its_labels,
}

/// A token that lets one machine join under one name.
async fn issue(cluster: &Cluster, node: &str, seed: u8) -> BootstrapToken {
    let issued = bootstrap_token(node, &[seed; 22], None);
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), "kube-system");
    secrets
        .create(&PostParams::default(), &issued.secret)
        .await
        .expect("a token");
    let (id, secret) = issued.token.split_once('.').expect("two parts");
    BootstrapToken::new(id, secret)
}

/// What an old boot left behind: another tier, and the label of another pool's time.
const STALE: &str = "tier=stale,telco.example/old=yes";

async fn a_machine_joins_moves_and_comes_back_and_is_never_seen_without_its_labels(cluster: &mut Cluster) {
    cluster.allow_bootstrap().await;
    let history = cluster.history().await;
    let controllers = cluster.controllers(|options: &mut Options| options.approve = true);
    cluster
        .berth("w1", json!({"pool": "infra", "labels": {"telco.example/rack": "r1"}}))
        .await;
    cluster
        .berth_with("w1", "was reserved", |berth| {
            berth.phase() == Phase::Reserved && berth.status.is_some()
        })
        .await;
    assert!(history.of("w1").is_empty(), "no phantom Node before the machine asks");

    // It joins.
    let token = issue(cluster, "w1", 1).await;
    let Some(mut machine) = cluster.machine("w1", token, STALE).await else {
        return;
    };
    cluster.node_with("w1", "was filled by its kubelet", is_filled).await;
    cluster
        .berth_with("w1", "was occupied", |berth| berth.phase() == Phase::Occupied)
        .await;
    for node in history.of("w1") {
        assert!(
            has(&node, INFRA, "") && has(&node, "tier", "infra") && has(&node, "telco.example/rack", "r1"),
            "a version without the labels: {:?}",
            node.labels()
        );
    }

    // An administrator moves it.
    cluster.label("w1", json!({INFRA: null, STORAGE: ""})).await;
    cluster
        .berth_with("w1", "followed", |berth| {
            berth
                .status
                .as_ref()
                .is_some_and(|status| status.pool.as_deref() == Some("storage"))
        })
        .await;
    let moved = cluster
        .node_with("w1", "got the labels of its new pool", |node| {
            has(node, "tier", "storage")
        })
        .await;
    let old = moved.uid().expect("a uid");

    // Somebody deletes the Node while the kubelet runs.
    let seen = history.of("w1").len();
    cluster.delete_node("w1").await;
    let back = cluster
        .node_with("w1", "came back and was filled by the running kubelet", |node| {
            node.uid().as_deref() != Some(old.as_str()) && is_filled(node)
        })
        .await;
    assert_eq!(
        back.labels().get("kubernetes.io/hostname"),
        moved.labels().get("kubernetes.io/hostname")
    );
    assert!(back.labels().contains_key("kubernetes.io/hostname"));
    in_storage(&history.of("w1")[seen..]);

    // And with the kubelet restarted as well.
    machine.kill().await;
    let (old, seen) = (back.uid().expect("a uid"), history.of("w1").len());
    cluster.delete_node("w1").await;
    machine.start_again().await;
    cluster
        .node_with("w1", "came back with its restarted kubelet", |node| {
            node.uid().as_deref() != Some(old.as_str()) && is_filled(node)
        })
        .await;
    in_storage(&history.of("w1")[seen..]);

    // A released place stays empty.
    cluster.edit_berth("w1", json!({"release": true})).await;
    cluster
        .berth_with("w1", "was released", |berth| berth.phase() == Phase::Released)
        .await;
    cluster.delete_node("w1").await;
    controllers.stop().await;
    let nodes: Api<Node> = cluster.api();
    assert!(
        nodes.get_opt("w1").await.expect("an answer").is_none(),
        "it stays deleted"
    );
}

fn in_storage(versions: &[Node]) {
    assert!(!versions.is_empty());
    for node in versions {
        assert!(
            has(node, STORAGE, "") && has(node, "tier", "storage") && lacks(node, INFRA),
            "for a moment in another pool: {:?}",
            node.labels()
        );
    }
}

async fn a_name_that_is_not_reserved_and_another_machines_token_get_nothing(cluster: &mut Cluster) {
    cluster.allow_bootstrap().await;
    cluster.berth("w1", json!({"pool": "infra"})).await;
    cluster.berth("w2", json!({"pool": "infra"})).await;
    let token = issue(cluster, "w2", 2).await;
    let client = cluster.bootstrap_client(&token).await;
    let requests: Api<CertificateSigningRequest> = Api::all(client);
    for (name, node) in [("wrong", "w1"), ("unknown", "w9"), ("right", "w2")] {
        requests
            .create(&PostParams::default(), &request(name, node))
            .await
            .expect("a request");
    }
    let controllers = cluster.controllers(|options: &mut Options| options.approve = true);
    let decided = |type_: &'static str| {
        move |request: &CertificateSigningRequest| {
            let conditions = request.status.as_ref().and_then(|status| status.conditions.as_ref());
            conditions.is_some_and(|all| all.iter().any(|condition| condition.type_ == type_))
        }
    };
    cluster
        .seen::<CertificateSigningRequest>("right", "was approved", decided("Approved"))
        .await;
    let denied = cluster
        .seen::<CertificateSigningRequest>("wrong", "was denied", decided("Denied"))
        .await;
    let conditions = denied.status.and_then(|status| status.conditions).expect("conditions");
    assert!(
        conditions[0]
            .message
            .as_deref()
            .is_some_and(|text| text.ends_with("was issued for node w2, not for node w1")),
        "{conditions:?}"
    );
    controllers.stop().await;
    let admin: Api<CertificateSigningRequest> = cluster.api();
    let unknown = admin.get("unknown").await.expect("still there");
    assert!(
        unknown.status.and_then(|status| status.conditions).is_none(),
        "left alone"
    );
    let nodes: Api<Node> = cluster.api();
    let names: Vec<String> = nodes
        .list(&kube::api::ListParams::default())
        .await
        .expect("a list")
        .iter()
        .map(kube::ResourceExt::name_any)
        .collect();
    assert_eq!(names, ["w2"], "only the machine that may join has a Node");
}

fn request(name: &str, node: &str) -> CertificateSigningRequest {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    let mut subject = rcgen::DistinguishedName::new();
    subject.push(rcgen::DnType::OrganizationName, "system:nodes");
    subject.push(rcgen::DnType::CommonName, format!("system:node:{node}"));
    parameters.distinguished_name = subject;
    let pem = parameters
        .serialize_request(&key)
        .expect("a request")
        .pem()
        .expect("PEM");
    crate::support::from_json(json!({
        "metadata": {"name": name},
        "spec": {
            "request": base64_of(pem.as_bytes()),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    }))
}

fn base64_of(bytes: &[u8]) -> String {
    serde_json::to_value(k8s_openapi::ByteString(bytes.to_vec()))
        .expect("text")
        .as_str()
        .expect("text")
        .to_owned()
}
