//! Two `berth serve` on one `PostgreSQL`, each a process of its own, and one of them is killed in the middle.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use berth_clock::Clock;
use berth_sim::{ApiServer, ClusterOptions, kubeconfig};
use berth_testing::{ControlPlane, Options, Programs};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, Config,
    api::{ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};

use crate::{
    postgres_server,
    run::{Folder, command, finish},
    served::Served,
};

/// Enough that the servers are still at it when one of them is killed.
const NODES: usize = 300;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_mins(3);

fn names() -> Vec<String> {
    (0..NODES).map(|number| format!("node-{number:03}")).collect()
}

fn site() -> String {
    let mut site = "---\nschema: deckhand/LayeringPolicy/v1\nmetadata: {schema: metadata/Control/v1, name: layers}\n\
                    data: {layerOrder: [site]}\n"
        .to_owned();
    for name in names() {
        let node = format!(
            "---\nschema: drydock/BaremetalNode/v1\nmetadata: {{schema: metadata/Document/v1, name: {name}, storagePolicy: \
             cleartext, layeringDefinition: {{abstract: false, layer: site}}}}\ndata: {{addressing: [{{network: pxe, \
             address: dhcp}}], metadata: {{owner_data: {{example.com/name: {name}}}}}}}\n"
        );
        site.push_str(&node);
    }
    site
}

async fn client(kubeconfig: &Path) -> Client {
    let read = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    Client::try_from(config.unwrap()).unwrap()
}

async fn create_nodes(nodes: &Api<Node>) {
    for name in names() {
        let labels = json!({"kubernetes.io/hostname": name, "stale": "yes"});
        let node = serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap();
        nodes.create(&PostParams::default(), &node).await.unwrap();
    }
}

fn serve(folder: &Folder, name: &str, database: &str, kubeconfig: &Path) -> (Served, String) {
    let mut serve = command();
    serve
        .current_dir(folder.path())
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--identity",
            name,
            "--database",
            database,
        ])
        // Few at a time, so that it takes a while; a short lease, so that the other one need not wait long.
        .args(["--concurrency", "4", "--lease-duration", "2s", "--cluster-kubeconfig"])
        .arg(kubeconfig);
    let served = Served::start(&mut serve);
    let address = served.address("the API is listening");
    (served, format!("http://{address}"))
}

/// What a server tells of everything that happens, until it tells of the end.
async fn events(server: String, listening: tokio::sync::oneshot::Sender<()>) -> Vec<(String, Value)> {
    let mut stream = reqwest::get(format!("{server}/api/v1.0/events")).await.unwrap();
    assert_eq!(stream.status(), 200);
    listening.send(()).unwrap();
    let (mut text, mut told) = (String::new(), Vec::new());
    while let Some(chunk) = stream.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some((event, rest)) = text.split_once("\n\n") {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
            if let (Some(kind), Some(data)) = (field("event: "), field("data: ")) {
                told.push((kind.to_owned(), serde_json::from_str::<Value>(data).unwrap()));
            }
            text = rest.to_owned();
        }
        if told.iter().any(|(_, data)| data["action_lifecycle"] == "Complete") {
            break;
        }
    }
    told
}

/// The nodes that each server has in its hands.
async fn held(database: &mut PgConnection) -> BTreeMap<String, BTreeSet<String>> {
    let rows: Vec<(String, String)> = sqlx::query_as("SELECT owner, node FROM subtasks WHERE state = 'running'")
        .fetch_all(database)
        .await
        .unwrap();
    let mut held: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (owner, node) in rows {
        held.entry(owner).or_default().insert(node);
    }
    held
}

/// Kills the first server once both have worked, with nodes in its hands; and says which.
async fn kill(first: Served, database: &mut PgConnection) -> BTreeSet<String> {
    let mut at_work = BTreeSet::new();
    loop {
        at_work.extend(held(database).await.into_keys());
        let open: (i64,) = sqlx::query_as("SELECT count(*) FROM subtasks WHERE state IN ('queued', 'running')")
            .fetch_one(&mut *database)
            .await
            .unwrap();
        assert!(open.0 > 0, "it was over before both had worked: {at_work:?}");
        if at_work.len() < 2 {
            continue;
        }
        first.send("-STOP");
        // What it had sent before it stopped may still be carried out.
        let mut before = BTreeSet::new();
        let in_hand = loop {
            let now = held(database).await.remove("one").unwrap_or_default();
            if now == before {
                break now;
            }
            before = now;
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        if in_hand.is_empty() {
            first.send("-CONT");
            continue;
        }
        first.signal("-KILL");
        return in_hand;
    }
}

async fn one_of_two_servers_is_killed(kubeconfig: &Path) {
    let Some(url) = postgres_server::database().await else {
        return;
    };
    let nodes: Api<Node> = Api::all(client(kubeconfig).await);
    create_nodes(&nodes).await;
    let folder = Folder::new();
    folder.write("site.yaml", site());
    let (first, to_first) = serve(&folder, "one", &url, kubeconfig);
    let (_second, to_second) = serve(&folder, "two", &url, kubeconfig);
    let berth = |server: &str, words: &str| {
        let mut berth = command();
        berth.current_dir(folder.path()).env("BERTH_SERVER", server);
        let outcome = finish(berth.args(words.split_whitespace()), b"");
        assert_eq!(outcome.exit, 0, "{words}\n{outcome}");
        outcome
    };
    berth(&to_first, "configdocs load site -f site.yaml");
    berth(&to_first, "configdocs commit");
    berth(&to_first, "site-action record");
    let (listening, listens) = tokio::sync::oneshot::channel();
    let told = tokio::spawn(events(to_second.clone(), listening));
    listens.await.unwrap();
    let mut database = PgConnection::connect(&url).await.unwrap();
    let action = berth(&to_first, "relabel --all --strategy mirror -o json").json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let in_hand = kill(first, &mut database).await;

    // The other one brings the action to its end, and tells of everything: also of what the killed one had done.
    let told = tokio::time::timeout(PATIENCE, told).await.unwrap().unwrap();
    let node_names = |(kind, data): &(String, Value)| {
        let name = data["node"]["name"].as_str().unwrap_or_default().to_owned();
        (kind == "node" && data["action"] == action.as_str()).then_some(name)
    };
    let mut told: Vec<String> = told.iter().filter_map(node_names).collect();
    told.sort_unstable();
    assert_eq!(told, names(), "each node once");
    let described = berth(&to_second, &format!("describe {action} -o json")).json();
    assert_eq!(described["action_lifecycle"], "Complete");
    assert_eq!(described["progress"]["succeeded"], NODES);
    let outcomes = described["nodes"].as_array().unwrap();
    let mut found: Vec<&str> = outcomes.iter().map(|node| node["name"].as_str().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, names(), "one outcome for each node");
    for node in outcomes {
        let name = node["name"].as_str().unwrap();
        assert_eq!(node["state"], "success", "{node}");
        let attempts = if in_hand.contains(name) { 2 } else { 1 };
        assert_eq!(
            node["attempts"], attempts,
            "{node}: only what the killed one had in its hands is done again"
        );
    }
    for node in nodes.list(&ListParams::default()).await.unwrap() {
        let name = node.metadata.name.unwrap();
        let labels = node.metadata.labels.unwrap();
        assert_eq!(labels.get("example.com/name"), Some(&name));
        assert!(!labels.contains_key("stale"), "{name}: {labels:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_embedded_cluster() {
    let cluster = berth_sim::Cluster::new(ClusterOptions::new(Clock::system(), 1));
    cluster.add_token("admin", berth_sim::Identity::administrator());
    let cluster = ApiServer::start(cluster, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let folder = Folder::new();
    folder.write("kubeconfig", kubeconfig(&cluster.url(), "admin"));
    one_of_two_servers_is_killed(&folder.path().join("kubeconfig")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_real_api_server() {
    let Some(programs) = Programs::for_test() else { return };
    let plane = ControlPlane::start(&programs, Options::default()).await.unwrap();
    let admin = plane.write_kubeconfig(&berth_testing::Identity::admin()).unwrap();
    one_of_two_servers_is_killed(&admin).await;
}
