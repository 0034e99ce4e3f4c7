use std::sync::{Mutex, atomic::AtomicI64, atomic::Ordering};

use http_body_util::BodyExt as _;
use jiff::Timestamp;
use serde_json::Value;

use berth_tokens::{NewToken, TokenScope};

use super::*;
use crate::fixture::{PEER, catalog};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

const V3_4: &str = "application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1";

struct Got {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

async fn ask(service: &IgnitionService, method: &str, path: &str, headers: &[(&str, &str)]) -> Got {
    ask_from(service, PEER, method, path, headers).await
}

async fn ask_from(service: &IgnitionService, peer: IpAddr, method: &str, path: &str, headers: &[(&str, &str)]) -> Got {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = service.respond(peer, &request.body(()).unwrap()).await;
    let (parts, body) = response.into_parts();
    Got {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: body.collect().await.unwrap().to_bytes(),
    }
}

fn anonymous() -> IgnitionService {
    IgnitionService::new(
        CatalogHandle::new(catalog()),
        Access::Anonymous,
        Clock::stopped(Timestamp::UNIX_EPOCH),
    )
}

/// A server with tokens, a clock that can be set, and the folder that holds the tokens.
struct Guarded {
    service: IgnitionService,
    store: Arc<TokenStore>,
    now: Arc<AtomicI64>,
    _folder: tempfile::TempDir,
}

impl Guarded {
    fn new() -> Self {
        Self::with_observer(None)
    }

    fn with_observer(observer: Option<Observer>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(TokenStore::open(folder.path().join("tokens")).unwrap());
        let now = Arc::new(AtomicI64::new(1000));
        let clock = Arc::clone(&now);
        Self {
            service: IgnitionService::with_observer(
                CatalogHandle::new(catalog()),
                Access::Tokens(Arc::clone(&store)),
                Clock::new(move || at(clock.load(Ordering::SeqCst))),
                observer,
            ),
            store,
            now,
            _folder: folder,
        }
    }

    /// A header with a new token that is good for a minute.
    fn token(&self, scope: TokenScope, single_use: bool) -> (String, String) {
        let made = self
            .store
            .create(
                NewToken {
                    scope,
                    expires: Some(at(self.now.load(Ordering::SeqCst) + 60)),
                    single_use,
                    comment: String::new(),
                },
                at(1000),
            )
            .unwrap();
        (made.id, format!("Bearer {}", made.secret.reveal()))
    }
}

fn worker() -> TokenScope {
    TokenScope::Pool("worker".to_owned())
}

#[tokio::test]
async fn every_refusal_says_why_and_what_to_do() {
    let service = anonymous();
    let accept_4 = "application/vnd.coreos.ignition+json;version=4.0.0";
    for (method, path, accept, status, code, says) in [
        ("GET", "/", V3_4, 404, "unknown-path", "nothing under this path"),
        ("POST", "/nothing", V3_4, 404, "unknown-path", "nothing under this path"),
        ("GET", "/config/", V3_4, 404, "unknown-path", "nothing under this path"),
        (
            "POST",
            "/config/worker",
            V3_4,
            405,
            "method-not-allowed",
            "can only be read",
        ),
        (
            "DELETE",
            "/node/n1",
            V3_4,
            405,
            "method-not-allowed",
            "can only be read",
        ),
        ("PUT", "/healthz", V3_4, 405, "method-not-allowed", "can only be read"),
        (
            "GET",
            "/config/nope",
            V3_4,
            404,
            "unknown-pool",
            "there is no pool nope",
        ),
        (
            "GET",
            "/config/%77orker",
            V3_4,
            404,
            "unknown-pool",
            "there is no pool %77orker",
        ),
        ("GET", "/node/nope", V3_4, 404, "unknown-node", "there is no node nope"),
        (
            "GET",
            "/config/empty",
            V3_4,
            503,
            "no-config-yet",
            "its machine configs do not render",
        ),
        (
            "GET",
            "/node/n2",
            V3_4,
            503,
            "no-config-yet",
            "its machine configs do not render",
        ),
        (
            "GET",
            "/node/n3",
            V3_4,
            503,
            "no-config-yet",
            "two rules give the label rack",
        ),
        ("GET", "/config/worker", accept_4, 400, "unsupported-version", "4.0.0"),
        (
            "GET",
            "/config/new",
            "*/*",
            400,
            "version-too-old",
            "$.storage.files.0.mode",
        ),
        ("GET", "/config/old", "*/*", 400, "version-too-old", "shouldNotExist"),
    ] {
        let got = ask(&service, method, path, &[("accept", accept)]).await;
        let name = format!("{method} {path} {accept}");
        assert_eq!(got.status, status, "{name}");
        assert_eq!(got.header("content-type"), Some("application/json"), "{name}");
        assert_eq!(got.header("content-length"), Some(got.body.len().to_string().as_str()));
        let body = got.json();
        assert_eq!(body["error"], code, "{name}");
        let message = body["message"].as_str().unwrap();
        assert!(message.contains(says), "{name}: {message}");
        assert!(body["hint"].as_str().unwrap().len() > 5, "{name}");
        assert_eq!(got.header("retry-after"), (status == 503).then_some("10"), "{name}");
        assert_eq!(got.header("allow"), (status == 405).then_some("GET, HEAD"), "{name}");

        if method == "GET" {
            let head = ask(&service, "HEAD", path, &[("accept", accept)]).await;
            assert_eq!(head.status, status);
            assert_eq!(head.headers, got.headers, "{name}");
            assert!(head.body.is_empty());
        }
    }
    let hint = ask(&service, "GET", "/config/nope", &[]).await.json()["hint"].clone();
    assert_eq!(hint, "pools: empty, infra, new, old, worker");
}

#[tokio::test]
async fn a_config_comes_in_the_version_asked_for_with_its_headers() {
    let service = anonymous();
    for (accept, version) in [
        (None, "2.2.0"),
        (Some("*/*"), "2.2.0"),
        (Some(V3_4), "3.4.0"),
        (Some("application/vnd.coreos.ignition+json;version=3.0.0"), "3.0.0"),
        (Some("application/vnd.coreos.ignition+json;version=3.9.0"), "3.5.0"),
    ] {
        for path in ["/config/worker", "/node/n1", "/config/worker?a=b"] {
            let headers: Vec<_> = accept.iter().map(|accept| ("accept", *accept)).collect();
            let got = ask(&service, "GET", path, &headers).await;
            assert_eq!(got.status, 200);
            assert_eq!(got.json()["ignition"]["version"], version);
            assert_eq!(got.header("content-type"), Some("application/json"));
            assert_eq!(got.header("content-length"), Some(got.body.len().to_string().as_str()));
            assert_eq!(got.header("vary"), Some("Accept"));
            assert_eq!(got.header("cache-control"), Some("private, no-cache"));
            let etag = got.header("etag").unwrap();
            assert!(
                etag.starts_with('"') && etag.ends_with('"') && etag.len() == 34,
                "{etag}"
            );

            let head = ask(&service, "HEAD", path, &headers).await;
            assert_eq!((head.status, &head.headers), (200, &got.headers));
            assert!(head.body.is_empty());
        }
    }
}

#[tokio::test]
async fn a_client_that_has_the_bytes_gets_none() {
    let service = anonymous();
    let got = ask(&service, "GET", "/config/worker", &[("accept", V3_4)]).await;
    let etag = got.header("etag").unwrap();
    let weak = format!("W/{etag}");
    let list = format!("\"a\", {etag}");
    for (tag, status) in [
        (etag, 304),
        (weak.as_str(), 304),
        (list.as_str(), 304),
        ("*", 304),
        ("\"a\"", 200),
        (etag.trim_matches('"'), 200),
        ("", 200),
    ] {
        for method in ["GET", "HEAD"] {
            let headers = [("accept", V3_4), ("if-none-match", tag)];
            let again = ask(&service, method, "/config/worker", &headers).await;
            assert_eq!(again.status, status, "{tag}");
            assert_eq!(again.header("etag"), Some(etag));
            assert_eq!(again.header("vary"), Some("Accept"));
            assert_eq!(again.body.is_empty(), status == 304 || method == "HEAD");
        }
    }
    let other = ask(&service, "GET", "/config/worker", &[("if-none-match", etag)]).await;
    assert_eq!(other.status, 200, "another version has another tag");
}

#[tokio::test]
async fn a_thousand_requests_of_mixed_versions_give_the_same_bytes() {
    // What a server gives that was asked nothing else.
    let version = |n: usize| format!("application/vnd.coreos.ignition+json;version=3.{n}.0");
    let mut alone = Vec::new();
    for n in 0..6 {
        alone.push(
            ask(&anonymous(), "GET", "/config/infra", &[("accept", &version(n))])
                .await
                .body,
        );
    }
    let service = anonymous();
    for n in 0..1000 {
        let n = n * 7 % 6;
        let got = ask(&service, "GET", "/config/infra", &[("accept", &version(n))]).await;
        assert_eq!(got.body, alone[n]);
    }
}

#[tokio::test]
async fn health_and_a_catalog_that_is_still_loading() {
    let handle = CatalogHandle::new(Catalog::loading("the site has errors"));
    let service = IgnitionService::new(handle.clone(), Access::Anonymous, Clock::stopped(Timestamp::UNIX_EPOCH));
    for path in ["/healthz", "/config/worker", "/node/n1"] {
        let got = ask(&service, "GET", path, &[]).await;
        assert_eq!(got.status, 503, "{path}");
        assert_eq!(got.json()["error"], "loading");
        assert_eq!(got.json()["message"], "nothing can be served yet: the site has errors");
        assert_eq!(got.header("retry-after"), Some("10"));
    }
    handle.replace(catalog());
    assert_eq!(
        ask(&service, "GET", "/healthz", &[]).await.json(),
        json!({"status": "ok"})
    );
    assert_eq!(ask(&service, "GET", "/config/worker", &[]).await.status, 200);
    // What cannot be served does not take away what is.
    handle.set_stale("pools.yaml: no such pool");
    let stale = ask(&service, "GET", "/healthz", &[]).await;
    assert_eq!(stale.status, 200);
    assert_eq!(
        stale.json(),
        json!({"status": "stale", "reason": "pools.yaml: no such pool", "revision": handle.current().revision()})
    );
    let mut other = Catalog::builder("r8");
    other.pool_without_config("worker", "paused");
    handle.replace(other.build().unwrap());
    assert_eq!(ask(&service, "GET", "/config/worker", &[]).await.status, 503);
    assert_eq!(
        ask(&service, "GET", "/healthz", &[]).await.json(),
        json!({"status": "ok"})
    );
}

#[tokio::test]
async fn tokens_are_asked_for_and_bound() {
    let guarded = Guarded::new();
    let (id, good) = guarded.token(worker(), false);
    let (_, expired) = guarded.token(TokenScope::Any, false);
    let (revoked_id, revoked) = guarded.token(TokenScope::Any, false);
    guarded.store.revoke(&revoked_id, at(1)).unwrap();
    // Any other last character that ends 32 bytes in base64; the secret is random, so it may be this very one.
    let last = if good.ends_with('A') { 'Q' } else { 'A' };
    let unknown = format!("{}{last}", good.get(..good.len() - 1).unwrap());
    let lower = good.replace("Bearer", "bearer");
    let table: &[(&str, Option<&str>, u16, &str)] = &[
        ("/config/worker", None, 401, "token-missing"),
        ("/config/nope", None, 401, "token-missing"),
        ("/config/worker", Some("Basic abc"), 401, "token-malformed"),
        ("/config/worker", Some("Bearer"), 401, "token-malformed"),
        ("/config/worker", Some("Bearer abc"), 401, "token-unknown"),
        ("/config/worker", Some(&unknown), 401, "token-unknown"),
        ("/config/worker", Some(&revoked), 401, "token-revoked"),
        ("/config/infra", Some(&good), 403, "token-for-another"),
        ("/config/nope", Some(&good), 403, "token-for-another"),
        ("/config/worker", Some(&good), 200, ""),
        ("/config/worker", Some(&lower), 200, ""),
        ("/node/n1", Some(&good), 200, ""),
        ("/node/n2", Some(&good), 403, "token-for-another"),
        ("/node/nope", Some(&good), 404, "unknown-node"),
    ];
    for (path, header, status, code) in table {
        let headers: Vec<_> = header.iter().map(|header| ("authorization", *header)).collect();
        let got = ask(&guarded.service, "GET", path, &headers).await;
        assert_eq!(got.status, *status, "{path} {header:?}");
        let challenge = got.header("www-authenticate");
        assert_eq!(challenge.is_some(), *status == 401, "{path} {header:?}");
        if *status != 200 {
            assert_eq!(got.json()["error"], *code, "{path} {header:?}");
            let text = String::from_utf8(got.body.to_vec()).unwrap();
            let secret = good.strip_prefix("Bearer ").unwrap();
            assert!(!text.contains(secret), "{text}");
        }
    }
    assert_eq!(ask(&guarded.service, "GET", "/healthz", &[]).await.status, 200);
    guarded.now.fetch_add(60, Ordering::SeqCst);
    let got = ask(
        &guarded.service,
        "GET",
        "/config/worker",
        &[("authorization", &expired)],
    )
    .await;
    assert_eq!((got.status, got.json()["error"].as_str()), (401, Some("token-expired")));
    assert!(!id.is_empty());
}

#[tokio::test]
async fn a_single_use_is_used_up_by_the_first_config_only() {
    let guarded = Guarded::new();
    let (id, token) = guarded.token(worker(), true);
    let auth = ("authorization", token.as_str());
    let is_used = || {
        let list = guarded.store.list().unwrap();
        list.iter().any(|info| info.id == id && info.used.is_some())
    };
    let etag = ask(&guarded.service, "HEAD", "/config/worker", &[auth]).await;
    let etag = etag.header("etag").unwrap();
    ask(
        &guarded.service,
        "GET",
        "/config/worker",
        &[auth, ("if-none-match", etag)],
    )
    .await;
    ask(&guarded.service, "GET", "/node/nope", &[auth]).await;
    ask(&guarded.service, "GET", "/config/infra", &[auth]).await;
    let accept_1 = ("accept", "application/vnd.coreos.ignition+json;version=1.0.0");
    ask(&guarded.service, "GET", "/config/worker", &[auth, accept_1]).await;
    assert!(!is_used(), "nothing was given away yet");

    let first = ask(&guarded.service, "GET", "/config/worker", &[auth]).await;
    assert_eq!(first.status, 200);
    assert!(is_used());
    let retry = ask(&guarded.service, "GET", "/config/worker", &[auth]).await;
    assert_eq!(retry.status, 200, "the reply may have been lost");
    let other = IpAddr::from([198, 51, 100, 1]);
    let stolen = ask_from(&guarded.service, other, "GET", "/config/worker", &[auth]).await;
    assert_eq!(
        (stolen.status, stolen.json()["error"].as_str()),
        (403, Some("token-used"))
    );
    let wider = ask(&guarded.service, "GET", "/node/n1", &[auth]).await;
    assert_eq!(wider.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_machines_with_one_single_use_token_one_gets_the_config() {
    let guarded = Guarded::new();
    let (_, token) = guarded.token(worker(), true);
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..50 {
        let (service, token) = (guarded.service.clone(), token.clone());
        tasks.spawn(async move {
            let peer = IpAddr::from([198, 51, 100, n]);
            let got = ask_from(&service, peer, "GET", "/config/worker", &[("authorization", &token)]).await;
            got.status
        });
    }
    let statuses = tasks.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1);
    assert_eq!(statuses.iter().filter(|status| **status == 403).count(), 49);
}

#[tokio::test]
async fn tokens_that_cannot_be_read_let_nobody_in() {
    let guarded = Guarded::new();
    let (_, token) = guarded.token(TokenScope::Any, false);
    std::fs::write(guarded.store.path(), "garbage").unwrap();
    let got = ask(&guarded.service, "GET", "/config/worker", &[("authorization", &token)]).await;
    assert_eq!(
        (got.status, got.json()["error"].as_str()),
        (503, Some("tokens-unavailable"))
    );
    // A file that is gone is not a reason to call a good token unknown.
    std::fs::remove_file(guarded.store.path()).unwrap();
    let got = ask(&guarded.service, "GET", "/config/worker", &[("authorization", &token)]).await;
    assert_eq!(
        (got.status, got.json()["error"].as_str()),
        (503, Some("tokens-unavailable"))
    );
    assert!(
        got.json()["message"]
            .as_str()
            .unwrap()
            .ends_with("its token file is gone")
    );
    assert_eq!(got.header("retry-after"), Some("10"));
}

#[tokio::test]
async fn an_address_that_is_refused_too_often_is_told_so_but_good_tokens_pass() {
    let guarded = Guarded::new();
    let (_, good) = guarded.token(worker(), false);
    let mut statuses = Vec::new();
    for _ in 0..25 {
        statuses.push(ask(&guarded.service, "GET", "/config/worker", &[]).await.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 20);
    let got = ask(&guarded.service, "GET", "/config/worker", &[]).await;
    assert_eq!((got.status, got.header("retry-after")), (429, Some("60")));
    assert_eq!(got.json()["error"], "too-many-refusals");
    let got = ask(&guarded.service, "GET", "/config/worker", &[("authorization", &good)]).await;
    assert_eq!(got.status, 200);
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl tracing::field::Visit for Log {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
        self.0.lock().unwrap().push(format!("{field}={value:?}"));
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn what_is_served_and_refused_is_logged_without_the_secret() {
    let guarded = Guarded::new();
    let (id, token) = guarded.token(worker(), false);
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let headers = [("authorization", token.as_str()), ("accept", V3_4)];
    let got = ask(&guarded.service, "GET", "/node/n1", &headers).await;
    ask(&guarded.service, "GET", "/config/infra", &headers).await;
    let lines = log.0.lock().unwrap().clone();
    let has = |line: &str| assert!(lines.iter().any(|seen| seen == line), "{line} not in {lines:?}");
    for line in [
        "machine=n1",
        "peer=192.0.2.7",
        "pool=\"worker\"",
        "revision=\"r7\"",
        "rendered=\"rendered-worker-0123\"",
        "version=\"3.4.0\"",
        "outcome=\"served\"",
        "status=200",
        "machine=192.0.2.7",
        "pool=\"infra\"",
        "outcome=\"token-for-another\"",
        "status=403",
    ] {
        has(line);
    }
    has(&format!("token={id:?}"));
    has(&format!("bytes={}", got.body.len()));
    let key = token.rsplit_once('.').unwrap().1;
    assert!(!lines.iter().any(|line| line.contains(key)), "{lines:?}");
}

/// A Node is made for who is announced, so only those count that showed a token for that very machine.
#[tokio::test]
async fn only_machines_with_a_token_of_their_own_are_announced() {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let observer = || -> Observer {
        let told = Arc::clone(&told);
        Arc::new(move |name: &str| told.lock().unwrap().push(name.to_owned()))
    };
    let open = IgnitionService::with_observer(
        CatalogHandle::new(catalog()),
        Access::Anonymous,
        Clock::stopped(Timestamp::UNIX_EPOCH),
        Some(observer()),
    );
    assert_eq!(ask(&open, "GET", "/node/n1", &[]).await.status, 200);
    let guarded = Guarded::with_observer(Some(observer()));
    let (_, own) = guarded.token(TokenScope::Node("n1".to_owned()), true);
    let (_, others) = guarded.token(TokenScope::Node("n2".to_owned()), false);
    let (_, infra) = guarded.token(TokenScope::Pool("infra".to_owned()), false);
    let service = &guarded.service;
    for (method, path, token, status) in [
        ("GET", "/node/n1", "", 401),
        ("GET", "/node/n1", "Bearer berth.0.0", 401),
        ("GET", "/node/n1", others.as_str(), 403),
        ("GET", "/node/n1", infra.as_str(), 403),
        ("GET", "/node/n2", others.as_str(), 503),
        ("GET", "/config/infra", infra.as_str(), 200),
        ("HEAD", "/node/n1", own.as_str(), 200),
    ] {
        let got = ask(service, method, path, &[("authorization", token)]).await;
        assert_eq!(got.status, status, "{method} {path} {token}");
    }
    assert_eq!(*told.lock().unwrap(), Vec::<String>::new());
    assert_eq!(
        ask(service, "GET", "/node/n1", &[("authorization", &own)]).await.status,
        200
    );
    assert_eq!(*told.lock().unwrap(), ["n1"]);
    // A token that is used up announces nobody, also not to another address.
    let elsewhere = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 8));
    let got = ask_from(service, elsewhere, "GET", "/node/n1", &[("authorization", &own)]).await;
    assert!(matches!(got.status, 401 | 403), "{}", got.status);
    assert_eq!(told.lock().unwrap().len(), 1);
}

proptest::proptest! {
    /// Every answer is one of the documented ones, and says why if it is a refusal.
    #[test]
    fn any_request_gets_a_proper_answer(
        method in "GET|HEAD|POST|[A-Z]{1,8}",
        path in "/(config|node|healthz|[a-z.%]{0,5})(/(worker|infra|new|n1|n3|[!-~&&[^#?<>\"`{}|\\\\^]]{0,20})){0,2}(\\?[a-z=&]{0,8})?",
        accept in "(application/vnd\\.coreos\\.ignition\\+json;version=[0-9]\\.[0-9]\\.[0-9]|[ -~]{0,40}){0,2}",
        authorization in "((Bearer|basic) )?[ -~]{0,60}",
        tag in "[ -~]{0,40}",
    ) {
        let guarded = Guarded::new();
        let headers = [
            ("accept", accept.as_str()),
            ("authorization", authorization.as_str()),
            ("if-none-match", tag.as_str()),
        ];
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for service in [anonymous(), guarded.service] {
            let got = runtime.block_on(ask(&service, &method, &path, &headers));
            let length = got.header("content-length").map(|length| length.parse::<usize>().unwrap());
            match got.status {
                304 => proptest::prop_assert!(got.body.is_empty()),
                200 | 400 | 401 | 403 | 404 | 405 | 503 if method == "HEAD" => {
                    proptest::prop_assert!(got.body.is_empty());
                    proptest::prop_assert!(length > Some(0));
                }
                200 => proptest::prop_assert_eq!(length, Some(got.body.len())),
                400 | 401 | 404 | 405 | 503 => {
                    proptest::prop_assert_eq!(length, Some(got.body.len()));
                    let json = got.json();
                    for member in ["error", "message", "hint"] {
                        proptest::prop_assert!(json[member].as_str().is_some_and(|text| !text.is_empty()));
                    }
                }
                other => proptest::prop_assert!(false, "status {other}"),
            }
        }
    }
}
