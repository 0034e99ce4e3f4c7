//! Accepting connections, and what to do when there are too many.

use std::{fs::File, io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::Instant,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    connection::{Context, told_to_stop},
    places::Places,
    refusal::Refusal,
    socket::{self, Speak},
};

/// How long to wait when the system has no room for one more connection.
const PAUSE: Duration = Duration::from_millis(100);

/// How often the log says that clients are turned away.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);

/// Clients that are told at a time why they are not served. Those beyond are cut off.
pub(crate) const FAREWELLS: usize = 64;

/// What every connection needs.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) speaker: Arc<dyn Speak>,
    pub(crate) places: Arc<Places>,
    pub(crate) farewells: Arc<Semaphore>,
    pub(crate) stopped: watch::Receiver<bool>,
}

/// Accepts connections until told to stop, then waits for those that are open.
pub(crate) async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, shared: Shared) {
    let mut connections = JoinSet::new();
    let mut stopped = shared.stopped.clone();
    let mut reserve = Reserve::new();
    let mut complaints = Complaints::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = told_to_stop(&mut stopped) => break,
            // Ended connections are taken out at once, so that the set does not grow.
            Some(ended) = connections.join_next() => {
                // One client's request, and one client without an answer: the others are served.
                if let Err(error) = ended && error.is_panic() {
                    tracing::error!("a connection panicked, which is a bug of Berth; it is closed without an answer");
                }
                continue;
            }
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                reserve
                    .recover(&listener, acceptor.is_none(), &error, &mut complaints)
                    .await;
                continue;
            }
        };
        let acceptor = acceptor.clone();
        match shared.places.take(peer.ip()) {
            Ok(place) => {
                let speaker = Arc::clone(&shared.speaker);
                let context = Context {
                    peer,
                    place,
                    stopped: shared.stopped.clone(),
                    is_local: false,
                };
                connections.spawn(async move { socket::run(stream, acceptor, &*speaker, context).await });
            }
            Err(refusal) => {
                complaints.add(Some(peer), refusal.message());
                if let Ok(permit) = Arc::clone(&shared.farewells).try_acquire_owned() {
                    connections.spawn(async move {
                        socket::turn_away(stream, acceptor, refusal).await;
                        drop(permit);
                    });
                }
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// A descriptor that is kept back. When there are no others, it is given up for a moment to take a connection and end it, so that
/// clients learn that they have to wait.
struct Reserve(Option<File>);

impl Reserve {
    fn new() -> Self {
        Self(File::open("/dev/null").ok())
    }

    async fn recover(
        &mut self,
        listener: &TcpListener,
        is_plain: bool,
        error: &io::Error,
        complaints: &mut Complaints,
    ) {
        if is_about_one_client(error) {
            return;
        }
        if is_out_of_files(error) {
            complaints.add(
                None,
                "The process may not open any more files, so connections are ended.",
            );
            drop(self.0.take());
            if let Ok(Ok((stream, _))) = tokio::time::timeout(PAUSE, listener.accept()).await {
                end(&stream, is_plain);
            }
            *self = Self::new();
        } else {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "a connection could not be accepted"
            );
        }
        // The listener stays ready, so without a pause this would use up a processor.
        tokio::time::sleep(PAUSE).await;
    }
}

fn end(stream: &TcpStream, is_plain: bool) {
    if is_plain {
        // Whether it fits or not, there is nothing more to do for this client.
        let _ = stream.try_write(&Refusal::Connections.bytes());
    }
}

/// A client that hung up before it was accepted.
fn is_about_one_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// `ENFILE` and `EMFILE`, which the standard library has no names for.
fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}

/// A line in the log now and then, however many clients are turned away.
#[derive(Default)]
struct Complaints {
    last: Option<Instant>,
    since: u64,
}

impl Complaints {
    fn add(&mut self, peer: Option<SocketAddr>, why: &str) {
        self.since += 1;
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < COMPLAIN_EVERY) {
            return;
        }
        let peer = peer.map(|peer| peer.to_string());
        tracing::warn!(peer, connections = self.since, why, "clients are turned away");
        self.last = Some(now);
        self.since = 0;
    }
}
