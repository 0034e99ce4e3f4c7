//! Many simulated machines on one cluster, on simulated time.
//!
//! Every machine is a little program of its own: it boots, asks for its certificate, registers, renews its lease. What is
//! due next is taken from one queue, so the same seed gives the same run to the letter. The kubelet behaves as the real
//! one was seen to; see the comments at [`Fleet`]'s steps.

mod daemon;
mod kubelet;
mod lifecycle;
mod pods;
mod steps;

pub use steps::UnknownMachine;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use berth_clock::Clock;
use berth_labels::Flavour;
use jiff::Timestamp;

use crate::{
    access::Identity,
    cluster::{Caller, Cluster},
    machine::{Disk, IgnitionSource},
};

/// Simulated time: it moves when it is told to.
#[derive(Clone, Debug)]
pub struct SimulatedTime(Arc<AtomicI64>);

impl SimulatedTime {
    /// Begins at a moment.
    pub fn starting_at(start: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(start.as_second())))
    }

    /// The clock of a cluster that lives in this time.
    pub fn clock(&self) -> Clock {
        let seconds = Arc::clone(&self.0);
        Clock::new(move || Timestamp::from_second(seconds.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX))
    }

    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn set(&self, seconds: i64) {
        self.0.store(seconds, Ordering::SeqCst);
    }
}

/// How long things take on a machine, and what goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Habits {
    /// From power to a running system, in seconds.
    pub boot_seconds: i64,
    /// Up to so many seconds more, by chance.
    pub boot_jitter: i64,
    /// Its Pods never go: draining does not end.
    pub stuck_drain: bool,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            boot_seconds: 90,
            boot_jitter: 0,
            stuck_drain: false,
        }
    }
}

/// How far a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Without power.
    Off,
    /// Between power and a running system.
    Booting,
    /// Its kubelet exits whenever it is started.
    KubeletStopped,
    /// Its kubelet waits for its certificate.
    Requesting,
    /// Its kubelet runs and has registered.
    Running,
    /// It is being drained.
    Draining,
    /// It reboots for a change.
    Rebooting,
}

impl Phase {
    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Booting => "booting",
            Self::KubeletStopped => "kubelet stopped",
            Self::Requesting => "requesting",
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Rebooting => "rebooting",
        }
    }
}

/// One machine.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) disk: Disk,
    pub(crate) habits: Habits,
    pub(crate) phase: Phase,
    /// What its kubelet is known by; kept over reboots, as certificates are.
    pub(crate) credential: Option<Identity>,
    /// The labels of the flags that the running kubelet was started with.
    pub(crate) flags: Vec<(String, String)>,
    /// The uid of the Node that the kubelet last wrote to.
    pub(crate) node_uid: Option<String>,
    /// Counts starts of the kubelet: what was due for an earlier one is not done.
    pub(crate) life: u64,
    pub(crate) boots: u32,
    /// Its disk has been configured: Ignition runs once.
    pub(crate) configured: bool,
    /// Who it is before it has a certificate.
    pub(crate) bootstrap: Identity,
    /// Why it does not go on, told once.
    pub(crate) waits_for: String,
}

/// What a machine does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MachineStep {
    /// The system runs: the generator and the kubelet start.
    Started,
    /// Look whether the certificate is there.
    AskAgain,
    /// Lease, status, and what the node daemon has to do.
    Beat,
}

/// A step and when it is due. The order of fields is the order of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: i64,
    /// Of steps that are due at once, the one that was put in first.
    sequence: u64,
    machine: usize,
    life: u64,
    step: MachineStep,
}

/// Machines, their cluster, and the queue of what is due.
#[derive(Debug)]
pub struct Fleet {
    cluster: Cluster,
    time: SimulatedTime,
    start: i64,
    flavour: Flavour,
    machines: Vec<Machine>,
    by_name: BTreeMap<String, usize>,
    due: BinaryHeap<Reverse<Due>>,
    sequence: u64,
    /// When leases and Pods are looked at next.
    look_at: i64,
    chance: crate::ids::Ids,
    approves: bool,
    /// Somebody else answers what pools want of the machines.
    has_daemons: bool,
    ignition: Option<IgnitionSource>,
    transcript: Vec<String>,
}

impl Fleet {
    /// No machines yet, on a cluster that lives in the same time.
    pub fn new(cluster: Cluster, time: SimulatedTime, flavour: Flavour, seed: u64) -> Self {
        Self {
            start: time.now(),
            look_at: time.now(),
            cluster,
            time,
            flavour,
            machines: Vec::new(),
            by_name: BTreeMap::new(),
            due: BinaryHeap::new(),
            sequence: 0,
            chance: crate::ids::Ids::new(seed),
            approves: false,
            has_daemons: false,
            ignition: None,
            transcript: Vec::new(),
        }
    }

    /// Adds a machine without power. The answer is false if there is one of this name.
    pub fn add(&mut self, name: &str, disk: Disk, habits: Habits) -> bool {
        if self.by_name.contains_key(name) {
            return false;
        }
        self.by_name.insert(name.to_owned(), self.machines.len());
        self.machines.push(Machine {
            name: name.to_owned(),
            disk,
            habits,
            phase: Phase::Off,
            credential: None,
            flags: Vec::new(),
            node_uid: None,
            life: 0,
            boots: 0,
            configured: false,
            bootstrap: Identity::bootstrap("berth0"),
            waits_for: String::new(),
        });
        true
    }

    /// Approves every certificate request at once, as the controller of a real cluster does where Berth does not.
    pub fn approve_all(&mut self, approves: bool) {
        self.approves = approves;
    }

    /// Somebody else answers what pools want of the machines: node daemons of their own.
    pub fn leave_configs_to_daemons(&mut self) {
        self.has_daemons = true;
    }

    /// Says that a machine was installed in another way, so that it fetches no Ignition.
    pub fn installed(&mut self, name: &str) {
        let machine = self.by_name.get(name).and_then(|index| self.machines.get_mut(*index));
        if let Some(machine) = machine {
            machine.configured = true;
        }
    }

    /// Where machines fetch their Ignition at their first boot. Without one their disks are as they were given.
    pub fn fetch_from(&mut self, source: IgnitionSource) {
        self.ignition = Some(source);
    }

    /// Gives a machine a bootstrap token of its own, by its id.
    pub fn bootstrap_with(&mut self, name: &str, token_id: &str) {
        let machine = self.by_name.get(name).and_then(|index| self.machines.get_mut(*index));
        if let Some(machine) = machine {
            machine.bootstrap = Identity::bootstrap(token_id);
        }
    }

    /// The names of the machines, in the order they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.machines.iter().map(|machine| machine.name.as_str())
    }

    /// How far a machine is.
    pub fn phase(&self, name: &str) -> Option<Phase> {
        self.find(name).map(|machine| machine.phase)
    }

    /// How often a machine has booted.
    pub fn boots(&self, name: &str) -> Option<u32> {
        self.find(name).map(|machine| machine.boots)
    }

    /// The disk of a machine, as it is.
    pub fn disk(&self, name: &str) -> Option<&Disk> {
        self.find(name).map(|machine| &machine.disk)
    }

    /// The disk of a machine.
    pub fn disk_mut(&mut self, name: &str) -> Option<&mut Disk> {
        let index = *self.by_name.get(name)?;
        self.machines.get_mut(index).map(|machine| &mut machine.disk)
    }

    /// How long things take on a machine.
    pub fn habits_mut(&mut self, name: &str) -> Option<&mut Habits> {
        let index = *self.by_name.get(name)?;
        self.machines.get_mut(index).map(|machine| &mut machine.habits)
    }

    /// The seconds since the beginning.
    pub fn elapsed(&self) -> i64 {
        self.time.now().saturating_sub(self.start)
    }

    /// Everything that was told so far, and nothing of it a second time.
    pub fn take_transcript(&mut self) -> Vec<String> {
        std::mem::take(&mut self.transcript)
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn find(&self, name: &str) -> Option<&Machine> {
        self.machines.get(*self.by_name.get(name)?)
    }

    pub(crate) fn tell(&mut self, who: &str, what: &str) {
        let elapsed = self.elapsed();
        self.transcript.push(format!("{elapsed:>5}s  {who:<6} {what}"));
    }

    fn push(&mut self, index: usize, after: i64, step: MachineStep) {
        let Some(machine) = self.machines.get(index) else {
            return;
        };
        self.sequence = self.sequence.saturating_add(1);
        self.due.push(Reverse(Due {
            at: self.time.now().saturating_add(after.max(0)),
            sequence: self.sequence,
            machine: index,
            life: machine.life,
            step,
        }));
    }

    /// Lets time pass, with everything that is due in it.
    pub async fn run(&mut self, seconds: i64) {
        let until = self.time.now().saturating_add(seconds);
        loop {
            let next = self
                .due
                .peek()
                .map(|Reverse(next)| *next)
                .filter(|next| next.at <= until);
            if self.look_at <= next.map_or(until, |next| next.at) {
                self.time.set(self.look_at.max(self.time.now()));
                self.look_at = self.time.now().saturating_add(lifecycle::LOOK_EVERY);
                self.look_at_leases().await;
                self.tend_pods().await;
                continue;
            }
            let Some(next) = next else { break };
            self.due.pop();
            self.time.set(next.at.max(self.time.now()));
            let current = self
                .machines
                .get(next.machine)
                .is_some_and(|machine| machine.life == next.life);
            if current {
                self.step(next.machine, next.step).await;
            }
        }
        self.time.set(until);
    }

    pub(crate) fn administrator() -> Caller {
        Caller {
            identity: Identity::administrator(),
            agent: "machine-config-daemon".to_owned(),
        }
    }
}
