//! How fast 2,000 Nodes are relabelled on a real API server: by the engine, by a bare client, and by kubectl.
//!
//! The bare client sends the same patches as fast as it can, knows beforehand what to send and keeps nothing. The engine
//! looks first, decides, patches, and files an outcome for every node in a store on disk. All run on the same API server,
//! one after the other, several times; the best of each is told.

#![expect(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures time, tells it, and fails loudly"
)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use berth_clock::Clock;
use berth_store::{ActionId, ActionStore, NewAction, Origin, SealingKeys, SqliteStore};
use berth_testing::{ControlPlane, Identity, Options, Programs};
use berth_workflow::{Engine, EngineOptions};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const NODES: usize = 2_000;
const ROUNDS: usize = 5;
const CONCURRENCY: usize = 64;
/// kubectl starts a program for each node, so fewer are enough to know its rate.
const BY_KUBECTL: usize = 100;

#[tokio::main]
async fn main() {
    let Ok(programs) = Programs::find() else {
        println!("cargo xtask envtest builds the programs that this needs");
        return;
    };
    let plane = ControlPlane::start(&programs, Options::default()).await.unwrap();
    let client = plane.client(&Identity::admin()).await.unwrap();
    let names: Vec<String> = (0..NODES).map(|number| format!("node-{number:04}")).collect();
    create(&client, &names).await;
    let (mut bare, mut engine) = (Duration::MAX, Duration::MAX);
    for round in 0..ROUNDS {
        bare = bare.min(by_bare_client(&client, &names, &format!("bare-{round}")).await);
        engine = engine.min(by_engine(&client, &names, &format!("engine-{round}")).await);
    }
    let kubectl = by_kubectl(&plane, &names);
    let rate = |nodes: usize, took: Duration| nodes as f64 / took.as_secs_f64();
    let (bare, engine) = (rate(NODES, bare), rate(NODES, engine));
    println!("bare client:   {bare:8.0} nodes/s");
    println!(
        "berth:         {engine:8.0} nodes/s, {:.2} of the bare client",
        engine / bare
    );
    println!("kubectl label: {:8.0} nodes/s", rate(BY_KUBECTL, kubectl));
}

fn labels(node: &str, round: &str) -> Value {
    json!({"example.com/round": round, "example.com/name": node, "rack": "r1", "node-role.kubernetes.io/infra": ""})
}

async fn create(client: &Client, names: &[String]) {
    let api: Api<Node> = Api::all(client.clone());
    let create = names.iter().map(|name| {
        let (api, node) = (api.clone(), json!({"metadata": {"name": name}}));
        async move {
            api.create(&PostParams::default(), &serde_json::from_value(node).unwrap())
                .await
                .map(drop)
        }
    });
    let created: Result<(), kube::Error> = futures::stream::iter(create)
        .buffer_unordered(CONCURRENCY)
        .try_collect()
        .await;
    created.unwrap();
}

async fn by_bare_client(client: &Client, names: &[String], round: &str) -> Duration {
    let api: Api<Node> = Api::all(client.clone());
    let start = Instant::now();
    let patches = names.iter().map(|name| {
        let (api, patch) = (api.clone(), json!({"metadata": {"labels": labels(name, round)}}));
        async move {
            api.patch_metadata(name, &PatchParams::default(), &Patch::Merge(patch))
                .await
                .map(drop)
        }
    });
    let answer: Result<(), kube::Error> = futures::stream::iter(patches)
        .buffer_unordered(CONCURRENCY)
        .try_collect()
        .await;
    answer.unwrap();
    start.elapsed()
}

/// From the request until the last outcome is on disk.
async fn by_engine(client: &Client, names: &[String], round: &str) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("berth.db"), SealingKeys::none())
        .await
        .unwrap();
    let store: Arc<dyn ActionStore> = Arc::new(store);
    let clock = Clock::system();
    let engine = Arc::new(Engine::new(
        Arc::clone(&store),
        client.clone(),
        EngineOptions::new("bench", clock),
    ));
    let cancel = CancellationToken::new();
    let running = tokio::spawn(Arc::clone(&engine).run(cancel.clone()));
    let mut events = engine.events();
    let start = Instant::now();
    let id = ActionId::new(Clock::system().microseconds(), [1; 10]);
    let action = NewAction {
        id: id.clone(),
        task_id: round.to_owned(),
        origin: Origin::Action,
        name: "update_labels".to_owned(),
        parameters: json!({}),
        user: "bench".to_owned(),
        context_marker: String::new(),
        revision: Some(1),
        allow_intermediate_commits: None,
        options: json!({}),
        exclusive: None,
        nodes: names
            .iter()
            .map(|name| (name.clone(), json!({"labels": labels(name, round)})))
            .collect(),
        now: 1,
    };
    store.create_action(&action).await.unwrap();
    engine.wake();
    // The last event of an action says that it is over.
    loop {
        match events.recv().await {
            Ok(berth_workflow::Event::Action {
                queued: 0, running: 0, ..
            }) => break,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let ended = store.action(&id).await.unwrap();
    let took = start.elapsed();
    assert_eq!(ended.counts.succeeded, names.len() as u64);
    cancel.cancel();
    running.await.unwrap();
    took
}

fn by_kubectl(plane: &ControlPlane, names: &[String]) -> Duration {
    let start = Instant::now();
    for name in names.iter().take(BY_KUBECTL) {
        let labelled = plane
            .kubectl()
            .unwrap()
            .args([
                "label",
                "--overwrite",
                "node",
                name,
                "example.com/round=kubectl",
                "rack=r2",
            ])
            .output()
            .unwrap();
        assert!(labelled.status.success());
    }
    start.elapsed()
}
