//! An action that would take away much of what Berth owns stops and asks, whatever Nodes say of themselves.

use std::{collections::BTreeMap, sync::Arc};

use berth_store::{Action, ActionState, ActionStore, NewAction};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::world::{
    Decide, Disk, Embedded, Fault, create_nodes, declared, names, new_action, options, run, wait_for, wait_for_end,
    watched,
};

/// The list of Berths is answered so.
fn berths(code: u16, answer: Value) -> Decide {
    Arc::new(move |_, path, _| (path == "berths").then(|| Fault::Answer(code, answer.clone())))
}

/// A Berth for each node, which remembers what the first action wrote.
fn remembering(names: &[String]) -> Decide {
    let items: Vec<Value> = names
        .iter()
        .map(|name| {
            json!({
                "metadata": {"name": name, "labels": {"berth.dev/reserved-by": "documents"}},
                "spec": {},
                "status": {"labels": declared(name, "first")},
            })
        })
        .collect();
    berths(200, json!({"metadata": {}, "items": items}))
}

struct Held {
    action: Action,
    notes: Vec<String>,
}

/// Runs an action to its end or until it asks, on nodes that a first one has given three labels each.
async fn begin(
    names: &[String],
    decide: Decide,
    forge: impl AsyncFnOnce(Client),
    action: impl FnOnce() -> NewAction,
) -> Held {
    let cluster = Embedded::start().await;
    create_nodes(&cluster.client(), names).await;
    let (client, _) = watched(cluster.client(), Some(decide));
    let disk = Disk::new();
    let store: Arc<dyn ActionStore> = disk.open().await;
    let running = run(&store, &client, options("one"));
    let first = new_action(names, "first", json!({"allow_mass_removal": true}));
    store.create_action(&first).await.unwrap();
    wait_for_end(&store, &running, &first.id).await;
    forge(cluster.client()).await;
    let new = action();
    store.create_action(&new).await.unwrap();
    let asks_or_ends = |action: &Action| action.state == ActionState::Paused || action.state.is_final();
    let action = wait_for(&store, &running, &new.id, asks_or_ends).await;
    let notes = store.notes(&format!("action/{}", new.id)).await.unwrap();
    running.end().await;
    Held {
        action,
        notes: notes.into_iter().map(|note| note.note.text).collect(),
    }
}

/// What controllers write along with labels.
async fn controllers_note(client: &Client, names: &[String]) {
    let nodes: Api<Node> = Api::all(client.clone());
    for name in names {
        let noted = serde_json::to_string(&declared(name, "first")).unwrap();
        let patch = json!({"metadata": {"annotations": {"berth.dev/owned-labels": noted}}});
        let patched = nodes.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        patched.unwrap();
    }
}

/// Ten of the nodes lose their labels, by documents that their Berths do not follow yet.
fn emptied(names: &[String], options: Value) -> NewAction {
    let mut action = new_action(&names[..10], "first", options);
    for (_, work) in &mut action.nodes {
        *work = json!({"labels": {"node-role.kubernetes.io/infra": null}, "berth": {"pool": "none"}});
    }
    action
}

#[track_caller]
fn asks(held: &Held, why: &str) {
    assert_eq!(held.action.state, ActionState::Paused, "{:?}", held.notes);
    assert!(held.notes.iter().any(|note| note.contains(why)), "{:?}", held.notes);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_kubelet_claims_does_not_make_a_removal_look_small() {
    let names = names(40);
    // One kubelet gives its Node many labels, and says that they are Berth's.
    let forge = async |client: Client| {
        let forged: BTreeMap<String, String> = (0..1000)
            .map(|number| (format!("forged-{number}"), "x".to_owned()))
            .collect();
        controllers_note(&client, &names).await;
        let note = serde_json::to_string(&forged).unwrap();
        let patch = json!({"metadata": {"labels": forged, "annotations": {"berth.dev/owned-labels": note}}});
        let nodes: Api<Node> = Api::all(client);
        let patched = nodes
            .patch("node-039", &PatchParams::default(), &Patch::Merge(patch))
            .await;
        patched.unwrap();
    };
    let action = || emptied(&names, json!({"strategy": "owned"}));
    let held = begin(&names, remembering(&names), forge, action).await;
    asks(&held, "30 of 120 labels that Berth owns");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_keeps_quiet_about_is_counted() {
    let names = names(40);
    let forge = async |client: Client| {
        let nodes: Api<Node> = Api::all(client);
        let patch = json!({"metadata": {"annotations": {"berth.dev/owned-labels": null}}});
        for name in &names {
            let patched = nodes.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await;
            patched.unwrap();
        }
    };
    let action = || emptied(&names, json!({"strategy": "mirror"}));
    let held = begin(&names, remembering(&names), forge, action).await;
    asks(&held, "30 of 120 labels that Berth owns");
}

#[tokio::test(flavor = "multi_thread")]
async fn promenades_way_stops_and_asks_too() {
    let names = names(40);
    let no_berths = berths(404, json!("404 page not found"));
    let action = || emptied(&names, json!({"strategy": "promenade"}));
    let held = begin(&names, no_berths.clone(), async |_| (), action).await;
    asks(&held, "30 of 120 labels that Berth owns");
    let action = || emptied(&names, json!({"strategy": "promenade", "allow_mass_removal": true}));
    let done = begin(&names, no_berths, async |_| (), action).await;
    assert_eq!(done.action.state, ActionState::Success, "{:?}", done.notes);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_asks_when_it_cannot_know_what_is_berths() {
    let names = names(40);
    let refused = json!({"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"});
    let action = || emptied(&names, json!({"strategy": "mirror"}));
    let held = begin(&names, berths(403, refused), async |_| (), action).await;
    asks(&held, "get and list berths.berth.dev");
}
