//! The loop of the node daemon: what its state machine asks for is done here.
//!
//! ```text
//! watch of the own Node ──┐                            ┌─ Publish ──► annotations of the own Node
//! missing configs ────────┼─► News ──► Daemon::turn ───┼─ Fetch ────► GET the rendered config
//! files of the host ──────┤      (a thread of its own) └─ Wait ─────► sleep until there is news
//! time, if asked for ─────┘
//! ```
//!
//! Nothing is asked again and again: with no news and no time to wait for, the daemon sleeps. What an update needs is on the disk,
//! so that whoever ends the daemon, at any moment, does no harm.

mod files;
mod link;

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use berth_clock::Clock;
use berth_daemon::{
    Daemon, Host, HostError, Item, News, Settings, StartError, Turn,
    journal::{Stage, State},
};
use berth_nodes::Pace;
use berth_pools::FORCE_FILE;
use jiff::Timestamp;
use kube::Client;
use thiserror::Error;
use tokio::{sync::mpsc, task::spawn_blocking, time::sleep};
use tokio_util::sync::CancellationToken;
use tracing::info;

use self::{
    files::Files,
    link::{Change, Link},
};
use crate::vital::Vital;

/// Changes that may wait.
const CHANGES: usize = 16;

/// The pauses after requests that failed.
const RETRIES: Pace = Pace {
    first: Duration::from_secs(1),
    longest: Duration::from_mins(1),
};

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the Node.
    pub node: String,
    /// What the administrator wants.
    pub settings: Settings,
    /// The folder that the host's files are below, which are watched; `None` for a host without files.
    pub files: Option<PathBuf>,
    /// Whether to end once the host was told to start again. A real host ends its daemon itself.
    pub ends_at_reboot: bool,
    /// Tells the time.
    pub clock: Clock,
}

/// Why the daemon stopped.
#[derive(Debug, Error)]
pub enum RunError {
    /// The host has a state that cannot be used, or cannot be looked at.
    #[error("the node daemon cannot begin")]
    Start(#[source] StartError),
    /// A turn or a watch panicked.
    #[error("a task of the node daemon panicked, which is a bug of Berth; its log has the place")]
    Panicked,
}

/// What comes after a turn.
#[derive(Debug)]
enum Next {
    /// The next one, at once.
    Turn,
    /// The next one when there is news, or at this time.
    News(Option<Timestamp>),
    /// The next one when there is news, or after a pause.
    Pause,
}

/// Runs the daemon of one node until `shutdown`, and gives its host back. A turn that has begun is ended.
pub async fn run<H: Host + Send + 'static>(
    client: Client,
    host: H,
    options: Options,
    shutdown: CancellationToken,
) -> Result<H, RunError> {
    let (sender, mut changes) = mpsc::channel(CHANGES);
    // Whoever ends the daemon may go on with other things.
    let shutdown = shutdown.child_token();
    let tasks = Vital::new(shutdown.clone());
    let mut link = Link::new(client, options.node, sender, tasks.clone());
    let settings = options.settings;
    let started = on_a_thread(move || Daemon::start(host, settings)).await?;
    let mut daemon = match started {
        Ok(daemon) => daemon,
        Err(error) => {
            link.cannot_begin(&error).await;
            return Err(RunError::Start(error));
        }
    };
    info!(
        node = link.node(),
        config = daemon.state().current.name,
        "the node daemon starts"
    );
    let mut files = Files::new(options.files, vec![FORCE_FILE]);
    let mut managed = Managed::default();
    let mut failures = 0_u32;
    while !shutdown.is_cancelled() {
        if files.follow(managed.of(&daemon)) {
            daemon.host_changed();
        }
        let ready = tokio::select! {
            () = shutdown.cancelled() => break,
            ready = link.get_ready(&mut daemon) => ready,
        };
        let next = if ready {
            let turn;
            (daemon, turn) = take_turn(daemon, &link, &options.clock).await?;
            link.tell(daemon.take_notes()).await;
            let Ok(turn) = turn else {
                // The host is down.
                break;
            };
            if options.ends_at_reboot && daemon.is_going_down() {
                break;
            }
            tokio::select! {
                () = shutdown.cancelled() => break,
                next = carry_out(&mut link, daemon.state(), turn) => next,
            }
        } else {
            Next::Pause
        };
        let until = match next {
            Next::Turn => {
                failures = 0;
                continue;
            }
            // Files are watched as they are now before anybody waits for them.
            Next::News(_) if files.follow(managed.of(&daemon)) => {
                daemon.host_changed();
                continue;
            }
            Next::News(until) => {
                failures = 0;
                until.map(|until| Duration::try_from(until.duration_since(options.clock.now())).unwrap_or_default())
            }
            Next::Pause => {
                failures = failures.saturating_add(1);
                Some(RETRIES.after(failures, None))
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => break,
            () = news(&mut link, &mut changes) => {}
            () = files.changed() => daemon.host_changed(),
            () = sleep_for(until) => {}
        }
    }
    if tasks.panicked().is_some() {
        return Err(RunError::Panicked);
    }
    info!(node = link.node(), "the node daemon has stopped");
    Ok(daemon.into_host())
}

/// What the config that runs manages, worked out once for each config.
#[derive(Debug, Default)]
struct Managed {
    of: Option<(String, Option<String>)>,
    items: BTreeSet<Item>,
}

impl Managed {
    fn of<H: Host>(&mut self, daemon: &Daemon<H>) -> &BTreeSet<Item> {
        let current = &daemon.state().current;
        let config = Some((current.name.clone(), current.image.clone()));
        // A host that cannot be looked at says so at its next turn.
        if self.of != config
            && let Ok(items) = daemon.managed()
        {
            self.items = items;
            self.of = config;
        }
        &self.items
    }
}

/// A turn may wait for programs of the host, so it has a thread of its own. It is waited for to its end.
async fn take_turn<H: Host + Send + 'static>(
    mut daemon: Daemon<H>,
    link: &Link,
    clock: &Clock,
) -> Result<(Daemon<H>, Result<Turn, HostError>), RunError> {
    let (node, reachable, configs, now) = (link.view(), link.reachable(), link.configs(), clock.now());
    on_a_thread(move || {
        let turn = daemon.turn(&News {
            node: node.as_ref(),
            reachable,
            configs: &configs,
            now,
        });
        (daemon, turn)
    })
    .await
}

async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, RunError> {
    match spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(error) if error.is_panic() => Err(RunError::Panicked),
        // The runtime ends, and this with it.
        Err(_) => std::future::pending().await,
    }
}

async fn carry_out(link: &mut Link, state: &State, turn: Turn) -> Next {
    match turn {
        Turn::Publish(annotations) => link.publish(annotations).await,
        Turn::Fetch(config) => link.fetch(config).await,
        Turn::Wait(until) => {
            link.forget_configs(state);
            Next::News(until)
        }
    }
}

/// Waits until something is seen of the cluster that was not known.
async fn news(link: &mut Link, changes: &mut mpsc::Receiver<Change>) {
    while let Some(change) = changes.recv().await {
        if link.take(change) {
            return;
        }
    }
    std::future::pending::<()>().await;
}

async fn sleep_for(duration: Option<Duration>) {
    match duration {
        Some(duration) => sleep(duration).await,
        None => std::future::pending::<()>().await,
    }
}

/// Whether a config has to prove itself.
fn proves(state: &State) -> bool {
    let update = state.update.as_ref();
    update.is_some_and(|update| matches!(update.stage, Stage::Proving { .. }))
}

#[cfg(test)]
mod tests {
    use berth_daemon::sim::SimHost;

    use super::*;

    /// Without its watch the daemon would wait for news forever.
    #[tokio::test]
    async fn a_daemon_whose_watch_panics_ends() {
        type Answer = Result<http::Response<kube::client::Body>, tower::BoxError>;
        let broken = tower::service_fn(|_: http::Request<kube::client::Body>| {
            futures::future::lazy(|_| -> Answer { panic!("as a test does") })
        });
        let options = Options {
            node: "w1".to_owned(),
            settings: Settings::default(),
            files: None,
            ends_at_reboot: false,
            clock: Clock::stopped(Timestamp::UNIX_EPOCH),
        };
        let shutdown = CancellationToken::new();
        let ended = Box::pin(run(
            Client::new(broken, "default"),
            SimHost::default(),
            options,
            shutdown.clone(),
        ))
        .await;
        assert!(matches!(ended, Err(RunError::Panicked)), "{ended:?}");
        assert!(!shutdown.is_cancelled(), "others go on");
    }
}
