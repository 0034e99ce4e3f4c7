//! What an API server and the network do to requests now and then.

use std::{sync::Arc, time::Duration};

use berth_decide::{LabelPolicy, Strategy};
use berth_store::{MemoryStore, SubtaskPage};
use berth_workflow::{NodeClient, Pace, Patience};
use http::Method;
use serde_json::{Value, json};

use crate::world::{
    Decide, Disk, Embedded, Fault, all_is_well, create_nodes, failures, labels, names, new_action, options, run,
    wait_for_end, watched,
};

fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
}

/// Every request has its turn to be refused, delayed, lost on the way or lost on the way back.
fn disturbed() -> Decide {
    Arc::new(|method, _, number| {
        let patch = method == Method::PATCH;
        match number % 17 {
            2 => Some(Fault::Answer(429, status(429, "TooManyRequests", "please slow down"))),
            5 if patch => Some(Fault::Answer(
                409,
                status(409, "Conflict", "the object has been modified"),
            )),
            7 => Some(Fault::Answer(
                500,
                status(500, "InternalError", "etcd had a leader change"),
            )),
            9 => Some(Fault::Answer(503, status(503, "ServiceUnavailable", "not ready"))),
            11 if patch => Some(Fault::LoseAnswer),
            13 => Some(Fault::LoseRequest),
            _ => None,
        }
    })
}

/// Under all these faults everything gets its labels, and the outcome still says what was done.
pub(crate) async fn faults_are_overcome(client: &kube::Client, names: &[String]) {
    let (bad, watch) = watched(client.clone(), Some(disturbed()));
    let (disk, round) = (Disk::new(), "disturbed");
    let store = disk.open().await;
    let running = run(&store, &bad, options("one"));
    let action = new_action(names, round, json!({}));
    store.create_action(&action).await.unwrap();
    wait_for_end(&store, &running, &action.id).await;
    running.end().await;
    all_is_well(&store, client, &action.id, names, round).await;
    for subtask in store.subtasks(&action.id, SubtaskPage::ALL).await.unwrap() {
        let outcome = subtask.outcome.unwrap();
        let told = outcome["set"]["example.com/round"] == json!(round)
            || outcome["changed"]["example.com/round"]["to"] == json!(round);
        assert!(told, "{}: {outcome}", subtask.node);
    }
    assert!(
        watch.patched().values().all(|count| *count == 1),
        "what was carried out is not sent again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_faults_are_overcome() {
    let cluster = Embedded::start().await;
    let names = names(150);
    create_nodes(&cluster.client(), &names).await;
    faults_are_overcome(&cluster.client(), &names).await;
}

/// Some keys are refused by the API server, as an admission policy may do it; one is not legal at all.
#[tokio::test(flavor = "multi_thread")]
async fn refused_keys_are_split_off_and_the_rest_is_applied() {
    let cluster = Embedded::start().await;
    let names = names(20);
    create_nodes(&cluster.client(), &names).await;
    let store = Disk::new();
    let store = store.open().await;
    let client = refusing(cluster.client());
    let running = run(&store, &client, options("one"));
    let mut action = new_action(&names, "split", json!({}));
    for (_, work) in &mut action.nodes {
        work["labels"]["forbidden.example.com/a"] = json!("1");
        work["labels"]["forbidden.example.com/b"] = json!("1");
        work["labels"]["not legal"] = json!("1");
    }
    // One node is not concerned.
    action.nodes[7].1 = json!({"labels": crate::world::declared(&names[7], "split")});
    store.create_action(&action).await.unwrap();
    let ended = wait_for_end(&store, &running, &action.id).await;
    assert_eq!((ended.counts.succeeded, ended.counts.failed), (1, 19));
    let found = labels(&cluster.client()).await;
    for name in &names {
        assert_eq!(
            found[name],
            crate::world::expected(name, "split"),
            "the rest is applied"
        );
    }
    for (node, outcome) in failures(&store, &action.id).await {
        let refused: Vec<&str> = outcome["refused"]
            .as_array()
            .unwrap()
            .iter()
            .map(|refusal| refusal["key"].as_str().unwrap())
            .collect();
        assert_eq!(
            refused,
            ["forbidden.example.com/a", "forbidden.example.com/b", "not legal"],
            "{node}"
        );
        assert_eq!(outcome["refused"][0]["reason"], json!("policy says no"));
        assert_eq!(outcome["set"]["example.com/round"], json!("split"));
        assert_eq!(
            outcome["labels"],
            json!(crate::world::expected(&node, "split")),
            "what the node has now"
        );
    }
    running.end().await;
}

/// A client on whose way a policy refuses patches with some keys.
fn refusing(client: kube::Client) -> kube::Client {
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let client = client.clone();
        async move {
            if request.method() != Method::PATCH {
                return client.send(request).await.map_err(tower::BoxError::from);
            }
            let (parts, body) = request.into_parts();
            let bytes = body.collect_bytes().await.unwrap();
            if String::from_utf8_lossy(&bytes).contains("\"forbidden.example.com/") {
                let answer = status(403, "Forbidden", "policy says no").to_string().into_bytes();
                return Ok(http::Response::builder()
                    .status(403)
                    .body(kube::client::Body::from(answer))
                    .unwrap());
            }
            let request = http::Request::from_parts(parts, kube::client::Body::from(bytes));
            client.send(request).await.map_err(tower::BoxError::from)
        }
    });
    kube::Client::new(service, "default")
}

/// The answer is 409 as often as a node is written: somebody else is always faster. Others are not held up.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_others_fight_over_fails_alone() {
    let cluster = Embedded::start().await;
    let names = names(30);
    create_nodes(&cluster.client(), &names).await;
    let decide: Decide = Arc::new(|method, node, _| {
        let fought = method == Method::PATCH && node == "node-003";
        fought.then(|| Fault::Answer(409, status(409, "Conflict", "the object has been modified")))
    });
    let (client, _) = watched(cluster.client(), Some(decide));
    let disk = Disk::new();
    let store = disk.open().await;
    let mut impatient = options("one");
    impatient.patience.total = Duration::from_millis(300);
    let running = run(&store, &client, impatient);
    let action = new_action(&names, "fought", json!({}));
    store.create_action(&action).await.unwrap();
    let ended = wait_for_end(&store, &running, &action.id).await;
    assert_eq!((ended.counts.succeeded, ended.counts.failed), (29, 1));
    let failed = failures(&store, &action.id).await;
    assert_eq!(failed[0].0, "node-003");
    assert!(
        failed[0].1["message"].as_str().unwrap().contains("changed by others"),
        "{failed:?}"
    );
    running.end().await;
    let again = run(&store, &cluster.client(), options("one"));
    store
        .control_action(&action.id, berth_store::Command::Retry, "me", crate::world::now())
        .await
        .unwrap();
    wait_for_end(&store, &again, &action.id).await;
    all_is_well(&store, &cluster.client(), &action.id, &names, "fought").await;
    again.end().await;
}

/// A client that answers reads with a Node and writes with a refusal.
fn answering(code: u16, refusal: Value) -> kube::Client {
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let refusal = refusal.clone();
        async move {
            let (code, body) = if request.method() == Method::PATCH {
                (code, refusal)
            } else if request.uri().path().contains("/berths") {
                (404, json!("404 page not found"))
            } else {
                let metadata = json!({"name": "node-000", "resourceVersion": "1", "uid": "1", "labels": {"a": "0"}});
                (200, json!({"kind": "Node", "apiVersion": "v1", "metadata": metadata}))
            };
            let answer = http::Response::builder().status(code);
            let body = kube::client::Body::from(body.to_string().into_bytes());
            Ok::<_, tower::BoxError>(answer.body(body).unwrap())
        }
    });
    kube::Client::new(service, "default")
}

/// What stands in the way of one node is told for what it is, after it was tried for a while.
#[tokio::test]
async fn one_node_is_answered_with_what_is_in_its_way() {
    let little = Patience {
        total: Duration::from_millis(20),
        pace: Pace {
            first: Duration::from_millis(5),
            longest: Duration::from_millis(5),
        },
        ..Patience::SHORT
    };
    for (code, message, answer, told) in [
        (
            409,
            "the object has been modified",
            409,
            "changed by others again and again",
        ),
        (429, "please slow down", 503, "please slow down"),
        (500, "etcd had a leader change", 503, "etcd had a leader change"),
        (503, "not ready", 503, "not ready"),
        (
            403,
            "nodes \"node-000\" is forbidden: User \"berth\" cannot patch resource \"nodes\" in API group \"\"",
            503,
            "does not let Berth change Node node-000",
        ),
        (401, "Unauthorized", 503, "does not let Berth change Node node-000"),
        (404, "nodes \"node-000\" not found", 404, "Node node-000 does not exist"),
        (
            422,
            "metadata.labels: Invalid value",
            400,
            "a: metadata.labels: Invalid value",
        ),
    ] {
        let client = answering(code, status(code, "Reason", message));
        let nodes = NodeClient::new(client, LabelPolicy::default(), Arc::new(MemoryStore::new())).with_patience(little);
        let requested = [("a".to_owned(), Some("1".to_owned()))].into();
        let error = nodes.put("node-000", &requested, Strategy::Mirror, false).await;
        let error = error.unwrap_err();
        assert_eq!(error.status(), answer, "{code}: {error}");
        assert!(error.to_string().contains(told), "{code}: {error}");
    }
}
