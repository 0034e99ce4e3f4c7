//! One connection, from handshake to end.

use std::{convert::Infallible, net::SocketAddr, pin::pin};

use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{HttpService, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsAcceptor;

use super::{Service, Shared, told_to_stop};
use crate::{
    airship::{Api, auth::Peer},
    stall::StallGuard,
};

/// The most that a request's line and headers may have. A token and an Accept header need a few hundred bytes.
const HEADER_BYTES: usize = 16 << 10;

pub(super) async fn run(stream: TcpStream, peer: SocketAddr, acceptor: Option<TlsAcceptor>, shared: Shared) {
    // Headers and body leave in one write, so waiting for more to send only costs time.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "TCP_NODELAY cannot be set");
    }
    let stream = StallGuard::new(stream, shared.limits.write_timeout);
    let Some(acceptor) = acceptor else {
        return speak(stream, peer, shared).await;
    };
    let mut stopped = shared.stopped.clone();
    let handshake = tokio::time::timeout(shared.limits.read_timeout, acceptor.accept(stream));
    tokio::select! {
        handshake = handshake => match handshake {
            Ok(Ok(stream)) => speak(stream, peer, shared).await,
            Ok(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::info!(%peer, error, "TLS handshake failed");
            }
            Err(_) => tracing::info!(%peer, "TLS handshake took too long"),
        },
        () = told_to_stop(&mut stopped) => {}
    }
}

/// Speaks HTTP/1.1 with whatever answers.
async fn speak(stream: impl Stream, peer: SocketAddr, shared: Shared) {
    match shared.service.clone() {
        Service::Ignition(service) => {
            let answer = service_fn(|request: hyper::Request<Incoming>| {
                let service = &service;
                async move { Ok::<_, Infallible>(service.respond(peer.ip(), &request).await) }
            });
            converse(stream, peer, shared, answer).await;
        }
        Service::Api(Api(router)) => {
            let marked = tower::util::MapRequest::new(router, move |mut request: hyper::Request<Incoming>| {
                request.extensions_mut().insert(Peer(peer));
                request
            });
            converse(stream, peer, shared, TowerToHyperService::new(marked)).await;
        }
        Service::Reviews(reviews) => {
            let answer = service_fn(|request: hyper::Request<Incoming>| {
                let reviews = &reviews;
                async move { Ok::<_, Infallible>(reviews.respond(request).await) }
            });
            converse(stream, peer, shared, answer).await;
        }
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// Until one side has enough.
async fn converse<S, B>(stream: impl Stream, peer: SocketAddr, shared: Shared, answer: S)
where
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: hyper::body::Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(shared.limits.read_timeout)
            .max_buf_size(HEADER_BYTES)
            .serve_connection(TokioIo::new(stream), answer)
    );
    let mut stopped = shared.stopped;
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = told_to_stop(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "the connection broke off");
    }
}
