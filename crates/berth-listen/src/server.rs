//! Listeners, and their end.

use std::{future::Future, net::SocketAddr, panic::resume_unwind, sync::Arc, time::Duration};

use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::{JoinError, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use crate::{
    accept::{FAREWELLS, Shared, accept},
    options::{ListenError, ListenOptions, open_files, within},
    places::{Places, Usage},
    service::Service,
    socket::{Speak, Speaker},
    tls::ReloadingCertificate,
};

/// A server whose listeners are open: clients can connect already, and are answered once it runs.
pub struct Server {
    speaker: Arc<dyn Speak>,
    places: Arc<Places>,
    tls: Option<TlsListener>,
    plain: Option<TcpListener>,
    tls_address: Option<SocketAddr>,
    plain_address: Option<SocketAddr>,
}

struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    certificate: Arc<ReloadingCertificate>,
    reload_every: Duration,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("tls", &self.tls_address)
            .field("plain", &self.plain_address)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Opens the listeners and reads the certificate, so that what is wrong is known before anything is served.
    pub async fn bind(options: ListenOptions, service: impl Service) -> Result<Self, ListenError> {
        if options.tls.is_none() && options.plain.is_none() {
            return Err(ListenError::Nowhere);
        }
        let wanted = options.limits.connections;
        let limits = match open_files() {
            Some(files) => within(options.limits, files),
            None => options.limits,
        };
        if limits.connections < wanted {
            let connections = limits.connections;
            tracing::info!(
                connections,
                wanted,
                "fewer connections are taken, because the process may open few files (ulimit -n)"
            );
        }
        let mut server = Self {
            speaker: Arc::new(Speaker(service)),
            places: Places::new(limits),
            tls: None,
            plain: None,
            tls_address: None,
            plain_address: None,
        };
        if let Some(tls) = options.tls {
            let certificate = ReloadingCertificate::load(tls.certificate, tls.key).map_err(ListenError::Certificate)?;
            let config = certificate
                .server_config(tls.client_ca.as_deref())
                .map_err(ListenError::Certificate)?;
            let (listener, address) = listen(tls.address).await?;
            server.tls_address = Some(address);
            server.tls = Some(TlsListener {
                listener,
                acceptor: TlsAcceptor::from(Arc::new(config)),
                certificate,
                // An interval of zero is none that a timer takes.
                reload_every: tls.reload_every.max(Duration::from_millis(1)),
            });
        }
        if let Some(address) = options.plain {
            let (listener, address) = listen(address).await?;
            server.plain_address = Some(address);
            server.plain = Some(listener);
        }
        Ok(server)
    }

    /// Where it listens with TLS.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls_address
    }

    /// Where it listens without.
    pub fn plain_address(&self) -> Option<SocketAddr> {
        self.plain_address
    }

    /// What clients take of the limits, from now on.
    pub fn usage(&self) -> Usage {
        Usage(Arc::clone(&self.places))
    }

    /// Serves until the future is done. Requests that have begun are then finished, idle connections closed.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) {
        let (stop, stopped) = watch::channel(false);
        let shutdown_timeout = self.places.limits().shutdown_timeout;
        let shared = Shared {
            speaker: self.speaker,
            places: self.places,
            farewells: Arc::new(Semaphore::new(FAREWELLS)),
            stopped,
        };
        let mut listeners = JoinSet::new();
        let mut helpers = JoinSet::new();
        if let Some(tls) = self.tls {
            helpers.spawn(tls.certificate.follow(tls.reload_every));
            listeners.spawn(accept(tls.listener, Some(tls.acceptor), shared.clone()));
        }
        if let Some(listener) = self.plain {
            listeners.spawn(accept(listener, None, shared));
        }
        watch_over(&mut listeners, &mut helpers, shutdown).await;
        // Nobody listening any more means that all connections have ended.
        let _ = stop.send(true);
        let finish = async { while listeners.join_next().await.is_some() {} };
        if tokio::time::timeout(shutdown_timeout, finish).await.is_err() {
            tracing::warn!("some clients did not take their answers in time; closing their connections");
        }
        // What still runs ends here, because dropping the sets aborts it.
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ListenError> {
    let refuse = |source| ListenError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(refuse)?;
    let address = listener.local_addr().map_err(refuse)?;
    Ok((listener, address))
}

/// Waits for the end. No part ends before by itself: without it nobody would be served, or with an old certificate.
async fn watch_over(listeners: &mut JoinSet<()>, helpers: &mut JoinSet<()>, shutdown: impl Future<Output = ()> + Send) {
    tokio::select! {
        () = shutdown => {}
        Some(ended) = listeners.join_next() => panicked(ended),
        Some(ended) = helpers.join_next() => panicked(ended),
    }
}

/// A panic of a part is one of the whole, so that whoever runs the server notices.
fn panicked(ended: Result<(), JoinError>) {
    let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) else {
        return;
    };
    tracing::error!("a part of a listener panicked, which is a bug of Berth");
    resume_unwind(panic)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever runs the server does not go on without a listener, or without what renews its certificate.
    #[tokio::test]
    async fn a_part_that_panics_ends_the_server() {
        for is_listener in [true, false] {
            let server = tokio::spawn(async move {
                let (mut listeners, mut helpers) = (JoinSet::new(), JoinSet::new());
                listeners.spawn(std::future::pending());
                helpers.spawn(std::future::pending());
                let parts = if is_listener { &mut listeners } else { &mut helpers };
                parts.spawn(async { panic!("as a test does") });
                watch_over(&mut listeners, &mut helpers, std::future::pending()).await;
            });
            assert!(server.await.is_err_and(|error| error.is_panic()), "{is_listener}");
        }
        let (mut listeners, mut helpers) = (JoinSet::new(), JoinSet::new());
        listeners.spawn(std::future::pending());
        watch_over(&mut listeners, &mut helpers, std::future::ready(())).await;
    }
}
