//! Tells the cluster that a machine has fetched its config: it is about to join, and its Node can be created.

use std::{future::Future, path::PathBuf, sync::Arc};

use berth_cluster::{connect, request_node};
use berth_server::Observer;
use tokio::sync::mpsc;

use super::in_one_line;
use crate::{cluster::unreachable, failure::Failure};

/// Names of machines on their way to the cluster.
pub(super) struct Announcements {
    kubeconfig: PathBuf,
    names: mpsc::UnboundedReceiver<String>,
}

/// What the server tells, and who passes it on; nothing where no cluster is named.
pub(super) fn channel(kubeconfig: Option<PathBuf>) -> (Option<Observer>, Option<Announcements>) {
    let Some(kubeconfig) = kubeconfig else {
        return (None, None);
    };
    let (sender, names) = mpsc::unbounded_channel();
    let observer: Observer = Arc::new(move |name: &str| {
        // Where nobody listens any more the server is about to end.
        let _ = sender.send(name.to_owned());
    });
    (Some(observer), Some(Announcements { kubeconfig, names }))
}

impl Announcements {
    /// Finds the way to the cluster, and gives what passes names on. A machine never waits for this: what is lost, the
    /// certificate request of its kubelet makes good.
    pub(super) async fn connect(self) -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
        let Self { kubeconfig, mut names } = self;
        let client = connect(Some(&kubeconfig), None).await.map_err(unreachable)?;
        Ok(async move {
            while let Some(node) = names.recv().await {
                match request_node(&client, &node, jiff::Timestamp::now()).await {
                    Ok(true) => tracing::info!(node, "the cluster knows that the machine is about to join"),
                    Ok(false) => tracing::debug!(node, "no Berth reserves the name"),
                    Err(error) => tracing::warn!(node, error = in_one_line(&error), "the cluster cannot be told"),
                }
            }
        })
    }
}
