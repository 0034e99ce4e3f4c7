//! The objects of a cluster as the source of a catalog.

use std::{path::PathBuf, time::Duration};

use berth_cluster::{DocumentKind, Snapshot, connect, follow_documents, list_documents};
use berth_server::CatalogHandle;
use tokio::sync::watch;

use super::{
    source::{Maker, Reading, revision},
    take,
};
use crate::{
    args::IgnitionServerOptions,
    cluster::{unanswered, unreachable},
    failure::Failure,
    vital,
};

/// How long to wait for changes that belong together, so that they give one rendered config.
const GATHER: Duration = Duration::from_millis(300);

/// Pools, machine configs, Berths and rules, as the cluster has them.
pub(super) struct ClusterSource {
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
    maker: Maker,
    following: Option<watch::Receiver<Snapshot>>,
    /// What was read last.
    seen: Snapshot,
}

impl ClusterSource {
    /// A source that has not been looked at yet.
    pub(super) fn new(args: &IgnitionServerOptions, maker: Maker) -> Self {
        Self {
            kubeconfig: args.cluster_kubeconfig.clone(),
            context: args.cluster_context.clone(),
            maker,
            following: None,
            seen: Snapshot::default(),
        }
    }

    /// Connects, begins to follow, and reads what there is.
    pub(super) async fn start(&mut self) -> Result<Result<Reading, Failure>, Failure> {
        let client = connect(self.kubeconfig.as_deref(), self.context.as_deref())
            .await
            .map_err(unreachable)?;
        // Asked for once, because a watch that is refused tries again for ever without a word to the caller.
        list_documents(&client, DocumentKind::SITE).await.map_err(unanswered)?;
        let (mut following, work) = follow_documents(&client, DocumentKind::SITE);
        vital::spawn("watches", work);
        // The other end lives as long as its task.
        let _ = following.wait_for(Snapshot::is_complete).await;
        let read = self.read(following.borrow_and_update().clone()).await;
        self.following = Some(following);
        Ok(read)
    }

    /// Serves every change.
    pub(super) async fn follow(mut self, handle: CatalogHandle) {
        let Some(mut following) = self.following.take() else {
            return;
        };
        while following.changed().await.is_ok() {
            tokio::time::sleep(GATHER).await;
            let snapshot = following.borrow_and_update().clone();
            let interruption = snapshot.interruption().map(str::to_owned);
            if snapshot.has_same_documents(&self.seen) {
                // Only the watch itself changed.
                if interruption.is_none()
                    && handle
                        .stale_reason()
                        .is_some_and(|reason| reason.starts_with(INTERRUPTED))
                {
                    handle.set_fresh();
                }
            } else {
                let read = self.read(snapshot).await;
                take(&handle, read, "the cluster's objects changed");
            }
            if let Some(why) = interruption
                && handle.stale_reason().is_none()
            {
                handle.set_stale(format!("{INTERRUPTED}: {why}"));
            }
        }
        tracing::error!("the cluster is not followed any more");
    }

    async fn read(&mut self, snapshot: Snapshot) -> Result<Reading, Failure> {
        self.seen = snapshot.clone();
        let maker = self.maker.clone();
        // Reading large configs may take a while, and others want to be answered meanwhile.
        let made = tokio::task::spawn_blocking(move || {
            let revision = revision("cluster", &snapshot.texts());
            maker.make_of_cluster(revision, snapshot.objects())
        });
        made.await
            .unwrap_or_else(|_| Err(Failure::Unusable("reading the cluster's objects failed".to_owned())))
    }
}

/// How the reason begins when the cluster cannot be followed.
const INTERRUPTED: &str = "the cluster cannot be followed";
