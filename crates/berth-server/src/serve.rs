//! Listeners, connections, and their end.

mod connection;

use std::{future::Future, io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    airship::Api,
    reviews::Reviews,
    service::IgnitionService,
    tls::{CertificateError, ReloadingCertificate},
};

/// How long to wait when the system has no room for one more connection.
const PAUSE_AFTER_ACCEPT_ERROR: Duration = Duration::from_millis(100);

/// Where to listen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenOptions {
    /// The listener with TLS.
    pub tls: Option<TlsOptions>,
    /// The listener without. Whoever sees the traffic has the secrets in the configs, so this must be asked for.
    pub plain: Option<SocketAddr>,
    /// How much clients may ask of the server.
    pub limits: Limits,
}

/// A listener with TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// Where to listen; port 0 takes any free one.
    pub address: SocketAddr,
    /// The certificate and those that lead to its root, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
    /// How often to look for new ones.
    pub reload_every: Duration,
}

impl TlsOptions {
    /// Looks for a new certificate every five seconds.
    pub fn new(address: SocketAddr, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            address,
            certificate: certificate.into(),
            key: key.into(),
            reload_every: Duration::from_secs(5),
        }
    }
}

/// How much clients may ask of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time, on all listeners together. Others wait to be accepted.
    pub connections: usize,
    /// For the TLS handshake, and again for the headers of each request, the wait for it included.
    pub read_timeout: Duration,
    /// For a client that does not read its answer.
    pub write_timeout: Duration,
    /// For requests that have begun when the server is told to stop.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_mins(1),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Neither listener was asked for.
    #[error("there is nothing to listen on: give an address for TLS, or one without")]
    Nowhere,
    /// The address is taken, not of this machine, or a port for root only.
    #[error("cannot listen on {address}{}", advice(.source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The certificate cannot be used.
    #[error("cannot serve TLS")]
    Certificate(#[source] CertificateError),
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "; another program listens there",
        io::ErrorKind::AddrNotAvailable => "; this machine does not have that address",
        io::ErrorKind::PermissionDenied => "; ports below 1024 need more rights",
        _ => "",
    }
}

/// What a server answers with.
#[derive(Clone, Debug)]
pub enum Service {
    /// Configs for machines.
    Ignition(IgnitionService),
    /// The API.
    Api(Api),
    /// Admission reviews.
    Reviews(Reviews),
}

impl From<Reviews> for Service {
    fn from(reviews: Reviews) -> Self {
        Self::Reviews(reviews)
    }
}

impl From<IgnitionService> for Service {
    fn from(service: IgnitionService) -> Self {
        Self::Ignition(service)
    }
}

impl From<Api> for Service {
    fn from(api: Api) -> Self {
        Self::Api(api)
    }
}

/// A server whose listeners are open: clients can connect already, and are answered once it runs.
#[derive(Debug)]
pub struct Server {
    service: Service,
    limits: Limits,
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

impl std::fmt::Debug for TlsListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsListener")
            .field("listener", &self.listener)
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Opens the listeners and reads the certificate, so that what is wrong is known before anything is served.
    pub async fn bind(options: ListenOptions, service: impl Into<Service>) -> Result<Self, ListenError> {
        if options.tls.is_none() && options.plain.is_none() {
            return Err(ListenError::Nowhere);
        }
        let mut server = Self {
            service: service.into(),
            limits: options.limits,
            tls: None,
            plain: None,
            tls_address: None,
            plain_address: None,
        };
        if let Some(tls) = options.tls {
            let certificate = ReloadingCertificate::load(tls.certificate, tls.key).map_err(ListenError::Certificate)?;
            let config = certificate.server_config().map_err(ListenError::Certificate)?;
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

    /// Serves until the future is done. Requests that have begun are then finished, idle connections closed.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) {
        let (stop, stopped) = watch::channel(false);
        let places = Arc::new(Semaphore::new(self.limits.connections.clamp(1, Semaphore::MAX_PERMITS)));
        let shared = Shared {
            service: self.service,
            limits: self.limits.clone(),
            stopped,
        };
        let mut listeners = JoinSet::new();
        let mut helpers = JoinSet::new();
        if let Some(tls) = self.tls {
            helpers.spawn(tls.certificate.follow(tls.reload_every));
            listeners.spawn(accept(
                tls.listener,
                Some(tls.acceptor),
                Arc::clone(&places),
                shared.clone(),
            ));
        }
        if let Some(listener) = self.plain {
            listeners.spawn(accept(listener, None, places, shared));
        }
        shutdown.await;
        // Nobody listening any more means that all connections have ended.
        let _ = stop.send(true);
        let finish = async { while listeners.join_next().await.is_some() {} };
        if tokio::time::timeout(self.limits.shutdown_timeout, finish)
            .await
            .is_err()
        {
            tracing::warn!("some clients did not take their answers in time; closing their connections");
        }
        // What still runs ends here, because dropping the sets aborts it.
    }
}

/// Binds and runs in one go, for those who need not know the address.
pub async fn serve(
    options: ListenOptions,
    service: impl Into<Service>,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ListenError> {
    Server::bind(options, service).await?.run(shutdown).await;
    Ok(())
}

/// What every connection needs.
#[derive(Clone)]
struct Shared {
    service: Service,
    limits: Limits,
    stopped: watch::Receiver<bool>,
}

/// Waits for the word, or for nobody being left to give it, which comes to the same.
async fn told_to_stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ListenError> {
    let refuse = |source| ListenError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(refuse)?;
    let address = listener.local_addr().map_err(refuse)?;
    Ok((listener, address))
}

/// Accepts connections until told to stop, then waits for those that are open.
async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, places: Arc<Semaphore>, shared: Shared) {
    let mut connections = JoinSet::new();
    let mut stopped = shared.stopped.clone();
    loop {
        let next = next_connection(&listener, &places);
        let (stream, peer, place) = tokio::select! {
            next = next => match next {
                Some(next) => next,
                None => break,
            },
            () = told_to_stop(&mut stopped) => break,
            // Ended connections are taken out at once, so that the set does not grow.
            Some(_) = connections.join_next() => continue,
        };
        let (acceptor, shared) = (acceptor.clone(), shared.clone());
        connections.spawn(async move {
            connection::run(stream, peer, acceptor, shared).await;
            drop(place);
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The next connection, once there is a place for it. Nothing if places cannot be had any more.
async fn next_connection(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return Some((stream, peer, place)),
            Err(error) => {
                // One client that hung up early is no reason to stop; neither is a table that is full for a while.
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a connection could not be accepted"
                );
                tokio::time::sleep(PAUSE_AFTER_ACCEPT_ERROR).await;
            }
        }
    }
}
