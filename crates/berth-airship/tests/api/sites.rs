//! Pages of other sites, while callers are not authenticated: over every route of the description, so that a new one is covered
//! by itself.

use std::{fmt::Write as _, sync::Arc};

use berth_airship::{Api, Auth};
use berth_tokens::TokenStore;
use serde_json::{Value, json};

use crate::{
    fixture::{LAYERS, Reply, Served, document},
    relabelling::{JSON, On, Relabelling},
};

/// A request that would go well.
struct Operation {
    id: String,
    method: String,
    path: String,
    /// What its body is read as.
    kind: Option<String>,
    body: String,
}

impl Operation {
    fn changes_something(&self) -> bool {
        self.method != "GET"
    }

    fn headers<'a>(&self, more: &[(&'a str, &'a str)], length: &'a str) -> Vec<(&'a str, &'a str)> {
        let mut headers = more.to_vec();
        if !self.body.is_empty() {
            headers.push(("Content-Length", length));
        }
        headers
    }

    async fn send(&self, api: &Served, headers: &[(&str, &str)]) -> Reply {
        let length = self.body.len().to_string();
        let headers = self.headers(headers, &length);
        api.send_exactly(&self.method, &self.path, &headers, &self.body).await
    }
}

/// Every operation of the description, under both of its paths.
fn operations(action: &str) -> Vec<Operation> {
    let description = Api::description();
    let mut operations = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, about) in item.as_object().unwrap() {
            let id = about["operationId"].as_str().unwrap();
            let content = about.pointer("/requestBody/content").and_then(Value::as_object);
            let body = match id {
                "putBucketDocuments" | "loadCollection" => format!("{LAYERS}{}", document("a", "site", "{n: 2}")),
                "addValidation" => "status: success\nvalidator: {name: x}".to_owned(),
                "createTask" => r#"{"action": "relabel_nodes", "design_ref": "x"}"#.to_owned(),
                "createAction" => {
                    json!({"name": "update_labels", "parameters": {"target_nodes": ["node1"]}}).to_string()
                }
                _ if content.is_some() => "{}".to_owned(),
                _ => String::new(),
            };
            let filled = path
                .replace("{comparison_revision_id}", "1")
                .replace("{revision_id}", "1")
                .replace("{bucket_name}", "other")
                .replace("{collection_id}", "other")
                .replace("{tag}", "tag")
                .replace("{validation_name}", "deckhand-schema-validation")
                .replace("{entry_id}", "0")
                .replace("{action_id}", action)
                .replace("{control_verb}", "stop")
                .replace("{node_name}", "node1")
                .split('/')
                .map(|part| if part.starts_with('{') { "1" } else { part })
                .collect::<Vec<_>>()
                .join("/");
            let short = filled.strip_prefix("/api").filter(|rest| rest.starts_with("/v1.0/"));
            for path in std::iter::once(filled.as_str()).chain(short) {
                operations.push(Operation {
                    id: id.to_owned(),
                    method: method.to_uppercase(),
                    path: path.to_owned(),
                    kind: content.and_then(|content| content.keys().next().cloned()),
                    body: body.clone(),
                });
            }
        }
    }
    operations
}

/// Everything that a request could have changed.
async fn state(server: &Relabelling) -> String {
    let mut state = format!("writes to the cluster: {}\n", server.revision());
    for path in ["revisions", "revisions/1", "configdocs", "actions", "tasks"] {
        let reply = server.api.get(path).await;
        writeln!(state, "{path}: {} {}", reply.status, reply.body).unwrap();
    }
    state
}

/// A server with documents and an action that has ended.
async fn server() -> (Relabelling, String) {
    let server = Relabelling::ready(On::Sqlite).await.unwrap();
    let reply = server.relabel(&json!(["node1"])).await.expect(201);
    let action = reply.json()["id"].as_str().unwrap().to_owned();
    server.ended(&action).await;
    (server, action)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_reads_and_changes_nothing() {
    let (server, action) = server().await;
    let own = server.api.address.to_string();
    let own_origin = format!("http://{own}");
    let other_port = "http://127.0.0.1:1";
    let before = state(&server).await;
    let operations = operations(&action);
    assert!(operations.iter().filter(|it| it.changes_something()).count() >= 20);
    let attacks: &[(&[(&str, &str)], u16)] = &[
        // DNS rebinding: a name of another site that leads to this machine.
        (&[("Host", "evil.example")], 421),
        (
            &[("Host", "evil.example:8080"), ("Origin", "http://evil.example:8080")],
            421,
        ),
        (&[("Host", "localhost.evil.example")], 421),
        (&[("Host", "192.0.2.1")], 421),
        (&[], 400),
        (&[("Host", &own), ("Host", "evil.example")], 400),
        // A page that knows where this server is.
        (&[("Host", &own), ("Origin", "https://evil.example")], 403),
        (&[("Host", &own), ("Origin", "null")], 403),
        (&[("Host", &own), ("Origin", other_port)], 403),
        (&[("Host", &own), ("Sec-Fetch-Site", "cross-site")], 403),
        (&[("Host", &own), ("Sec-Fetch-Site", "same-site")], 403),
        (
            &[
                ("Host", &own),
                ("Origin", &own_origin),
                ("Sec-Fetch-Site", "cross-site"),
            ],
            403,
        ),
    ];
    for operation in &operations {
        for (headers, status) in attacks {
            let mut headers = headers.to_vec();
            headers.extend(operation.kind.as_deref().map(|kind| ("Content-Type", kind)));
            let reply = operation.send(&server.api, &headers).await;
            let about = format!("{} {} {headers:?}: {}", operation.method, operation.path, reply.body);
            assert_eq!(reply.status, *status, "{about}");
            assert_eq!(reply.json()["status"], "Failure", "{about}");
            assert_eq!(reply.header("access-control-allow-origin"), None, "{about}");
        }
    }
    for path in ["/openapi.json", "/docs", "/nothing", "/"] {
        let headers = [("Host", "evil.example")];
        server.api.send_exactly("GET", path, &headers, "").await.expect(421);
    }
    assert_eq!(state(&server).await, before, "nothing has changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_any_page_can_send_changes_nothing() {
    let (server, action) = server().await;
    let own = server.api.address.to_string();
    let before = state(&server).await;
    for operation in operations(&action).iter().filter(|it| it.changes_something()) {
        for kind in [
            "text/plain",
            "text/plain;charset=UTF-8",
            "text/plain; application/json",
            "text/plain; application/x-yaml",
            "TEXT/PLAIN",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=application/json",
        ] {
            let headers = [("Host", own.as_str()), ("Content-Type", kind)];
            let reply = operation.send(&server.api, &headers).await;
            assert_eq!(reply.status, 415, "{} {} {kind}", operation.method, operation.path);
        }
        if operation.kind.is_some() {
            let reply = operation.send(&server.api, &[("Host", &own)]).await;
            let about = format!("{} {} without a type", operation.method, operation.path);
            assert!([400, 415].contains(&reply.status), "{about}: {}", reply.status);
        }
    }
    assert_eq!(state(&server).await, before, "nothing has changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_and_own_pages_are_served() {
    let (server, action) = server().await;
    let port = server.api.address.port();
    let mut operations = operations(&action);
    // What removes everything comes last; a stream has no end to wait for.
    operations.retain(|operation| operation.id != "streamEvents");
    operations.sort_by_key(|operation| (operation.changes_something(), operation.method == "DELETE"));
    for (at, operation) in operations.iter().enumerate() {
        let host = match at % 3 {
            0 => format!("127.0.0.1:{port}"),
            1 => format!("localhost:{port}"),
            _ => "[::1]:1".to_owned(),
        };
        let origin = format!("http://{host}");
        let mut headers = vec![("Host", host.as_str())];
        if at % 2 == 0 {
            headers.extend([("Origin", origin.as_str()), ("Sec-Fetch-Site", "same-origin")]);
        }
        let kind = operation.kind.as_ref().map(|kind| format!("{kind}; charset=utf-8"));
        headers.extend(kind.as_deref().map(|kind| ("Content-Type", kind)));
        let reply = operation.send(&server.api, &headers).await;
        let about = format!(
            "{} {}: {} {}",
            operation.method, operation.path, reply.status, reply.body
        );
        assert!(![403, 415, 421].contains(&reply.status), "{about}");
    }
    let revisions = server.api.get("revisions").await.yaml();
    assert_eq!(revisions["count"], 0, "the last of them removed all revisions");
}

#[tokio::test]
async fn with_tokens_a_server_may_be_asked_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenStore::open(folder.path().join("tokens.json")).unwrap();
    let api = Served::with_auth(Auth::Tokens(Arc::new(tokens))).await;
    for headers in [
        [("Host", "berth.example.com"), ("Accept", JSON)],
        [
            ("Host", "berth.example.com"),
            ("Origin", "https://dashboard.example.com"),
        ],
    ] {
        api.send_exactly("GET", "/health", &headers, "").await.expect(204);
        api.send_exactly("GET", "/api/v1.0/revisions", &headers, "")
            .await
            .expect(401);
    }
}
