//! The objects of a cluster as a source.

use std::{borrow::Cow, path::Path, time::Duration};

use async_trait::async_trait;
use berth_cluster::{DocumentKind, Snapshot, connect, follow_documents, list_documents};
use tokio::sync::watch;

use super::{Reading, Source, name_of, on_a_thread};
use crate::{cluster::unanswered, failure::Failure, vital};

/// How long to wait for changes that belong together, so that they are one reading.
const GATHER: Duration = Duration::from_millis(300);

/// Pools, machine configs, Berths and rules, as the cluster has them.
pub(crate) struct Cluster {
    following: watch::Receiver<Snapshot>,
    /// What was read last.
    seen: Option<Snapshot>,
}

impl Cluster {
    /// Connects and begins to follow. A cluster that cannot be reached at the start is a mistake; one that goes away
    /// later comes back.
    pub(crate) async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Self, Failure> {
        let client = connect(kubeconfig, context).await?;
        // Asked for once, because a watch that is refused tries again and again without a word to the caller.
        list_documents(&client, DocumentKind::SITE).await.map_err(unanswered)?;
        let (mut following, work) = follow_documents(&client, DocumentKind::SITE);
        vital::spawn("watches", work);
        // The other end lives as long as its task.
        let _ = following.wait_for(Snapshot::is_complete).await;
        Ok(Self { following, seen: None })
    }
}

#[async_trait]
impl Source for Cluster {
    type Content = Snapshot;

    async fn changed(&mut self) {
        if self.following.changed().await.is_err() {
            tracing::error!("the cluster is not followed any more");
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(GATHER).await;
    }

    async fn look(&mut self) -> Result<Option<Reading<Snapshot>>, Failure> {
        let snapshot = self.following.borrow_and_update().clone();
        if self
            .seen
            .as_ref()
            .is_some_and(|seen| seen.has_same_documents(&snapshot))
        {
            return Ok(None);
        }
        self.seen = Some(snapshot.clone());
        let reading = on_a_thread(move || Reading::Version {
            name: name_of(
                "cluster",
                snapshot.objects().map(|object| Cow::Owned(object.to_string())),
            ),
            content: snapshot,
        });
        Ok(Some(reading.await))
    }

    fn interruption(&self) -> Option<String> {
        self.following.borrow().interruption().map(str::to_owned)
    }
}
