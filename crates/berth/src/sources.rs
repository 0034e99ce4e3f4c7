//! Where documents come from.
//!
//! ```text
//! Files      a folder, followed by looking at it     ─┐
//! Committed  the committed revision of a database     ├─► Source ──► Reading ──► site, catalog
//! Example    the site inside the program             ─┘
//! Placed     documents, with the Berths of a cluster ─┬─► Source ──► Reading ──► catalog
//! Cluster    the objects of a cluster, watched       ─┘
//! ```
//!
//! Controllers and servers follow a [`Source`] and do not know which one it is. What documents declare and what a cluster has are
//! different things ([`Source::Content`]): from documents configs are rendered, a cluster has rendered ones.

mod cluster;
mod committed;
#[cfg(feature = "up")]
mod example;
mod files;
mod placed;

use std::{borrow::Cow, fmt::Write as _, time::Duration};

use async_trait::async_trait;
use berth_repository::SiteDocuments;
use sha2::{Digest, Sha256};

#[cfg(feature = "up")]
pub(crate) use self::example::Example;
pub(crate) use self::{
    cluster::Cluster,
    committed::Committed,
    files::Files,
    placed::{Placed, PlacedDocuments},
};
use crate::failure::Failure;

/// How often a source that does not announce changes is looked at. Looking is cheap: nothing is read unless something changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A source of what somebody declared.
pub(crate) type Declared = Box<dyn Source<Content = SiteDocuments>>;

/// Something that has documents, which may change.
#[async_trait]
pub(crate) trait Source: Send {
    /// What it has.
    type Content: Send;

    /// Returns when another look may show something new.
    async fn changed(&mut self);

    /// What there is, unless the last look showed it. A look that failed is tried again only if that can help.
    async fn look(&mut self) -> Result<Option<Reading<Self::Content>>, Failure>;

    /// Why what was read may be older than what there is.
    fn interruption(&self) -> Option<String> {
        None
    }
}

/// What a source has at one moment.
#[derive(Debug)]
pub(crate) enum Reading<T> {
    /// Nothing yet, and why.
    Nothing(&'static str),
    /// This.
    Version {
        /// What messages call it. Equal contents of files and clusters have equal names.
        name: String,
        /// What was read.
        content: T,
    },
}

/// Does what takes a while on a thread where it holds up nobody.
pub(crate) async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and nobody waits for the answer.
            Err(_) => std::future::pending().await,
        },
    }
}

/// A name for contents: equal ones have an equal name.
fn name_of<'a>(prefix: &str, contents: impl IntoIterator<Item = Cow<'a, str>>) -> String {
    let mut hash = Sha256::new();
    for part in contents {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut name = format!("{prefix}-");
    for byte in hash.finalize().iter().take(6) {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}
