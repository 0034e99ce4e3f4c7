//! Documents beside the cluster in which their machines are.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use berth_cluster::{DocumentKind, Snapshot, follow_documents};
use berth_repository::SiteDocuments;
use berth_resources::Berth;
use kube::Client;
use tokio::{sync::watch, time::timeout};

use super::{Declared, Reading, Source};
use crate::{failure::Failure, vital};

/// How long to wait for the Berths at the start. A cluster that is about to be installed does not answer, and its machines have to
/// be served all the same.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait for changes that belong together, so that they are one reading.
const GATHER: Duration = Duration::from_millis(300);

/// Documents, and where the Berths of a cluster are now.
pub(crate) struct Placed {
    documents: Declared,
    berths: watch::Receiver<Snapshot>,
    /// The documents that were read last.
    read: Option<(String, Arc<SiteDocuments>)>,
    /// The Berths that were read last.
    seen: Snapshot,
}

/// What documents say, and the Berths.
pub(crate) struct PlacedDocuments {
    pub(crate) documents: Arc<SiteDocuments>,
    pub(crate) berths: Vec<Berth>,
}

impl Placed {
    /// Begins to follow the Berths. Where the cluster does not answer or does not show them, the documents alone count until it
    /// does.
    pub(crate) async fn new(documents: Declared, client: &Client) -> Self {
        let (mut berths, work) = follow_documents(client, &[DocumentKind::Berth]);
        vital::spawn("watch of Berths", work);
        let read = |berths: &Snapshot| berths.is_complete() || berths.interruption().is_some();
        // The other end lives as long as its task.
        let _ = timeout(PATIENCE, berths.wait_for(read)).await;
        if !berths.borrow().is_complete() {
            let reason = berths
                .borrow()
                .interruption()
                .unwrap_or("it does not answer")
                .to_owned();
            tracing::warn!(
                reason,
                "the Berths of the cluster cannot be read: machines get the pool that the documents say"
            );
        }
        Self {
            documents,
            berths,
            read: None,
            seen: Snapshot::default(),
        }
    }
}

#[async_trait]
impl Source for Placed {
    type Content = PlacedDocuments;

    async fn changed(&mut self) {
        tokio::select! {
            () = self.documents.changed() => {}
            changed = self.berths.changed() => {
                if changed.is_err() {
                    tracing::error!("the Berths of the cluster are not followed any more");
                    self.documents.changed().await;
                }
                tokio::time::sleep(GATHER).await;
            }
        }
    }

    async fn look(&mut self) -> Result<Option<Reading<PlacedDocuments>>, Failure> {
        let now = self.berths.borrow_and_update().clone();
        let moved = !now.has_same_documents(&self.seen);
        let changed = match self.documents.look().await? {
            Some(Reading::Version { name, content }) => {
                self.read = Some((name, Arc::new(content)));
                true
            }
            Some(Reading::Nothing(why)) => {
                self.read = None;
                return Ok(Some(Reading::Nothing(why)));
            }
            None => false,
        };
        let Some((name, documents)) = self.read.as_ref().filter(|_| changed || moved) else {
            return Ok(None);
        };
        let berths = now.objects();
        let content = PlacedDocuments {
            documents: Arc::clone(documents),
            berths: berths
                .filter_map(|berth| serde_json::from_value(berth.clone()).ok())
                .collect(),
        };
        self.seen = now;
        Ok(Some(Reading::Version {
            name: name.clone(),
            content,
        }))
    }

    fn interruption(&self) -> Option<String> {
        let of_berths = self.berths.borrow().interruption().map(str::to_owned);
        self.documents.interruption().or(of_berths)
    }
}
