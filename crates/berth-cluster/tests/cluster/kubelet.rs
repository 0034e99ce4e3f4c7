//! Machines that join: a real kubelet on the real API server, a simulated one on the embedded API.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use berth_cluster::controller::Options;
use berth_resources::{Phase, TokenBinding, bootstrap::bootstrap_token};
use berth_testing::BootstrapToken;
use http::Request;
use k8s_openapi::api::{
    certificates::v1::CertificateSigningRequest,
    core::v1::{Node, Secret},
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    client::Body,
};
use serde_json::json;

use crate::support::{Cluster, INFRA, Needs, STORAGE, condition, has, is_filled, is_ready, lacks, on_both};

on_both! {
    Needs { machines: true, ..Needs::NOTHING };
    a_name_that_is_not_reserved_and_another_machines_token_get_nothing,
    a_token_lets_one_machine_in,
    an_approval_is_for_the_request_that_was_judged,
    a_machine_joins_moves_and_comes_back_and_is_never_seen_without_its_labels,
}

/// A token that lets one machine join under one name.
async fn issue(cluster: &Cluster, node: &str, seed: u8) -> BootstrapToken {
    let issued = bootstrap_token(node, &[seed; 22], None);
    cluster
        .api::<TokenBinding>()
        .create(&PostParams::default(), &issued.binding)
        .await
        .expect("a binding");
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

    // Somebody deletes the Node while the kubelet runs. Only what is alive comes back, and it is alive when it is Ready.
    cluster.node_with("w1", "was ready", is_ready).await;
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

    // And with the kubelet restarted as well. Should it have been away for so long that it did not count as alive, it creates its
    // Node itself, with its stale flags, and the Node is put right.
    machine.kill().await;
    let old = back.uid().expect("a uid");
    cluster.delete_node("w1").await;
    machine.start_again().await;
    cluster
        .node_with("w1", "came back to its place with its restarted kubelet", |node| {
            node.uid().as_deref() != Some(old.as_str())
                && is_filled(node)
                && has(node, STORAGE, "")
                && has(node, "tier", "storage")
                && lacks(node, INFRA)
        })
        .await;
    cluster
        .berth_with("w1", "was occupied again", |berth| {
            berth.phase() == Phase::Occupied && condition(berth, "Ready") == Some(("True", "InSync"))
        })
        .await;

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
    // Who is not a bootstrapper causes nothing, whatever else they may do.
    let admin: Api<CertificateSigningRequest> = cluster.api();
    admin
        .create(&PostParams::default(), &request("foreign", "w1"))
        .await
        .expect("a request");
    let controllers = cluster.controllers(|options: &mut Options| options.approve = true);
    decided(cluster, "right", "Approved").await;
    for (name, node) in [("wrong", "w1"), ("unknown", "w9")] {
        let message = decided(cluster, name, "Denied").await;
        let expected = format!("was issued for node w2, not for node {node}");
        assert!(message.ends_with(&expected), "{message}");
    }
    controllers.stop().await;
    let foreign = admin.get("foreign").await.expect("still there");
    let conditions = foreign.status.and_then(|status| status.conditions).unwrap_or_default();
    // kube-controller-manager approves whatever an administrator asks for.
    let reasons = conditions.iter().filter_map(|condition| condition.reason.as_deref());
    assert_eq!(
        reasons.filter(|reason| *reason != "AutoApproved").count(),
        0,
        "{conditions:?}"
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

/// The message of a decision of this type.
async fn decided(cluster: &Cluster, name: &str, type_: &'static str) -> String {
    let found = |request: &CertificateSigningRequest| {
        let conditions = request.status.as_ref()?.conditions.as_ref()?;
        let found = conditions.iter().find(|condition| condition.type_ == type_)?;
        Some(found.message.clone().unwrap_or_default())
    };
    let request = cluster
        .seen::<CertificateSigningRequest>(name, type_, |request| found(request).is_some())
        .await;
    found(&request).expect("it was seen")
}

/// Two machines come with the same token at the same time, and a third one later.
async fn a_token_lets_one_machine_in(cluster: &mut Cluster) {
    cluster.allow_bootstrap().await;
    cluster.berth("w1", json!({"pool": "infra"})).await;
    let token = issue(cluster, "w1", 3).await;
    let requests: Api<CertificateSigningRequest> = Api::all(cluster.bootstrap_client(&token).await);
    let create = async |name: &str| {
        let created = requests.create(&PostParams::default(), &request(name, "w1")).await;
        created.expect("a request").uid().expect("a uid")
    };
    let uids = [create("first").await, create("second").await];
    let controllers = cluster.controllers(|options: &mut Options| options.approve = true);
    let is_used = |binding: &TokenBinding| binding.status.as_ref().is_some_and(|status| status.used_by.is_some());
    let binding: TokenBinding = cluster.seen(token.id(), "was used", is_used).await;
    let used = binding.status.and_then(|status| status.used_by).expect("it was seen");
    let (winner, loser) = if used.request == "first" {
        ("first", "second")
    } else {
        ("second", "first")
    };
    assert!(uids.contains(&used.request_uid), "{used:?}");
    decided(cluster, winner, "Approved").await;
    let bindings: Api<TokenBinding> = cluster.api();
    let other = Patch::Merge(json!({"spec": {"nodeName": "w2"}}));
    let changed = bindings.patch(token.id(), &PatchParams::default(), &other).await;
    assert!(
        matches!(&changed, Err(kube::Error::Api(status)) if status.message.contains("a TokenBinding cannot change")),
        "{changed:?}"
    );
    create("third").await;
    for name in [loser, "third"] {
        let message = decided(cluster, name, "Denied").await;
        assert!(
            message.contains(&format!("by certificate request {winner}")),
            "{message}"
        );
    }
    controllers.stop().await;
}

/// Between the decision and the approval the request is replaced by one for another machine.
async fn an_approval_is_for_the_request_that_was_judged(cluster: &mut Cluster) {
    cluster.allow_bootstrap().await;
    cluster.berth("w1", json!({"pool": "infra"})).await;
    cluster.berth("w2", json!({"pool": "infra"})).await;
    let token = issue(cluster, "w1", 4).await;
    let requests: Api<CertificateSigningRequest> = Api::all(cluster.bootstrap_client(&token).await);
    let judged = requests.create(&PostParams::default(), &request("swapped", "w1")).await;
    let judged = judged.expect("a request").uid();
    let swapped = Arc::new(AtomicBool::new(false));
    let client = swapping(
        cluster.fresh_client().await,
        cluster.client.clone(),
        requests,
        swapped.clone(),
    );
    let controllers = cluster.controllers_with(client, |options: &mut Options| options.approve = true);
    let message = decided(cluster, "swapped", "Denied").await;
    assert!(
        message.ends_with("was issued for node w1, not for node w2"),
        "{message}"
    );
    assert!(
        swapped.load(Ordering::SeqCst),
        "the first approval was for another request"
    );
    controllers.stop().await;
    let left = cluster
        .api::<CertificateSigningRequest>()
        .get("swapped")
        .await
        .expect("a request");
    assert_ne!(left.uid(), judged);
    let conditions = left.status.and_then(|status| status.conditions).expect("conditions");
    assert_eq!(conditions.len(), 1, "it was never approved: {conditions:?}");
}

/// A client that, before its first approval is sent, has the request replaced by one for `w2`.
fn swapping(
    client: Client,
    admin: Client,
    requests: Api<CertificateSigningRequest>,
    swapped: Arc<AtomicBool>,
) -> Client {
    let service = tower::service_fn(move |sent: Request<Body>| {
        let (client, admin, requests) = (client.clone(), admin.clone(), requests.clone());
        let first = sent.uri().path().ends_with("/approval") && !swapped.swap(true, Ordering::SeqCst);
        async move {
            if first {
                let all: Api<CertificateSigningRequest> = Api::all(admin);
                let deleted = all.delete("swapped", &DeleteParams::default()).await;
                deleted.expect("deleted");
                let other = requests.create(&PostParams::default(), &request("swapped", "w2")).await;
                other.expect("replaced");
            }
            client.send(sent).await.map_err(tower::BoxError::from)
        }
    });
    Client::new(service, "default")
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
