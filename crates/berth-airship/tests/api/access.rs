//! Who may use the API: tokens of a file, tokens of a cluster, and what is refused.

use std::sync::Arc;

use berth_airship::{Auth, ClusterAccess};
use berth_clock::Clock;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Identity};
use berth_tokens::{NewToken, Role, TokenScope, TokenStore};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::fixture::{LAYERS, Reply, Served, YAML, document, secret};

/// The first second of the fixture's clock.
const NOW: Timestamp = Timestamp::constant(1_772_366_400, 0);

pub(crate) struct Tokens {
    _folder: tempfile::TempDir,
    pub(crate) store: Arc<TokenStore>,
}

impl Tokens {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = TokenStore::open(folder.path().join("tokens.json")).unwrap();
        Self {
            _folder: folder,
            store: Arc::new(store),
        }
    }

    fn make(&self, scope: TokenScope) -> String {
        let new = NewToken {
            scope,
            expires: Some(NOW + jiff::SignedDuration::from_hours(1)),
            single_use: false,
            comment: String::new(),
        };
        // As another process would: the server reads the file again.
        let other = TokenStore::open(self.store.path()).unwrap();
        other.create(new, NOW).unwrap().secret.reveal().to_owned()
    }

    pub(crate) fn role(&self, role: Role) -> String {
        self.make(TokenScope::Role(role))
    }
}

pub(crate) async fn ask(api: &Served, token: Option<&str>, method: &str, path: &str, body: Option<&str>) -> Reply {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("Content-Type", YAML)];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    api.send(method, path, &headers, body).await
}

/// Every operation of the description with its rule; nothing for one that is open.
fn operations() -> Vec<(String, String, Option<String>)> {
    let description = berth_airship::Api::description();
    let paths = description["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().iter().map(move |(method, about)| {
                let path = path
                    .split('/')
                    .map(|part| if part.starts_with('{') { "1" } else { part });
                let path: Vec<&str> = path.collect();
                let rule = about.get("x-berth-rule").and_then(Value::as_str).map(str::to_owned);
                (method.to_uppercase(), path.join("/"), rule)
            })
        })
        .collect()
}

#[test]
fn every_route_has_a_rule_of_its_own_or_is_open() {
    let operations = operations();
    let open: Vec<&str> = operations
        .iter()
        .filter(|(_, _, rule)| rule.is_none())
        .map(|(_, path, _)| path.as_str())
        .collect();
    assert_eq!(open, ["/api/v1.0/health", "/health", "/versions"]);
    for (method, path, rule) in &operations {
        assert_ne!(rule.as_deref(), Some("berth:unsaid"), "{method} {path}");
    }
}

#[tokio::test]
async fn without_a_token_nothing_but_the_open_routes_answers() {
    let tokens = Tokens::new();
    let api = Served::with_auth(Auth::Tokens(Arc::clone(&tokens.store))).await;
    for (method, path, rule) in operations() {
        // Each from its own server would be slow, so a limit on refusals is part of what is seen.
        let reply = ask(&api, None, &method, &path, None).await;
        match rule {
            None => assert!(reply.status < 300, "{method} {path} {}", reply.status),
            Some(_) => assert!([401, 429].contains(&reply.status), "{method} {path} {}", reply.status),
        }
    }
    for path in ["/openapi.json", "/docs"] {
        ask(&api, None, "GET", path, None).await.expect(200);
    }
}

#[tokio::test]
async fn refusals_have_the_words_of_each_service() {
    let tokens = Tokens::new();
    let viewer = tokens.role(Role::Viewer);
    let api = Served::with_auth(Auth::Tokens(Arc::clone(&tokens.store))).await;

    let shipyard = ask(&api, None, "GET", "/api/v1.0/configdocs", None).await.expect(401);
    assert_eq!(shipyard.header("www-authenticate"), Some("Bearer realm=\"berth\""));
    let shipyard = shipyard.json();
    assert_eq!(shipyard["message"], "Unauthenticated");
    assert_eq!(shipyard["reason"], "Credentials are not established");
    assert_eq!(shipyard["code"], "401 Unauthorized");
    assert_eq!(shipyard["kind"], "status");
    assert_eq!(
        shipyard["details"]["messageList"],
        json!([{"message": "Credentials are not established", "error": true}])
    );
    let deckhand = ask(&api, None, "GET", "/api/v1.0/revisions", None)
        .await
        .expect(401)
        .yaml();
    assert_eq!(deckhand["kind"], "Status");
    assert_eq!(deckhand["code"], "401 Unauthorized");

    let shipyard = ask(&api, Some(&viewer), "POST", "/api/v1.0/commitconfigdocs", None).await;
    let shipyard = shipyard.expect(403).json();
    assert_eq!(shipyard["message"], "Forbidden");
    assert_eq!(shipyard["reason"], "Credentials do not permit access");
    let deckhand = ask(&api, Some(&viewer), "DELETE", "/api/v1.0/revisions", None).await;
    assert_eq!(
        deckhand.expect(403).yaml()["message"],
        "Policy doesn't allow deckhand:delete_revisions to be performed."
    );
}

#[tokio::test]
async fn roles_may_what_they_may() {
    let tokens = Tokens::new();
    let [viewer, operator, admin] = [Role::Viewer, Role::Operator, Role::Admin].map(|role| tokens.role(role));
    let api = Served::with_auth(Auth::Tokens(Arc::clone(&tokens.store))).await;
    let documents = format!("{LAYERS}{}", document("a", "site", "{n: 1}"));
    let put = "/api/v1.0/buckets/mop/documents";
    for (token, method, path, body, status) in [
        (&viewer, "PUT", put, Some(documents.as_str()), 403),
        (&operator, "PUT", put, Some(documents.as_str()), 200),
        (&viewer, "GET", "/api/v1.0/revisions", None, 200),
        (&viewer, "GET", "/api/v1.0/revisions/1/documents", None, 200),
        (&viewer, "POST", "/api/v1.0/revisions/1/tags/x", Some(""), 403),
        (&operator, "POST", "/api/v1.0/revisions/1/tags/x", Some(""), 201),
        (&operator, "DELETE", "/api/v1.0/revisions/1/tags/x", None, 403),
        (&admin, "DELETE", "/api/v1.0/revisions/1/tags/x", None, 204),
        (&viewer, "POST", "/api/v1.0/commitconfigdocs?dryrun=true", None, 403),
        (&operator, "DELETE", "/api/v1.0/revisions", None, 403),
        (&admin, "DELETE", "/api/v1.0/revisions", None, 204),
    ] {
        let reply = ask(&api, Some(token), method, path, body).await;
        assert_eq!(reply.status, status, "{method} {path} {}", reply.body);
    }
}

#[tokio::test]
async fn secrets_are_for_administrators() {
    let tokens = Tokens::new();
    let [viewer, admin] = [Role::Viewer, Role::Admin].map(|role| tokens.role(role));
    let api = Served::with_auth(Auth::Tokens(Arc::clone(&tokens.store))).await;
    let documents = format!("{LAYERS}{}", secret("a", "hidden-thing"));
    ask(
        &api,
        Some(&admin),
        "PUT",
        "/api/v1.0/buckets/mop/documents",
        Some(&documents),
    )
    .await
    .expect(200);
    let path = "/api/v1.0/revisions/1/documents?cleartext-secrets=true";
    let seen = ask(&api, Some(&admin), "GET", path, None).await.expect(200);
    assert!(seen.body.contains("hidden-thing"));
    let hidden = ask(&api, Some(&viewer), "GET", path, None).await.expect(200);
    assert!(!hidden.body.contains("hidden-thing"), "Deckhand shows the rest");
    let staged = "/api/v1.0/configdocs/mop?cleartext-secrets=true";
    ask(&api, Some(&viewer), "GET", staged, None).await.expect(403);
    let seen = ask(&api, Some(&admin), "GET", staged, None).await.expect(200);
    assert!(seen.body.contains("hidden-thing"));
}

#[tokio::test]
async fn tokens_come_in_either_header_and_end() {
    let tokens = Tokens::new();
    let api = Served::with_auth(Auth::Tokens(Arc::clone(&tokens.store))).await;
    // Made after the server has started.
    let viewer = tokens.role(Role::Viewer);
    let machine = tokens.make(TokenScope::Any);
    let path = "/api/v1.0/revisions";
    for (headers, status) in [
        (vec![("X-Auth-Token", viewer.clone())], 200),
        (vec![("Authorization", format!("bearer  {viewer} "))], 200),
        (vec![("Authorization", format!("Basic {viewer}"))], 401),
        (vec![("Authorization", viewer.clone())], 401),
        (vec![("X-Auth-Token", format!("{viewer}x"))], 401),
        (vec![("X-Auth-Token", String::new())], 401),
        (vec![("X-Auth-Token", machine)], 401),
    ] {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let reply = api.send("GET", path, &headers, None).await;
        assert_eq!(reply.status, status, "{headers:?}");
    }
    let id = viewer.split('.').nth(1).unwrap();
    TokenStore::open(tokens.store.path()).unwrap().revoke(id, NOW).unwrap();
    ask(&api, Some(&viewer), "GET", path, None).await.expect(401);
}

#[tokio::test]
async fn an_address_that_guesses_is_slowed_and_good_tokens_still_pass() {
    let tokens = Tokens::new();
    let viewer = tokens.role(Role::Viewer);
    let api = Served::with_auth(Auth::Tokens(Arc::clone(&tokens.store))).await;
    let mut statuses = Vec::new();
    for n in 0..25 {
        let guess = format!("guess-{n}");
        let reply = ask(&api, Some(&guess), "GET", "/api/v1.0/configdocs", None).await;
        if reply.status == 429 {
            assert_eq!(reply.header("retry-after"), Some("60"));
            assert_eq!(reply.json()["code"], "429 Too Many Requests");
        }
        statuses.push(reply.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 20);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 5);
    ask(&api, Some(&viewer), "GET", "/api/v1.0/configdocs", None)
        .await
        .expect(200);
}

async fn cluster() -> ApiServer {
    let cluster = Cluster::new(ClusterOptions::new(Clock::system(), 1));
    cluster.add_token("admin-token", Identity::administrator());
    cluster.add_token("kubelet-token", Identity::kubelet("n1"));
    ApiServer::start(cluster, "127.0.0.1:0".parse().unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_cluster_says_who_and_whether() {
    let cluster = cluster().await;
    let client = kube::Client::try_from(kube::Config::new(cluster.url().parse().unwrap())).unwrap();
    let api = Served::with_auth(Auth::Kubernetes(Arc::new(ClusterAccess::new(client)))).await;
    let path = "/api/v1.0/configdocs";
    ask(&api, None, "GET", path, None).await.expect(401);
    ask(&api, Some("nobody"), "GET", path, None).await.expect(401);
    ask(&api, Some("kubelet-token"), "GET", path, None).await.expect(403);
    ask(&api, Some("admin-token"), "GET", path, None).await.expect(200);
    let header = [("X-Auth-Token", "admin-token")];
    api.send("GET", path, &header, None).await.expect(200);

    // What is known is believed for a while; whoever is not cannot be let in.
    cluster.stop().await;
    ask(&api, Some("admin-token"), "GET", path, None).await.expect(200);
    let refused = ask(&api, Some("another"), "GET", path, None).await.expect(503);
    assert_eq!(refused.json()["message"], "Kubernetes API Error");
    assert_eq!(refused.json()["retry"], true);
    let refused = ask(&api, Some("admin-token"), "POST", "/api/v1.0/commitconfigdocs", None).await;
    refused.expect(503);
}
