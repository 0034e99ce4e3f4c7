//! A server that has lost its database and not its cluster, while another one takes its nodes over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use berth_store::{ActionStore, SealingKeys, SqliteStore};
use berth_workflow::EngineOptions;
use http::Method;
use serde_json::json;

use crate::world::{
    Decide, Disk, Embedded, Fault, all_is_well, create_nodes, names, new_action, options, run, wait_for_end, watched,
};

fn leased(owner: &str) -> EngineOptions {
    EngineOptions {
        lease: Duration::from_secs(3),
        ..options(owner)
    }
}

/// One request for a change hangs, the others are refused for as long as the API server is `busy`.
fn hindered(busy: &Arc<AtomicBool>) -> Decide {
    let busy = Arc::clone(busy);
    Arc::new(move |method, node, _| {
        if method != Method::PATCH || !busy.load(Ordering::Acquire) {
            return None;
        }
        if node == "node-000" {
            return Some(Fault::Hang);
        }
        let status = json!({"kind": "Status", "status": "Failure", "code": 503, "message": "not ready"});
        Some(Fault::Answer(503, status))
    })
}

/// The first server must be done with its nodes before the second one begins, or its old labels would come back over new ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_its_database_lets_go_before_another_takes_over() {
    let cluster = Embedded::start().await;
    let names = names(3);
    create_nodes(&cluster.client(), &names).await;
    let disk = Disk::new();
    let lost = Arc::new(SqliteStore::open(&disk.path(), SealingKeys::none()).await.unwrap());
    let (first_store, store): (Arc<dyn ActionStore>, _) = (lost.clone(), disk.open().await);

    let busy = Arc::new(AtomicBool::new(true));
    let (client, first_watch) = watched(cluster.client(), Some(hindered(&busy)));
    let first = run(&first_store, &client, leased("one"));
    let old = new_action(&names, "old", json!({}));
    store.create_action(&old).await.unwrap();
    first.engine.wake();
    first_watch.has_hung().await;
    lost.close().await;

    // What was still under way, and how often the first one had asked, when the second one first did.
    let (hanging, asked) = (Arc::new(AtomicU64::new(u64::MAX)), Arc::new(AtomicU64::new(u64::MAX)));
    let (seen, was_hanging, had_asked) = (Arc::clone(&first_watch), Arc::clone(&hanging), Arc::clone(&asked));
    let look: Decide = Arc::new(move |_, _, number| {
        if number == 1 {
            was_hanging.store(*seen.hanging.borrow(), Ordering::Release);
            had_asked.store(*seen.requests.borrow(), Ordering::Release);
        }
        None
    });
    let (client, _) = watched(cluster.client(), Some(look));
    let second = run(&store, &client, leased("two"));
    wait_for_end(&store, &second, &old.id).await;
    let new = new_action(&names, "new", json!({}));
    store.create_action(&new).await.unwrap();
    wait_for_end(&store, &second, &new.id).await;

    // The API server would now take what the first one sends.
    busy.store(false, Ordering::Release);
    tokio::select! {
        () = first_watch.has_patched() => panic!("labels of an action that is over were put back"),
        () = first.end() => {}
    }
    assert_eq!(hanging.load(Ordering::Acquire), 0, "a request outlived the lease");
    assert_eq!(asked.load(Ordering::Acquire), *first_watch.requests.borrow());
    all_is_well(&store, &cluster.client(), &new.id, &names, "new").await;
    second.end().await;
}
