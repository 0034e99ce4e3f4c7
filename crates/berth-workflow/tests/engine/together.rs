//! Two servers on one `PostgreSQL`, of which one is killed.

use std::{sync::Arc, time::Duration};

use berth_store::{ActionStore, PostgresStore, SealingKeys, SubtaskPage};
use serde_json::json;

use crate::{
    postgres_server,
    world::{Embedded, all_is_well, create_nodes, names, new_action, options, run, wait_for_end, watched},
};

async fn connect(url: &str) -> Arc<dyn ActionStore> {
    Arc::new(PostgresStore::connect(url, SealingKeys::none()).await.unwrap())
}

/// Both take part, one is killed, and the other one takes its nodes over when their leases end.
pub(crate) async fn one_of_two_engines_is_killed(client: &kube::Client, names: &[String]) {
    let Some(url) = postgres_server::database().await else {
        return;
    };
    let (one, two) = (connect(&url).await, connect(&url).await);
    let action = new_action(names, "shared", json!({}));
    one.create_action(&action).await.unwrap();
    let (first, watch_first) = watched(client.clone(), None);
    let (second, watch_second) = watched(client.clone(), None);
    let short = |owner: &str| {
        let mut options = options(owner);
        options.lease = Duration::from_secs(2);
        options
    };
    let killed = run(&one, &first, short("one"));
    let survivor = run(&two, &second, short("two"));
    watch_first.has_patched().await;
    watch_second.has_patched().await;
    killed.kill().await;
    wait_for_end(&two, &survivor, &action.id).await;
    all_is_well(&two, client, &action.id, names, "shared").await;
    let (first, second) = (watch_first.patched(), watch_second.patched());
    assert!(!first.is_empty() && !second.is_empty(), "both took part");
    // Only what the killed one had in its hands may have been done twice, and then the second time changed nothing.
    let twice = first.keys().filter(|node| second.contains_key(*node)).count();
    assert_eq!(twice, 0, "a patch is not sent to a node that has its labels");
    let subtasks = two.subtasks(&action.id, SubtaskPage::ALL).await.unwrap();
    assert!(subtasks.iter().all(|subtask| subtask.outcome.is_some()));
    survivor.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_one_of_two_engines_is_killed() {
    let cluster = Embedded::start().await;
    let names = names(300);
    create_nodes(&cluster.client(), &names).await;
    one_of_two_engines_is_killed(&cluster.client(), &names).await;
}
