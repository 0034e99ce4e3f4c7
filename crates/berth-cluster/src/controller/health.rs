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
