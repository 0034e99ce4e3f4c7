//! The state machine carried out on a host.
//!
//! Whoever speaks to the cluster calls [`Daemon::turn`] with what it saw, does what the turn asks for and calls again when
//! there is news. Everything else happens in here, on the host alone.

mod deeds;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use berth_pools::{DisruptionPolicy, FORCE_FILE};
use jiff::{SignedDuration, Timestamp};

use crate::{
    announce,
    decide::{Configs, Deed, Health, NodeView, Situation, decide},
    drift::{Drift, DriftPolicy, drift},
    host::{Capabilities, Host, HostError},
    host_config::{HostConfig, NodeConfig, system},
    item::Item,
    journal::{self, JournalError, ORIGINALS, STATE, Stage, State, Update},
    labels,
    plan::{Refused, UpdatePlan, observe},
};

/// More deeds than this in one turn mean that something undoes what is done.
const DEEDS: usize = 64;

/// Pauses between attempts after a failure, which double up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How long a host may take to go down before it is told again.
const GOING_DOWN: Duration = Duration::from_mins(10);

/// What the administrator wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which change needs which action.
    pub policy: DisruptionPolicy,
    /// What is done about things that are not as the config says.
    pub drift: DriftPolicy,
    /// How long a node may take to be healthy after a change.
    pub deadline: Duration,
    /// Commands that have to succeed after a change.
    pub probes: Vec<String>,
    /// Whether a reboot may skip the firmware.
    pub kexec: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: DisruptionPolicy::default(),
            drift: DriftPolicy::default(),
            deadline: Duration::from_mins(10),
            probes: Vec::new(),
            kexec: false,
        }
    }
}

/// What was seen of the cluster.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// The Node; `None`: there is none, or nobody answers.
    pub node: Option<&'a NodeView>,
    /// Whether the cluster answers.
    pub reachable: bool,
    /// Configs that were asked for.
    pub configs: &'a Configs,
    /// The time.
    pub now: Timestamp,
}

/// What the daemon needs of its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Write these annotations to the Node, then call again; `None` removes.
    Publish(BTreeMap<String, Option<String>>),
    /// Ask the cluster for this config, then call again.
    Fetch(String),
    /// Call again when there is news, or at this time.
    Wait(Option<Timestamp>),
}

/// Something that people should hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// A word for programs, in CamelCase.
    pub reason: &'static str,
    /// A sentence for people.
    pub text: String,
    /// Whether it is trouble.
    pub warning: bool,
}

/// Why the daemon cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// There is a state, and it cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The host cannot be looked at.
    #[error("the host cannot be looked at")]
    Host(#[from] HostError),
}

/// The daemon of one host.
#[derive(Debug)]
pub struct Daemon<H> {
    host: H,
    state: State,
    settings: Settings,
    boot_id: String,
    plan: Option<Result<UpdatePlan, Refused>>,
    /// Whether the plan writes everything anew.
    plan_forced: bool,
    drift: Option<Vec<Drift>>,
    health: Option<Health>,
    failure: Option<(String, Timestamp)>,
    /// The config that it failed with.
    failed_with: Option<String>,
    pause: Duration,
    /// An earlier attempt may have left something beside the places of files.
    leftovers: bool,
    going_down: Option<Timestamp>,
    /// The labels of the Node that the machine's boot labels follow.
    labels: Option<BTreeMap<String, String>>,
    notes: Vec<Note>,
}

impl<H: Host> Daemon<H> {
    /// Begins with what the host has of an earlier daemon, or of none.
    pub fn start(host: H, settings: Settings) -> Result<Self, StartError> {
        let boot_id = host.boot_id()?;
        let known = State::read(&host)?;
        let state = match &known {
            Some(state) => state.clone(),
            None => State::new(journal::adopted(&host)?.unwrap_or_else(NodeConfig::unconfigured)),
        };
        let mut daemon = Self {
            host,
            state,
            settings,
            boot_id,
            plan: None,
            plan_forced: false,
            drift: None,
            health: None,
            failure: None,
            failed_with: None,
            pause: FIRST_PAUSE,
            leftovers: true,
            going_down: None,
            labels: None,
            notes: Vec::new(),
        };
        daemon.clean()?;
        if known.is_none() {
            daemon.state.write(&mut daemon.host)?;
        } else {
            daemon.forget()?;
        }
        daemon.say_where_it_is();
        Ok(daemon)
    }

    /// The state on disk.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The host.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// The host, for whoever takes it back.
    pub fn into_host(self) -> H {
        self.host
    }

    /// What the administrator wants from now on.
    pub fn set_policy(&mut self, policy: DisruptionPolicy) {
        if self.settings.policy != policy {
            self.settings.policy = policy;
            self.plan = None;
        }
    }

    /// Whether the host was told to start again.
    pub fn is_going_down(&self) -> bool {
        self.going_down.is_some()
    }

    /// Everything that the config manages that runs: what somebody may change behind the daemon's back.
    pub fn managed(&self) -> Result<BTreeSet<Item>, HostError> {
        let (config, _) = HostConfig::of(&self.state.current, &self.capabilities()?);
        Ok(config.settings.into_keys().collect())
    }

    /// Something on the host may have changed.
    pub fn host_changed(&mut self) {
        self.drift = None;
    }

    /// What people should hear of since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Goes on as far as it can. The only error is a host that is down; all others are for the Node to tell.
    pub fn turn(&mut self, news: &News<'_>) -> Result<Turn, HostError> {
        self.health = None;
        self.follow_labels(news)?;
        for _ in 0..DEEDS {
            if let Some(until) = self.going_down {
                if news.now < until {
                    return Ok(Turn::Wait(Some(until)));
                }
                self.going_down = None;
            }
            self.look_for_drift()?;
            let force = self.force(news)?;
            if force.is_some() != self.plan_forced {
                self.plan = None;
            }
            let kexec = self.settings.kexec && self.host.capabilities().is_ok_and(|host| host.kexec);
            let drift = self.drift.as_deref().unwrap_or_default();
            let failure = self.failure.as_ref().map(|(why, again)| (why.as_str(), *again));
            let decision = decide(&Situation {
                state: &self.state,
                node: news.node,
                reachable: news.reachable,
                configs: news.configs,
                boot_id: &self.boot_id,
                plan: self.plan.as_ref(),
                drift,
                force: force.as_deref(),
                health: self.health.as_ref(),
                failure,
                kexec,
                settings: &self.settings,
                now: news.now,
            });
            if let Some(node) = news.node {
                let patch = decision.announcement.patch(&node.annotations);
                if !patch.is_empty() {
                    return Ok(Turn::Publish(patch));
                }
            }
            match decision.deed {
                Deed::Wait(until) => return Ok(Turn::Wait(until)),
                Deed::Fetch(config) => return Ok(Turn::Fetch(config)),
                deed => {
                    let drained = decision.announcement.drain.is_some();
                    match self.perform(deed, drained, force, news.now) {
                        Ok(()) => {}
                        Err(HostError::Down) => return Err(HostError::Down),
                        Err(error) => self.fail(&error, news.now),
                    }
                }
            }
        }
        Ok(Turn::Wait(Some(later(news.now, LONGEST_PAUSE))))
    }

    /// Keeps the boot labels equal to those of the Node, unless a config says them.
    fn follow_labels(&mut self, news: &News<'_>) -> Result<(), HostError> {
        let labels = news.node.and_then(|node| node.labels.as_ref());
        let Some(labels) = labels.filter(|labels| self.labels.as_ref() != Some(*labels)) else {
            return Ok(());
        };
        if self.state.update.is_some() {
            return Ok(());
        }
        let managed = self.managed()?;
        let is_managed = |path: &str| managed.contains(&Item::Path(path.to_owned()));
        match labels::follow(&mut self.host, labels, is_managed) {
            Ok(changed) => {
                self.labels = Some(labels.clone());
                if changed {
                    let text = "The boot labels of the machine are those of its Node".to_owned();
                    self.note("BootLabelsChanged", text, false);
                }
            }
            Err(HostError::Down) => return Err(HostError::Down),
            Err(error) => {
                // It is tried again when the labels change, or at the next start.
                self.labels = Some(labels.clone());
                self.note("Failed", error.to_string(), true);
            }
        }
        Ok(())
    }

    /// What the host can do, with what is remembered of it.
    fn capabilities(&self) -> Result<Capabilities, HostError> {
        Ok(Capabilities {
            native_arguments: self.state.native_arguments.clone(),
            ..self.host.capabilities()?
        })
    }

    /// What the machine has not booted of a config, in words; `before` is what it was on the way from. What the host cannot
    /// change is not asked of it.
    fn not_booted(&self, config: &NodeConfig, before: &NodeConfig) -> Result<Vec<String>, HostError> {
        let driver = self.host.capabilities()?.driver;
        let of = |config: &NodeConfig| {
            let mut system = system(&config.effective());
            if !driver.changes_arguments() {
                system.arguments.clear();
            }
            if !driver.changes_image() {
                system.image = None;
            }
            system
        };
        let (wanted, mut before) = (of(config), of(before));
        before
            .arguments
            .retain(|argument| !self.state.native_arguments.contains(argument));
        if wanted.image.is_none() && wanted.arguments.is_empty() && before.arguments.is_empty() {
            return Ok(Vec::new());
        }
        let known = wanted.arguments.iter().chain(&before.arguments).cloned().collect();
        let booted = self.host.booted(&known)?;
        Ok(booted.map_or_else(Vec::new, |booted| booted.lacks(&wanted, &before)))
    }

    /// Forgets what was kept of things that no config manages any more. With an update under way it is needed.
    fn forget(&mut self) -> Result<(), HostError> {
        if self.state.update.is_some() {
            return Ok(());
        }
        let (config, _) = HostConfig::of(&self.state.current, &self.capabilities()?);
        journal::forget(&mut self.host, &config)
    }

    /// Removes what an interrupted write of the daemon's own files left.
    fn clean(&mut self) -> Result<(), HostError> {
        self.host.discard(STATE)?;
        for name in self.host.list(ORIGINALS)? {
            if name.starts_with('.') {
                self.host.remove(&format!("{ORIGINALS}/{name}"))?;
            }
        }
        Ok(())
    }

    fn say_where_it_is(&mut self) {
        let current = &self.state.current.name;
        let (reason, text) = match &self.state.update {
            None => ("Started", format!("The node runs {current}")),
            Some(Update {
                back: None,
                to,
                stage: Stage::Booting { .. },
                ..
            }) => (
                "Resumed",
                format!("The node was started again on its way from {current} to {}", to.name),
            ),
            Some(Update { back: None, to, .. }) => (
                "Resumed",
                format!("An update from {current} to {} was interrupted; it goes on", to.name),
            ),
            Some(Update {
                back: Some(why), to, ..
            }) => (
                "Resumed",
                format!(
                    "The way back from {} to {current} was interrupted ({why}); it goes on",
                    to.name
                ),
            ),
        };
        self.note(reason, text, false);
    }

    fn note(&mut self, reason: &'static str, text: String, warning: bool) {
        self.notes.push(Note { reason, text, warning });
    }

    /// Writes down a failure, after which there is a pause.
    fn fail(&mut self, error: &HostError, now: Timestamp) {
        let why = error.to_string();
        if self.failure.as_ref().is_none_or(|(before, _)| *before != why) {
            self.note("Failed", why.clone(), true);
        }
        self.pause_after(why, now);
        self.leftovers = true;
    }

    fn pause_after(&mut self, why: String, now: Timestamp) {
        let planned = self.plan.iter().flatten().map(|plan| plan.to.name.clone()).next();
        let under_way = self.state.update.as_ref().map(|update| update.to.name.clone());
        self.failed_with = under_way.or(planned).or_else(|| self.failed_with.take());
        self.failure = Some((why, later(now, self.pause)));
        self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
    }

    fn succeed(&mut self) {
        self.failure = None;
        self.failed_with = None;
        self.pause = FIRST_PAUSE;
    }

    fn look_for_drift(&mut self) -> Result<(), HostError> {
        if self.drift.is_some() || self.state.update.is_some() {
            return Ok(());
        }
        match self.drifted() {
            Ok(found) => {
                for drift in &found {
                    self.note("ConfigDriftDetected", drift.to_string(), true);
                }
                self.drift = Some(found);
                Ok(())
            }
            Err(HostError::Down) => Err(HostError::Down),
            Err(error) => {
                self.note("Failed", error.to_string(), true);
                self.drift = Some(Vec::new());
                Ok(())
            }
        }
    }

    fn drifted(&self) -> Result<Vec<Drift>, HostError> {
        let (config, _) = HostConfig::of(&self.state.current, &self.capabilities()?);
        let observed = observe(&self.host, &[&config])?;
        let mut found = drift(&config, &observed);
        let current = &self.state.current;
        let not_booted = self.not_booted(current, current)?;
        found.extend(not_booted.iter().map(|what| Drift::of_boot(what)));
        Ok(found)
    }

    /// The request to write everything anew that was not met yet.
    fn force(&self, news: &News<'_>) -> Result<Option<String>, HostError> {
        if self.state.update.is_some() {
            return Ok(None);
        }
        let asked = news.node.and_then(|node| node.text(announce::FORCE));
        if let Some(asked) = asked.filter(|asked| self.state.forced.as_deref() != Some(asked)) {
            return Ok(Some(asked.to_owned()));
        }
        match self.host.entry(FORCE_FILE) {
            Ok(entry) => Ok(entry.and(Some(String::new()))),
            Err(HostError::Down) => Err(HostError::Down),
            // The folder cannot be looked at, so nobody put anything there.
            Err(_) => Ok(None),
        }
    }
}

pub(crate) fn later(time: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}
