//! Tells the cluster that a machine has fetched its config: it is about to join, and its Node can be created.

use std::{future::Future, path::PathBuf, sync::Arc};

use berth_clock::Clock;
use berth_cluster::{connect, request_node};
use berth_ignition_server::Observer;
use futures::{StreamExt as _, stream};
use kube::Client;
use tokio::sync::mpsc::{self, error::TrySendError};

use super::in_one_line;
use crate::failure::Failure;

/// So many names wait for the cluster to be told. Of further ones it learns by the certificate requests of their kubelets.
const WAITING: usize = 4096;

/// How many machines are announced to the cluster at once: a slow answer does not keep the others waiting.
const AT_ONCE: usize = 4;

/// Names of machines on their way to the cluster.
pub(super) struct Announcements {
    kubeconfig: PathBuf,
    names: mpsc::Receiver<String>,
    clock: Clock,
}

/// What the server tells, and who passes it on; nothing where no cluster is named.
pub(super) fn channel(kubeconfig: Option<PathBuf>, clock: &Clock) -> (Option<Observer>, Option<Announcements>) {
    let Some(kubeconfig) = kubeconfig else {
        return (None, None);
    };
    let (sender, names) = mpsc::channel(WAITING);
    let observer: Observer = Arc::new(move |name: &str| {
        // Where nobody listens any more the server is about to end. A machine never waits for this.
        if let Err(TrySendError::Full(node)) = sender.try_send(name.to_owned()) {
            tracing::warn!(
                node,
                "the cluster is not told that the machine is about to join: too many wait already"
            );
        }
    });
    (
        Some(observer),
        Some(Announcements {
            kubeconfig,
            names,
            clock: clock.clone(),
        }),
    )
}

impl Announcements {
    /// Finds the way to the cluster, and gives what passes names on. A machine never waits for this: what is lost, the
    /// certificate request of its kubelet makes good.
    pub(super) async fn connect(self) -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
        let Self {
            kubeconfig,
            mut names,
            clock,
        } = self;
        let client = connect(Some(&kubeconfig), None).await?;
        Ok(async move {
            let names = stream::poll_fn(|context| names.poll_recv(context));
            names
                .for_each_concurrent(AT_ONCE, |node| tell(&client, node, &clock))
                .await;
        })
    }
}

async fn tell(client: &Client, node: String, clock: &Clock) {
    match request_node(client, &node, clock.now()).await {
        Ok(true) => tracing::info!(node, "the cluster knows that the machine is about to join"),
        Ok(false) => tracing::debug!(node, "no Berth reserves the name"),
        Err(error) => tracing::warn!(node, error = in_one_line(&error), "the cluster cannot be told"),
    }
}
