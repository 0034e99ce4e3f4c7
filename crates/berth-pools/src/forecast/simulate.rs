//! Plays one pool's rollout against the planner.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap},
    time::Duration,
};

use super::{ForecastInput, ForecastPool, NewNode, NodeKind, Reboots};
use crate::rollout::{DaemonState, NodeConditions, NodeState, PoolRollout, Waiting, annotation, plan_pool, select};

/// The config of a node that joined as a worker. The name only has to differ from every target.
const WORKER_CONFIG: &str = "rendered-worker";

/// When labels reach a new node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// Before it registers, so it boots into its pool.
    FirstBoot,
    /// After it joined as a worker.
    Later,
}

/// How a pool's rollout went.
#[derive(Debug)]
pub(super) struct Course {
    /// How many nodes could be out of service at the end.
    pub(super) limit: usize,
    /// Nodes that moved or joined, in order of their start.
    pub(super) nodes: Vec<Passage>,
    /// Nodes that did not complete.
    pub(super) left: Vec<Waiting>,
}

/// A node's way from start to end.
#[derive(Debug)]
pub(super) struct Passage {
    pub(super) name: String,
    pub(super) kind: NodeKind,
    pub(super) wave: Option<usize>,
    pub(super) start: Duration,
    pub(super) end: Duration,
    pub(super) reboots: u32,
}

impl Course {
    pub(super) fn reboots(&self) -> u32 {
        self.nodes.iter().fold(0, |sum, node| sum.saturating_add(node.reboots))
    }

    pub(super) fn reboots_by_node(&self) -> BTreeMap<&str, u32> {
        let mut reboots = BTreeMap::new();
        for node in &self.nodes {
            let sum: &mut u32 = reboots.entry(node.name.as_str()).or_default();
            *sum = sum.saturating_add(node.reboots);
        }
        reboots
    }

    pub(super) fn finish(&self) -> Duration {
        self.nodes.iter().map(|node| node.end).max().unwrap_or_default()
    }
}

/// Plays the rollout until nothing moves any more.
pub(super) fn simulate(pool: &ForecastPool, input: &ForecastInput, delivery: Delivery) -> Course {
    let mut player = Player::new(pool, input, delivery);
    player.go_on_under_way();
    player.join();
    loop {
        player.start_candidates();
        if !player.advance() {
            break;
        }
    }
    player.finish()
}

struct Player<'a> {
    input: &'a ForecastInput,
    pool: &'a ForecastPool,
    delivery: Delivery,
    /// The pool as it is at this moment.
    now: PoolRollout,
    time: Duration,
    waves: usize,
    passages: Vec<Passage>,
    /// What happens when, soonest first.
    events: BinaryHeap<Reverse<(Duration, Event)>>,
}

/// Something that takes time and is over now. Ordered, so that a forecast is the same each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The node with this index of the pool is back.
    Back(usize),
    /// The machine with this index of those that join has joined.
    Joined(usize),
}

impl<'a> Player<'a> {
    fn new(pool: &'a ForecastPool, input: &'a ForecastInput, delivery: Delivery) -> Self {
        Self {
            input,
            pool,
            delivery,
            now: pool.rollout.clone(),
            time: Duration::ZERO,
            waves: 0,
            passages: Vec::new(),
            events: BinaryHeap::new(),
        }
    }

    /// Nodes that are on the move when the forecast is made. How far they are is not known, so they take their full
    /// time.
    fn go_on_under_way(&mut self) {
        let target = self.now.target.clone();
        let under_way: Vec<usize> = (0..)
            .zip(&self.now.nodes)
            .filter(|(_, node)| under_way(node, target.as_deref()))
            .map(|(index, _)| index)
            .collect();
        self.start(&under_way);
    }

    /// Machines that join need no slot for it: nothing runs on them yet.
    fn join(&mut self) {
        let known: BTreeSet<&str> = self.pool.rollout.nodes.iter().map(|node| node.name.as_str()).collect();
        for (index, node) in self.pool.joining.iter().enumerate() {
            if known.contains(node.name.as_str()) {
                continue;
            }
            let first_boot = self.reboots_of_new(node).min(1);
            let end = self.input.reboot.saturating_mul(first_boot);
            self.passages.push(Passage {
                name: node.name.clone(),
                kind: NodeKind::New,
                wave: None,
                start: Duration::ZERO,
                end,
                reboots: first_boot,
            });
            self.events.push(Reverse((end, Event::Joined(index))));
        }
        // Those that need no time are there before anything is planned, as their share counts in `maxUnavailable`.
        self.settle();
    }

    fn start_candidates(&mut self) {
        // A controller plans again whenever something changed, so this ends only when nobody may start any more: changes
        // without a reboot give their slots back at once, and the deferred node may be the only one left.
        loop {
            let selection = select(&self.now);
            if selection.candidates.is_empty() {
                return;
            }
            let places: HashMap<&str, usize> = self.now.nodes.iter().map(|node| node.name.as_str()).zip(0..).collect();
            let chosen: Vec<usize> = selection
                .candidates
                .iter()
                .filter_map(|node| places.get(node.name.as_str()).copied())
                .collect();
            self.start(&chosen);
            self.settle();
        }
    }

    fn start(&mut self, indices: &[usize]) {
        if indices.is_empty() {
            return;
        }
        // A further group at the same moment belongs to the same wave.
        if !self
            .passages
            .iter()
            .any(|passage| passage.wave == Some(self.waves) && passage.start == self.time)
        {
            self.waves += 1;
        }
        for &index in indices {
            let Some(name) = self.now.nodes.get(index).map(|node| node.name.clone()) else {
                continue;
            };
            let joined = self.pool.joining.iter().find(|node| node.name == name);
            let reboots = match joined {
                Some(node) => self.reboots_of_new(node).saturating_sub(1),
                None => self.reboots_of_moving(&name),
            };
            let end = self.time.saturating_add(self.away(reboots));
            self.events.push(Reverse((end, Event::Back(index))));
            self.passages.push(Passage {
                name,
                kind: if joined.is_some() {
                    NodeKind::New
                } else {
                    NodeKind::Moving
                },
                wave: Some(self.waves),
                start: self.time,
                end,
                reboots,
            });
            let target = self.now.target.clone();
            if let Some(node) = self.now.nodes.get_mut(index) {
                depart(node, target.as_deref());
            }
        }
    }

    /// Lets time pass until something happens. False when nothing will.
    fn advance(&mut self) -> bool {
        let Some(Reverse((time, _))) = self.events.peek() else {
            return false;
        };
        self.time = *time;
        self.settle();
        true
    }

    /// Everything that is over by now. False when there is nothing.
    fn settle(&mut self) -> bool {
        let mut settled = false;
        while let Some(Reverse((time, event))) = self.events.peek().copied() {
            if time > self.time {
                break;
            }
            self.events.pop();
            settled = true;
            match event {
                Event::Back(index) => {
                    if let Some(node) = self.now.nodes.get_mut(index) {
                        arrive(node);
                    }
                }
                Event::Joined(index) => {
                    if let Some(node) = self.pool.joining.get(index) {
                        let joined = self.joined(node);
                        self.now.nodes.push(joined);
                    }
                }
            }
        }
        settled
    }

    fn joined(&self, new: &NewNode) -> NodeState {
        joined(new, self.reboots_of_new(new), self.now.target.as_deref())
    }

    fn finish(self) -> Course {
        let mut nodes = self.passages;
        nodes.sort_by_key(|passage| (passage.start, passage.wave));
        Course {
            limit: self.now.limit(),
            nodes,
            left: plan_pool(&self.now).waiting,
        }
    }

    fn reboots_of_new(&self, node: &NewNode) -> u32 {
        let reboots = node.reboots.unwrap_or(Reboots::NEW);
        self.by_delivery(reboots)
    }

    fn reboots_of_moving(&self, name: &str) -> u32 {
        let reboots = self.pool.reboots.get(name).copied().unwrap_or(Reboots::MOVING);
        self.by_delivery(reboots)
    }

    fn by_delivery(&self, reboots: Reboots) -> u32 {
        match self.delivery {
            Delivery::FirstBoot => reboots.with,
            Delivery::Later => reboots.without,
        }
    }

    fn away(&self, reboots: u32) -> Duration {
        match reboots {
            0 => Duration::ZERO,
            _ => self
                .input
                .reboot
                .saturating_mul(reboots)
                .saturating_add(self.input.drain),
        }
    }
}

/// A machine that has just joined: in its pool, or as a worker that has to move.
pub(crate) fn joined(new: &NewNode, reboots: u32, target: Option<&str>) -> NodeState {
    let config = match target {
        Some(target) if reboots <= 1 => target,
        _ => WORKER_CONFIG,
    };
    let mut node = NodeState {
        name: new.name.clone(),
        labels: new.labels.clone(),
        ..NodeState::default()
    };
    set(&mut node, annotation::CURRENT_CONFIG, config);
    set(&mut node, annotation::DESIRED_CONFIG, config);
    set(&mut node, annotation::STATE, "Done");
    node
}

/// Whether a node is on its way already, to the target or to an older config that it has to finish first.
pub(crate) fn under_way(node: &NodeState, target: Option<&str>) -> bool {
    let moving = node.reported() && node.desired_config().is_some() && !node.done() && !node.degraded();
    let can_be_retargeted = node.daemon() == Some(DaemonState::Done) && node.desired_config() != target;
    moving && !can_be_retargeted
}

fn depart(node: &mut NodeState, target: Option<&str>) {
    // A node whose daemon is at work finishes what it began.
    let begun = node.daemon() == Some(DaemonState::Working);
    if let Some(target) = target.filter(|_| !begun) {
        set(node, annotation::DESIRED_CONFIG, target);
    }
    set(node, annotation::STATE, "Working");
    node.unschedulable = true;
}

fn arrive(node: &mut NodeState) {
    if let Some(desired) = node.desired_config().map(str::to_owned) {
        set(node, annotation::CURRENT_CONFIG, &desired);
    }
    if let Some(image) = node.annotations.get(annotation::DESIRED_IMAGE).cloned() {
        set(node, annotation::CURRENT_IMAGE, &image);
    }
    set(node, annotation::STATE, "Done");
    node.unschedulable = false;
    node.conditions = NodeConditions::default();
}

pub(crate) fn set(node: &mut NodeState, key: &str, value: &str) {
    node.annotations.insert(key.to_owned(), value.to_owned());
}
