//! Tasks without which a server would go on blindly.

use std::{future::Future, process};

use tokio::task::JoinHandle;

/// What a Rust program ends with after a panic.
const PANICKED: i32 = 101;

/// Starts a task. Should it panic, the process ends, and whoever looks after it starts it anew: everything that must last is in
/// the cluster or in the database.
#[expect(
    clippy::exit,
    reason = "nobody waits for the task, and the rest would go on without it"
)]
pub(crate) fn spawn<T>(task: &'static str, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<Option<T>>
where
    T: Send + 'static,
{
    let work = tokio::spawn(work);
    tokio::spawn(async move {
        match work.await {
            Ok(done) => Some(done),
            Err(error) if error.is_panic() => {
                tracing::error!(task, "a task panicked, which is a bug of Berth; the process ends");
                process::exit(PANICKED)
            }
            // The runtime ends.
            Err(_) => None,
        }
    })
}
