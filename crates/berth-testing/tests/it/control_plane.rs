//! Who may do what, and that the server can go and come back.

use std::{collections::BTreeMap, path::Path};

use berth_testing::{BootstrapToken, ControlPlane, Identity, Options, Programs};
use k8s_openapi::{
    api::{authentication::v1::SelfSubjectReview, certificates::v1::CertificateSigningRequest, core::v1::Node},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api,
    api::{ListParams, PostParams},
};

fn node(name: &str, label: &str) -> Node {
    Node {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([(label.to_owned(), String::new())])),
            ..ObjectMeta::default()
        },
        ..Node::default()
    }
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

#[tokio::test]
async fn a_kubelet_is_restricted_as_in_a_real_cluster() {
    let Some(programs) = Programs::for_test() else { return };
    let plane = ControlPlane::start(&programs, Options::default()).await.unwrap();
    let nodes: Api<Node> = Api::all(plane.client(&Identity::kubelet("w1")).await.unwrap());
    let create = async |name: &str, label: &str| nodes.create(&PostParams::default(), &node(name, label)).await;

    let role = create("w1", "node-role.kubernetes.io/infra").await.unwrap_err();
    assert_eq!(code(&role), Some(403), "{role}");
    assert!(role.to_string().contains("is not allowed to set"), "{role}");
    let other = create("w2", "node.kubernetes.io/pool").await.unwrap_err();
    assert_eq!(code(&other), Some(403), "{other}");
    create("w1", "node.kubernetes.io/pool").await.unwrap();

    // The Node authorizer lets it read its own Node, and no list of all.
    nodes.get("w1").await.unwrap();
    let all = nodes.list(&ListParams::default()).await.unwrap_err();
    assert_eq!(code(&all), Some(403), "{all}");

    let admin: Api<Node> = Api::all(plane.client(&Identity::admin()).await.unwrap());
    let created = node("w3", "node-role.kubernetes.io/infra");
    admin.create(&PostParams::default(), &created).await.unwrap();
}

#[tokio::test]
async fn the_api_server_comes_back_where_it_was_with_what_it_had() {
    let Some(programs) = Programs::for_test() else { return };
    let mut plane = ControlPlane::start(&programs, Options::default()).await.unwrap();
    let nodes: Api<Node> = Api::all(plane.client(&Identity::admin()).await.unwrap());
    nodes
        .create(&PostParams::default(), &node("w1", "example.com/x"))
        .await
        .unwrap();

    plane.kill_api_server().unwrap();
    nodes.get("w1").await.unwrap_err();
    plane.start_api_server().await.unwrap();
    nodes.get("w1").await.unwrap();
}

#[tokio::test]
async fn several_are_apart_and_leave_nothing_behind() {
    let Some(programs) = Programs::for_test() else { return };
    let (one, two) = tokio::join!(
        ControlPlane::start(&programs, Options::default()),
        ControlPlane::start(&programs, Options::default())
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_ne!(one.url(), two.url());
    let nodes: Api<Node> = Api::all(one.client(&Identity::admin()).await.unwrap());
    nodes
        .create(&PostParams::default(), &node("w1", "example.com/x"))
        .await
        .unwrap();
    let others: Api<Node> = Api::all(two.client(&Identity::admin()).await.unwrap());
    assert_eq!(others.list(&ListParams::default()).await.unwrap().items.len(), 0);

    let folder = one.folder().to_owned();
    drop(one);
    assert!(!folder.exists());
    assert!(!runs_in(&folder), "a program still runs in {}", folder.display());
    nodes.get("w1").await.unwrap_err();
    others.list(&ListParams::default()).await.unwrap();
}

/// Whether the working directory of some process is this one.
fn runs_in(folder: &Path) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    processes.flatten().any(|process| {
        std::fs::read_link(process.path().join("cwd"))
            .is_ok_and(|cwd| cwd.to_string_lossy().contains(&*folder.to_string_lossy()))
    })
}

#[tokio::test]
async fn a_bootstrap_token_is_good_for_a_certificate_request_and_no_more() {
    let Some(programs) = Programs::for_test() else { return };
    let plane = ControlPlane::start(&programs, Options::default()).await.unwrap();
    let token = BootstrapToken::new("aaaaaa", "0123456789abcdef");
    plane
        .create_bootstrap_token(&token, &["system:bootstrappers:rack1"])
        .await
        .unwrap();
    plane.allow_bootstrap(false).await.unwrap();

    let client = plane.bootstrap_client(&token).await.unwrap();
    let who: Api<SelfSubjectReview> = Api::all(client.clone());
    let me = who
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await
        .unwrap();
    let me = me.status.unwrap().user_info.unwrap();
    assert_eq!(me.username.as_deref(), Some("system:bootstrap:aaaaaa"));
    assert!(me.groups.unwrap().contains(&"system:bootstrappers:rack1".to_owned()));

    let requests: Api<CertificateSigningRequest> = Api::all(client.clone());
    let error = requests
        .create(&PostParams::default(), &CertificateSigningRequest::default())
        .await
        .unwrap_err();
    assert_eq!(code(&error), Some(422), "allowed, but empty: {error}");
    let nodes: Api<Node> = Api::all(client);
    let error = nodes
        .create(&PostParams::default(), &node("w1", "a"))
        .await
        .unwrap_err();
    assert_eq!(code(&error), Some(403), "{error}");

    let forged = BootstrapToken::new("aaaaaa", "fedcba9876543210");
    let nodes: Api<Node> = Api::all(plane.bootstrap_client(&forged).await.unwrap());
    let error = nodes.get("w1").await.unwrap_err();
    assert_eq!(code(&error), Some(401), "{error}");
}
