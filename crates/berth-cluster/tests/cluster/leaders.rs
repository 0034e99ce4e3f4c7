//! Replicas: one leads, and when it dies the next one does its work. The API server goes away and comes back.

use std::time::Duration;

use berth_clock::Clock;
use berth_cluster::lease::LeaseOptions;
use berth_testing::Identity;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Node};
use kube::Api;
use serde_json::json;

use crate::support::{Cluster, INFRA, Needs, STORAGE, has, on_both};

on_both! {
    Needs { forgets: true, ..Needs::NOTHING };
    the_next_replica_works_when_the_leader_is_killed,
    an_api_server_that_goes_away_and_comes_back_loses_nothing,
    what_happened_while_nobody_looked_is_found_although_the_history_is_gone,
}

pub(crate) fn lease(identity: &str) -> LeaseOptions {
    LeaseOptions {
        namespace: "kube-system".to_owned(),
        identity: identity.to_owned(),
        duration: Duration::from_secs(4),
        period: Duration::from_millis(200),
        ..LeaseOptions::default()
    }
}

async fn the_next_replica_works_when_the_leader_is_killed(cluster: &mut Cluster) {
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), "kube-system");
    let holder = async || {
        let lease = leases.get_opt("berth-controller").await.expect("an answer")?;
        lease.spec?.holder_identity
    };
    // A client's connections belong to the runtime that opened them, and go with it when it is killed.
    let client = cluster.client_of(&Identity::admin()).await;
    let mut first = cluster.controllers_with(client, |options| options.lease = Some(lease("first")));
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
        options.clock = Clock::new(|| Clock::system().now() - jiff::SignedDuration::from_hours(1));
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

async fn an_api_server_that_goes_away_and_comes_back_loses_nothing(cluster: &mut Cluster) {
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
    cluster.restart_api_server().await;
    cluster.label("w1", json!({INFRA: null, STORAGE: ""})).await;
    cluster
        .node_with("w1", "was followed", |node| has(node, "tier", "storage"))
        .await;
    controllers.stop().await;
    let nodes: Api<Node> = cluster.api();
    assert!(has(&nodes.get("w1").await.expect("a Node"), STORAGE, ""));
}

/// A way to the API server that can be cut.
struct Wire {
    port: u16,
    open: tokio::sync::watch::Sender<bool>,
}

impl Wire {
    async fn to(target: u16) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (open, state) = tokio::sync::watch::channel(true);
        tokio::spawn(async move {
            while let Ok((mut inner, _)) = listener.accept().await {
                let mut state = state.clone();
                tokio::spawn(async move {
                    if !*state.borrow() {
                        return;
                    }
                    let Ok(mut outer) = tokio::net::TcpStream::connect(("127.0.0.1", target)).await else {
                        return;
                    };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut inner, &mut outer) => {}
                        _ = state.wait_for(|open| !open) => {}
                    }
                });
            }
        });
        Self { port, open }
    }
}

async fn what_happened_while_nobody_looked_is_found_although_the_history_is_gone(cluster: &mut Cluster) {
    for name in ["w1", "w2"] {
        cluster
            .berth(name, json!({"pool": "infra", "preregister": "Now"}))
            .await;
    }
    let wire = Wire::to(cluster.port()).await;
    let mut kubeconfig = cluster.kubeconfig();
    let server = &mut kubeconfig["clusters"][0]["cluster"]["server"];
    *server = json!(
        server
            .as_str()
            .expect("an address")
            .replace(&cluster.port().to_string(), &wire.port.to_string())
    );
    let kubeconfig = crate::support::from_json(kubeconfig);
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default())
        .await
        .expect("a config");
    let client = kube::Client::try_from(config).expect("a client");
    let controllers = cluster.controllers_with(client, |_| {});
    for name in ["w1", "w2"] {
        cluster
            .node_with(name, "was created", |node| has(node, INFRA, ""))
            .await;
        cluster
            .berth_with(name, "was settled", |berth| {
                berth.status.as_ref().is_some_and(|status| status.node_uid.is_some())
            })
            .await;
    }

    // The controllers see nothing of this.
    wire.open.send_replace(false);
    cluster.label("w1", json!({INFRA: null, STORAGE: ""})).await;
    cluster.delete_node("w2").await;
    cluster
        .berth("w3", json!({"pool": "storage", "preregister": "Now"}))
        .await;
    cluster.forget().await;

    wire.open.send_replace(true);
    cluster
        .node_with("w1", "was followed", |node| has(node, "tier", "storage"))
        .await;
    cluster
        .node_with("w2", "was created again", |node| has(node, INFRA, ""))
        .await;
    cluster
        .node_with("w3", "was created", |node| has(node, STORAGE, ""))
        .await;
    controllers.stop().await;
}
