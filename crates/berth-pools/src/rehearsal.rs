//! A change played through before it is made: planner, node daemons, drains and reboots, step by step on simulated time.
//!
//! The planner is asked again after every change, it writes what a controller would write, each node's daemon answers as it does on
//! a machine, and a script says what goes wrong. The forecast is what comes of it where nothing does.

mod daemon;
mod play;
mod script;
mod svg;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

pub use self::{
    script::{Happening, Mishap, Script, ScriptError, ScriptEvent},
    svg::rehearsal_svg,
};
use crate::{
    chart::counted,
    forecast::{ForecastInput, fitting, format_duration, seconds, seconds_if_any},
    rollout::Waiting,
};

/// How a change went. Times count from its start; in JSON they are seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rehearsal {
    /// Pool by pool, in the order given.
    pub pools: Vec<PoolRehearsal>,
    /// When the last node that comes back is back.
    #[serde(rename = "finish_seconds", serialize_with = "seconds")]
    pub finish: Duration,
    /// The maintenance window asked for.
    #[serde(rename = "window_seconds", serialize_with = "seconds_if_any")]
    pub window: Option<Duration>,
    /// Whether every node is done and serves when the window closes. What a pause keeps back was asked for.
    pub fits_window: Option<bool>,
    /// How things stand when the window closes before all is done.
    pub at_window: Option<AtWindow>,
    /// Everything that happened, in its order.
    pub journal: Vec<Moment>,
}

/// How things stand when the window closes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AtWindow {
    /// A node that starts after this is not back in time.
    #[serde(rename = "last_start_seconds", serialize_with = "seconds")]
    pub last_start: Duration,
    /// Nodes that are out of service at this moment.
    pub out: Vec<String>,
    /// Nodes that have not begun.
    pub not_begun: Vec<String>,
}

/// How one pool went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolRehearsal {
    /// The pool.
    pub pool: String,
    /// Whether its rollout is stopped at the end.
    pub paused: bool,
    /// When its rollout was stopped, in their order.
    pub pauses: Vec<Pause>,
    /// How many nodes may be out of service, counted with the nodes that join.
    pub max_unavailable: usize,
    /// How many nodes of the pool were out of service at the same time, at most. Machines that join are not counted.
    pub most_out: usize,
    /// Every time that a node was out of service, in order of its start.
    pub outages: Vec<Outage>,
    /// Nodes that do not complete, and why.
    pub left: Vec<Waiting>,
    /// Reboots of all nodes together.
    pub reboots: u32,
    /// When the last node that comes back is back.
    #[serde(rename = "finish_seconds", serialize_with = "seconds")]
    pub finish: Duration,
}

/// One time that the rollout of a pool is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pause {
    /// From when.
    #[serde(rename = "start_seconds", serialize_with = "seconds")]
    pub start: Duration,
    /// Until when; nothing if it does not go on.
    #[serde(rename = "end_seconds", serialize_with = "seconds_if_any")]
    pub end: Option<Duration>,
}

/// One time that a node is out of service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outage {
    /// The node.
    pub node: String,
    /// Why it is out.
    pub kind: OutageKind,
    /// From when.
    #[serde(rename = "start_seconds", serialize_with = "seconds")]
    pub start: Duration,
    /// When its Pods are gone and it reboots.
    #[serde(rename = "reboot_seconds", serialize_with = "seconds_if_any")]
    pub reboot: Option<Duration>,
    /// Until when; nothing if it does not come back.
    #[serde(rename = "end_seconds", serialize_with = "seconds_if_any")]
    pub end: Option<Duration>,
    /// How often it reboots in this time.
    pub reboots: u32,
    /// Whether it was without power for some of this time.
    pub lost_power: bool,
    /// How it ends.
    pub ending: Ending,
}

/// Why a node is out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutageKind {
    /// It moves to another config.
    Moving,
    /// It joins; nothing runs on it yet.
    New,
    /// It lost its power.
    Power,
}

/// How an outage ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The node is back and has what it should have.
    Back,
    /// The node serves again with its old config: its daemon could not take the new one.
    Refused,
    /// Its Pods do not go.
    Draining,
    /// It did not come back from its reboot.
    Lost,
    /// It has no power.
    Off,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// When.
    #[serde(rename = "at_seconds", serialize_with = "seconds")]
    pub at: Duration,
    /// The node or the pool.
    pub who: String,
    /// What, for people.
    pub what: String,
}

/// Plays a change through, with everything that the script says.
pub fn rehearse(input: &ForecastInput, script: &Script) -> Rehearsal {
    play::play(input, script)
}

/// What mishaps change, against the same change without them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Consequences {
    /// When all would be done without them.
    #[serde(rename = "finish_without_seconds", serialize_with = "seconds")]
    pub finish_without: Duration,
    /// Whether it would fit the window without them.
    pub fits_window_without: Option<bool>,
    /// Nodes that are back later, the most delayed first.
    pub later: Vec<Delayed>,
    /// Nodes that would get there without them and now do not.
    pub never: Vec<String>,
}

/// A node that is back later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Delayed {
    /// The node.
    pub node: String,
    /// By how much.
    #[serde(rename = "by_seconds", serialize_with = "seconds")]
    pub by: Duration,
}

/// Compares a rehearsal with one in which nothing went wrong.
pub fn compare(without: &Rehearsal, with: &Rehearsal) -> Consequences {
    let (before, after) = (without.arrivals(), with.arrivals());
    let mut later = Vec::new();
    let mut never = Vec::new();
    for (node, end) in &before {
        let Some(end) = end else { continue };
        match after.get(node).copied().flatten() {
            Some(now) if now > *end => later.push(Delayed {
                node: (*node).to_owned(),
                by: now.saturating_sub(*end),
            }),
            Some(_) => {}
            None => never.push((*node).to_owned()),
        }
    }
    later.sort_by(|one, other| other.by.cmp(&one.by).then_with(|| one.node.cmp(&other.node)));
    Consequences {
        finish_without: without.finish,
        fits_window_without: without.fits_window,
        later,
        never,
    }
}

impl Rehearsal {
    /// Whether the change fits its window, and why not.
    pub fn verdict(&self) -> Option<String> {
        let (window, fits) = (self.window?, self.fits_window?);
        let length = format_duration(window);
        if fits {
            return Some(fitting(window, self.finish));
        }
        let at_window = self.at_window.as_ref();
        let out = at_window.map_or(0, |at| at.out.len());
        let not_begun = at_window.map_or(0, |at| at.not_begun.len());
        let mut why = Vec::new();
        if out > 0 {
            why.push(format!("{} out when it closes", counted(out, "node")));
        }
        if not_begun > 0 {
            why.push(format!("{} not begun", counted(not_begun, "node")));
        }
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(": {}", why.join(", "))
        };
        Some(format!("does not fit the window of {length}{why}"))
    }

    /// When each node that takes part is done; nothing for a node that does not complete.
    fn arrivals(&self) -> BTreeMap<&str, Option<Duration>> {
        let mut arrivals = BTreeMap::new();
        for pool in &self.pools {
            for outage in &pool.outages {
                let done = if outage.ending == Ending::Back {
                    outage.end
                } else {
                    None
                };
                arrivals.insert(outage.node.as_str(), done);
            }
            for left in &pool.left {
                arrivals.insert(left.node.as_str(), None);
            }
        }
        arrivals
    }
}
