//! Whose labels may go: what a Node says of itself is compared with what its Berth says.

use std::sync::{Arc, Mutex};

use berth_decide::{LabelPolicy, Requested, Strategy};
use berth_workflow::{ApplyError, NodeClient};
use http::{Method, Request, Response};
use kube::{Client, client::Body};
use serde_json::{Value, json};

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
async fn patch(berths: Berths, strategy: Strategy) -> Option<Value> {
    let (put, sent) = try_to_patch(berths, strategy).await;
    put.unwrap();
    sent
}

async fn try_to_patch(berths: Berths, strategy: Strategy) -> (Result<(), ApplyError>, Option<Value>) {
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
    let nodes = NodeClient::new(Client::new(service, "default"), LabelPolicy::default());
    let put = nodes.put("n1", &Requested::new(), strategy, false).await.map(drop);
    (put, sent.lock().unwrap().take())
}

fn removed(patch: Option<&Value>) -> Vec<&str> {
    let labels = patch
        .and_then(|patch| patch.pointer("/metadata/labels"))
        .and_then(Value::as_object);
    labels.into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

#[tokio::test]
async fn what_only_the_node_says_is_berths_stays() {
    let written = json!({"labels": {"a": "1", "b": "3"}, "previousLabels": {}});
    for berths in [Berths::Named(written.clone()), Berths::Elsewhere(written.clone())] {
        let sent = patch(berths, Strategy::Owned).await;
        assert_eq!(removed(sent.as_ref()), ["a"]);
        let metadata = &sent.as_ref().unwrap()["metadata"];
        assert_eq!(
            (&metadata["uid"], &metadata["resourceVersion"]),
            (&json!("u"), &json!("7"))
        );
        assert_eq!(metadata["annotations"]["berth.dev/owned-labels"], "{}");
    }
    // What was about to be replaced is known too.
    let replaced = json!({"labels": {}, "previousLabels": {"b": "2"}});
    assert_eq!(
        removed(patch(Berths::Named(replaced), Strategy::Owned).await.as_ref()),
        ["b"]
    );
    assert_eq!(patch(Berths::Named(json!({})), Strategy::Owned).await, None);
    // A mirror removes what is not requested; what belongs to others by its domain only if it is Berth's.
    let mirrored = patch(Berths::Named(written), Strategy::Mirror).await;
    assert_eq!(removed(mirrored.as_ref()), ["a", "b"]);
}

#[tokio::test]
async fn without_berths_the_annotation_is_all_there_is() {
    for berths in [Berths::Others, Berths::Unknown] {
        let sent = patch(berths, Strategy::Owned).await;
        assert_eq!(removed(sent.as_ref()), ["a", "b", INFRA]);
    }
}

#[tokio::test]
async fn without_the_right_to_read_berths_nothing_goes_on_the_word_of_a_node() {
    for strategy in [Strategy::Owned, Strategy::Mirror] {
        let (put, sent) = try_to_patch(Berths::Forbidden, strategy).await;
        let error = put.unwrap_err();
        assert_eq!(error.status(), 503);
        assert!(error.to_string().contains("get and list berths.berth.dev"), "{error}");
        assert_eq!(sent, None);
    }
}
