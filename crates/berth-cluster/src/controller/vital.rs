//! Tasks without which the controllers are blind: when one of them panics, all end.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use futures::FutureExt as _;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::error;

/// Looks after tasks.
#[derive(Clone, Debug)]
pub(super) struct Vital {
    tasks: TaskTracker,
    /// Ends all.
    shutdown: CancellationToken,
    panicked: Arc<OnceLock<&'static str>>,
}

impl Vital {
    pub(super) fn new(shutdown: CancellationToken) -> Self {
        Self {
            tasks: TaskTracker::new(),
            shutdown,
            panicked: Arc::default(),
        }
    }

    /// Starts a task.
    pub(super) fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let this = self.clone();
        self.tasks.spawn(async move { this.run(name, task).await });
    }

    /// Runs a task here.
    pub(super) async fn run(&self, name: &'static str, task: impl Future<Output = ()>) {
        if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await {
            error!(
                task = name,
                panic = said(&*panic),
                "a task panicked, which is a bug of Berth; the controllers end so that they are started anew"
            );
            let _ = self.panicked.set(name);
            self.shutdown.cancel();
        }
    }

    /// Waits until all tasks have ended; the first one that panicked.
    pub(super) async fn ended(self) -> Option<&'static str> {
        self.tasks.close();
        self.tasks.wait().await;
        self.panicked.get().copied()
    }
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_ends_all_others() {
        let shutdown = CancellationToken::new();
        let vital = Vital::new(shutdown.clone());
        vital.spawn("patient", shutdown.clone().cancelled_owned());
        vital.spawn("short", async {});
        vital.spawn("broken", async { panic!("as a test does") });
        assert_eq!(vital.ended().await, Some("broken"));
        let calm = Vital::new(CancellationToken::new());
        calm.run("short", async {}).await;
        assert_eq!(calm.ended().await, None);
    }
}
