//! Admission webhooks: a small server that answers reviews, and what becomes of writes.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use berth_sim::{ApiServer, Cluster, Identity};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::{
    Api, Client, Config, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::program::{loopback, options};

type Reviews = Arc<Mutex<Vec<Value>>>;

/// Labels every object that it is asked about, and refuses what is named `bad`.
fn answer(asked: &str, review: &Value) -> Value {
    let request = &review["request"];
    let mut response = json!({"uid": request["uid"], "allowed": true});
    match asked {
        "/mutate" => {
            let labels = request["object"]["metadata"].get("labels").is_some();
            let patch = if labels {
                json!([{"op": "add", "path": "/metadata/labels/touched", "value": "yes"}])
            } else {
                json!([{"op": "add", "path": "/metadata/labels", "value": {"touched": "yes"}}])
            };
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(STANDARD.encode(patch.to_string()));
            response["warnings"] = json!(["touched it"]);
        }
        "/role" => {
            let patch =
                json!([{"op": "add", "path": "/metadata/labels", "value": {"node-role.kubernetes.io/infra": ""}}]);
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(STANDARD.encode(patch.to_string()));
        }
        _ if request["name"] == "bad" => {
            response["allowed"] = json!(false);
            response["status"] = json!({"code": 403, "reason": "Forbidden", "message": "not this one"});
        }
        _ => {}
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

async fn serve(reviews: Reviews) -> SocketAddr {
    let listener = TcpListener::bind(loopback()).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut read = Vec::new();
            let (path, body) = loop {
                stream.read_buf(&mut read).await.unwrap();
                let text = String::from_utf8_lossy(&read);
                let Some((head, body)) = text.split_once("\r\n\r\n") else {
                    continue;
                };
                let length = head.lines().find_map(|line| {
                    let (key, value) = line.split_once(':')?;
                    key.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse::<usize>().unwrap())
                });
                if body.len() >= length.unwrap() {
                    let path = head.split_whitespace().nth(1).unwrap().to_owned();
                    break (path, body.to_owned());
                }
            };
            let review: Value = serde_json::from_str(&body).unwrap();
            let answer = answer(&path, &review).to_string();
            reviews.lock().unwrap().push(review);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                answer.len()
            );
            stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
        }
    });
    address
}

fn configuration(kind: &str, name: &str, url: &str, rule: &Value, more: &Value) -> Value {
    let mut webhook = json!({
        "name": format!("{name}.example.dev"),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": url},
        "rules": [rule],
    });
    for (key, value) in more.as_object().unwrap() {
        webhook[key] = value.clone();
    }
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "webhooks": [webhook],
    })
}

fn rule(resources: &[&str], operations: &[&str]) -> Value {
    json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": resources, "operations": operations})
}

fn node(name: &str) -> Node {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_change_and_refuse() {
    let reviews = Reviews::default();
    let address = serve(Arc::clone(&reviews)).await;
    let server = ApiServer::start(Cluster::new(options()), loopback()).await.unwrap();
    let cluster = server.cluster().clone();
    let client = Client::try_from(Config::new(server.url().parse().unwrap())).unwrap();
    let nodes: Api<Node> = Api::all(client.clone());
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let url = |path: &str| format!("http://{address}{path}");
    let mutating = "MutatingWebhookConfiguration";
    let validating = "ValidatingWebhookConfiguration";
    cluster
        .apply(&configuration(
            mutating,
            "touch",
            &url("/mutate"),
            &rule(&["nodes"], &["CREATE"]),
            &json!({}),
        ))
        .await
        .unwrap();
    cluster
        .apply(&configuration(
            validating,
            "check",
            &url("/check"),
            &rule(&["nodes"], &["CREATE", "UPDATE", "DELETE"]),
            &json!({}),
        ))
        .await
        .unwrap();

    let made = nodes.create(&PostParams::default(), &node("good")).await.unwrap();
    assert_eq!(made.labels()["touched"], "yes");
    {
        let seen = reviews.lock().unwrap();
        assert_eq!(seen.len(), 2, "each is asked once");
        let request = &seen[1]["request"];
        assert_eq!(request["operation"], "CREATE");
        assert_eq!(
            request["resource"],
            json!({"group": "", "version": "v1", "resource": "nodes"})
        );
        assert_eq!(
            request["object"]["metadata"]["labels"]["touched"], "yes",
            "as the first one left it"
        );
        assert_eq!(request["oldObject"], Value::Null);
    }
    let refused = nodes.create(&PostParams::default(), &node("bad")).await.unwrap_err();
    let words = "admission webhook \"check.example.dev\" denied the request: not this one";
    assert!(refused.to_string().contains(words), "{refused}");
    assert!(nodes.get_opt("bad").await.unwrap().is_none(), "nothing was written");

    // A part of the object is another resource, and another namespace or operation is not asked about.
    let before = reviews.lock().unwrap().len();
    let status = json!({"status": {"phase": "Running"}});
    nodes
        .patch_status("good", &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "m"}})).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    assert_eq!(reviews.lock().unwrap().len(), before);
    nodes.delete("good", &DeleteParams::default()).await.unwrap();
    assert_eq!(
        reviews.lock().unwrap().last().unwrap()["request"]["operation"],
        "DELETE"
    );

    // Who may not set a label may not have it set by a webhook: the rules hold after the change.
    cluster
        .apply(&configuration(
            mutating,
            "touch",
            &url("/role"),
            &rule(&["nodes"], &["CREATE"]),
            &json!({}),
        ))
        .await
        .unwrap();
    cluster.add_token("kubelet", Identity::kubelet("w1"));
    let mut config = Config::new(server.url().parse().unwrap());
    config.auth_info.token = Some("kubelet".to_owned().into());
    let kubelet: Api<Node> = Api::all(Client::try_from(config).unwrap());
    let refused = kubelet.create(&PostParams::default(), &node("w1")).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("is not allowed to set the following labels"),
        "{refused}"
    );
    let made = nodes.create(&PostParams::default(), &node("w1")).await.unwrap();
    assert!(
        made.labels().contains_key("node-role.kubernetes.io/infra"),
        "an administrator may"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_that_cannot_be_asked() {
    let server = ApiServer::start(Cluster::new(options()), loopback()).await.unwrap();
    let cluster = server.cluster().clone();
    let nodes: Api<Node> = Api::all(Client::try_from(Config::new(server.url().parse().unwrap())).unwrap());
    let nobody = {
        let listener = TcpListener::bind(loopback()).await.unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let kind = "ValidatingWebhookConfiguration";
    let all = rule(&["*"], &["*"]);
    let ignore = json!({"failurePolicy": "Ignore"});
    cluster
        .apply(&configuration(kind, "gone", &nobody, &all, &ignore))
        .await
        .unwrap();
    nodes.create(&PostParams::default(), &node("one")).await.unwrap();

    cluster
        .apply(&configuration(
            kind,
            "gone",
            &nobody,
            &all,
            &json!({"sideEffects": "Some"}),
        ))
        .await
        .unwrap();
    let failed = nodes.create(&PostParams::default(), &node("two")).await.unwrap_err();
    assert!(
        failed
            .to_string()
            .contains("failed calling webhook \"gone.example.dev\""),
        "{failed}"
    );
    let trial = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let refused = nodes.create(&trial, &node("two")).await.unwrap_err();
    assert!(refused.to_string().contains("does not support dry run"), "{refused}");

    // It does not concern objects without its label, and can itself be changed and deleted.
    let picky = json!({"objectSelector": {"matchLabels": {"asked": "yes"}}});
    cluster
        .apply(&configuration(kind, "gone", &nobody, &all, &picky))
        .await
        .unwrap();
    nodes.create(&PostParams::default(), &node("two")).await.unwrap();
}
