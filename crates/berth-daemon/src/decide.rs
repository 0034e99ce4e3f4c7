//! The state machine: from the journal, the Node and the host to one deed and what the Node has to say.
//!
//! ```text
//!             desired differs                        written                 noticed
//!  ┌──► idle ────────────────► plan, drain ─► Writing ───────► Acting ───────────────┐
//!  │     ▲                        │              │      └────► Booting ── boot ──► Proving
//!  │     │       refused, given up│              │ fails           │ fails           │ unhealthy
//!  │     └────────────────────────┘              ▼                 ▼                 ▼
//!  │                                     back: Writing ─► Acting or Booting ─► given up, Degraded
//!  └──────────────────────────────────────────────── healthy ◄───────────────────────┘
//! ```
//!
//! While nothing is touched, a change of mind is free. What has begun is ended first, by what is on disk alone: the cluster
//! need not be there for it.

use std::{collections::BTreeMap, time::Duration};

use berth_pools::{Action, DaemonState, annotation};
use jiff::Timestamp;

use crate::{
    announce::Announcement,
    daemon::{Settings, later},
    drift::{Drift, DriftPolicy},
    host::Reboot,
    host_config::NodeConfig,
    journal::{Stage, State, Update},
    plan::{Refused, UpdatePlan},
};

/// How long to wait between looks at the health of a node that has to prove itself.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// A Node as the daemon sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeView {
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Whether its kubelet says that it is ready; `None`: it says nothing.
    pub ready: Option<bool>,
    /// The labels that Berth gave it; `None`: it does not say.
    pub labels: Option<BTreeMap<String, String>>,
    /// When its kubelet was last heard of, by its Lease; `None`: it has none.
    pub heard: Option<Timestamp>,
}

impl NodeView {
    /// An annotation that says something.
    pub fn text(&self, key: &str) -> Option<&str> {
        let text = self.annotations.get(key).map(String::as_str);
        text.filter(|text| !text.is_empty())
    }
}

/// Configs of the cluster by name. `None`: it was asked for, and is not there.
pub type Configs = BTreeMap<String, Option<berth_pools::MachineConfigSpec>>;

/// What a look at the host says about services and checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Services that ran before the update and do not run.
    pub stopped: Vec<String>,
    /// Checks of the administrator's that fail, with what they say.
    pub failed: Vec<String>,
    /// What the machine has not booted of what was staged for it.
    pub not_booted: Vec<String>,
}

/// All that a decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The journal.
    pub state: &'a State,
    /// The Node. `None`: the cluster cannot be asked, or has none.
    pub node: Option<&'a NodeView>,
    /// Whether the cluster answers.
    pub reachable: bool,
    /// The configs that were asked for.
    pub configs: &'a Configs,
    /// The boot that the host is in.
    pub boot_id: &'a str,
    /// The plan for what is wanted, once it was made.
    pub plan: Option<&'a Result<UpdatePlan, Refused>>,
    /// What is not as the config says, as far as it was looked at.
    pub drift: &'a [Drift],
    /// A request to write everything anew.
    pub force: Option<&'a str>,
    /// What a look at the host says, once it was taken.
    pub health: Option<&'a Health>,
    /// What the last attempt failed with, and when the next one is due.
    pub failure: Option<(&'a str, Timestamp)>,
    /// Whether the host can start another kernel without its firmware.
    pub kexec: bool,
    /// What the administrator wants.
    pub settings: &'a Settings,
    /// The time.
    pub now: Timestamp,
}

/// What is done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// Nothing, until there is news or this time comes.
    Wait(Option<Timestamp>),
    /// Ask the cluster for a config.
    Fetch(String),
    /// Take this for what the host runs: the Node says so, and the host has no state.
    Adopt(NodeConfig),
    /// Look at the host and plan the way to this.
    Plan(NodeConfig),
    /// Write down that this begins.
    Begin(Box<UpdatePlan>),
    /// Make the host what the journal says.
    Write,
    /// Let services notice.
    Act,
    /// Start the host again.
    Reboot(Reboot),
    /// Write down that the host was started again.
    Booted,
    /// Look whether the node is healthy.
    Look,
    /// The new config is good: it is the current one from now on.
    Commit,
    /// Go back to what ran before, for this reason.
    GoBack(String),
    /// The node serves again: nothing is left of its drain.
    Served,
    /// Put right what is not as the config says.
    Repair,
}

/// A deed, and what the Node has to say before it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What the annotations have to say.
    pub announcement: Announcement,
    /// What is done.
    pub deed: Deed,
}

/// Decides.
pub fn decide(situation: &Situation<'_>) -> Decision {
    match &situation.state.update {
        Some(update) => situation.under_way(update),
        None => situation.idle(),
    }
}

impl Situation<'_> {
    fn announce(&self, state: DaemonState) -> Announcement {
        Announcement {
            forced: self.state.forced.clone(),
            given_up: self.state.given_up.as_ref().map(|given_up| given_up.config.clone()),
            ..Announcement::new(&self.state.current, state)
        }
    }

    fn under_way(&self, update: &Update) -> Decision {
        let state = match &update.back {
            None => DaemonState::Working,
            Some(_) => DaemonState::Degraded,
        };
        let mut announcement = self.announce(state);
        announcement.desired.clone_from(&update.to.name);
        announcement.reason = update.back.clone().unwrap_or_default();
        announcement.drain = self.state.drained.then(|| drain(&update.to.name));
        let mut waits = None;
        if let Some((why, again)) = self.failure {
            // It stays degraded while it is tried again, until that worked.
            announcement.state = DaemonState::Degraded;
            announcement.reason = match &update.back {
                Some(back) if back != why => format!("{back}; going back: {why}"),
                _ => why.to_owned(),
            };
            waits = (self.now < again).then_some(again);
        }
        let deed = match waits {
            Some(again) => Deed::Wait(Some(again)),
            None => self.stage(update, &mut announcement),
        };
        Decision { announcement, deed }
    }

    fn stage(&self, update: &Update, announcement: &mut Announcement) -> Deed {
        match &update.stage {
            Stage::Writing => Deed::Write,
            Stage::Acting => Deed::Act,
            Stage::Booting { boot_id } if boot_id == self.boot_id => {
                announcement.rebooting = true;
                Deed::Reboot(if self.kexec && self.settings.kexec {
                    Reboot::Kexec
                } else {
                    Reboot::Full
                })
            }
            Stage::Booting { .. } => Deed::Booted,
            Stage::Proving { since } => self.prove(*since),
        }
    }

    fn prove(&self, since: Timestamp) -> Deed {
        let Some(health) = self.health else {
            return Deed::Look;
        };
        if !health.not_booted.is_empty() {
            // Waiting does not help.
            return Deed::GoBack(format!(
                "the machine has not booted what was staged: {}",
                health.not_booted.join("; ")
            ));
        }
        let troubles = self.troubles(health, since);
        if troubles.is_empty() {
            return Deed::Commit;
        }
        let deadline = later(since, self.settings.deadline);
        if self.now >= deadline {
            let waited = berth_pools::format_duration(self.settings.deadline);
            return Deed::GoBack(format!("not healthy within {waited}: {}", troubles.join("; ")));
        }
        Deed::Wait(Some(later(self.now, LOOK_AGAIN).min(deadline)))
    }

    /// What keeps the node from being healthy.
    fn troubles(&self, health: &Health, since: Timestamp) -> Vec<String> {
        let mut troubles = Vec::new();
        match self.node {
            None if !self.reachable => troubles.push("the API server does not answer".to_owned()),
            // A Node that was deleted says nothing about its kubelet; the controllers bring it back.
            None => {}
            Some(node) => {
                if node.ready == Some(false) {
                    troubles.push("the kubelet is not ready".to_owned());
                } else if node.heard.is_some_and(|heard| heard < since) {
                    troubles.push("the kubelet has not been heard of since the change".to_owned());
                }
            }
        }
        troubles.extend(health.stopped.iter().map(|unit| format!("{unit} does not run")));
        troubles.extend(health.failed.iter().cloned());
        troubles
    }

    fn idle(&self) -> Decision {
        let state = self.state;
        let Some(node) = self.node else {
            return Decision {
                announcement: self.announce(DaemonState::Done),
                deed: Deed::Wait(None),
            };
        };
        if state.current.is_unconfigured()
            && let Some(deed) = self.adopt(node)
        {
            // What the Node says of the host is believed, so it stays until it is known whether it can be.
            let said = |key: &str| node.text(key).map(str::to_owned);
            return Decision {
                announcement: Announcement {
                    current: said(annotation::CURRENT_CONFIG).unwrap_or_default(),
                    image: said(annotation::CURRENT_IMAGE),
                    ..self.announced_before(node)
                },
                deed,
            };
        }
        let name = node.text(annotation::DESIRED_CONFIG).unwrap_or(&state.current.name);
        let image = node.text(annotation::DESIRED_IMAGE);
        if name == state.current.name && image == state.current.image.as_deref() && self.force.is_none() {
            return self.settled(node);
        }
        if let (Some(given_up), None) = (state.gave_up(name, image), self.force) {
            return self.stay(node, DaemonState::Degraded, given_up.reason.clone());
        }
        let wanted = if name == state.current.name {
            Some(state.current.spec.clone())
        } else {
            match self.configs.get(name) {
                None => {
                    return Decision {
                        announcement: self.announced_before(node),
                        deed: Deed::Fetch(name.to_owned()),
                    };
                }
                Some(config) => config.clone(),
            }
        };
        let Some(spec) = wanted else {
            let reason = format!(
                "{name} is wanted and is not in the cluster; the node goes on with {}",
                state.current.name
            );
            return self.stay(node, DaemonState::Degraded, reason);
        };
        self.towards(
            node,
            NodeConfig {
                name: name.to_owned(),
                image: image.map(str::to_owned),
                spec,
            },
        )
    }

    /// What a host without a state runs, if its Node says so and the cluster has it.
    fn adopt(&self, node: &NodeView) -> Option<Deed> {
        let current = node
            .text(annotation::CURRENT_CONFIG)
            .filter(|current| *current != self.state.current.name)?;
        match self.configs.get(current) {
            None => Some(Deed::Fetch(current.to_owned())),
            Some(None) => None,
            Some(Some(spec)) => Some(Deed::Adopt(NodeConfig {
                name: current.to_owned(),
                image: node.text(annotation::CURRENT_IMAGE).map(str::to_owned),
                spec: spec.clone(),
            })),
        }
    }

    /// The host has what is wanted.
    fn settled(&self, node: &NodeView) -> Decision {
        let drift: Vec<String> = self.drift.iter().map(ToString::to_string).collect();
        let drift = (!drift.is_empty()).then(|| drift.join("\n"));
        let policy = match self.settings.drift {
            // What was booted is put right by a reboot alone.
            DriftPolicy::Repair if self.drift.iter().all(|drift| drift.item.is_none()) => DriftPolicy::Report,
            policy => policy,
        };
        match (drift, policy) {
            (None, _) => self.stay(node, DaemonState::Done, String::new()),
            (Some(drift), DriftPolicy::Report) => {
                let mut decision = self.stay(node, DaemonState::Done, String::new());
                decision.announcement.drift = Some(drift);
                decision
            }
            (Some(drift), DriftPolicy::Degrade) => self.stay(node, DaemonState::Degraded, drift),
            (Some(drift), DriftPolicy::Repair) => match self.failure {
                Some((why, again)) if self.now < again => {
                    let mut decision = self.stay(node, DaemonState::Degraded, format!("{why}; {drift}"));
                    decision.deed = Deed::Wait(Some(again));
                    decision
                }
                _ => Decision {
                    announcement: Announcement {
                        drift: Some(drift),
                        ..self.announced_before(node)
                    },
                    deed: Deed::Repair,
                },
            },
        }
    }

    /// The host stays with what it runs. If it was drained, it is to serve again.
    fn stay(&self, node: &NodeView, state: DaemonState, reason: String) -> Decision {
        let mut announcement = self.announce(state);
        announcement.reason = reason;
        let asked = node.text(annotation::DESIRED_DRAIN);
        let request = format!("uncordon-{}", self.state.current.name);
        let drained = self.state.drained || asked.is_some_and(|asked| asked.starts_with("drain-"));
        let uncordons = asked.is_some_and(|asked| asked.starts_with("uncordon-"));
        let pending = uncordons && asked != node.text(annotation::LAST_APPLIED_DRAIN);
        let mut deed = Deed::Wait(None);
        if drained || pending {
            if asked == Some(&request) && node.text(annotation::LAST_APPLIED_DRAIN) == Some(&request) {
                deed = Deed::Served;
            } else if announcement.state == DaemonState::Done {
                announcement.state = DaemonState::Working;
            }
            announcement.drain = Some(request);
        }
        Decision { announcement, deed }
    }

    /// Something else is wanted, and known.
    fn towards(&self, node: &NodeView, wanted: NodeConfig) -> Decision {
        let name = wanted.name.clone();
        let plan = match self.plan {
            Some(plan) if planned(plan, &wanted) => plan,
            _ => {
                return Decision {
                    announcement: self.announced_before(node),
                    deed: Deed::Plan(wanted),
                };
            }
        };
        let plan = match plan {
            Ok(plan) => plan,
            Err(refused) => return self.stay(node, DaemonState::Unreconcilable, refused.to_string()),
        };
        if self.settings.drift == DriftPolicy::Degrade && !self.drift.is_empty() && self.force.is_none() {
            let drift: Vec<String> = self.drift.iter().map(ToString::to_string).collect();
            return self.stay(node, DaemonState::Degraded, drift.join("\n"));
        }
        let mut announcement = self.announce(DaemonState::Working);
        announcement.desired.clone_from(&name);
        if let Some((why, again)) = self.failure {
            // It is tried again soon. Pods that come back meanwhile would have to leave again, so a drain stays.
            announcement.state = DaemonState::Degraded;
            why.clone_into(&mut announcement.reason);
            if self.now < again {
                return Decision {
                    announcement,
                    deed: Deed::Wait(Some(again)),
                };
            }
        }
        let alone = node.text(annotation::TOPOLOGY) == Some("SingleReplica");
        let request = drain(&name);
        let mut deed = Deed::Begin(Box::new(plan.clone()));
        if plan.needs_drain() && !alone {
            let asked = node.text(annotation::DESIRED_DRAIN) == Some(&request);
            let applied = node.text(annotation::LAST_APPLIED_DRAIN) == Some(&request);
            if !(asked && applied) {
                deed = Deed::Wait(None);
            }
            announcement.drain = Some(request);
        }
        Decision { announcement, deed }
    }

    /// Nothing new is said: what the Node says stays, as far as the host agrees.
    fn announced_before(&self, node: &NodeView) -> Announcement {
        let state = match node.text(annotation::STATE) {
            Some("Degraded") => DaemonState::Degraded,
            Some("Unreconcilable") => DaemonState::Unreconcilable,
            Some("Done") => DaemonState::Done,
            _ => DaemonState::Working,
        };
        let mut announcement = self.announce(state);
        node.text(annotation::REASON)
            .unwrap_or_default()
            .clone_into(&mut announcement.reason);
        announcement.drift = node.text(crate::announce::DRIFT).map(str::to_owned);
        announcement
    }
}

/// Whether a plan is about this.
fn planned(plan: &Result<UpdatePlan, Refused>, wanted: &NodeConfig) -> bool {
    match plan {
        Ok(plan) => plan.to.name == wanted.name && plan.to.image == wanted.image,
        Err(refused) => refused.to == wanted.name,
    }
}

/// What is asked for before a host with something to lose is touched.
fn drain(config: &str) -> String {
    format!("drain-{config}")
}

/// Whether services have to notice something before a config runs, and how.
pub(crate) fn stage_after_writing(actions: &std::collections::BTreeSet<Action>, boot_id: &str) -> Stage {
    if actions.contains(&Action::Reboot) {
        Stage::Booting {
            boot_id: boot_id.to_owned(),
        }
    } else {
        Stage::Acting
    }
}
