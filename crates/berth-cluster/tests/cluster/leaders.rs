//! Replicas: one leads, and when it dies the next one does its work. The API server goes away and comes back.

use std::time::Duration;

use berth_cluster::lease::LeaseOptions;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Node};
use kube::Api;
use serde_json::json;

use crate::support::{Cluster, INFRA, STORAGE, has};

fn lease(identity: &str) -> LeaseOptions {
    LeaseOptions {
        namespace: "kube-system".to_owned(),
        identity: identity.to_owned(),
        duration: Duration::from_secs(4),
        period: Duration::from_millis(200),
        ..LeaseOptions::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_replica_works_when_the_leader_is_killed() {
    let Some(cluster) = Cluster::start(false).await else {
        return;
    };
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), "kube-system");
    let holder = async || {
        let lease = leases.get_opt("berth-controller").await.expect("an answer")?;
        lease.spec?.holder_identity
    };
    let mut first = cluster.controllers(|options| options.lease = Some(lease("first")));
    cluster
        .berth("w0", json!({"pool": "infra", "preregister": "Now"}))
        .await;
    cluster
        .node_with("w0", "was created by the first", |node| has(node, INFRA, ""))
        .await;
    assert_eq!(holder().await.as_deref(), Some("first"));
    // The clock of the second is an hour behind; nothing depends on it.
    let second = cluster.controllers(|options| {
        options.lease = Some(lease("second"));
        options.clock = std::sync::Arc::new(|| jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1));
    });
    for index in 1..40 {
        cluster
            .berth(&format!("w{index}"), json!({"pool": "infra", "preregister": "Now"}))
            .await;
        if index == 20 {
            first.kill();
        }
    }
    for index in 1..40 {
        cluster
            .node_with(&format!("w{index}"), "was created by one of them", |node| {
                has(node, INFRA, "")
            })
            .await;
    }
    assert_eq!(holder().await.as_deref(), Some("second"));
    second.stop().await;
    assert_eq!(holder().await, None, "it gives the lease back");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_goes_away_and_comes_back_loses_nothing() {
    let Some(mut cluster) = Cluster::start(false).await else {
        return;
    };
    cluster
        .berth("w1", json!({"pool": "infra", "preregister": "Now"}))
        .await;
    let controllers = cluster.controllers(|_| {});
    cluster
        .node_with("w1", "was created", |node| has(node, INFRA, ""))
        .await;
    cluster
        .berth_with("w1", "was settled", |berth| {
            berth.status.as_ref().is_some_and(|s| s.node_uid.is_some())
        })
        .await;
    cluster.plane.kill_api_server().expect("killed");
    cluster.plane.start_api_server().await.expect("back");
    cluster.label("w1", json!({INFRA: null, STORAGE: ""})).await;
    cluster
        .node_with("w1", "was followed", |node| has(node, "tier", "storage"))
        .await;
    controllers.stop().await;
    let nodes: Api<Node> = cluster.api();
    assert!(has(&nodes.get("w1").await.expect("a Node"), STORAGE, ""));
}
