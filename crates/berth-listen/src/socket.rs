//! A connection that was accepted: from handshake to end.

use std::{future::Future, pin::Pin, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    connection::{Context, Stream, converse, told_to_stop},
    refusal::Refusal,
    service::Service,
    stall::StallGuard,
};

/// How long a client that is turned away may take for its TLS handshake, and to read why.
const FAREWELL: Duration = Duration::from_secs(2);

/// How much a client that is turned away may send before it reads why.
const FAREWELL_BYTES: u64 = 64 << 10;

/// A service behind a pointer: boxed once for each connection, and not for each request.
pub(crate) trait Speak: Send + Sync {
    fn speak(
        &self,
        stream: Box<dyn Stream>,
        scheme: &'static str,
        context: Context,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

pub(crate) struct Speaker<S>(pub(crate) S);

impl<S: Service> Speak for Speaker<S> {
    fn speak(
        &self,
        stream: Box<dyn Stream>,
        scheme: &'static str,
        context: Context,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(converse(stream, scheme, self.0.clone(), context))
    }
}

pub(crate) async fn run(stream: TcpStream, acceptor: Option<TlsAcceptor>, speaker: &dyn Speak, mut context: Context) {
    let peer = context.peer;
    // Headers and body leave in one write, so waiting for more to send only costs time.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, error = &error as &dyn std::error::Error, "TCP_NODELAY cannot be set");
    }
    context.is_local = is_local(&stream);
    let limits = context.place.limits();
    let stream = StallGuard::new(stream, limits.write_timeout);
    let Some(acceptor) = acceptor else {
        return speaker.speak(Box::new(stream), "http", context).await;
    };
    let mut stopped = context.stopped.clone();
    let handshake = tokio::time::timeout(limits.read_timeout, acceptor.accept(stream));
    let handshake = tokio::select! {
        handshake = handshake => handshake,
        () = told_to_stop(&mut stopped) => return,
    };
    match handshake {
        Ok(Ok(stream)) => speaker.speak(Box::new(stream), "https", context).await,
        Ok(Err(error)) => {
            let error = &error as &dyn std::error::Error;
            tracing::info!(%peer, error, "TLS handshake failed");
        }
        Err(_) => tracing::info!(%peer, "TLS handshake took too long"),
    }
}

fn is_local(stream: &TcpStream) -> bool {
    stream
        .local_addr()
        .is_ok_and(|own| own.ip().to_canonical().is_loopback())
}

/// Tells a client why it is not served. Its request is not read, whatever it is.
pub(crate) async fn turn_away(stream: TcpStream, acceptor: Option<TlsAcceptor>, refusal: Refusal) {
    let farewell = async {
        match acceptor {
            None => say(stream, refusal).await,
            Some(acceptor) => say(acceptor.accept(stream).await?, refusal).await,
        }
    };
    // Clients that do not listen are not a loss.
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

async fn say(mut stream: impl Stream, refusal: Refusal) -> std::io::Result<()> {
    stream.write_all(&refusal.bytes()).await?;
    stream.shutdown().await?;
    // Closing with something unread would take the answer away from the client.
    tokio::io::copy(&mut stream.take(FAREWELL_BYTES), &mut tokio::io::sink()).await?;
    Ok(())
}
