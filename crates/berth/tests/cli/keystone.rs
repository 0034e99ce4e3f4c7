//! `berth serve` beside services of an `OpenStack`: a Keystone that knows its callers, and another Deckhand.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
};

use serde_json::json;

use crate::{
    run::{Folder, command},
    served::{PATIENCE, Served},
};

/// What Keystone 30.0.0 on `SQLite` answers to `GET /v3/auth/tokens?nocatalog` about a token that asks about itself: with a role in a
/// project, with other roles, for the whole system, and without any scope. The identifiers are shortened.
fn about(token: &str) -> Option<serde_json::Value> {
    let user = |name: &str| json!({"domain": {"id": "default", "name": "Default"}, "id": "99f8", "name": name, "password_expires_at": null});
    let project = json!({"domain": {"id": "default", "name": "Default"}, "id": "3d8d", "name": "service"});
    let mut known = json!({
        "methods": ["password"], "audit_ids": ["dZqczpDuSYWmMkrb2sq6fA"],
        "expires_at": "2036-11-18T12:46:44.000000Z", "issued_at": "2026-11-18T11:46:44.000000Z",
    });
    match token {
        "viewer" => {
            known["user"] = user("vera");
            known["project"] = project;
            known["is_domain"] = json!(false);
            known["roles"] = json!([{"id": "6ddf", "name": "admin_ucp_viewer"}]);
        }
        "member" => {
            known["user"] = user("ulf");
            known["project"] = project;
            known["is_domain"] = json!(false);
            known["roles"] = json!([{"id": "9419", "name": "member"}, {"id": "a914", "name": "reader"}]);
        }
        "system" => {
            known["user"] = user("admin");
            known["roles"] = json!([{"id": "58d5", "name": "admin"}, {"id": "457d", "name": "manager"},
                {"id": "9419", "name": "member"}, {"id": "a914", "name": "reader"}]);
            known["system"] = json!({"all": true});
        }
        // A user without a project has neither roles nor a scope.
        "unscoped" => known["user"] = user("nobody"),
        _ => return None,
    }
    Some(json!({ "token": known }))
}

/// Answers as that Keystone did, also about tokens that it does not know or that were revoked.
fn keystone() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v3", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&connection).lines().map_while(Result::ok);
            let line = lines.next().unwrap_or_default();
            let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let header = |name: &str| {
                let found = headers.iter().filter_map(|line| line.split_once(": "));
                let mut found = found.filter(|(key, _)| key.eq_ignore_ascii_case(name));
                found.next().map(|(_, value)| value.to_owned())
            };
            let token = header("x-auth-token").filter(|token| header("x-subject-token").as_ref() == Some(token));
            let known = token.as_deref().and_then(about);
            let (status, more, body) = match known {
                _ if !line.starts_with("GET /v3/auth/tokens?nocatalog ") => (
                    "404 NOT FOUND",
                    String::new(),
                    json!({"error": {"code": 404, "message": "The requested URL was not found.", "title": "Not Found"}}),
                ),
                Some(known) => (
                    "200 OK",
                    format!("X-Subject-Token: {}\r\n", token.unwrap_or_default()),
                    known,
                ),
                None => (
                    "401 UNAUTHORIZED",
                    "Www-Authenticate: Keystone uri=\"http://127.0.0.1:35000/v3\"\r\n".to_owned(),
                    json!({"error": {"code": 401, "message": "The request you have made requires authentication.", "title": "Unauthorized"}}),
                ),
            };
            let body = body.to_string();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Type: application/json\r\nServer: waitress\r\n\
                 Vary: X-Auth-Token\r\n{more}Connection: close\r\n\r\n",
                body.len()
            );
            let _ = (&connection).write_all((head + &body).as_bytes());
        }
    });
    address
}

/// Status and body.
fn ask(address: &str, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} /api/v1.0/{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn serve(folder: &Folder, name: &str, more: &[&str]) -> (Served, String) {
    let database = format!("sqlite:{}", folder.path().join(name).display());
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--no-cluster",
        "--database",
        &database,
    ];
    let server = Served::start(command().args(arguments).args(more));
    let address = server.address("the API is listening");
    (server, address)
}

#[test]
fn callers_are_who_keystone_says_they_are() {
    let folder = Folder::new();
    let url = keystone();
    let (_server, address) = serve(&folder, "berth.db", &["--auth", "keystone", &url]);
    let policy = "schema: deckhand/LayeringPolicy/v1\nmetadata: {schema: metadata/Control/v1, name: layering-policy}\n\
                  data: {layerOrder: [site]}\n";
    for (token, read, written) in [
        ("viewer", 200, 403),
        ("system", 200, 200),
        ("member", 403, 403),
        ("unscoped", 403, 403),
        ("revoked", 401, 401),
    ] {
        let headers = format!("X-Auth-Token: {token}\r\nContent-Type: application/x-yaml\r\n");
        let (status, body) = ask(&address, "GET", "revisions", &headers, "");
        assert_eq!(status, read, "{token}: {body}");
        let (status, body) = ask(&address, "PUT", "buckets/a/documents", &headers, policy);
        assert_eq!(status, written, "{token}: {body}");
    }
    assert_eq!(ask(&address, "GET", "revisions", "", "").0, 401);
    // An address that is not a Keystone's lets nobody in, and says that it cannot know.
    let elsewhere = url.replace("/v3", "/identity");
    let (_server, address) = serve(&folder, "other.db", &["--auth", "keystone", &elsewhere]);
    let (status, body) = ask(&address, "GET", "revisions", "X-Auth-Token: system\r\n", "");
    assert_eq!(status, 503, "{body}");
}

const SITE: &str = "\
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layering-policy}
data: {layerOrder: [site]}
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: node1, storagePolicy: cleartext, layeringDefinition: {layer: site}}
data: {addressing: [{network: pxe, address: dhcp}], metadata: {owner_data: {row: a}}}
";

#[test]
fn a_design_of_another_deckhand_is_fetched_where_it_is_configured() {
    let folder = Folder::new();
    let (_other, deckhand) = serve(&folder, "deckhand.db", &[]);
    let yaml = "Content-Type: application/x-yaml\r\n";
    assert_eq!(ask(&deckhand, "PUT", "buckets/site/documents", yaml, SITE).0, 200);
    let url = format!("http://{deckhand}/api/v1.0");
    let (_server, configured) = serve(&folder, "one.db", &["--deckhand", &url]);
    let (_server, plain) = serve(&folder, "two.db", &[]);
    let validate = |server: &str, revision: u64| {
        let href = format!("deckhand+{url}/revisions/{revision}/rendered-documents");
        let body = json!({"rel": "design", "href": href, "type": "application/x-yaml"}).to_string();
        ask(
            server,
            "POST",
            "validatedesign",
            "Content-Type: application/json\r\n",
            &body,
        )
    };
    let (status, body) = validate(&configured, 1);
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("Site design passed validation"), "{body}");
    let (status, body) = validate(&configured, 2);
    assert_eq!(status, 503, "{body}");
    assert!(
        body.contains("cannot be fetched: it answers with 404 Not Found"),
        "{body}"
    );
    let (status, body) = validate(&plain, 1);
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("which is not this server"), "{body}");
}
