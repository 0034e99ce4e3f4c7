//! Berth's way to the API server, on which there is weather.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use http::{Method, Request, Response, header};
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::{Client, client::Body};
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::{
    figures::{Count, Figures},
    random::Random,
};

/// How many of a hundred requests a storm hits.
const HITS: usize = 60;

/// What happens to requests during a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storm {
    /// Answered with 429.
    TooMany,
    /// Changes answered with 409.
    Conflict,
    /// Answered with 503.
    Unavailable,
    /// Writes are carried out, and the connection ends without an answer.
    LostAnswers,
    /// The connection ends, and nothing is carried out.
    LostRequests,
}

impl Storm {
    pub(crate) const ALL: [Self; 5] = [
        Self::TooMany,
        Self::Conflict,
        Self::Unavailable,
        Self::LostAnswers,
        Self::LostRequests,
    ];

    fn touches(self, method: &Method) -> bool {
        match self {
            Self::TooMany | Self::Unavailable | Self::LostRequests => true,
            Self::Conflict => *method == Method::PATCH || *method == Method::PUT,
            Self::LostAnswers => *method != Method::GET,
        }
    }

    pub(crate) fn count(self) -> Count {
        match self {
            Self::TooMany => Count::TooMany,
            Self::Conflict => Count::Conflict,
            Self::Unavailable => Count::Unavailable,
            Self::LostAnswers => Count::LostAnswers,
            Self::LostRequests => Count::LostRequests,
        }
    }
}

#[derive(Debug, Default)]
struct Weather {
    storm: Option<Storm>,
    /// Nobody gets a list or a watch.
    blind: bool,
}

/// The proxy. It speaks plain HTTP to Berth and is an administrator to the API server.
pub(crate) struct Proxy {
    address: SocketAddr,
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    weather: Mutex<Weather>,
    random: Mutex<Random>,
    figures: Arc<Figures>,
    /// Changes when all connections are to end.
    cut: watch::Sender<()>,
}

impl Proxy {
    pub(crate) async fn start(client: Client, random: Random, figures: Arc<Figures>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Arc::new(Inner {
            client,
            weather: Mutex::default(),
            random: Mutex::new(random),
            figures,
            cut: watch::Sender::new(()),
        });
        let serving = Arc::clone(&inner);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(Arc::clone(&serving).serve(stream));
            }
        });
        Self { address, inner }
    }

    /// A kubeconfig that leads through it.
    pub(crate) fn kubeconfig(&self) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "load",
            "clusters": [{"name": "load", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "load", "user": {}}],
            "contexts": [{"name": "load", "context": {"cluster": "load", "user": "load"}}],
        })
        .to_string()
    }

    pub(crate) fn storm(&self, storm: Option<Storm>) {
        self.inner.weather.lock().unwrap().storm = storm;
    }

    /// Ends all connections and lets nobody list or watch, until it is lifted.
    pub(crate) fn blindfold(&self, blind: bool) {
        self.inner.weather.lock().unwrap().blind = blind;
        if blind {
            self.inner.cut.send_replace(());
        }
    }
}

impl Inner {
    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let mut cut = self.cut.subscribe();
        let service = service_fn(move |request| Arc::clone(&self).answer(request));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // A client or the weather may end a connection at any time.
        tokio::select! {
            _ = connection => {}
            _ = cut.changed() => {}
        }
    }

    /// What the weather does to a request.
    fn hit(&self, request: &Request<Incoming>) -> Option<Storm> {
        let weather = self.weather.lock().unwrap();
        let storm = weather.storm.filter(|storm| storm.touches(request.method()))?;
        let is_hit = self.random.lock().unwrap().chance(HITS);
        is_hit.then_some(storm)
    }

    fn is_blindfolded(&self, request: &Request<Incoming>) -> bool {
        let asks_for_many = *request.method() == Method::GET && request.uri().query().is_some();
        asks_for_many && self.weather.lock().unwrap().blind
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let lost = || io::Error::from(io::ErrorKind::ConnectionReset);
        if self.is_blindfolded(&request) {
            return Err(lost());
        }
        let hit = self.hit(&request);
        if let Some(storm) = hit {
            self.figures.add(storm.count(), 1);
        }
        match hit {
            Some(Storm::TooMany) => return Ok(refusal(429, "TooManyRequests", "please slow down")),
            Some(Storm::Conflict) => return Ok(refusal(409, "Conflict", "the object has been modified")),
            Some(Storm::Unavailable) => return Ok(refusal(503, "ServiceUnavailable", "not ready")),
            Some(Storm::LostRequests) => return Err(lost()),
            Some(Storm::LostAnswers) | None => {}
        }
        let is_node_patch = *request.method() == Method::PATCH && request.uri().path().starts_with("/api/v1/nodes/");
        let response = self.pass_on(request).await?;
        if is_node_patch && response.status().is_success() {
            self.figures.add(Count::Patches, 1);
        }
        if hit.is_some() {
            return Err(lost());
        }
        Ok(response)
    }

    async fn pass_on(&self, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let (mut parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        for name in [header::HOST, header::CONNECTION, header::CONTENT_LENGTH] {
            parts.headers.remove(name);
        }
        let request = Request::from_parts(parts, Body::from(body));
        let mut response = self.client.send(request).await.map_err(io::Error::other)?;
        for name in [header::CONNECTION, header::TRANSFER_ENCODING] {
            response.headers_mut().remove(name);
        }
        Ok(response)
    }
}

fn refusal(code: u16, reason: &str, message: &str) -> Response<Body> {
    let details = json!({"retryAfterSeconds": 1});
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason,
        "message": message, "details": details,
    });
    Response::builder()
        .status(code)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::RETRY_AFTER, "1")
        .body(Body::from(status.to_string().into_bytes()))
        .unwrap()
}
