//! kube-rs as a client: typed objects, errors, and watches that outlive a restart.

use std::{collections::BTreeMap, net::SocketAddr, path::Path, time::Duration};

use berth_sim::{ApiServer, Cluster};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::{
    Api, Client, Config,
    api::{ListParams, Patch, PatchParams, PostParams},
    runtime::{WatchStreamExt as _, watcher},
};
use serde_json::json;
use tempfile::TempDir;

use crate::program::{loopback, options};

fn client(address: SocketAddr) -> Client {
    let url = format!("http://{address}").parse().unwrap();
    Client::try_from(Config::new(url)).unwrap()
}

async fn open(folder: &Path, address: SocketAddr) -> ApiServer {
    let cluster = Cluster::open(options(), folder).await.unwrap();
    ApiServer::start(cluster, address).await.unwrap()
}

fn node(name: &str) -> Node {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"a": "1"}}})).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_outlives_a_restart_and_a_compaction() {
    let folder = TempDir::new().unwrap();
    let server = open(folder.path(), loopback()).await;
    let address = server.address();
    let nodes: Api<Node> = Api::all(client(address));
    nodes.create(&PostParams::default(), &node("n1")).await.unwrap();

    let mut seen = watcher(nodes.clone(), watcher::Config::default())
        .default_backoff()
        .applied_objects()
        .filter_map(async |event| event.ok())
        .map(|node| {
            let labels: BTreeMap<String, String> = node.metadata.labels.unwrap_or_default();
            (
                node.metadata.name.unwrap_or_default(),
                labels.get("a").cloned().unwrap_or_default(),
            )
        })
        .boxed();
    let mut wait_for = async |name: &str, value: &str| {
        let wanted = (name.to_owned(), value.to_owned());
        let found = tokio::time::timeout(Duration::from_mins(1), async {
            while let Some(next) = seen.next().await {
                if next == wanted {
                    return true;
                }
            }
            false
        });
        assert!(found.await.unwrap(), "the watch ended before {wanted:?}");
    };
    wait_for("n1", "1").await;
    let label = async |value: &str| {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"a": value}}}));
        nodes.patch("n1", &PatchParams::default(), &patch).await.unwrap();
    };
    label("2").await;
    wait_for("n1", "2").await;

    server.stop().await;
    let server = open(folder.path(), address).await;
    label("3").await;
    wait_for("n1", "3").await;

    // Everything that the watch could go on from is forgotten.
    server.cluster().compact();
    label("4").await;
    wait_for("n1", "4").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_those_of_kubernetes() {
    let server = ApiServer::start(Cluster::new(options()), loopback()).await.unwrap();
    let nodes: Api<Node> = Api::all(client(server.address()));
    let made = nodes.create(&PostParams::default(), &node("n1")).await.unwrap();
    let code = |error: kube::Error| match error {
        kube::Error::Api(status) => (status.code, status.reason.clone()),
        other => panic!("{other}"),
    };
    let twice = nodes.create(&PostParams::default(), &node("n1")).await.unwrap_err();
    assert_eq!(code(twice), (409, "AlreadyExists".to_owned()));
    assert_eq!(code(nodes.get("n2").await.unwrap_err()), (404, "NotFound".to_owned()));

    let mut fresh = made.clone();
    fresh
        .metadata
        .labels
        .get_or_insert_default()
        .insert("a".to_owned(), "2".to_owned());
    nodes.replace("n1", &PostParams::default(), &fresh).await.unwrap();
    let stale = nodes.replace("n1", &PostParams::default(), &fresh).await.unwrap_err();
    assert_eq!(code(stale), (409, "Conflict".to_owned()));

    let maps: Api<ConfigMap> = Api::namespaced(client(server.address()), "nowhere");
    let map = serde_json::from_value(json!({"metadata": {"name": "c"}})).unwrap();
    let nowhere = maps.create(&PostParams::default(), &map).await.unwrap_err();
    assert_eq!(code(nowhere), (404, "NotFound".to_owned()));

    for index in 2..6 {
        nodes
            .create(&PostParams::default(), &node(&format!("n{index}")))
            .await
            .unwrap();
    }
    let first = nodes.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(3));
    let token = first.metadata.continue_.unwrap();
    // What is made later is not in the pages of an earlier list.
    nodes.create(&PostParams::default(), &node("n9")).await.unwrap();
    let rest = nodes.list(&ListParams::default().continue_token(&token)).await.unwrap();
    assert_eq!(rest.items.len(), 3);
    server.cluster().compact();
    let expired = nodes.list(&ListParams::default().limit(2).continue_token(&token)).await;
    assert_eq!(code(expired.unwrap_err()), (410, "Expired".to_owned()));

    // The list first and then the watch, as kube-rs does it when it is not told otherwise; and all in one.
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let names: Vec<String> = watcher(nodes.clone(), config)
            .applied_objects()
            .take(6)
            .map_ok(|node| node.metadata.name.unwrap_or_default())
            .try_collect()
            .await
            .unwrap();
        assert_eq!(names, ["n1", "n2", "n3", "n4", "n5", "n9"]);
    }
    server.stop().await;
}
