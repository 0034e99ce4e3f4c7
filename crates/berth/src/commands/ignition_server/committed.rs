//! The committed revision of a database as the source of a catalog.

use std::sync::Arc;

use berth_documents::deckhand::{Listing, Query};
use berth_repository::{Error, Repository, site_texts};
use berth_server::Catalog;

use super::{
    in_one_line,
    source::{Maker, Reading},
};
use crate::failure::Failure;

const NOTHING_COMMITTED: &str = "no revision of the documents is committed yet";

/// The revision that is committed, whichever that is.
pub(super) struct CommittedSource {
    repository: Arc<Repository>,
    maker: Maker,
    seen: Seen,
}

/// What was committed when it was looked at last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// Nobody looked yet.
    Never,
    Nothing,
    /// Number and time: numbers begin again when everything is deleted.
    Revision(u64, i64),
}

impl CommittedSource {
    /// A source that has not been looked at yet.
    pub(super) const fn new(repository: Arc<Repository>, maker: Maker) -> Self {
        Self {
            repository,
            maker,
            seen: Seen::Never,
        }
    }

    /// What there is to serve, if it is not what was there the last time.
    pub(super) async fn look(&mut self) -> Option<Result<Reading, Failure>> {
        let revision = match self.committed().await {
            Ok(revision) => revision,
            Err(error) => return Some(Err(failure(error))),
        };
        if self.seen == revision {
            return None;
        }
        let reading = match revision {
            Seen::Revision(number, _) => self.read(number).await,
            Seen::Never | Seen::Nothing => Ok(Reading::Catalog {
                catalog: Box::new(Catalog::loading(NOTHING_COMMITTED)),
                notices: vec![format!("{NOTHING_COMMITTED}; machines are told to try again")],
            }),
        };
        self.seen = revision;
        Some(reading)
    }

    async fn committed(&self) -> Result<Seen, Error> {
        let store = self.repository.store();
        match store.staged().await?.committed {
            None => Ok(Seen::Nothing),
            Some(number) => Ok(Seen::Revision(number, store.revision(number).await?.created_at)),
        }
    }

    async fn read(&self, number: u64) -> Result<Reading, Failure> {
        let query =
            Query::parse::<&str, &str>(Listing::RenderedDocuments, []).map_err(|error| failure(error.into()))?;
        let documents = self.repository.site_documents(number, &query).await.map_err(failure)?;
        let maker = self.maker.clone();
        // Rendering pools may take a while, and others want to be answered meanwhile.
        let made =
            tokio::task::spawn_blocking(move || maker.make(format!("revision-{number}"), site_texts(&documents)));
        made.await
            .unwrap_or_else(|_| Err(Failure::Unusable("reading the committed revision failed".to_owned())))
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Store(error) => Failure::Store(error),
        error => Failure::Unusable(format!(
            "the committed revision cannot be served: {}",
            in_one_line(&error)
        )),
    }
}
