//! One machine and its node daemon: what it makes of the annotations, and what it writes back.

use super::script::Mishap;
use crate::{
    forecast::NewNode,
    rollout::{DaemonState, NodeConditions, NodeState, annotation},
};

/// The config of a node that joined as a worker. The name only has to differ from every target.
const WORKER_CONFIG: &str = "rendered-worker";

/// Where a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It runs, and nothing is under way.
    Runs,
    /// It asked for its drain.
    Asks,
    /// Its Pods go.
    Drains,
    /// It is away.
    Reboots,
    /// It does not come back.
    Lost,
    /// It has no power.
    Off,
}

/// A machine beside its Node.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) stage: Stage,
    pub(super) mishap: Option<Mishap>,
    /// What was due for an earlier life is not done.
    pub(super) life: u64,
    /// The outage it is in, by its index.
    pub(super) outage: Option<usize>,
    /// How often it still has to reboot for its move.
    pub(super) reboots: u32,
    /// Where it was when its power went.
    pub(super) before: Stage,
}

impl Machine {
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::Runs,
            mishap: None,
            life: 0,
            outage: None,
            reboots: 0,
            before: Stage::Runs,
        }
    }
}

/// Whether the daemon has something to begin: another config is wanted than the disk has.
pub(super) fn begins(node: &NodeState) -> bool {
    let differs = node.desired_config().is_some() && node.current_config() != node.desired_config();
    let images = [annotation::CURRENT_IMAGE, annotation::DESIRED_IMAGE].map(|key| node.annotations.get(key));
    let [current, desired] = images;
    node.reported() && (differs || (desired.is_some() && current != desired))
}

/// The daemon begins and asks for its drain.
pub(super) fn ask_for_drain(node: &mut NodeState) {
    let config = node.desired_config().unwrap_or_default().to_owned();
    set(node, annotation::STATE, "Working");
    set(node, annotation::DESIRED_DRAIN, &format!("drain-{config}"));
    node.annotations.remove(annotation::LAST_APPLIED_DRAIN);
}

/// The controller cordons the node and begins to evict.
pub(super) fn cordon(node: &mut NodeState) {
    node.unschedulable = true;
    if let Some(asked) = node.annotations.get(annotation::DESIRED_DRAIN).cloned() {
        set(node, annotation::LAST_APPLIED_DRAIN, &asked);
    }
}

/// The machine goes away.
pub(super) fn leave(node: &mut NodeState) {
    set(node, annotation::STATE, "Rebooting");
    node.conditions.ready = Some(false);
}

/// The machine is back with what was wanted, and the controller lets Pods in again.
pub(super) fn arrive(node: &mut NodeState) {
    if let Some(desired) = node.desired_config().map(str::to_owned) {
        set(node, annotation::CURRENT_CONFIG, &desired);
    }
    if let Some(image) = node.annotations.get(annotation::DESIRED_IMAGE).cloned() {
        set(node, annotation::CURRENT_IMAGE, &image);
    }
    set(node, annotation::STATE, "Done");
    uncordon(node);
    node.conditions = NodeConditions::default();
}

/// The daemon gives up and the node serves on as it was.
pub(super) fn give_up(node: &mut NodeState) {
    set(node, annotation::STATE, "Degraded");
    set(node, annotation::REASON, "the daemon could not take the config");
    uncordon(node);
}

fn uncordon(node: &mut NodeState) {
    node.unschedulable = false;
    let config = node.desired_config().unwrap_or_default();
    let drain = format!("uncordon-{config}");
    set(node, annotation::DESIRED_DRAIN, &drain);
    set(node, annotation::LAST_APPLIED_DRAIN, &drain);
}

/// Whether the daemon is at work or has failed, so that nothing new begins.
pub(super) fn at_work(node: &NodeState) -> bool {
    node.daemon() == Some(DaemonState::Working)
}

/// A machine that has just joined: in its pool, or as a worker that has to move.
pub(super) fn joined(new: &NewNode, reboots: u32, target: Option<&str>) -> NodeState {
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
pub(super) fn under_way(node: &NodeState, target: Option<&str>) -> bool {
    let moving = node.reported() && node.desired_config().is_some() && !node.done() && !node.degraded();
    let can_be_retargeted = node.daemon() == Some(DaemonState::Done) && node.desired_config() != target;
    moving && !can_be_retargeted
}

pub(super) fn set(node: &mut NodeState, key: &str, value: &str) {
    node.annotations.insert(key.to_owned(), value.to_owned());
}
