//! The listener and its connections.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

use super::answer;
use crate::cluster::Cluster;

/// For requests that have begun when the server is told to stop.
const FINISH_WITHIN: Duration = Duration::from_secs(3);

/// The server cannot start.
#[derive(Debug, Error)]
#[error("cannot listen on {address}{}", advice(.source))]
pub struct ListenError {
    /// The address.
    pub address: SocketAddr,
    /// Why.
    #[source]
    pub source: io::Error,
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "; another program listens there: stop it, or choose another port",
        io::ErrorKind::AddrNotAvailable => "; this machine does not have that address",
        io::ErrorKind::PermissionDenied => "; ports below 1024 need more rights",
        _ => "",
    }
}

/// A cluster that is served over HTTP. It stops when it is told to, or dropped.
#[derive(Debug)]
pub struct ApiServer {
    cluster: Cluster,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

impl ApiServer {
    /// Listens, and answers from then on. Port 0 takes any free one.
    pub async fn start(cluster: Cluster, address: SocketAddr) -> Result<Self, ListenError> {
        let refuse = |source| ListenError { address, source };
        let listener = TcpListener::bind(address).await.map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        cluster.reopen();
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(accept(listener, cluster.clone(), stopped));
        Ok(Self {
            cluster,
            address,
            stop,
            task: Some(task),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The cluster that is served.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Ends watches, finishes requests that have begun, and closes.
    pub async fn stop(mut self) {
        self.cluster.close();
        self.stop.send_replace(true);
        if let Some(task) = self.task.take()
            && tokio::time::timeout(FINISH_WITHIN, task).await.is_err()
        {
            tracing::warn!("some clients did not take their answers in time; closing their connections");
        }
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            self.cluster.close();
            task.abort();
        }
    }
}

/// Waits for the word, or for nobody being left to give it, which comes to the same.
async fn told_to_stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn accept(listener: TcpListener, cluster: Cluster, mut stopped: watch::Receiver<bool>) {
    let address: Arc<str> = listener
        .local_addr()
        .map(|address| address.to_string())
        .unwrap_or_default()
        .into();
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = told_to_stop(&mut stopped) => break,
            Some(_) = connections.join_next() => continue,
        };
        connections.spawn(connection(
            stream,
            cluster.clone(),
            Arc::clone(&address),
            stopped.clone(),
        ));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection(stream: TcpStream, cluster: Cluster, address: Arc<str>, mut stopped: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let (cluster, address) = (cluster.clone(), Arc::clone(&address));
        async move { Ok::<_, std::convert::Infallible>(answer(&cluster, &address, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = told_to_stop(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.as_mut().await
        }
    };
    if let Err(error) = ended {
        // A client that goes away in the middle is nothing to worry about.
        tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended early");
    }
}
