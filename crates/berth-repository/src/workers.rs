//! Threads for work that takes a while: rendering, validating, and reading what somebody sent.
//!
//! None of it runs on a thread that answers requests, and only so much of it runs at a time: whatever the documents of one
//! request cost, health is told and others get their turn.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::error::Error;

/// How much runs at a time. More than one, so that a slow one does not keep the others from their turn.
const AT_A_TIME: usize = 4;

/// The threads.
#[derive(Clone, Debug)]
pub(crate) struct Workers {
    permits: Arc<Semaphore>,
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(AT_A_TIME)),
        }
    }
}

impl Workers {
    /// Runs something when it is its turn. Its turn lasts until it is done, also when nobody waits for it any more.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| Error::Interrupted)?;
        let work = move || {
            let _permit = permit;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Error::Interrupted)
    }
}
