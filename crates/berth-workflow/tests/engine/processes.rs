//! A process of its own that is killed by the system, again and again.

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use berth_store::{SealingKeys, SqliteStore};
use kube::{Client, Config};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::world::{Disk, Embedded, all_is_well, create_nodes, names, new_action, options, run, wait_for_end, watched};

/// Names the store and the API server; the engine in this program does nothing without them.
const STORE: &str = "BERTH_WORKFLOW_KILL_TEST_STORE";
const API: &str = "BERTH_WORKFLOW_KILL_TEST_API";

/// Runs in the process that is killed, and says when requests come by.
#[tokio::test(flavor = "multi_thread")]
async fn engine() {
    let (Some(store), Some(api)) = (std::env::var_os(STORE), std::env::var_os(API)) else {
        return;
    };
    let store = SqliteStore::open(Path::new(&store), SealingKeys::none()).await.unwrap();
    let store: Arc<dyn berth_store::ActionStore> = Arc::new(store);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_loses_nothing() {
    let cluster = Embedded::start().await;
    let names = names(200);
    create_nodes(&cluster.client(), &names).await;
    let disk = Disk::new();
    let action = new_action(&names, "process", json!({}));
    disk.open().await.create_action(&action).await.unwrap();
    for kill in 0..8 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "processes::engine", "--nocapture"])
            .env(STORE, disk.path())
            .env(API, cluster.url())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        for _ in 0..=(5 + kill * 3) {
            lines.next_line().await.unwrap().unwrap();
        }
        child.kill().await.unwrap();
        let open = disk.open().await.action(&action.id).await.unwrap().counts;
        assert!(open.total() == 200, "{open:?}");
    }
    let store = disk.open().await;
    let running = run(&store, &cluster.client(), options("process"));
    wait_for_end(&store, &running, &action.id).await;
    all_is_well(&store, &cluster.client(), &action.id, &names, "process").await;
    running.end().await;
}
