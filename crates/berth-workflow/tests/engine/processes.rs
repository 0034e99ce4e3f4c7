//! A process of its own that is killed by the system, again and again.

use std::{
    process::{Command, Stdio},
    sync::Arc,
};

use berth_store::{ActionStore, SealingKeys};
use berth_testing::kills;
use kube::{Client, Config};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::{
    postgres_server,
    world::{Disk, Embedded, all_is_well, create_nodes, names, new_action, options, run, wait_for_end, watched},
};

/// How often the process is killed, unless a campaign asks for more.
const KILLS: usize = 8;

/// More than one life of the process can bring to an end.
const NODES_FOR_EACH_KILL: usize = 45;

/// Names the store and the API server; the engine in this program does nothing without them.
const STORE: &str = "BERTH_WORKFLOW_KILL_TEST_STORE";
const API: &str = "BERTH_WORKFLOW_KILL_TEST_API";

/// Runs in the process that is killed, and says when requests come by.
#[tokio::test(flavor = "multi_thread")]
async fn engine() {
    let (Some(store), Some(api)) = (std::env::var_os(STORE), std::env::var_os(API)) else {
        return;
    };
    let store = open(store.to_str().unwrap()).await;
    let url = api.into_string().unwrap();
    let (client, watch) = watched(Client::try_from(Config::new(url.parse().unwrap())).unwrap(), None);
    let _running = run(&store, &client, options("process"));
    loop {
        watch.after(1).await;
        say();
    }
}

#[expect(clippy::print_stderr, reason = "the test reads it")]
fn say() {
    eprintln!("a request");
}

async fn open(address: &str) -> Arc<dyn ActionStore> {
    berth_store::open(address, SealingKeys::none()).await.unwrap()
}

async fn a_killed_process_loses_nothing(address: &str) {
    let cluster = Embedded::start().await;
    let kills = kills(KILLS);
    let names = names(kills * NODES_FOR_EACH_KILL);
    create_nodes(&cluster.client(), &names).await;
    let action = new_action(&names, "process", json!({}));
    open(address).await.create_action(&action).await.unwrap();
    for kill in 0..kills {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "processes::engine", "--nocapture"])
            .env(STORE, address)
            .env(API, cluster.url())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        for _ in 0..=(5 + (kill % KILLS) * 3) {
            lines.next_line().await.unwrap().unwrap();
        }
        child.kill().await.unwrap();
        let counts = open(address).await.action(&action.id).await.unwrap().counts;
        assert_eq!(counts.total(), names.len() as u64, "{counts:?}");
    }
    let store = open(address).await;
    let running = run(&store, &cluster.client(), options("process"));
    wait_for_end(&store, &running, &action.id).await;
    all_is_well(&store, &cluster.client(), &action.id, &names, "process").await;
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_loses_nothing_on_sqlite() {
    let disk = Disk::new();
    a_killed_process_loses_nothing(&format!("sqlite:{}", disk.path().display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_loses_nothing_on_postgres() {
    let Some(address) = postgres_server::database().await else {
        return;
    };
    a_killed_process_loses_nothing(&address).await;
}
