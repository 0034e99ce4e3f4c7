//! Tasks without which the controllers and the node daemon are blind: when one of them panics, all end.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use futures::FutureExt as _;
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};
use tracing::error;

/// Looks after tasks.
#[derive(Clone, Debug)]
pub(crate) struct Vital {
    tasks: TaskTracker,
    /// Ends all.
    shutdown: CancellationToken,
    panicked: Arc<OnceLock<&'static str>>,
}

impl Vital {
    pub(crate) fn new(shutdown: CancellationToken) -> Self {
        Self {
            tasks: TaskTracker::new(),
            shutdown,
            panicked: Arc::default(),
        }
    }

    /// Starts a task.
    pub(crate) fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let this = self.clone();
        self.tasks.spawn(async move { this.run(name, task).await });
    }

    /// Runs a task here.
    pub(crate) async fn run(&self, name: &'static str, task: impl Future<Output = ()>) {
        if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await {
            error!(
                task = name,
                panic = said(&*panic),
                "a task panicked, which is a bug of Berth; the process ends so that it is started anew"
            );
            let _ = self.panicked.set(name);
            self.shutdown.cancel();
        }
    }

    /// Starts a task that ends when its handle is dropped.
    pub(crate) fn spawn_for_now(
        &self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> AbortOnDropHandle<()> {
        let this = self.clone();
        AbortOnDropHandle::new(self.tasks.spawn(async move { this.run(name, task).await }))
    }

    /// The first task that panicked.
    pub(crate) fn panicked(&self) -> Option<&'static str> {
        self.panicked.get().copied()
    }

    /// Waits until all tasks have ended; the first one that panicked.
    pub(crate) async fn ended(self) -> Option<&'static str> {
        self.tasks.close();
        self.tasks.wait().await;
        self.panicked()
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
