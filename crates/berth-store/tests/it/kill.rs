//! A process that is killed while it writes: what it acknowledged is there, and nothing is half there.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use berth_store::{SealingKeys, SqliteStore, Store as _, Write};
use serde_json::{Value, json};

use crate::fixture::{Documents, document};

/// Names the file to write to; the test that writes does nothing without it.
const FILE: &str = "BERTH_STORE_KILL_TEST_FILE";
const KILLS: usize = 40;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// All documents of a revision carry its number, so a revision that is half there shows.
fn documents(number: u64) -> Documents {
    (0..15)
        .map(|index| {
            document(
                &format!("document {index}"),
                json!({"number": number, "padding": "x".repeat(400)}),
            )
        })
        .collect()
}

/// Runs in the process that is killed: writes without end and says what it wrote.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(FILE) else { return };
    runtime().block_on(async {
        let store = SqliteStore::open(Path::new(&path), SealingKeys::none()).await.unwrap();
        loop {
            let number = store.latest().await.unwrap() + 1;
            let put = store
                .put_bucket("site", &documents(number), Write::at(1))
                .await
                .unwrap();
            let revision = put.revision.unwrap().id;
            store
                .put_tag(revision, "written", &json!({"number": revision}))
                .await
                .unwrap();
            acknowledge(revision);
        }
    });
}

#[expect(clippy::print_stderr, reason = "the test reads it")]
fn acknowledge(revision: u64) {
    eprintln!("acknowledged {revision}");
}

/// Lets the writer acknowledge some revisions, kills it a while later, and gives what it acknowledged.
fn write_and_kill(path: &Path, acknowledgements: usize, spins: u64) -> Vec<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writer", "--nocapture"])
        .env(FILE, path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let number = |line: std::io::Result<String>| line.ok()?.strip_prefix("acknowledged ")?.parse().ok();
    let mut acknowledged: Vec<u64> = lines.by_ref().filter_map(number).take(acknowledgements).collect();
    for _ in 0..spins {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said before it was killed may still be in the pipe.
    acknowledged.extend(lines.filter_map(number));
    acknowledged
}

#[test]
fn what_was_acknowledged_survives_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berth.db");
    let mut acknowledged = BTreeSet::new();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..KILLS {
        // xorshift: the moments differ, and a failure comes back.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Every fifth round kills the process while it starts, opens or makes the file.
        acknowledged.extend(write_and_kill(&path, round % 5, random % 3_000_000));
        runtime().block_on(async {
            let store = SqliteStore::open(&path, SealingKeys::none()).await.unwrap();
            assert_eq!(store.check().await.unwrap().problems, [], "round {round}");
            let latest = store.latest().await.unwrap();
            assert!(
                acknowledged.last() <= Some(&latest),
                "{acknowledged:?}, and {latest} is the newest"
            );
            for revision in latest.saturating_sub(5).max(1)..=latest {
                let found = store.documents(revision).await.unwrap();
                assert_eq!(found.len(), 15);
                for document in found {
                    assert_eq!(document.data().unwrap().get("number"), Some(&Value::from(revision)));
                }
                if acknowledged.contains(&revision) {
                    assert_eq!(
                        store.tag(revision, "written").await.unwrap(),
                        json!({"number": revision})
                    );
                }
            }
            store.close().await;
        });
    }
    assert!(
        acknowledged.len() > KILLS,
        "the writer has to get somewhere: {acknowledged:?}"
    );
}
