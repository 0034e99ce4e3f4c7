//! Events as they come, and a server without a cluster.

use std::{sync::Arc, time::Duration};

use berth_airship::Auth;
use berth_tokens::{NewToken, Role, TokenScope, TokenStore};
use berth_workflow::WorkflowOptions;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    description,
    fixture::Served,
    relabelling::{JSON, On, Relabelling, SITE, on_both},
};

/// A stream of events, read as they come.
struct Stream {
    stream: TcpStream,
    text: String,
}

impl Stream {
    async fn open(api: &Served, path: &str) -> Self {
        let mut stream = TcpStream::connect(api.address).await.unwrap();
        let request = format!("GET /api/v1.0/{path} HTTP/1.1\r\nHost: {}\r\n\r\n", api.address);
        stream.write_all(request.as_bytes()).await.unwrap();
        Self {
            stream,
            text: String::new(),
        }
    }

    /// Reads until the words are there, or the stream has ended.
    async fn until(&mut self, words: &str) -> &str {
        let read = async {
            while !self.text.contains(words) {
                let mut bytes = [0; 4096];
                let count = self.stream.read(&mut bytes).await.unwrap();
                assert_ne!(count, 0, "no `{words}` in {}", self.text);
                self.text.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        };
        tokio::time::timeout(Duration::from_mins(1), read).await.expect(words);
        &self.text
    }

    /// The kinds and data of all events so far.
    fn events(&self) -> Vec<(String, Value)> {
        let mut events = Vec::new();
        let mut kind = String::new();
        for line in self.text.lines() {
            if let Some(word) = line.strip_prefix("event: ") {
                word.clone_into(&mut kind);
            } else if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).unwrap();
                description::check_event(&kind, &data);
                events.push((kind.clone(), data));
            }
        }
        events
    }
}

async fn an_action_is_followed_to_its_end_and_can_be_followed_later(on: On) {
    let Some(server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    server.commit(SITE).await;
    server.site_action().await;
    let mut all = Stream::open(&server.api, "events").await;
    let head = all.until("\r\n\r\n").await;
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    assert!(
        head.contains("connection: close"),
        "the listener counts it as a stream: {head}"
    );
    let made = server.relabel(&json!(["node1", "node2"])).await.expect(201).json();
    let id = made["id"].as_str().unwrap();
    let mut own = Stream::open(&server.api, &format!("events?action={id}")).await;
    own.until("event: action").await;
    server.work();
    own.until("event: end").await;
    let events = own.events();
    let told: Vec<&str> = events
        .iter()
        .filter(|(kind, _)| kind == "node")
        .map(|(_, data)| data["node"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(told.len(), 2, "each node once: {told:?}");
    let (_, last) = events.iter().rev().find(|(kind, _)| kind == "action").unwrap();
    assert_eq!(last["action_lifecycle"], "Complete");
    assert_eq!(last["progress"]["succeeded"], 2);
    assert_eq!(events.last().unwrap().0, "end");
    all.until("\"action_lifecycle\":\"Complete\"").await;
    let nodes = all.events().iter().filter(|(kind, _)| kind == "node").count();
    assert_eq!(nodes, 2);

    // Whoever comes late is told everything.
    let mut late = Stream::open(&server.api, &format!("events?action={id}")).await;
    late.until("event: end").await;
    assert_eq!(late.events().iter().filter(|(kind, _)| kind == "node").count(), 2);
    server
        .api
        .get("events?action=01BTTMFVDKZFRJM80FGD7J1AKN")
        .await
        .expect(404);
}

/// Who listens to everything hears of a retry only what it brings, also when the first attempt was before its time.
async fn a_retry_tells_only_what_is_new(on: On) {
    let Some(server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    server.commit(SITE).await;
    server.site_action().await;
    let from_the_beginning = Stream::open(&server.api, "events").await;
    let mut streams = vec![from_the_beginning];
    streams[0].until("\r\n\r\n").await;
    server.delete_node("node2").await;
    server.work();
    let made = server.relabel(&json!(["node1", "node2"])).await.expect(201).json();
    let id = made["id"].as_str().unwrap();
    assert_eq!(server.ended(id).await["action_lifecycle"], "Failed");
    streams[0].until("\"action_lifecycle\":\"Failed\"").await;
    streams.push(Stream::open(&server.api, "events").await);
    streams[1].until("\r\n\r\n").await;

    server.add_node("node2", &[("foo", "bar")]).await;
    let retry = format!("actions/{id}/control/retry");
    server.send("POST", &retry, None).await.expect(202);
    assert_eq!(server.ended(id).await["action_lifecycle"], "Complete");
    // Whatever comes of a further action comes after all that there is to say of this one.
    let next = server.relabel(&json!(["node1"])).await.expect(201).json();
    let next = next["id"].as_str().unwrap();
    server.ended(next).await;
    for (stream, expected) in streams
        .iter_mut()
        .zip([&["node1", "node2", "node2"][..], &["node2"][..]])
    {
        let mut told = Vec::new();
        stream.until(&format!("\"action\":\"{next}\"")).await;
        for (kind, data) in stream.events() {
            if kind == "node" && data["action"] == id {
                told.push(data["node"]["name"].as_str().unwrap().to_owned());
            }
        }
        told.sort();
        assert_eq!(told, expected);
    }
}

async fn rights_are_asked_for_actions_and_for_what_they_do(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenStore::open(folder.path().join("tokens.json")).unwrap();
    let make = |role: Role, comment: &str| {
        let new = NewToken {
            scope: TokenScope::Role(role),
            expires: None,
            single_use: false,
            comment: comment.to_owned(),
        };
        tokens
            .create(new, Timestamp::UNIX_EPOCH)
            .unwrap()
            .secret
            .reveal()
            .to_owned()
    };
    let (viewer, operator) = (make(Role::Viewer, "vera"), make(Role::Operator, "otto"));
    let Some(server) = Relabelling::empty(on, Auth::Tokens(Arc::new(tokens)), WorkflowOptions::default()).await else {
        return;
    };
    let body = json!({"name": "update_labels", "parameters": {"target_nodes": "node1"}}).to_string();
    let ask = async |method: &str, path: &str, token: Option<&str>, body: Option<&str>| {
        let mut headers = vec![("Content-Type", JSON)];
        headers.extend(token.map(|token| ("X-Auth-Token", token)));
        server
            .api
            .send(method, &format!("/api/v1.0/{path}"), &headers, body)
            .await
    };
    let labels = Some(r#"{"label-a": "true"}"#);
    for (method, path, body) in [
        ("POST", "actions", Some(body.as_str())),
        (
            "POST",
            "tasks",
            Some(r#"{"action": "relabel_nodes", "design_ref": "x"}"#),
        ),
        ("PUT", "node-labels/node1", labels),
        ("POST", "actions/01BTTMFVDKZFRJM80FGD7J1AKN/control/stop", None),
        ("DELETE", "tasks", None),
    ] {
        let refused = ask(method, path, None, body).await.expect(401).json();
        assert_eq!(refused["code"], "401 Unauthorized", "{path}");
        let refused = ask(method, path, Some(&viewer), body).await.expect(403).json();
        assert_eq!(refused["code"], "403 Forbidden", "{path}");
        assert_eq!(refused["reason"], "Credentials do not permit access");
    }
    ask("GET", "actions", Some(&viewer), None).await.expect(200);
    ask("GET", "node-labels/node1", Some(&viewer), None).await.expect(200);
    ask("PUT", "node-labels/node1", Some(&operator), labels)
        .await
        .expect(200);
    // Let in, and refused for another reason.
    ask("POST", "actions", Some(&operator), Some(&body)).await.expect(400);
    ask("DELETE", "tasks", Some(&operator), None).await.expect(403);
}

async fn a_cluster_that_is_gone_is_told(on: On) {
    let Some(mut server) = Relabelling::ready(on).await else {
        return;
    };
    let cluster = server.cluster.take().unwrap();
    cluster.stop().await;
    let refused = server
        .send("PUT", "node-labels/node1", Some(&json!({})))
        .await
        .expect(503)
        .json();
    assert_eq!(refused["message"], "Kubernetes API Error");
    assert_eq!(refused["retry"], true);
    let refused = server.api.get("nodes").await.expect(503).json();
    assert_eq!(refused["type"], "error");
}

#[tokio::test]
async fn without_a_cluster_documents_are_served_and_the_rest_says_why() {
    let api = Served::sqlite().await;
    api.get("revisions").await.expect(200);
    for path in ["actions", "tasks", "nodes", "node-labels/n1", "events"] {
        let refused = api.get(path).await.expect(503);
        assert_eq!(refused.header("retry-after"), Some("30"), "{path}");
        assert!(
            refused.json()["reason"]
                .as_str()
                .unwrap()
                .contains("No cluster is at hand"),
            "{path}"
        );
    }
}

on_both! {
    an_action_is_followed_to_its_end_and_can_be_followed_later,
    a_retry_tells_only_what_is_new,
    rights_are_asked_for_actions_and_for_what_they_do,
    a_cluster_that_is_gone_is_told,
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenStore::open(folder.path().join("tokens.json")).unwrap();
    let new = NewToken {
        scope: TokenScope::Role(Role::Viewer),
        expires: None,
        single_use: false,
        comment: String::new(),
    };
    let viewer = tokens.create(new, Timestamp::constant(1, 0)).unwrap();
    let tokens = Arc::new(tokens);
    let auth = Auth::Tokens(Arc::clone(&tokens));
    let server = Relabelling::empty(On::Sqlite, auth, WorkflowOptions::default()).await;
    let server = server.unwrap();
    let header = format!("events HTTP/1.1\r\nX-Auth-Token: {}\r\nX-Rest:", viewer.secret.reveal());
    let mut stream = Stream::open(&server.api, &header).await;
    assert!(stream.until("\r\n\r\n").await.starts_with("HTTP/1.1 200"));
    // Whoever may read goes on reading.
    pass(Duration::from_secs(61)).await;
    stream.until("keep-alive").await;
    tokens.revoke(&viewer.id, Timestamp::constant(2, 0)).unwrap();
    let rest = async {
        let mut rest = Vec::new();
        stream.stream.read_to_end(&mut rest).await
    };
    let mut rest = std::pin::pin!(rest);
    // A check that was under way when the token was taken back may still have found it good; the next one does not.
    for _ in 0..60 {
        pass(Duration::from_secs(61)).await;
        if let Ok(ended) = tokio::time::timeout(Duration::from_millis(500), &mut rest).await {
            ended.unwrap();
            return;
        }
    }
    panic!("the stream goes on");
}

/// Lets time pass for everything in this process.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}
