//! Pools in full mode: one task beside the one that keeps labels, so that neither waits for the other.
//!
//! ```text
//! watch Node, MachineConfigPool, MachineConfig, Berth
//!   └──► PoolChange ──► PoolEngine ── berth_decide::pools (pure) ──► jobs: status, render │ targets, uncordon │ taints
//!                                                       └──► drains, one task each
//! ```
//!
//! Jobs of the first kind start at once; those of the others when there is room, in that order.

mod drains;
mod jobs;
mod mailbox;
mod reports;
mod state;
mod step;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use kube::Client;
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use self::{
    drains::Drained,
    jobs::{Answer, Job, Key},
    state::PoolState,
};
use super::{
    Options, RETRIES,
    engine::{claim_changed, sleep_until},
    kept::KeptNode,
    metrics::Metrics,
    writer::{WriteError, Writer, or_broken},
};
use crate::lease::Claim;
use berth_decide::pools::{Rendering, Settle};
use berth_pools::{ControllerConfig, MachineConfig};

pub(in crate::controller) use self::{
    mailbox::Mailbox,
    state::{PoolChange, TEMPLATE_OBJECTS},
};

/// The longest wait where somebody else was faster: what they wrote is known soon.
const LONGEST_CONFLICT: Duration = Duration::from_secs(1);
/// A kind that the cluster does not have may come.
const NO_KIND: Duration = Duration::from_mins(5);
/// A request that was not answered may still be carried out for so long.
const IN_DOUBT: Duration = Duration::from_secs(30);
/// What the planner has to know about a write that the watch has not shown yet.
#[derive(Clone, Debug, Default)]
struct Pending {
    desired: Option<String>,
}

/// A drain under way.
#[derive(Debug)]
struct Draining {
    desired: String,
    task: AbortHandle,
}

/// A config that was refused, so that it is not tried over and over.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Refused {
    rendered: String,
    current: String,
    why: String,
}

type Finished = (Key, Result<Answer, WriteError>);
type DrainFinished = (String, Result<Drained, WriteError>);

/// Keeps pools: renders, rolls out, drains and cleans up.
pub(super) struct PoolEngine {
    options: Options,
    claims: Option<watch::Receiver<Claim>>,
    metrics: Metrics,
    writer: Arc<Writer>,
    state: PoolState,
    /// What pools are rendered from: what people wrote, and what is made of other objects.
    inputs: BTreeMap<String, MachineConfig>,
    /// What pools are rendered with beside them.
    controller: Option<ControllerConfig>,
    renderings: BTreeMap<String, Rendering>,
    refused: BTreeMap<String, Refused>,
    began: Instant,
    /// When the pools are rendered.
    settle: Settle,
    collect_at: Option<Instant>,
    moves: VecDeque<(Key, Job)>,
    taints: VecDeque<(Key, Job)>,
    running: JoinSet<Finished>,
    busy: HashSet<Key>,
    pending: HashMap<String, Pending>,
    drains: HashMap<String, Draining>,
    draining: JoinSet<DrainFinished>,
    failures: HashMap<Key, u32>,
    held: HashMap<Key, Instant>,
    wakes: BTreeSet<(Instant, Key)>,
    last_status: HashMap<String, Instant>,
    /// Until then the cluster is taken not to have the kind of the objects about nodes.
    no_reports: Option<Instant>,
    /// Before this no pool is planned again: a plan looks at all nodes of its pool.
    plan_at: Instant,
    /// Whether the Nodes have been read since this replica leads. What the last leader wrote is known then.
    confirmed: bool,
    synced: bool,
}

impl PoolEngine {
    pub(super) fn new(
        client: Client,
        options: Options,
        claims: Option<watch::Receiver<Claim>>,
        metrics: Metrics,
    ) -> Self {
        let writer = Writer::new(client, claims.clone(), metrics.clone(), options.clock.clone());
        Self {
            writer: Arc::new(writer),
            options,
            metrics,
            confirmed: claims.is_none(),
            claims,
            state: PoolState::default(),
            inputs: BTreeMap::new(),
            controller: None,
            renderings: BTreeMap::new(),
            refused: BTreeMap::new(),
            began: Instant::now(),
            settle: Settle::default(),
            collect_at: None,
            moves: VecDeque::new(),
            taints: VecDeque::new(),
            running: JoinSet::new(),
            busy: HashSet::new(),
            pending: HashMap::new(),
            drains: HashMap::new(),
            draining: JoinSet::new(),
            failures: HashMap::new(),
            held: HashMap::new(),
            wakes: BTreeSet::new(),
            last_status: HashMap::new(),
            no_reports: None,
            plan_at: Instant::now(),
            synced: false,
        }
    }

    pub(super) async fn run(mut self, changes: Mailbox, shutdown: CancellationToken) {
        let mut claims = self.claims.clone();
        loop {
            let wake = self.next_wake();
            tokio::select! {
                () = shutdown.cancelled() => break,
                changes = changes.take() => changes.into_iter().for_each(|change| self.state.apply(change)),
                Some(done) = self.running.join_next() => {
                    // All that are done are taken before anything is planned anew.
                    let mut next = Some(done);
                    while let Some(done) = next {
                        if let Ok(finished) = done {
                            self.done(finished);
                        }
                        next = self.running.try_join_next();
                    }
                }
                Some(done) = self.draining.join_next() => {
                    // A drain that was called off has been forgotten already.
                    if let Ok(finished) = done {
                        self.drained(finished);
                    }
                }
                () = sleep_until(wake) => {}
                () = claim_changed(&mut claims) => {}
            }
            self.wake();
            self.step();
        }
        // Drains can be taken up again by whoever comes next; writes that have begun are finished.
        self.draining.shutdown().await;
        while self.running.join_next().await.is_some() {}
    }

    fn leads(&self) -> bool {
        self.claims.as_ref().is_none_or(|claims| claims.borrow().is_current())
    }

    /// When there is something to do although nothing happens. What only a leader does wakes no other replica: it would find
    /// it due again and again.
    fn next_wake(&self) -> Option<Instant> {
        let mut wakes = vec![self.wakes.first().map(|(at, _)| *at)];
        if self.leads() && self.state.is_synced() {
            wakes.push(self.settle.due().map(|due| self.began + due));
            wakes.push(self.collect_at);
            wakes.push((!self.state.dirty.is_empty()).then_some(self.plan_at));
        }
        wakes.into_iter().flatten().min()
    }

    /// Everything that can be decided now.
    fn step(&mut self) {
        if !self.state.is_synced() {
            return;
        }
        if !self.synced {
            self.synced = true;
            info!(pools = self.state.pools.len(), "the pools are known");
        }
        self.state.place();
        self.schedule();
        if !self.leads() {
            self.stand_by();
            return;
        }
        if !self.confirmed {
            self.start(Key::Confirm, Job::Confirm);
        }
        self.render();
        self.plan(Instant::now());
        self.answer_daemons();
        self.collect();
        self.start_waiting();
    }

    /// Another replica leads: nothing waits to be written by this one.
    fn stand_by(&mut self) {
        self.confirmed = false;
        for (key, _) in self.moves.drain(..).chain(self.taints.drain(..)) {
            self.busy.remove(&key);
            if let Key::Node(name) = key {
                self.pending.remove(&name);
            }
        }
        for (_, drain) in self.drains.drain() {
            drain.task.abort();
        }
        // All is looked at anew when this replica leads again.
        self.state.dirty.extend(self.state.pools.keys().cloned());
    }

    /// Several changes together give one rendered config: it is made when nothing has changed for a while.
    fn schedule(&mut self) {
        let now = Instant::now();
        let settle = self.options.pools.settle;
        if std::mem::take(&mut self.state.inputs_changed) {
            self.settle.changed(now - self.began, settle);
        }
        if std::mem::take(&mut self.state.references_changed) {
            self.collect_at = Some(self.collect_at.unwrap_or(now + settle).min(now + settle));
        }
    }

    fn may_start(&self, key: &Key) -> bool {
        !self.busy.contains(key) && self.held.get(key).is_none_or(|until| *until <= Instant::now())
    }

    /// Starts a job that waits for nothing.
    fn start(&mut self, key: Key, job: Job) {
        if !self.may_start(&key) {
            return;
        }
        self.busy.insert(key.clone());
        self.spawn(key, job);
    }

    fn spawn(&mut self, key: Key, job: Job) {
        let writer = self.writer.clone();
        self.running
            .spawn(async move { (key, or_broken(Box::pin(jobs::run(writer, job))).await) });
    }

    fn start_waiting(&mut self) {
        while self.running.len() < self.options.writers.max(1)
            && let Some((key, job)) = self.next_job()
        {
            self.spawn(key, job);
        }
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.metrics.drains.set(gauge(self.drains.len()));
        self.metrics.rendered.set(gauge(self.state.rendered.len()));
    }

    /// Nodes that move come first, and what is only said about them last.
    fn next_job(&mut self) -> Option<(Key, Job)> {
        let written = self.moves.pop_front().or_else(|| self.taints.pop_front());
        written.or_else(|| self.next_report())
    }

    fn next_report(&mut self) -> Option<(Key, Job)> {
        if self.no_reports.is_some_and(|until| Instant::now() < until) {
            self.state.unreported.clear();
            return None;
        }
        loop {
            let mut names = self.state.unreported.iter();
            let name = names
                .find(|name| self.may_start(&Key::Report((*name).clone())))?
                .clone();
            self.state.unreported.remove(&name);
            let pool = self.state.pool_of(&name).map(str::to_owned);
            // A node in no pool runs no config.
            if let Some(member) = self.state.member(&name).filter(|_| pool.is_some()) {
                let key = Key::Report(name);
                self.busy.insert(key.clone());
                return Some((key, Job::Report(Box::new(member), pool)));
            }
        }
    }

    fn done(&mut self, (key, result): Finished) {
        self.busy.remove(&key);
        match result {
            Ok(answer) => {
                self.failures.remove(&key);
                self.held.remove(&key);
                self.take(answer);
                match key {
                    Key::Node(name) => {
                        self.pending.remove(&name);
                        self.state.dirty_pool_of(&name);
                    }
                    Key::Status(pool) => {
                        self.last_status.insert(pool.clone(), Instant::now());
                        self.state.dirty.insert(pool);
                    }
                    // What changed meanwhile could not be started beside it.
                    Key::Render(_) | Key::Made(_) | Key::Setting(..) | Key::Templates
                        if self.settle.due().is_none() =>
                    {
                        self.settle.changed(self.began.elapsed(), Duration::ZERO);
                    }
                    _ => {}
                }
            }
            Err(error) => self.failed(key, &error),
        }
    }

    fn take(&mut self, answer: Answer) {
        match answer {
            Answer::Pool(pool, config) => {
                if let Some(config) = config {
                    self.state.config(config);
                }
                self.state.pool(*pool);
            }
            Answer::Irreconcilable {
                pool,
                rendered,
                current,
                why,
            } => {
                warn!(pool, why, "the rendered config cannot follow the current one");
                self.state.dirty.insert(pool.clone());
                self.refused.insert(pool, Refused { rendered, current, why });
            }
            Answer::Config(config) => self.state.config(config),
            Answer::Setting(setting) => self.state.setting(*setting),
            Answer::Template(view) => self.state.template(*view),
            Answer::Node(node) => self.state.written(KeptNode::from(*node)),
            Answer::Nodes(nodes) => {
                for node in nodes {
                    self.state.written(node);
                }
                self.confirmed = true;
                self.state.dirty.extend(self.state.pools.keys().cloned());
            }
            Answer::NoReports => self.no_reports = Some(Instant::now() + NO_KIND),
            Answer::Nothing => {}
        }
    }

    fn failed(&mut self, key: Key, error: &WriteError) {
        let failures = self.failures.entry(key.clone()).or_default();
        *failures += 1;
        let mut wait = RETRIES.after(*failures, error.retry_after());
        if error.is_outdated() {
            wait = wait.min(LONGEST_CONFLICT);
            debug!(?key, error = error as &dyn std::error::Error, "deciding again");
        } else {
            self.metrics.unusable.inc();
            warn!(
                ?key,
                error = error as &dyn std::error::Error,
                ?wait,
                "a write failed and is tried again"
            );
        }
        if let Key::Node(name) = &key {
            if matches!(error, WriteError::Timeout) {
                // It may have been carried out all the same: the planner goes on counting it until that is certain.
                wait = wait.max(IN_DOUBT);
            } else {
                self.pending.remove(name);
            }
        }
        let until = Instant::now() + wait;
        self.held.insert(key.clone(), until);
        self.wakes.insert((until, key));
    }

    fn drained(&mut self, (name, result): DrainFinished) {
        let key = Key::Drain(name.clone());
        self.drains.remove(&name);
        match result {
            Ok(Drained::Done(node)) => {
                self.failures.remove(&key);
                self.state.written(KeptNode::from(*node));
            }
            Ok(Drained::Superseded) => {}
            Err(error) => self.failed(key, &error),
        }
        self.state.dirty_pool_of(&name);
    }

    /// Looks again at what has waited long enough.
    fn wake(&mut self) {
        let now = Instant::now();
        while let Some((at, _)) = self.wakes.first()
            && *at <= now
            && let Some((_, key)) = self.wakes.pop_first()
        {
            match &key {
                Key::Status(pool) | Key::Note(pool) => {
                    self.state.dirty.insert(pool.clone());
                }
                Key::Render(_) | Key::Made(_) | Key::Setting(..) | Key::Templates => {
                    self.settle.changed(now - self.began, Duration::ZERO);
                }
                Key::Node(name) | Key::Drain(name) => {
                    if !self.busy.contains(&key) {
                        self.pending.remove(name);
                    }
                    self.state.dirty_pool_of(name);
                }
                Key::Report(name) => drop(self.state.unreported.insert(name.clone())),
                Key::Config(_) => self.collect_at = Some(now),
                Key::Confirm => {}
            }
        }
    }
}
