//! Refusals: codes, types and texts.

use std::time::Duration;

use berth_airship::ApiLimits;
use serde_json::json;

use crate::fixture::{Served, YAML, document, on_both};

on_both!(
    bodies_are_yaml_and_nothing_else,
    the_form_of_documents,
    conflicts,
    paths_and_methods,
    request_ids,
);

async fn bodies_are_yaml_and_nothing_else(api: Served) {
    let body = document("a", "site", "1");
    let path = "/api/v1.0/buckets/mop/documents";
    for (kind, status, error_type, message) in [
        (
            Some("application/json"),
            415,
            "HTTPUnsupportedMediaType",
            "Unexpected content type: application/json. Expected content types are: ['application/x-yaml'].",
        ),
        (
            Some("application/yaml"),
            415,
            "HTTPUnsupportedMediaType",
            "Unexpected content type: application/yaml. Expected content types are: ['application/x-yaml'].",
        ),
        (
            None,
            400,
            "HTTPMissingHeader",
            "The \"Content-Type\" header is required.",
        ),
    ] {
        let headers: Vec<(&str, &str)> = kind.map(|kind| ("Content-Type", kind)).into_iter().collect();
        let refused = api.send("PUT", path, &headers, Some(&body)).await.expect(status).yaml();
        assert_eq!(refused["message"], message);
        assert_eq!(refused["details"]["errorType"], error_type);
    }
    let charset = [("Content-Type", "application/x-yaml; charset=utf-8")];
    api.send("PUT", path, &charset, Some(&body)).await.expect(200);

    let broken = api.put("mop", "a: [1").await.expect(400).yaml();
    let message = broken["message"].as_str().unwrap();
    assert!(
        message.starts_with("The request body must be properly formatted YAML. Details: line "),
        "{message}"
    );
    let bytes = api.put("mop", "a: \u{0}").await.expect(400);
    assert!(
        bytes.yaml()["message"]
            .as_str()
            .unwrap()
            .starts_with("The request body must be properly")
    );
    let mixed = api
        .put("mop", &format!("--- text\n{body}--- 5\n"))
        .await
        .expect(400)
        .yaml();
    assert_eq!(
        mixed["message"],
        "Expected a list of valid objects. Invalid entries found at following indexes: 1,3."
    );
    assert_eq!(
        api.get("revisions").await.yaml()["count"],
        1,
        "nothing refused was stored"
    );
}

async fn the_form_of_documents(api: Served) {
    let refused = api
        .put("mop", "schema: nothing\nmetadata: {name: a}\ndata: 1\nmore: 2")
        .await
        .expect(400)
        .yaml();
    assert_eq!(refused["kind"], "Status");
    assert_eq!(refused["apiVersion"], "v1.0");
    assert_eq!(refused["metadata"], json!({}));
    assert_eq!(refused["status"], "Failure");
    assert_eq!(refused["message"], "The provided documents failed schema validation.");
    assert_eq!(refused["reason"], "Validation");
    assert_eq!(refused["code"], "400 Bad Request");
    assert_eq!(refused["retry"], false);
    assert_eq!(refused["details"]["errorType"], "InvalidDocumentFormat");
    let list = refused["details"]["messageList"].as_array().unwrap();
    assert_eq!(refused["details"]["errorCount"], list.len());
    assert_eq!(list[0]["kind"], "ValidationMessage");
    assert_eq!(list[0]["level"], "Error");
    assert_eq!(list[0]["name"], "D001");
    assert_eq!(list[0]["documents"][0]["name"], "a");
    assert_eq!(list[0]["error"], true);
}

async fn conflicts(api: Served) {
    api.put("one", &document("a", "site", "1")).await.expect(200);
    let twice = api.put("two", &document("a", "site", "1")).await.expect(409).yaml();
    assert_eq!(
        twice["message"],
        "Document [example/Kind/v1, site] a already exists in bucket: one"
    );
    assert_eq!(twice["code"], "409 Conflict");
    assert_eq!(twice["details"]["errorType"], "DuplicateDocumentExists");
    api.put("two", &document("a", "global", "1")).await.expect(200);

    let policy = |name: &str| crate::fixture::LAYERS.replace("name: layers", &format!("name: {name}"));
    api.put("policy", &policy("first")).await.expect(200);
    let second = api.put("more", &policy("second")).await.expect(409).yaml();
    assert_eq!(
        second["message"],
        "A singleton document [deckhand/LayeringPolicy/v1, None] first already exists in the system. The new \
         document(s) [deckhand/LayeringPolicy/v1, None] second cannot be created. To create a document with a new \
         name, delete the current one first."
    );
    assert_eq!(second["details"]["errorType"], "SingletonDocumentConflict");
}

async fn paths_and_methods(api: Served) {
    let lost = api.get("revisions/1/nothing").await.expect(404).yaml();
    assert_eq!(lost["kind"], "Status");
    assert_eq!(lost["details"]["errorType"], "HTTPNotFound");
    assert_eq!(lost["code"], "404 Not Found");
    let lost = api.get("elsewhere").await.expect(404).json();
    assert_eq!(lost["kind"], "status");
    assert_eq!(lost["reason"], "Not Found", "the framework puts the title last");

    let wrong = api.delete("revisions/1").await.expect(405);
    assert_eq!(wrong.header("allow"), Some("GET,HEAD"));
    assert_eq!(wrong.yaml()["code"], "405 Method Not Allowed");
    let options = api.send("OPTIONS", "/api/v1.0/revisions", &[], None).await.expect(200);
    assert_eq!(options.header("allow"), Some("GET,HEAD,DELETE"));

    let health = api.get("health").await.expect(204);
    assert_eq!(health.body, "");
    api.send("GET", "/health", &[], None).await.expect(204);
    let versions = api.send("GET", "/versions", &[], None).await.expect(200).json();
    assert_eq!(versions, json!({"v1.0": {"path": "/api/v1.0", "status": "stable"}}));
    let accept = [("Accept", YAML)];
    assert_eq!(api.send("GET", "/versions", &accept, None).await.yaml(), versions);
}

async fn request_ids(api: Served) {
    let named = api.send("GET", "/health", &[("X-Request-Id", "mine-1")], None).await;
    assert_eq!(named.header("x-request-id"), Some("mine-1"));
    assert_eq!(named.header("x-shipyard-req"), Some("mine-1"));
    let first = api.send("GET", "/health", &[], None).await;
    let second = api
        .send("GET", "/health", &[("X-Request-Id", "no \" good")], None)
        .await;
    let id = |reply: &crate::fixture::Reply| reply.header("x-request-id").unwrap().to_owned();
    assert!(id(&first).starts_with("request-"));
    assert!(
        id(&second).starts_with("request-"),
        "what cannot stand in a log is not taken over"
    );
    assert_ne!(id(&first), id(&second));
}

#[tokio::test]
async fn bodies_have_a_limit() {
    let api = Served::with_limits(ApiLimits {
        body_bytes: 1000,
        ..ApiLimits::default()
    })
    .await;
    let large = document("a", "site", &"x".repeat(2000));
    let refused = api.put("mop", &large).await.expect(413).yaml();
    assert_eq!(refused["details"]["errorType"], "HTTPRequestEntityTooLarge");
    // Without a length it is noticed while reading.
    let chunked = [("Content-Type", YAML), ("Transfer-Encoding", "chunked")];
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let path = "/api/v1.0/buckets/mop/documents";
    let refused = api.send_raw("PUT", path, &chunked, &chunk).await.expect(413).yaml();
    assert_eq!(refused["code"], "413 Payload Too Large");
    let staged = api.post("configdocs/a", &large).await.expect(413).json();
    assert_eq!(staged["kind"], "status");
    api.put("mop", &document("a", "site", "1")).await.expect(200);
}

/// Parameters and names are short; documents need not be.
#[tokio::test]
async fn bodies_in_json_have_a_limit_of_their_own() {
    let api = Served::sqlite().await;
    let large = "x".repeat(5 << 20);
    let json = [("Content-Type", "application/json")];
    let action = format!(r#"{{"name": "relabel_nodes", "parameters": {{"target_nodes": "{large}"}}}}"#);
    for path in ["actions", "tasks", "nodefilter"] {
        let path = format!("/api/v1.0/{path}");
        let refused = api.send("POST", &path, &json, Some(&action)).await;
        assert_eq!(refused.status, 413, "{path}");
    }
    api.put("mop", &document("a", "site", &large)).await.expect(200);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_given_up() {
    let api = Served::with_limits(ApiLimits {
        request_time: Duration::from_millis(50),
        ..ApiLimits::default()
    })
    .await;
    // A body that never comes.
    let headers = [("Content-Type", YAML), ("Content-Length", "10")];
    let path = "/api/v1.0/buckets/mop/documents";
    let refused = api.send_raw("PUT", path, &headers, "a: ").await.expect(503);
    assert_eq!(refused.header("retry-after"), Some("5"));
    assert_eq!(refused.yaml()["retry"], true);
}
