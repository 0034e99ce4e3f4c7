//! `/healthz`, `/readyz` and `/metrics`.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use berth_listen::{Callers, RequestBody, Service};
use http_body_util::Full;
use hyper::{Request, Response, StatusCode, body::Bytes, header::CONTENT_TYPE};

use super::metrics::Metrics;

/// How the controllers are.
#[derive(Clone, Debug, Default)]
pub(super) struct Health {
    synced: Arc<AtomicBool>,
}

impl Health {
    pub(super) fn set_synced(&self) {
        self.synced.store(true, Ordering::Relaxed);
    }
}

/// What answers on the port.
#[derive(Clone)]
pub(super) struct HealthService {
    pub(super) health: Health,
    pub(super) metrics: Metrics,
}

impl Service for HealthService {
    type Body = Full<Bytes>;

    fn callers(&self) -> Callers {
        Callers::Anybody
    }

    async fn answer(&self, _: SocketAddr, request: Request<RequestBody>) -> Response<Full<Bytes>> {
        answer(request.uri().path(), &self.health, &self.metrics)
    }
}

fn answer(path: &str, health: &Health, metrics: &Metrics) -> Response<Full<Bytes>> {
    let (status, kind, body) = match path {
        "/healthz" | "/livez" => (StatusCode::OK, "text/plain", "ok\n".to_owned()),
        "/readyz" if health.synced.load(Ordering::Relaxed) => (StatusCode::OK, "text/plain", "ok\n".to_owned()),
        "/readyz" => (
            StatusCode::SERVICE_UNAVAILABLE,
            "text/plain",
            "the caches are not filled yet\n".to_owned(),
        ),
        "/metrics" => (
            StatusCode::OK,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            metrics.text(),
        ),
        _ => (
            StatusCode::NOT_FOUND,
            "text/plain",
            "try /healthz, /readyz or /metrics\n".to_owned(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    if let Ok(kind) = kind.parse() {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}

#[cfg(test)]
mod tests {
    use berth_listen::{Limits, serve_stream};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn ask(service: &HealthService, path: &str, headers: &str) -> String {
        let (mut client, server) = tokio::io::duplex(64 << 10);
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        tokio::spawn(serve_stream(server, peer, service.clone(), Limits::default()));
        let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn probes_and_scrapers_are_answered_and_pages_are_not() {
        let service = HealthService {
            health: Health::default(),
            metrics: Metrics::new(),
        };
        let assert = async |path, headers, status: &str| {
            let answer = ask(&service, path, headers).await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{path} {headers}: {answer}"
            );
        };
        assert("/healthz", "", "200").await;
        assert("/readyz", "Host: 10.0.0.7:8081\r\n", "503").await;
        service.health.set_synced();
        assert("/readyz", "Host: localhost\r\n", "200").await;
        assert("/metrics", "Host: 127.0.0.1:8081\r\n", "200").await;
        assert("/nothing", "Host: localhost\r\n", "404").await;
        assert("/metrics", "Host: evil.example\r\n", "421").await;
        assert("/metrics", "Host: localhost\r\nOrigin: http://evil.example\r\n", "403").await;
    }
}
