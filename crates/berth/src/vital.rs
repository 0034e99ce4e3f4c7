//! Tasks without which a server would go on blindly.

use std::{future::Future, process};

use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

/// What a Rust program ends with after a panic.
const PANICKED: i32 = 101;

/// Starts a task. Should it panic, the process ends, and whoever looks after it starts it anew: everything that must last is in
/// the cluster or in the database. Whoever aborts the handle aborts the task.
#[expect(
    clippy::exit,
    reason = "nobody waits for the task, and the rest would go on without it"
)]
pub(crate) fn spawn<T>(task: &'static str, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<Option<T>>
where
    T: Send + 'static,
{
    let work = AbortOnDropHandle::new(tokio::spawn(work));
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

#[cfg(test)]
mod tests {
    use std::{env, process::Command, time::Duration};

    /// Set for the process that is to end.
    const INSIDE: &str = "BERTH_TEST_OF_VITAL";

    #[test]
    fn a_task_that_panics_ends_the_process() {
        if env::var_os(INSIDE).is_some() {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let calm = super::spawn("calm", std::future::pending::<()>());
                calm.abort();
                assert!(calm.await.is_err_and(|error| error.is_cancelled()));
                super::spawn("broken", async { panic!("as a test does") });
                tokio::time::sleep(Duration::from_mins(1)).await;
            });
            // Whoever comes here has outlived the panic.
            return;
        }
        let test = Command::new(env::current_exe().unwrap())
            .args(["--exact", "vital::tests::a_task_that_panics_ends_the_process"])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        assert_eq!(test.status.code(), Some(super::PANICKED));
        let said = String::from_utf8_lossy(&test.stdout);
        assert!(!said.contains("test result"), "the process went on: {said}");
    }
}
