//! A server to test, and a client that says exactly what it is told to.

use std::{
    fmt::Write as _,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use berth_airship::{Api, ApiLimits, ApiState, Auth};
use berth_clock::Clock;
use berth_listen::{ListenOptions, Server};
use berth_repository::{DocumentRules, Repository, SiteRules, read_values};
use berth_store::{SealingKey, SealingKeys};
use jiff::Timestamp;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};

use crate::{description, postgres_server};

pub(crate) const YAML: &str = "application/x-yaml";

/// A server on a port of its own.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) database: String,
    _stop: Option<oneshot::Sender<()>>,
    _folder: Option<tempfile::TempDir>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Served {
    /// A server that somebody else has started.
    pub(crate) fn at(address: SocketAddr, database: String) -> Self {
        Self {
            address,
            database,
            _stop: None,
            _folder: None,
        }
    }

    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("berth.db").display());
        Self::start(database, Some(folder), ApiLimits::default(), Auth::None).await
    }

    pub(crate) async fn with_auth(auth: Auth) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("berth.db").display());
        Self::start(database, Some(folder), ApiLimits::default(), auth).await
    }

    pub(crate) async fn with_limits(limits: ApiLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("berth.db").display());
        Self::start(database, Some(folder), limits, Auth::None).await
    }

    /// Nothing when there is no server program on this machine.
    pub(crate) async fn postgres() -> Option<Self> {
        let database = postgres_server::database().await?;
        Some(Self::start(database, None, ApiLimits::default(), Auth::None).await)
    }

    async fn start(database: String, folder: Option<tempfile::TempDir>, limits: ApiLimits, auth: Auth) -> Self {
        Self::start_with(database, folder, limits, auth, Arc::new(SiteRules::default())).await
    }

    /// With rules of the test's own for commits.
    pub(crate) async fn with_rules(rules: Arc<dyn DocumentRules>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("berth.db").display());
        Self::start_with(database, Some(folder), ApiLimits::default(), Auth::None, rules).await
    }

    async fn start_with(
        database: String,
        folder: Option<tempfile::TempDir>,
        limits: ApiLimits,
        auth: Auth,
        rules: Arc<dyn DocumentRules>,
    ) -> Self {
        let keys = SealingKeys::new(vec![SealingKey::new(&[7; 32]).unwrap()]);
        let store = berth_store::open(&database, keys).await.unwrap();
        let (time, number) = (AtomicI64::new(1_772_366_400_000_000), AtomicI64::new(1));
        let state = ApiState::new(
            Arc::new(Repository::new(store)),
            rules,
            auth,
            Clock::new(move || Timestamp::from_microsecond(time.fetch_add(1, Ordering::Relaxed)).unwrap()),
            Arc::new(move || format!("request-{}", number.fetch_add(1, Ordering::Relaxed))),
        )
        .with_limits(limits);
        let options = ListenOptions {
            plain: Some("127.0.0.1:0".parse().unwrap()),
            ..ListenOptions::default()
        };
        let server = Server::bind(options, Api::new(state)).await.unwrap();
        let address = server.plain_address().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            database,
            _stop: Some(stop),
            _folder: folder,
        }
    }

    /// Sends a request with the given headers and nothing else.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Reply {
        let length = body.map(|body| body.len().to_string());
        let mut headers = headers.to_vec();
        headers.extend(length.as_deref().map(|length| ("Content-Length", length)));
        self.send_raw(method, path, &headers, body.unwrap_or_default()).await
    }

    /// The same with a body that need not be what the headers say.
    pub(crate) async fn send_raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let host = self.address.to_string();
        let mut all = vec![("Host", host.as_str())];
        all.extend(headers);
        self.send_exactly(method, path, &all, body).await
    }

    /// The same without any header that is not given, but for the one that ends the connection.
    pub(crate) async fn send_exactly(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        request.push_str("\r\n");
        request.push_str(body);
        let answer = tokio::time::timeout(Duration::from_mins(1), self.exchange(request.as_bytes())).await;
        let reply = Reply::parse(&answer.unwrap_or_else(|_| panic!("{method} {path} is not answered")));
        description::check(method, path, &reply);
        reply
    }

    async fn exchange(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // A server that refuses a body need not read all of it.
        let _ = stream.write_all(request).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        answer
    }

    /// A path below `/api/v1.0`.
    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send("GET", &format!("/api/v1.0/{path}"), &[], None).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", &format!("/api/v1.0/{path}"), &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Reply {
        let path = format!("/api/v1.0/{path}");
        self.send("POST", &path, &[("Content-Type", YAML)], Some(body)).await
    }

    pub(crate) async fn put(&self, bucket: &str, body: &str) -> Reply {
        let path = format!("/api/v1.0/buckets/{bucket}/documents");
        self.send("PUT", &path, &[("Content-Type", YAML)], Some(body)).await
    }
}

impl Reply {
    pub(crate) fn new(status: u16, media_type: &str, body: String) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), media_type.to_owned())],
            body,
        }
    }

    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        Self {
            status,
            headers,
            body: body.to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All YAML documents of the body.
    pub(crate) fn documents(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), Some(YAML), "{self:?}");
        read_values(&self.body).unwrap()
    }

    /// The one YAML document of the body.
    pub(crate) fn yaml(&self) -> Value {
        let mut documents = self.documents();
        assert_eq!(documents.len(), 1, "{}", self.body);
        documents.remove(0)
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    /// The names of the documents of the body, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let documents = self.documents();
        let name = |document: &Value| document["metadata"]["name"].as_str().unwrap().to_owned();
        documents.iter().map(name).collect()
    }
}

/// Runs each test on both back ends.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(crate::fixture::Served::sqlite().await).await;
                }
            )+
        }

        mod postgres {
            $(
                #[tokio::test]
                async fn $name() {
                    if let Some(served) = crate::fixture::Served::postgres().await {
                        super::$name(served).await;
                    }
                }
            )+
        }
    };
}
pub(crate) use on_both;

/// A document in a layer.
pub(crate) fn document(name: &str, layer: &str, data: &str) -> String {
    full(name, layer, "cleartext", "", data)
}

pub(crate) fn secret(name: &str, data: &str) -> String {
    full(name, "site", "encrypted", "", data)
}

/// A document with more lines of metadata, each indented by two spaces.
pub(crate) fn full(name: &str, layer: &str, policy: &str, more: &str, data: &str) -> String {
    format!(
        "---\nschema: example/Kind/v1\nmetadata:\n  schema: metadata/Document/v1\n  name: {name}\n  storagePolicy: \
         {policy}\n  layeringDefinition:\n    layer: {layer}\n{more}data: {data}\n"
    )
}

pub(crate) const LAYERS: &str = "\
---
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layers}
data: {layerOrder: [global, site]}
";
