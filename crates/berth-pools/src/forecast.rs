//! What a rollout will cost: which nodes move, in which waves, with how many reboots, and until when.
//!
//! The forecast is the rehearsal of a change in which nothing goes wrong, so both always agree with each other and with the
//! planner. Pools roll side by side, the control plane and its arbiter one after the other. Every reboot is assumed to take the
//! same time, and a node gives its slot back as soon as it is done.
//!
//! It plays the rollout twice: with labels at first boot, and as it would go without them. Without them a new node
//! joins as a worker, gets its labels there, and has to reboot once more into its pool, in line with all others.

mod duration;
mod svg;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Serialize, Serializer};

pub use self::{
    duration::{DurationError, format_duration, parse_duration},
    svg::svg,
};
use crate::{
    rehearsal::{OutageKind, PoolRehearsal, Script, rehearse},
    rollout::{PoolRollout, Waiting},
};

/// What the forecast looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForecastInput {
    /// The pools that roll.
    pub pools: Vec<ForecastPool>,
    /// How long a node is away for one reboot.
    pub reboot: Duration,
    /// How long it takes to drain a node before it reboots.
    pub drain: Duration,
    /// The maintenance window, counted from the start of the rollout.
    pub window: Option<Duration>,
}

/// One pool of a forecast.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForecastPool {
    /// The pool with the nodes it has now, exactly as for [`plan_pool`](crate::plan_pool).
    pub rollout: PoolRollout,
    /// Machines that join the pool during the rollout.
    pub joining: Vec<NewNode>,
    /// Reboots of nodes that the pool has, where it is not one: none for a change that needs no reboot.
    pub reboots: BTreeMap<String, Reboots>,
}

/// A machine that joins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewNode {
    /// The node's name.
    pub name: String,
    /// Its labels; the zone decides about the order.
    pub labels: BTreeMap<String, String>,
    /// Its reboots. `None`: one with labels at first boot, to get the pool's operating system, and two without.
    pub reboots: Option<Reboots>,
}

/// How often a node reboots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reboots {
    /// When the node has its labels at first boot.
    pub with: u32,
    /// When it gets them later.
    pub without: u32,
}

impl Reboots {
    /// A node that the pool has already: first-boot labels change nothing for it.
    pub const MOVING: Self = Self { with: 1, without: 1 };
    /// A machine that joins: without first-boot labels it boots as a worker, and again into its pool.
    pub const NEW: Self = Self { with: 1, without: 2 };
}

/// How a node takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// The pool has it, and it moves to another config.
    Moving,
    /// It joins. Nothing runs on it yet, so its first boot takes no slot.
    New,
}

/// The answer for all pools. Times count from the start of the rollout; in JSON they are seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forecast {
    /// Pool by pool, in the order given.
    pub pools: Vec<PoolForecast>,
    /// When the last node is done.
    #[serde(rename = "finish_seconds", serialize_with = "seconds")]
    pub finish: Duration,
    /// When the last node would be done without labels at first boot.
    #[serde(rename = "finish_without_berth_seconds", serialize_with = "seconds")]
    pub finish_without_berth: Duration,
    /// The maintenance window asked for.
    #[serde(rename = "window_seconds", serialize_with = "seconds_if_any")]
    pub window: Option<Duration>,
    /// Whether all is done when the window closes. A node that cannot move, in a pool that is not paused, means no.
    pub fits_window: Option<bool>,
    /// The first node that would still be away when the window closes.
    pub first_over: Option<String>,
}

impl Forecast {
    /// Whether the rollout fits its window, and why not.
    pub fn verdict(&self) -> Option<String> {
        let (window, fits) = (self.window?, self.fits_window?);
        let length = format_duration(window);
        if fits {
            return Some(fitting(window, self.finish));
        }
        if self.finish > window {
            let over = format_duration(self.finish.saturating_sub(window));
            let first = self.first_over.as_deref().unwrap_or_default();
            return Some(format!(
                "does not fit the window of {length}: {over} too long; first to be late is {first}"
            ));
        }
        // What a pause keeps back was asked for.
        let stuck = self
            .pools
            .iter()
            .filter(|pool| !pool.paused)
            .flat_map(|pool| &pool.left);
        let names: Vec<&str> = stuck.map(|waiting| waiting.node.as_str()).collect();
        let (first, rest) = names.split_at(names.len().min(NAMES_IN_A_SENTENCE));
        let more = match rest.len() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let spare = format_duration(window.saturating_sub(self.finish));
        Some(format!(
            "does not fit the window of {length}: {}{more} would never be done; all others fit, with {spare} to spare",
            first.join(", ")
        ))
    }
}

/// Says that all is done in time, for the forecast and the rehearsal.
pub(crate) fn fitting(window: Duration, finish: Duration) -> String {
    let spare = window.saturating_sub(finish);
    format!(
        "fits the window of {}, with {} to spare",
        format_duration(window),
        format_duration(spare)
    )
}

/// So many names are spelled out in a sentence; the rest is counted.
const NAMES_IN_A_SENTENCE: usize = 5;

/// The answer for one pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolForecast {
    /// The pool.
    pub pool: String,
    /// Whether its rollout is stopped.
    pub paused: bool,
    /// How many nodes may be out of service, counted with the nodes that join.
    pub max_unavailable: usize,
    /// Groups of nodes that start together.
    pub waves: Vec<Wave>,
    /// Every node that moves or joins, in order of its start.
    pub nodes: Vec<NodeForecast>,
    /// Nodes that will not complete, and why.
    pub left: Vec<Waiting>,
    /// Reboots of all nodes together.
    pub reboots_with: u32,
    /// The same without labels at first boot.
    pub reboots_without: u32,
    /// When the pool is done.
    #[serde(rename = "finish_seconds", serialize_with = "seconds")]
    pub finish: Duration,
    /// When the pool would be done without labels at first boot.
    #[serde(rename = "finish_without_berth_seconds", serialize_with = "seconds")]
    pub finish_without_berth: Duration,
}

/// Nodes of a pool that start together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wave {
    /// From 1.
    pub number: usize,
    /// When they start.
    #[serde(rename = "start_seconds", serialize_with = "seconds")]
    pub start: Duration,
    /// When the last of them is done.
    #[serde(rename = "end_seconds", serialize_with = "seconds")]
    pub end: Duration,
    /// The nodes, in their order.
    pub nodes: Vec<String>,
}

/// One node on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeForecast {
    /// The node.
    pub node: String,
    /// Whether it moves or joins.
    pub kind: NodeKind,
    /// Its wave; none for a node that joins, which waits for nobody.
    pub wave: Option<usize>,
    /// When it goes out of service.
    #[serde(rename = "start_seconds", serialize_with = "seconds")]
    pub start: Duration,
    /// When it is back.
    #[serde(rename = "end_seconds", serialize_with = "seconds")]
    pub end: Duration,
    /// All its reboots in this rollout, also when it is away twice.
    pub reboots_with: u32,
    /// All its reboots without labels at first boot.
    pub reboots_without: u32,
}

/// Plays the rollout through.
pub fn forecast(input: &ForecastInput) -> Forecast {
    let well = Script::default();
    let (with, without) = (rehearse(input, &well), rehearse(&labelled_later(input), &well));
    let courses = with.pools.iter().zip(&without.pools);
    let pools: Vec<PoolForecast> = courses.map(|(with, without)| forecast_pool(with, without)).collect();
    let first_over = input.window.and_then(|window| {
        let nodes = pools.iter().flat_map(|pool| &pool.nodes);
        let over = nodes
            .filter(|node| node.end > window)
            .min_by_key(|node| (node.start, node.end));
        over.map(|node| node.node.clone())
    });
    Forecast {
        finish: with.finish,
        finish_without_berth: without.finish,
        window: input.window,
        fits_window: with.fits_window,
        first_over,
        pools,
    }
}

/// The same change where nodes get their labels after they joined.
fn labelled_later(input: &ForecastInput) -> ForecastInput {
    let mut later = input.clone();
    let then = |reboots: Reboots| Reboots {
        with: reboots.without,
        ..reboots
    };
    for pool in &mut later.pools {
        for reboots in pool.reboots.values_mut() {
            *reboots = then(*reboots);
        }
        for node in &mut pool.joining {
            node.reboots = Some(then(node.reboots.unwrap_or(Reboots::NEW)));
        }
    }
    later
}

fn forecast_pool(with: &PoolRehearsal, without: &PoolRehearsal) -> PoolForecast {
    let (with_by_name, without_by_name) = (reboots_by_node(with), reboots_by_node(without));
    let total = |by_name: &BTreeMap<&str, u32>, name: &str| by_name.get(name).copied().unwrap_or_default();
    let mut joined: BTreeSet<&str> = BTreeSet::new();
    let mut waves: BTreeMap<Duration, Wave> = BTreeMap::new();
    let mut nodes: Vec<NodeForecast> = Vec::with_capacity(with.outages.len());
    for outage in &with.outages {
        let is_new = outage.kind == OutageKind::New;
        let end = outage.end.unwrap_or(outage.start);
        // The first boot of a machine that joins takes no slot.
        let wave = (!is_new || !joined.insert(&outage.node)).then(|| {
            let number = waves.len().saturating_add(1);
            let wave = waves.entry(outage.start).or_insert_with(|| Wave {
                number,
                start: outage.start,
                end,
                nodes: Vec::new(),
            });
            wave.end = wave.end.max(end);
            wave.nodes.push(outage.node.clone());
            wave.number
        });
        nodes.push(NodeForecast {
            node: outage.node.clone(),
            kind: if is_new { NodeKind::New } else { NodeKind::Moving },
            wave,
            start: outage.start,
            end,
            reboots_with: total(&with_by_name, &outage.node),
            reboots_without: total(&without_by_name, &outage.node),
        });
    }
    PoolForecast {
        pool: with.pool.clone(),
        paused: with.paused,
        max_unavailable: with.max_unavailable,
        waves: waves.into_values().collect(),
        nodes,
        left: with.left.clone(),
        reboots_with: with.reboots,
        reboots_without: without.reboots,
        finish: with.finish,
        finish_without_berth: without.finish,
    }
}

fn reboots_by_node(pool: &PoolRehearsal) -> BTreeMap<&str, u32> {
    let mut reboots = BTreeMap::new();
    for outage in &pool.outages {
        let sum: &mut u32 = reboots.entry(outage.node.as_str()).or_default();
        *sum = sum.saturating_add(outage.reboots);
    }
    reboots
}

pub(crate) fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_secs())
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn seconds_if_any<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => serializer.serialize_some(&duration.as_secs()),
        None => serializer.serialize_none(),
    }
}
