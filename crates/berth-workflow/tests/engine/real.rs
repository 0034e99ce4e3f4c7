//! The same on a real API server with 500 Nodes.

use berth_testing::{ControlPlane, Identity, Options, Programs};
use serde_json::json;

use crate::{
    faults::faults_are_overcome,
    policies::refused_by_policies,
    scenarios::{everything_gets_its_labels, killed_again_and_again, nodes_that_go_fail_alone},
    together::one_of_two_engines_is_killed,
    traffic::on_a_real_api_server,
    world::{Disk, all_is_well, create_nodes, names, new_action, options, run, wait_for_end, watched},
};

/// One control plane for all, one after the other: each scenario gives the Nodes other labels.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_api_server() {
    let Some(programs) = Programs::for_test() else { return };
    let mut plane = ControlPlane::start(&programs, Options::default()).await.unwrap();
    let client = plane.client(&Identity::admin()).await.unwrap();
    on_a_real_api_server(&plane, &client).await;
    let names = names(500);
    create_nodes(&client, &names).await;
    everything_gets_its_labels(&client, &names).await;
    killed_again_and_again(&client, &names, 100).await;
    faults_are_overcome(&client, &names[..200]).await;
    nodes_that_go_fail_alone(&client, &names).await;
    one_of_two_engines_is_killed(&client, &names).await;
    refused_by_policies(&client).await;
    an_api_server_that_goes_is_waited_for(&mut plane, &client, &names).await;
}

async fn an_api_server_that_goes_is_waited_for(plane: &mut ControlPlane, client: &kube::Client, names: &[String]) {
    let (client, watch) = watched(client.clone(), None);
    let disk = Disk::new();
    let store = disk.open().await;
    let action = new_action(names, "waited", json!({}));
    store.create_action(&action).await.unwrap();
    let running = run(&store, &client, options("one"));
    watch.after(100).await;
    plane.kill_api_server().unwrap();
    watch.after(16).await;
    plane.start_api_server().await.unwrap();
    wait_for_end(&store, &running, &action.id).await;
    all_is_well(&store, &client, &action.id, names, "waited").await;
    running.end().await;
}
