//! `/healthz`, `/readyz` and `/metrics`.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::CONTENT_TYPE,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::debug;

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

pub(super) async fn serve(listener: TcpListener, health: Health, metrics: Metrics, shutdown: CancellationToken) {
    loop {
        let stream = tokio::select! {
            () = shutdown.cancelled() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    debug!(error = &error as &dyn std::error::Error, "a connection failed");
                    continue;
                }
            },
        };
        let (health, metrics, shutdown) = (health.clone(), metrics.clone(), shutdown.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = answer(request.uri().path(), &health, &metrics);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                () = shutdown.cancelled() => {}
                result = connection => if let Err(error) = result {
                    debug!(error = &error as &dyn std::error::Error, "a connection failed");
                }
            }
        });
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
