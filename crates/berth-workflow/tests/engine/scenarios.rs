//! What must hold on any cluster; here on the embedded one.

use std::collections::HashSet;

use berth_store::{ActionState, Command, SubtaskPage, SubtaskState};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, api::DeleteParams};
use serde_json::json;

use crate::world::{
    Disk, Embedded, all_is_well, create_nodes, failures, labels, names, new_action, options, run, wait_for,
    wait_for_end, watched,
};

/// Everything gets its declared labels in one patch each, and a second run sends nothing.
pub(crate) async fn everything_gets_its_labels(client: &kube::Client, names: &[String]) {
    let (client, watch) = watched(client.clone(), None);
    let (disk, round) = (Disk::new(), "first");
    let store = disk.open().await;
    let running = run(&store, &client, options("one"));
    let action = new_action(names, round, json!({}));
    store.create_action(&action).await.unwrap();
    wait_for_end(&store, &running, &action.id).await;
    all_is_well(&store, &client, &action.id, names, round).await;
    let patched = watch.patched();
    assert_eq!(patched.len(), names.len());
    assert!(patched.values().all(|count| *count == 1), "one patch for each node");
    let outcome = store
        .subtasks(&action.id, SubtaskPage::ALL)
        .await
        .unwrap()
        .remove(0)
        .outcome
        .unwrap();
    assert_eq!(outcome["set"]["example.com/round"], json!(round));
    assert_eq!(outcome["removed"], json!({"stale": "yes"}));
    assert_eq!(outcome["protected"], json!(["kubernetes.io/hostname"]));

    let again = new_action(names, round, json!({}));
    store.create_action(&again).await.unwrap();
    wait_for_end(&store, &running, &again.id).await;
    all_is_well(&store, &client, &again.id, names, round).await;
    assert_eq!(watch.patched(), patched, "nothing is sent when nothing changes");
    running.end().await;
}

/// The engine is killed at a hundred points, and its store opened anew each time.
pub(crate) async fn killed_again_and_again(client: &kube::Client, names: &[String], kills: u64) {
    let (client, watch) = watched(client.clone(), None);
    let (disk, round) = (Disk::new(), "killed");
    let action = new_action(names, round, json!({}));
    disk.open().await.create_action(&action).await.unwrap();
    let mut finished: HashSet<String> = HashSet::new();
    for kill in 0..kills {
        let store = disk.open().await;
        let before = watch.patched();
        // Another point each time: some before the first patch, some between patches and the filing of their results.
        let running = run(&store, &client, options("one"));
        tokio::select! {
            () = watch.after(1 + kill * 7919 % 11) => {}
            _ = wait_for_end(&store, &running, &action.id) => {}
        }
        for _ in 0..kill % 5 {
            tokio::task::yield_now().await;
        }
        running.kill().await;
        let after = watch.patched();
        for node in &finished {
            assert_eq!(
                before.get(node),
                after.get(node),
                "{node} was finished and is not touched again"
            );
        }
        let store = disk.open().await;
        for subtask in store.subtasks(&action.id, SubtaskPage::ALL).await.unwrap() {
            match subtask.state {
                SubtaskState::Succeeded => {
                    finished.insert(subtask.node);
                }
                _ => assert!(
                    !finished.contains(&subtask.node),
                    "{} has lost its outcome",
                    subtask.node
                ),
            }
        }
    }
    let store = disk.open().await;
    let running = run(&store, &client, options("one"));
    wait_for_end(&store, &running, &action.id).await;
    all_is_well(&store, &client, &action.id, names, round).await;
    running.end().await;
}

/// Two Nodes are deleted mid-run: they fail alone, and a retry is for them alone.
pub(crate) async fn nodes_that_go_fail_alone(client: &kube::Client, names: &[String]) {
    let (client, watch) = watched(client.clone(), None);
    let (disk, round) = (Disk::new(), "gone");
    let store = disk.open().await;
    let action = new_action(names, round, json!({}));
    store.create_action(&action).await.unwrap();
    let gone = &names[names.len() - 2..];
    let running = run(&store, &client, options("one"));
    watch.after(3).await;
    let api: Api<Node> = Api::all(client.clone());
    for name in gone {
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }
    let ended = wait_for_end(&store, &running, &action.id).await;
    let failed: Vec<String> = failures(&store, &action.id)
        .await
        .into_iter()
        .map(|(node, _)| node)
        .collect();
    // With few nodes some may have been quicker than the deletion.
    assert!(failed.iter().all(|node| gone.contains(node)), "{failed:?}");
    assert_eq!(ended.counts.succeeded + ended.counts.failed, names.len() as u64);
    create_nodes(&client, gone).await;
    if ended.state == ActionState::Failed {
        let before = watch.patched();
        store
            .control_action(&action.id, Command::Retry, "me", crate::world::now())
            .await
            .unwrap();
        wait_for_end(&store, &running, &action.id).await;
        let after = watch.patched();
        for name in names.iter().filter(|name| !failed.contains(name)) {
            assert_eq!(before.get(name), after.get(name), "{name} did not fail");
        }
        assert_eq!(store.action(&action.id).await.unwrap().state, ActionState::Success);
        let found = labels(&client).await;
        assert!(
            failed
                .iter()
                .all(|name| found[name] == crate::world::expected(name, round))
        );
    }
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_everything_gets_its_labels() {
    let cluster = Embedded::start().await;
    let names = names(500);
    create_nodes(&cluster.client(), &names).await;
    everything_gets_its_labels(&cluster.client(), &names).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_killed_again_and_again() {
    let cluster = Embedded::start().await;
    let names = names(400);
    create_nodes(&cluster.client(), &names).await;
    killed_again_and_again(&cluster.client(), &names, 100).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_nodes_that_go_fail_alone() {
    let cluster = Embedded::start().await;
    let names = names(100);
    create_nodes(&cluster.client(), &names).await;
    nodes_that_go_fail_alone(&cluster.client(), &names).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_an_api_server_that_goes_is_waited_for() {
    let mut cluster = Embedded::start().await;
    let names = names(200);
    create_nodes(&cluster.client(), &names).await;
    let (client, watch) = watched(cluster.client(), None);
    let disk = Disk::new();
    let store = disk.open().await;
    let action = new_action(&names, "waited", json!({}));
    store.create_action(&action).await.unwrap();
    let running = run(&store, &client, options("one"));
    for further in [20, 40, 60] {
        watch.after(further).await;
        cluster.kill();
        // Requests that fail come by here too.
        watch.after(16).await;
        cluster.start_again().await;
    }
    wait_for_end(&store, &running, &action.id).await;
    all_is_well(&store, &client, &action.id, &names, "waited").await;
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pause_stop_and_retry_are_honoured() {
    let cluster = Embedded::start().await;
    let names = names(120);
    create_nodes(&cluster.client(), &names).await;
    let (client, watch) = watched(cluster.client(), None);
    let disk = Disk::new();
    let store = disk.open().await;
    let action = new_action(&names, "paused", json!({}));
    store.create_action(&action).await.unwrap();
    let running = run(&store, &client, options("one"));
    watch.after(10).await;
    let paused = store
        .control_action(&action.id, Command::Pause, "me", crate::world::now())
        .await
        .unwrap();
    assert_eq!(paused.state, ActionState::Paused);
    let quiet = wait_for(&store, &running, &action.id, |action| action.counts.running == 0).await;
    assert!(quiet.counts.queued > 0, "{quiet:?}");
    let before = watch.patched();
    running.engine.wake();
    tokio::task::yield_now().await;
    assert_eq!(watch.patched(), before);
    store
        .control_action(&action.id, Command::Unpause, "me", crate::world::now())
        .await
        .unwrap();
    running.engine.wake();
    watch.after(3).await;
    let stopped = store
        .control_action(&action.id, Command::Stop, "me", crate::world::now())
        .await
        .unwrap();
    assert_eq!(stopped.counts.queued, 0);
    let ended = wait_for_end(&store, &running, &action.id).await;
    assert_eq!((ended.state, ended.counts.open()), (ActionState::Failed, 0));
    let before = watch.patched();
    store
        .control_action(&action.id, Command::Retry, "me", crate::world::now())
        .await
        .unwrap();
    wait_for_end(&store, &running, &action.id).await;
    all_is_well(&store, &client, &action.id, &names, "paused").await;
    let after = watch.patched();
    assert!(
        before.iter().all(|(node, count)| after[node] == *count),
        "what was done is not done again"
    );
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mass_removal_stops_and_asks() {
    let cluster = Embedded::start().await;
    let names = names(40);
    create_nodes(&cluster.client(), &names).await;
    let (client, watch) = watched(cluster.client(), None);
    let disk = Disk::new();
    let store = disk.open().await;
    let running = run(&store, &client, options("one"));
    let first = new_action(&names, "full", json!({}));
    store.create_action(&first).await.unwrap();
    wait_for_end(&store, &running, &first.id).await;

    let mut emptied = new_action(&names, "full", json!({}));
    for (_, work) in &mut emptied.nodes {
        *work = json!({"labels": {"left": "1"}});
    }
    store.create_action(&emptied).await.unwrap();
    let before = watch.patched();
    let held = wait_for(&store, &running, &emptied.id, |action| {
        action.state == ActionState::Paused
    })
    .await;
    assert_eq!(held.counts.queued, 40);
    let notes = store.notes(&format!("action/{}", emptied.id)).await.unwrap();
    assert!(
        notes[0].note.text.starts_with("120 of 120 labels that Berth owns"),
        "{notes:?}"
    );
    assert_eq!(watch.patched(), before);
    store
        .control_action(&emptied.id, Command::Unpause, "me", crate::world::now())
        .await
        .unwrap();
    let ended = wait_for_end(&store, &running, &emptied.id).await;
    assert_eq!(ended.state, ActionState::Success);
    let left: Vec<_> = labels(&client).await.into_values().map(|labels| labels.len()).collect();
    assert_eq!(left, vec![2; 40]);

    let mut allowed = new_action(&names, "full", json!({"allow_mass_removal": true}));
    for (_, work) in &mut allowed.nodes {
        *work = json!({"labels": {}});
    }
    store.create_action(&allowed).await.unwrap();
    let ended = wait_for_end(&store, &running, &allowed.id).await;
    assert_eq!(ended.state, ActionState::Success);
    running.end().await;
}
