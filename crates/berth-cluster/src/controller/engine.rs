//! The engine: one task that owns the state, decides, and hands writes to the writers.

mod admission;
mod brake;
mod denials;
mod plan;
mod round;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use berth_labels::{Flavour, LabelSet};
use berth_nodes::Pace;
use berth_site::{Resolver, Site};
use kube::Client;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use self::{
    admission::OwnLabels,
    brake::BrakeState,
    denials::Denials,
    round::{ENOUGH_JOBS, Round},
};
use super::{
    Options, RETRIES,
    health::Health,
    heartbeats::Heartbeats,
    kept::{KeptBerth, KeptNode, Text},
    metrics::Metrics,
    policies::Wanted,
    state::State,
    watches::ClusterChange,
    writer::{Verdict, Work, WriteError, Writer, Written},
};
use crate::lease::Claim;
use berth_decide::{
    CertificateDecision, CertificateRequest, Definitions, Question, Reservation, Reserved, adopt, is_adoptable, reserve,
};
use berth_resources::Phase;

/// The pauses after writes that came too late, because somebody else has just written. Beside an operator that writes to a Node
/// whenever it is moved this happens a few times in a row, and people wait for the move.
const SECOND_LOOKS: Pace = Pace {
    first: Duration::from_millis(10),
    longest: RETRIES.longest,
};
/// The same where the Node was read, and is another one than the decision was made from. A Node that others write to for long is right
/// soon after they stop, however often they were faster before.
const OVERTAKEN: Pace = Pace {
    first: SECOND_LOOKS.first,
    longest: Duration::from_millis(200),
};
/// How many changes are taken at once before the next decision.
const BATCH: usize = 2048;

/// So long the end waits for events that are not written yet.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// While so many jobs wait to tell something, no further ones are kept: what was done is in the log and in the objects.
const MOST_EVENTS: usize = 10_000;

/// What one job is about: at most one runs for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Node(String),
    Certificate(String),
    /// Events about what was done. Nothing waits for them, and any number runs.
    Events,
}

#[derive(Debug)]
struct Job {
    key: Key,
    work: Vec<Work>,
}

type Outcome = (Key, (Written, Result<(), WriteError>));

/// Decides about nodes when something about them changes.
pub(super) struct Engine {
    options: Options,
    claims: Option<watch::Receiver<Claim>>,
    metrics: Metrics,
    health: Health,
    writer: Arc<Writer>,
    state: State,
    definitions: Definitions,
    /// The documents, read; `None` when there is no such source or it has not spoken yet.
    documents: Option<Arc<Site>>,
    documents_changed: bool,
    /// Nodes whose Berths are being made as the documents ask. One that fails is tried again.
    reserving: BTreeSet<String>,
    /// Nodes whose Berths should change and that another job is running for.
    postponed: BTreeSet<String>,
    /// The brake on mass removal.
    brake: BrakeState,
    /// Nodes that were in their places under the definitions of now. Should their labels say another pool, somebody changed
    /// them.
    witnessed: HashSet<Text>,
    jobs: VecDeque<Job>,
    /// Statuses that may wait until no Node does.
    later: VecDeque<Job>,
    /// What was done, to be told as events once nothing else is to be written.
    events: VecDeque<Job>,
    /// Certificate requests to be denied. Anybody with a token can make many, so that Nodes come first.
    denials: Denials,
    running: JoinSet<Outcome>,
    /// Nodes that are looked at in parts.
    round: Round,
    /// Nodes that a job waits or runs for.
    busy: BTreeSet<String>,
    /// Those of them that something happened to meanwhile.
    blocked: BTreeSet<String>,
    /// Certificate requests that a job waits or runs for, or that wait to be tried again.
    busy_certificates: BTreeSet<String>,
    failures: HashMap<Key, u32>,
    wakes: BTreeSet<(Instant, String)>,
    /// Certificate requests whose approval failed, and when it is tried again.
    retries: BTreeSet<(Instant, String)>,
    /// The nodes that have any.
    conflicts: HashMap<String, usize>,
    /// Removals that the brake holds back, by node.
    held: HashMap<String, usize>,
    synced: bool,
    /// What the roster says beside places.
    own_labels: OwnLabels,
    /// Where the admission policies go that should be in the cluster.
    wanted: Option<watch::Sender<Option<Arc<Wanted>>>>,
    /// When to look whether the policies have to change.
    policies_at: Option<Instant>,
}

impl Engine {
    pub(super) fn new(
        client: Client,
        options: Options,
        claims: Option<watch::Receiver<Claim>>,
        metrics: Metrics,
        health: Health,
        wanted: Option<watch::Sender<Option<Arc<Wanted>>>>,
    ) -> Self {
        let writer = Writer::new(client, claims.clone(), metrics.clone(), options.clock.clone());
        Self {
            definitions: Definitions::new([], options.flavour),
            writer: Arc::new(writer),
            options,
            claims,
            metrics,
            health,
            state: State::default(),
            documents: None,
            documents_changed: false,
            reserving: BTreeSet::new(),
            postponed: BTreeSet::new(),
            brake: BrakeState::default(),
            witnessed: HashSet::new(),
            jobs: VecDeque::new(),
            later: VecDeque::new(),
            events: VecDeque::new(),
            denials: Denials::default(),
            running: JoinSet::new(),
            round: Round::default(),
            busy: BTreeSet::new(),
            blocked: BTreeSet::new(),
            busy_certificates: BTreeSet::new(),
            failures: HashMap::new(),
            wakes: BTreeSet::new(),
            retries: BTreeSet::new(),
            conflicts: HashMap::new(),
            held: HashMap::new(),
            synced: false,
            own_labels: OwnLabels::default(),
            wanted,
            policies_at: None,
        }
    }

    /// What is heard of kubelets.
    pub(super) fn listen_to(&mut self, heartbeats: Heartbeats) {
        self.state.heartbeats = heartbeats;
    }

    pub(super) async fn run(mut self, mut changes: mpsc::Receiver<ClusterChange>, shutdown: CancellationToken) {
        let mut buffer = Vec::new();
        let mut documents = self.options.documents.clone();
        if let Some(documents) = &mut documents {
            documents.mark_changed();
        }
        let mut claims = self.claims.clone();
        loop {
            let wake = self.next_wake();
            tokio::select! {
                () = shutdown.cancelled() => break,
                count = changes.recv_many(&mut buffer, BATCH) => {
                    if count == 0 {
                        break;
                    }
                    buffer.drain(..).for_each(|change| self.state.apply(change));
                }
                Some(done) = self.running.join_next() => {
                    // All that are done make room for others, before anything else takes time.
                    let mut next = Some(done);
                    while let Some(done) = next {
                        if let Ok(outcome) = done {
                            self.done(outcome);
                        }
                        next = self.running.try_join_next();
                    }
                }
                // The next part of a round waits for nothing but the writers.
                () = std::future::ready(()), if self.may_go_on() => {}
                () = sleep_until(wake) => self.wake(),
                () = sleep_until(self.policies_at) => self.publish_policies(),
                Some(site) = next_documents(&mut documents) => self.documents_came(site),
                () = claim_changed(&mut claims) => {}
            }
            self.step();
        }
        // What was begun is finished: a half-done pair of Node and status would be repaired later, but need not be.
        while let Some(done) = self.running.join_next().await {
            if let Ok(outcome) = done {
                self.done(outcome);
            }
        }
        // So are statuses that waited until no Node did, and it is told, as far as that goes quickly.
        let rest = std::mem::take(&mut self.later).into_iter().map(|job| job.work);
        let told = std::mem::take(&mut self.events).into_iter().flat_map(|job| job.work);
        let rest: Vec<Vec<Work>> = rest.chain([told.collect()]).collect();
        let last_words = async {
            for work in rest {
                // Whoever decides next finds what fails now.
                let _ = self.writer.clone().run(work).await;
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, last_words).await;
    }

    fn leads(&self) -> bool {
        self.claims.as_ref().is_none_or(|claims| claims.borrow().is_current())
    }

    /// Whether the next part of a round may be looked at.
    fn may_go_on(&self) -> bool {
        !self.round.is_over() && self.jobs.len() < ENOUGH_JOBS && self.leads()
    }

    /// Everything that can be decided now.
    fn step(&mut self) {
        let leads = self.leads();
        self.metrics.leading.set(i64::from(leads));
        if !self.state.is_synced() {
            return;
        }
        if !self.synced {
            self.synced = true;
            self.health.set_synced();
            info!(
                nodes = self.state.nodes.len(),
                berths = self.state.berths.len(),
                "the caches are filled"
            );
        }
        self.define();
        self.policies_changed();
        if !leads {
            // Whoever leads meanwhile changes what the plans were made from.
            self.state.dirty.extend(self.round.give_up());
            return;
        }
        // Berths that come one after the other, as when a site is new, are compared once and not once each: every comparison
        // looks at the whole site.
        if self.documents_changed || (self.state.berths_changed && self.jobs.is_empty() && self.round.is_over()) {
            self.documents_changed = false;
            self.state.berths_changed = false;
            self.reserve();
        }
        self.decide();
        self.policies_changed();
        self.certificates();
        self.start();
        self.observe();
    }

    /// Reads pools and rules anew where they changed, and looks at every node again.
    fn define(&mut self) {
        if !std::mem::take(&mut self.state.definitions_changed) {
            return;
        }
        self.definitions = Definitions::new(self.state.definitions(), self.flavour());
        for finding in self.definitions.findings() {
            warn!(object = finding.place(), code = finding.code, "{}", finding.message);
        }
        self.own_labels.define(&self.definitions);
        self.state.all_dirty();
        self.state.dirty.extend(self.round.give_up());
        self.state.places_changed = true;
        self.brake.release();
        self.witnessed.clear();
        self.count_prospects();
    }

    fn flavour(&self) -> Flavour {
        match &self.documents {
            Some(site) => site.flavour_for(self.options.flavour),
            None => self.options.flavour(),
        }
    }

    /// Berths that the documents ask for.
    fn reserve(&mut self) {
        let Some(site) = self.documents.clone() else {
            return;
        };
        self.postponed.clear();
        let existing: Vec<Reserved> = self.state.berths.by_seniority().map(KeptBerth::reserved).collect();
        let resolver = Resolver::new(&site, self.flavour());
        let reservations = reserve(&resolver, &existing, self.options.allow_mass_removal);
        self.foresee(&reservations);
        for reservation in reservations {
            let (node, work) = match reservation {
                Reservation::Create(berth) => (berth.node_name(), Work::Create(berth)),
                Reservation::Update { name, spec } => {
                    let Some(berth) = self.state.berths.get(&name) else {
                        continue;
                    };
                    let berth = Box::new(berth.berth());
                    (berth.node_name(), Work::Update { berth, spec })
                }
                Reservation::Delete { name } => {
                    let Some(berth) = self.state.berths.get(&name) else {
                        continue;
                    };
                    let uid = berth.berth().metadata.uid;
                    (berth.node_name().to_string(), Work::Delete { berth: name, uid })
                }
            };
            if self.busy.insert(node.clone()) {
                self.reserving.insert(node.clone());
                self.jobs.push_back(Job {
                    key: Key::Node(node),
                    work: vec![work],
                });
            } else {
                self.postponed.insert(node);
            }
        }
    }

    /// No job runs for the node any more. When that holds for all whose Berths should change, the documents are compared again:
    /// once, because every comparison looks at the whole site.
    fn is_free(&mut self, node: &str) {
        self.busy.remove(node);
        if self.blocked.remove(node) {
            self.state.dirty.insert(node.to_owned());
        }
        if self.postponed.remove(node) && self.postponed.is_empty() {
            self.documents_changed = true;
        }
    }

    /// A Node that nobody reserved gets a Berth of its own.
    fn adopt(&mut self, name: &str) {
        let node = self.state.nodes.get(name).filter(|_| self.options.adopt);
        let Some(node) = node.map(KeptNode::view).filter(is_adoptable) else {
            return;
        };
        let declared = self.documents.as_ref().is_some_and(|site| {
            let resolver = Resolver::new(site, self.flavour());
            resolver.subject(name).is_some_and(berth_site::Subject::is_declared)
        });
        if declared || !self.busy.insert(name.to_owned()) {
            return;
        }
        let declared = if node.owned().is_none_or(|owned| owned.is_empty()) {
            LabelSet::new()
        } else {
            let question = Question {
                node: name,
                berth: None,
                pin: None,
                live: Some(&node),
            };
            let answer = self.definitions.resolve(&[question]).into_iter().next();
            answer.map(|answer| answer.labels).unwrap_or_default()
        };
        let berth = adopt(&node, &declared);
        debug!(node = name, "adopting the Node");
        self.jobs.push_back(Job {
            key: Key::Node(name.to_owned()),
            work: vec![Work::Create(Box::new(berth))],
        });
    }

    /// Whether nothing is to be decided or written for the node.
    fn is_settled(&self, node: &str) -> bool {
        !self.busy.contains(node) && !self.state.dirty.contains(node) && !self.round.has(node)
    }

    /// Requests that are decided once their Node is there.
    fn certificates(&mut self) {
        if !self.options.approve {
            return;
        }
        for name in self.denials.make_room() {
            self.state.requests.look_again(&name);
        }
        // One that is being written or waits to be tried again is not decided meanwhile, nor before its Node is settled.
        let due = self.state.requests.due().filter(|request| {
            !self.busy_certificates.contains(&request.name) && request.node().is_none_or(|node| self.is_settled(node))
        });
        let due: Vec<CertificateRequest> = due.cloned().collect();
        let now = self.options.clock.now();
        for request in due {
            let name = request.name.clone();
            let verdict = match self.state.certificate(&name, now) {
                Some(CertificateDecision::Approve { node, .. }) if !self.state.is_awaited(&node) => continue,
                Some(CertificateDecision::Approve { node, token }) => Verdict::Approve { node, token },
                Some(CertificateDecision::Deny { message }) => Verdict::Deny { message },
                Some(CertificateDecision::Leave { why, .. }) => {
                    debug!(request = name, why, "the certificate request is left alone");
                    self.state.requests.put_aside(&name);
                    continue;
                }
                None => continue,
            };
            self.state.requests.put_aside(&name);
            let denied = matches!(verdict, Verdict::Deny { .. });
            if denied && self.denials.is_full() {
                self.denials.postpone(name);
                continue;
            }
            self.busy_certificates.insert(name.clone());
            let job = Job {
                key: Key::Certificate(name),
                work: vec![Work::Certificate {
                    request: Box::new(request),
                    verdict,
                }],
            };
            if denied {
                self.denials.push(job);
            } else {
                self.jobs.push_back(job);
            }
        }
    }

    fn next_job(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front();
        job.or_else(|| self.denials.start())
            .or_else(|| self.later.pop_front())
            .or_else(|| self.events.pop_front())
    }

    fn start(&mut self) {
        while self.running.len() < self.options.writers.max(1)
            && let Some(job) = self.next_job()
        {
            let writer = self.writer.clone();
            self.running.spawn(async move { (job.key, writer.run(job.work).await) });
        }
    }

    fn done(&mut self, (key, (mut written, result)): Outcome) {
        let (Key::Node(name) | Key::Certificate(name)) = &key else {
            return;
        };
        let told = std::mem::take(&mut written.told);
        if !told.is_empty() && self.events.len() < MOST_EVENTS {
            self.events.push_back(Job {
                key: Key::Events,
                work: vec![Work::Tell(told)],
            });
        }
        match &key {
            Key::Node(name) => {
                let arrived = result.is_ok() || written.node.is_some();
                self.brake.ended(name, arrived, Instant::now());
            }
            Key::Certificate(_) => self.denials.ended(&key),
            Key::Events => {}
        }
        self.state.written(
            written.node.or(written.seen).map(KeptNode::from),
            written.berth.as_ref().map(KeptBerth::from),
        );
        if let Some(machine) = written.machine {
            self.state.machine_read(name, machine);
        }
        let error = match result {
            Ok(()) => {
                self.failures.remove(&key);
                if let (Key::Node(_), Some(work)) = (&key, written.later) {
                    self.later.push_back(Job { key, work: vec![work] });
                    return;
                }
                match &key {
                    Key::Node(name) => {
                        self.reserving.remove(name);
                        self.is_free(name);
                    }
                    Key::Certificate(name) => {
                        self.busy_certificates.remove(name);
                    }
                    Key::Events => {}
                }
                return;
            }
            Err(error) => error,
        };
        let failures = self.failures.entry(key.clone()).or_default();
        *failures += 1;
        let is_outdated = error.is_outdated();
        let wait = pace(is_outdated, written.overtaken).after(*failures, error.retry_after());
        if is_outdated {
            debug!(name, error = &error as &dyn std::error::Error, "deciding again");
        } else {
            self.metrics.unusable.inc();
            warn!(
                name,
                error = &error as &dyn std::error::Error,
                ?wait,
                "a write failed and is tried again"
            );
        }
        let at = Instant::now() + wait;
        match key {
            Key::Node(name) => {
                self.is_free(&name);
                self.wakes.insert((at, name));
            }
            Key::Certificate(name) => {
                self.retries.insert((at, name));
            }
            Key::Events => {}
        }
    }

    /// When to look again although nothing happened.
    fn next_wake(&self) -> Option<Instant> {
        let first = [self.wakes.first(), self.retries.first()];
        first.into_iter().flatten().map(|(at, _)| *at).min()
    }

    fn wake(&mut self) {
        let now = Instant::now();
        while let Some((at, _)) = self.wakes.first()
            && *at <= now
            && let Some((_, name)) = self.wakes.pop_first()
        {
            self.documents_changed |= self.reserving.remove(&name);
            self.state.dirty.insert(name);
        }
        while let Some((at, _)) = self.retries.first()
            && *at <= now
            && let Some((_, name)) = self.retries.pop_first()
        {
            self.busy_certificates.remove(&name);
            if !self.state.requests.look_again(&name) {
                self.failures.remove(&Key::Certificate(name));
            }
        }
    }

    fn observe(&self) {
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.metrics.nodes.set(gauge(self.state.nodes.len()));
        self.metrics.waiting.set(gauge(
            self.state.dirty.len()
                + self.round.len()
                + self.jobs.len()
                + self.denials.len()
                + self.later.len()
                + self.events.len()
                + self.running.len(),
        ));
        self.metrics.conflicts.set(gauge(self.conflicts.values().sum()));
        self.metrics.held_removals.set(gauge(self.held.values().sum()));
        for phase in [Phase::Reserved, Phase::Occupied, Phase::Vacant, Phase::Released] {
            self.metrics.berths(phase, self.state.berths.count(phase));
        }
    }
}

/// How long to wait after failures.
const fn pace(is_outdated: bool, overtaken: bool) -> Pace {
    match (is_outdated, overtaken) {
        (true, true) => OVERTAKEN,
        (true, false) => SECOND_LOOKS,
        (false, _) => RETRIES,
    }
}

pub(super) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn next_documents(documents: &mut Option<watch::Receiver<Arc<Site>>>) -> Option<Arc<Site>> {
    let Some(receiver) = documents else {
        return std::future::pending().await;
    };
    if receiver.changed().await.is_err() {
        *documents = None;
        return None;
    }
    Some(receiver.borrow_and_update().clone())
}

pub(super) async fn claim_changed(claims: &mut Option<watch::Receiver<Claim>>) {
    match claims {
        Some(receiver) => {
            if receiver.changed().await.is_err() {
                *claims = None;
            }
        }
        None => std::future::pending().await,
    }
}
