//! One connection: requests and answers, whatever carries them.

use std::{convert::Infallible, net::SocketAddr, pin::pin};

use bytes::Bytes;
use http::{HeaderValue, Response, header::CONNECTION};
use http_body_util::{Either, Full};
use hyper::{
    Request,
    body::{Body as _, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
};

use crate::{
    body::RequestBody,
    guard::{Guard, Hosts},
    limits::Limits,
    places::{Place, Places},
    refusal::Refusal,
    service::{Callers, EventStream, Service},
};

/// The most that a request's line and headers may have. A token and an Accept header need a few hundred bytes. Bodies are read
/// in parts that are no larger.
const HEADER_BYTES: usize = 16 << 10;

/// Whatever carries bytes in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// What one connection needs.
pub(crate) struct Context {
    pub(crate) peer: SocketAddr,
    pub(crate) place: Place,
    pub(crate) stopped: watch::Receiver<bool>,
    /// Whether it goes from this machine to itself.
    pub(crate) is_local: bool,
}

/// Waits for the word, or for nobody being left to give it, which comes to the same.
pub(crate) async fn told_to_stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Serves a connection that no listener has accepted, such as one in memory. It counts as one from this machine to itself if the
/// peer's address is a loopback address.
pub async fn serve_stream<T, S>(stream: T, peer: SocketAddr, service: S, limits: Limits)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service,
{
    let Ok(place) = Places::new(limits).take(peer.ip()) else {
        return;
    };
    let (_running, stopped) = watch::channel(false);
    let context = Context {
        peer,
        place,
        stopped,
        is_local: peer.ip().to_canonical().is_loopback(),
    };
    converse(Box::new(stream), "http", service, context).await;
}

/// Speaks HTTP/1.1 until one side has enough.
pub(crate) async fn converse<S: Service>(stream: Box<dyn Stream>, scheme: &'static str, service: S, context: Context) {
    let (peer, mut stopped) = (context.peer, context.stopped.clone());
    let hosts = match service.callers() {
        Callers::Known => None,
        Callers::Local if context.is_local => Some(Hosts::Local),
        Callers::Anybody if context.is_local => Some(Hosts::Addresses),
        Callers::Local | Callers::Anybody => Some(Hosts::All),
    };
    let guard = hosts.map(|hosts| Guard { scheme, hosts });
    let answer = service_fn(|request: Request<Incoming>| {
        let (service, context) = (&service, &context);
        async move { Ok::<_, Infallible>(respond(service, context, guard, request).await) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(context.place.limits().read_timeout)
            .max_buf_size(HEADER_BYTES)
            .serve_connection(TokioIo::new(stream), answer)
    );
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

type Answer<B> = Response<Either<B, Full<Bytes>>>;

async fn respond<S: Service>(
    service: &S,
    context: &Context,
    guard: Option<Guard>,
    request: Request<Incoming>,
) -> Answer<S::Body> {
    let refuse = |refusal: Refusal| {
        tracing::info!(peer = %context.peer, reason = refusal.reason(), "a request is refused");
        refusal.response().map(Either::Right)
    };
    if let Some(guard) = guard
        && let Err(refusal) = guard.check(request.uri(), request.headers())
    {
        return refuse(refusal);
    }
    // Most requests have no body, and cost nothing here.
    let meter = (!request.body().is_end_stream()).then(|| context.place.meter());
    let body = |incoming| RequestBody::new(incoming, meter.clone(), context.place.limits());
    let mut response = service.answer(context.peer, request.map(body)).await;
    if let Some(refusal) = meter.and_then(|meter| meter.refusal()) {
        return refuse(refusal);
    }
    if response.extensions().get::<EventStream>().is_some() {
        if let Err(refusal) = context.place.become_stream() {
            return refuse(refusal);
        }
        // What comes after it would be counted as a stream.
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response.map(Either::Left)
}
