//! Whose labels may go: what a Node says of itself is compared with what its Berth says, and with what actions wrote.

use std::sync::{Arc, Mutex};

use berth_decide::{LabelPolicy, Requested, Strategy};
use berth_store::{ActionState, ActionStore, LabelMemory, MemoryStore};
use berth_workflow::{ApplyError, NodeClient};
use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    client::Body,
};
use serde_json::{Value, json};

use crate::world::{
    Decide, Disk, Embedded, Fault, create_nodes, failures, labels as labels_of, names, new_action, options, run,
    wait_for_end, watched,
};

const INFRA: &str = "node-role.kubernetes.io/infra";

/// What the API server says about Berths.
#[derive(Clone)]
enum Berths {
    /// One of the Node's name.
    Named(Value),
    /// One of another name.
    Elsewhere(Value),
    /// None of the Node.
    Others,
    /// The cluster does not have the kind.
    Unknown,
    /// This program may not look.
    Forbidden,
}

fn failure(code: u16, reason: &str, details: &Value) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason,
        "details": details,
    });
    (code, status)
}

impl Berths {
    fn answer(&self, path: &str) -> (u16, Value) {
        let berth = |name: &str, status: &Value| json!({"metadata": {"name": name}, "spec": {"nodeName": "n1"}, "status": status});
        let one = path.ends_with("/n1");
        match self {
            Self::Named(status) if one => (200, berth("n1", status)),
            Self::Unknown => failure(404, "NotFound", &json!({})),
            Self::Forbidden => failure(403, "Forbidden", &json!({"kind": "berths"})),
            _ if one => failure(
                404,
                "NotFound",
                &json!({"name": "n1", "group": "berth.dev", "kind": "berths"}),
            ),
            Self::Elsewhere(status) => (200, json!({"items": [berth("other", status)]})),
            _ => (200, json!({"items": [{"metadata": {"name": "n2"}, "spec": {}}]})),
        }
    }
}

/// A Node on which the annotation claims everything, and nothing is requested. Gives the patch.
async fn patch(berths: Berths, strategy: Strategy, given: &[(&str, &str)]) -> Option<Value> {
    let (put, sent) = try_to_patch(berths, strategy, given).await;
    put.unwrap();
    sent
}

/// The same with what actions are remembered to have given the Node.
async fn try_to_patch(
    berths: Berths,
    strategy: Strategy,
    given: &[(&str, &str)],
) -> (Result<(), ApplyError>, Option<Value>) {
    let store = MemoryStore::new();
    for (key, value) in given {
        let given = LabelMemory {
            given: [((*key).to_owned(), (*value).to_owned())].into(),
            ..LabelMemory::default()
        };
        store.remember_labels("n1", &given).await.unwrap();
    }
    let sent: Arc<Mutex<Option<Value>>> = Arc::default();
    let seen = Arc::clone(&sent);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (berths, seen) = (berths.clone(), Arc::clone(&seen));
        async move {
            let path = request.uri().path().to_owned();
            let (code, answer) = if path.contains("/berths") {
                berths.answer(&path)
            } else {
                if request.method() == Method::PATCH {
                    let body = request.into_body().collect_bytes().await?;
                    *seen.lock().unwrap() = Some(serde_json::from_slice(&body)?);
                }
                let node = json!({"metadata": {
                    "name": "n1", "uid": "u", "resourceVersion": "7",
                    "labels": {"a": "1", "b": "2", INFRA: ""},
                    "annotations": {"berth.dev/owned-labels": json!({"a": "1", "b": "2", INFRA: ""}).to_string()},
                }});
                (200, node)
            };
            let answer = Response::builder()
                .status(code)
                .body(Body::from(answer.to_string().into_bytes()))?;
            Ok::<_, tower::BoxError>(answer)
        }
    });
    let nodes = NodeClient::new(Client::new(service, "default"), LabelPolicy::default(), Arc::new(store));
    let put = nodes.put("n1", &Requested::new(), strategy, false).await.map(drop);
    (put, sent.lock().unwrap().take())
}

fn removed(patch: Option<&Value>) -> Vec<&str> {
    let labels = patch
        .and_then(|patch| patch.pointer("/metadata/labels"))
        .and_then(Value::as_object);
    labels.into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

const EVERYTHING: [(&str, &str); 3] = [("a", "1"), ("b", "2"), (INFRA, "")];

#[tokio::test]
async fn what_the_controllers_keep_stays_whatever_the_node_says() {
    let written = json!({"labels": {"a": "1", "b": "3"}, "foundLabels": {INFRA: ""}});
    for berths in [Berths::Named(written.clone()), Berths::Elsewhere(written.clone())] {
        for given in [&[][..], &EVERYTHING] {
            assert_eq!(patch(berths.clone(), Strategy::Owned, given).await, None);
            assert_eq!(patch(berths.clone(), Strategy::Mirror, given).await, None);
        }
    }
    // Beside that, what actions gave goes, and nothing else.
    let beside = Berths::Named(json!({"labels": {"b": "2"}}));
    let sent = patch(beside.clone(), Strategy::Owned, &EVERYTHING).await;
    assert_eq!(removed(sent.as_ref()), ["a", INFRA]);
    let metadata = &sent.as_ref().unwrap()["metadata"];
    assert_eq!(
        (&metadata["uid"], &metadata["resourceVersion"]),
        (&json!("u"), &json!("7"))
    );
    assert_eq!(metadata.get("annotations"), None, "they are the controllers'");
    assert_eq!(patch(beside.clone(), Strategy::Owned, &[("a", "9")]).await, None);
    // A mirror removes what is not requested; what belongs to others by its domain only if an action gave it.
    assert_eq!(removed(patch(beside, Strategy::Mirror, &[]).await.as_ref()), ["a"]);
}

/// A kubelet may write the annotation of its own Node, so that it may never widen what goes.
#[tokio::test]
async fn without_berths_only_what_actions_gave_goes() {
    for berths in [Berths::Others, Berths::Unknown] {
        assert_eq!(patch(berths.clone(), Strategy::Owned, &[]).await, None);
        let sent = patch(berths.clone(), Strategy::Owned, &[("a", "1"), ("b", "9")]).await;
        assert_eq!(removed(sent.as_ref()), ["a"]);
        let metadata = &sent.as_ref().unwrap()["metadata"];
        assert_eq!(metadata["annotations"]["berth.dev/owned-labels"], "{}");
        let sent = patch(berths.clone(), Strategy::Mirror, &[]).await;
        assert_eq!(removed(sent.as_ref()), ["a", "b"], "the role is not Berth's");
        let sent = patch(berths, Strategy::Owned, &EVERYTHING).await;
        assert_eq!(removed(sent.as_ref()), ["a", "b", INFRA]);
    }
}

/// Actions remember what they write, through every door: a Node that documents move to another pool loses the old one's role,
/// and no label that its kubelet says is Berth's.
#[tokio::test(flavor = "multi_thread")]
async fn a_moved_node_loses_the_role_that_berth_gave_and_no_other() {
    let cluster = Embedded::start().await;
    let names = names(1);
    create_nodes(&cluster.client(), &names).await;
    let (disk, node) = (Disk::new(), &names[0]);
    let nodes: Api<Node> = Api::all(cluster.client());
    let change = async |patch: Value| {
        let patched = nodes.patch(node, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.unwrap()
    };
    let [control_plane, edge] = ["control-plane", "edge"].map(|role| format!("node-role.kubernetes.io/{role}"));
    change(json!({"metadata": {"labels": {&control_plane: ""}}})).await;
    let relabel = async |labels: Value| {
        // Each time another process.
        let store: Arc<dyn ActionStore> = disk.open().await;
        let running = run(&store, &cluster.client(), options("one"));
        let mut action = new_action(&names, "first", json!({"strategy": "owned"}));
        action.nodes[0].1 = json!({ "labels": labels });
        store.create_action(&action).await.unwrap();
        let ended = wait_for_end(&store, &running, &action.id).await;
        assert_eq!(
            ended.state,
            ActionState::Success,
            "{:?}",
            failures(&store, &action.id).await
        );
        running.end().await;
        labels_of(&cluster.client()).await.remove(node).unwrap()
    };
    let labels = relabel(json!({INFRA: "", "rack": "r1"})).await;
    assert!(labels.contains_key(INFRA) && labels.contains_key("rack"), "{labels:?}");
    // The kubelet says that everything is Berth's.
    let claimed = serde_json::to_string(&labels).unwrap();
    change(json!({"metadata": {"annotations": {"berth.dev/owned-labels": claimed}}})).await;
    let labels = relabel(json!({&edge: "", "rack": "r2"})).await;
    let left: Vec<&str> = labels.keys().map(String::as_str).collect();
    assert_eq!(
        left,
        [
            "kubernetes.io/hostname",
            control_plane.as_str(),
            edge.as_str(),
            "rack",
            "stale"
        ]
    );
    assert_eq!(labels["rack"], "r2");
}

/// A process that ends between the patch and its outcome leaves a label that is Berth's all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_label_whose_outcome_was_never_filed_is_berths() {
    let cluster = Embedded::start().await;
    let names = names(1);
    create_nodes(&cluster.client(), &names).await;
    let disk = Disk::new();
    let store: Arc<dyn ActionStore> = disk.open().await;
    let mut action = new_action(&names, "first", json!({"strategy": "owned"}));
    action.nodes[0].1 = json!({"labels": {INFRA: ""}});
    store.create_action(&action).await.unwrap();
    // The patch arrives, and the process is killed before it hears of it.
    let decide: Decide = Arc::new(|method, _, _| (method == Method::PATCH).then_some(Fault::HangAfter));
    let (client, eye) = watched(cluster.client(), Some(decide));
    let killed = run(&store, &client, options("one"));
    eye.has_hung().await;
    killed.kill().await;
    assert_eq!(store.given_labels(None).await.unwrap().len(), 0);

    let running = run(&store, &cluster.client(), options("one"));
    wait_for_end(&store, &running, &action.id).await;
    let given = store.given_labels(None).await.unwrap();
    assert_eq!(json!(given), json!({&names[0]: {INFRA: [""]}}));
    running.end().await;
}

#[tokio::test]
async fn without_the_right_to_read_berths_nothing_goes_on_the_word_of_a_node() {
    for strategy in [Strategy::Owned, Strategy::Mirror] {
        let (put, sent) = try_to_patch(Berths::Forbidden, strategy, &[]).await;
        let error = put.unwrap_err();
        assert_eq!(error.status(), 503);
        assert!(error.to_string().contains("get and list berths.berth.dev"), "{error}");
        assert_eq!(sent, None);
    }
}
