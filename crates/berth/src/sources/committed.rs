//! The committed revision of a database as a source.

use std::sync::Arc;

use async_trait::async_trait;
use berth_documents::deckhand::{Listing, Query};
use berth_repository::{Error, Repository, SiteDocuments, read_site};

use super::{LOOK_EVERY, Reading, Source, on_a_thread};
use crate::failure::{Chain, Failure};

/// The revision that is committed, whichever that is.
pub(crate) struct Committed {
    repository: Arc<Repository>,
    seen: Seen,
}

/// What was committed at the last look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// Nobody looked yet.
    Never,
    Nothing,
    /// Number and time: numbers begin again when everything is deleted.
    Revision(u64, i64),
}

impl Committed {
    /// A source that has not been looked at yet.
    pub(crate) const fn new(repository: Arc<Repository>) -> Self {
        Self {
            repository,
            seen: Seen::Never,
        }
    }

    async fn committed(&self) -> Result<Seen, Error> {
        let store = self.repository.store();
        Ok(match store.staged().await?.committed {
            None => Seen::Nothing,
            Some(number) => Seen::Revision(number, store.revision(number).await?.created_at),
        })
    }

    async fn read(&self, number: u64) -> Result<SiteDocuments, Error> {
        let query = Query::parse::<&str, &str>(Listing::RenderedDocuments, [])?;
        let documents = self.repository.site_documents(number, &query).await?;
        Ok(on_a_thread(move || read_site(&documents)).await)
    }
}

#[async_trait]
impl Source for Committed {
    type Content = SiteDocuments;

    async fn changed(&mut self) {
        tokio::time::sleep(LOOK_EVERY).await;
    }

    async fn look(&mut self) -> Result<Option<Reading<SiteDocuments>>, Failure> {
        let committed = self.committed().await.map_err(failure)?;
        if self.seen == committed {
            return Ok(None);
        }
        let Seen::Revision(number, _) = committed else {
            self.seen = committed;
            return Ok(Some(Reading::Nothing("no revision of the documents is committed yet")));
        };
        let read = self.read(number).await;
        // What the database does not give now it may give later. What cannot be rendered never can.
        if !matches!(read, Err(Error::Store(_))) {
            self.seen = committed;
        }
        Ok(Some(Reading::Version {
            name: format!("revision-{number}"),
            content: read.map_err(failure)?,
        }))
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Store(error) => Failure::Store(error),
        error => Failure::Unusable(format!("the committed revision cannot be read: {}", Chain(&error))),
    }
}

#[cfg(test)]
mod tests {
    use berth_store::{SealingKeys, SqliteStore, Write};

    use super::*;

    #[tokio::test]
    async fn a_revision_that_cannot_be_rendered_is_tried_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("documents.sqlite");
        let store = SqliteStore::open(&path, SealingKeys::none());
        let repository = Arc::new(Repository::new(Arc::new(store.await.unwrap())));
        let commit = async |text: &str, now: i64| {
            let documents = repository.read_documents(text.to_owned()).await.unwrap();
            let put = repository.put_bucket("site", &documents, Write::at(now)).await.unwrap();
            repository
                .put_tag(put.revision.unwrap().id, "committed", None)
                .await
                .unwrap();
        };
        let site = |more: &str| {
            format!(
                "schema: deckhand/LayeringPolicy/v1\nmetadata: {{schema: metadata/Control/v1, name: layers, \
                 storagePolicy: cleartext}}\ndata: {{layerOrder: [site]}}\n---\n\
                 schema: drydock/Rack/v1\nmetadata: {{schema: metadata/Document/v1, name: r1, storagePolicy: cleartext, \
                 layeringDefinition: {{abstract: false, layer: site}}{more}}}\ndata: {{}}\n"
            )
        };
        let mut source = Committed::new(Arc::clone(&repository));
        assert!(matches!(source.look().await, Ok(Some(Reading::Nothing(_)))));
        assert!(matches!(source.look().await, Ok(None)));
        let missing = ", substitutions: [{src: {schema: a/B/v1, name: none, path: .}, dest: {path: .x}}]";
        commit(&site(missing), 1).await;
        assert!(source.look().await.is_err());
        assert!(matches!(source.look().await, Ok(None)));
        commit(&site(""), 2).await;
        assert!(matches!(source.look().await, Ok(Some(Reading::Version { .. }))));
        assert!(matches!(source.look().await, Ok(None)));
    }
}
