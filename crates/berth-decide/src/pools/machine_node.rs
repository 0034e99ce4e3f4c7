//! What a `MachineConfigNode` says about a node.
//!
//! Everything follows from the annotations of the Node: whoever reads one or the other finds the same truth.
//!
//! ```text
//! told ──► UpdatePrepared ──► UpdateExecuted (Cordoned, Drained, AppliedFiles) ──► UpdatePostActionComplete (RebootedNode)
//!      ──► UpdateComplete (Uncordoned) ──► Resumed ──► Updated
//! ```

use berth_pools::{DaemonState, annotation};
use berth_resources::{
    ConfigVersion, DesiredVersion, MachineConfigNodeSpec, MachineConfigNodeStatus, NameReference, NodeCondition,
};
use jiff::Timestamp;

use super::MemberView;

/// The value of what nobody has said yet.
const NOT_YET_SET: &str = "not-yet-set";

/// The longest message, as the API server takes it.
const MESSAGE_LIMIT: usize = 32_768;

/// The steps in their order, each with the one that it is part of.
const STEPS: [(&str, &str); 12] = [
    ("UpdatePrepared", ""),
    ("Cordoned", "UpdateExecuted"),
    ("Drained", "UpdateExecuted"),
    ("AppliedFiles", "UpdateExecuted"),
    ("AppliedOSImage", "UpdateExecuted"),
    ("UpdateExecuted", ""),
    ("RebootedNode", "UpdatePostActionComplete"),
    ("UpdatePostActionComplete", ""),
    ("Uncordoned", "UpdateComplete"),
    ("UpdateComplete", ""),
    ("Resumed", ""),
    ("Updated", ""),
];

/// Whether the node is degraded: not one of the steps.
const DEGRADED: &str = "NodeDegraded";

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Not,
    UnderWay,
    Done,
}

impl Stage {
    fn word(self) -> &'static str {
        match self {
            Self::Not => "False",
            Self::UnderWay => "Unknown",
            Self::Done => "True",
        }
    }

    /// Done if so; otherwise under way.
    fn done_if(done: bool) -> Self {
        if done { Self::Done } else { Self::UnderWay }
    }
}

/// The spec of a node's object.
pub fn machine_node_spec(node: &MemberView, pool: Option<&str>) -> MachineConfigNodeSpec {
    let or_not = |text: Option<&str>| text.unwrap_or(NOT_YET_SET).to_owned();
    MachineConfigNodeSpec {
        node: NameReference {
            name: node.state.name.clone(),
        },
        pool: NameReference { name: or_not(pool) },
        config_version: DesiredVersion {
            desired: or_not(node.state.desired_config()),
        },
    }
}

/// The status of a node's object of this generation. Conditions of others stay, and one that does not change keeps its time.
pub fn machine_node_status(
    node: &MemberView,
    before: &MachineConfigNodeStatus,
    generation: Option<i64>,
    now: Timestamp,
) -> MachineConfigNodeStatus {
    let state = &node.state;
    let or_not = |text: Option<&str>| text.unwrap_or(NOT_YET_SET).to_owned();
    let stages = stages(node);
    let mut conditions: Vec<NodeCondition> = Vec::new();
    let mut say = |type_: &str, status: &str, reason: String, message: String| {
        let known = before.conditions.iter().find(|known| known.type_ == type_);
        let since = known.filter(|known| known.status == status);
        conditions.push(NodeCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason,
            message,
            last_transition_time: since.map_or(now, |known| known.last_transition_time),
            observed_generation: generation,
        });
    };
    for ((step, parent), stage) in STEPS.iter().zip(stages) {
        let message = match stage {
            Stage::Not => format!("The step {step} is not part of what the node does now"),
            Stage::UnderWay => format!("The node is at the step {step}"),
            Stage::Done => format!("The step {step} is done"),
        };
        say(step, stage.word(), format!("{parent}{step}"), message);
    }
    let reason = text(node, annotation::REASON);
    let (status, why, message) = match state.daemon() {
        Some(DaemonState::Degraded) => ("True", "Degraded", reason),
        Some(DaemonState::Unreconcilable) => ("True", "Unreconcilable", reason),
        _ => ("False", "AsExpected", ""),
    };
    let message = message.chars().take(MESSAGE_LIMIT / 4).collect();
    say(DEGRADED, status, why.to_owned(), message);
    let ours = |type_: &str| type_ == DEGRADED || STEPS.iter().any(|(step, _)| *step == type_);
    conditions.extend(before.conditions.iter().filter(|known| !ours(&known.type_)).cloned());
    MachineConfigNodeStatus {
        observed_generation: generation,
        config_version: Some(ConfigVersion {
            current: or_not(state.current_config()),
            desired: or_not(state.desired_config()),
        }),
        conditions,
    }
}

fn text<'a>(node: &'a MemberView, key: &str) -> &'a str {
    node.state.annotations.get(key).map(String::as_str).unwrap_or_default()
}

/// How far each step is, in their order.
fn stages(node: &MemberView) -> [Stage; STEPS.len()] {
    use Stage::{Done, Not, UnderWay};

    let state = &node.state;
    let idle = |updated| {
        let mut stages = [Not; STEPS.len()];
        if let Some(last) = stages.last_mut() {
            *last = updated;
        }
        stages
    };
    let (Some(current), Some(desired), Some(daemon)) = (state.current_config(), state.desired_config(), state.daemon())
    else {
        return idle(Not);
    };
    let there = current == desired;
    match daemon {
        DaemonState::Done => return idle(if there { Done } else { Not }),
        // What it does not take it does not begin with.
        DaemonState::Unreconcilable => return idle(Not),
        DaemonState::Degraded if there => return idle(Not),
        DaemonState::Working | DaemonState::Degraded => {}
    }
    if there {
        // Everything is written, and its Pods may come again.
        let uncordoned = if state.unschedulable { UnderWay } else { Done };
        return [
            Done, Not, Not, Done, Done, Done, Not, Done, uncordoned, UnderWay, UnderWay, UnderWay,
        ];
    }
    let drain = text(node, annotation::DESIRED_DRAIN);
    let asked = drain.starts_with("drain-");
    let drained = asked && text(node, annotation::LAST_APPLIED_DRAIN) == drain;
    let rebooting = text(node, annotation::POST_CONFIG_ACTION) == "Rebooting";
    let (cordon, drain) = if asked {
        (Stage::done_if(state.unschedulable), Stage::done_if(drained))
    } else {
        (Not, Not)
    };
    // What waits for its Pods to go has not written anything.
    let writes = if asked && !drained {
        Not
    } else {
        Stage::done_if(rebooting)
    };
    let reboot = if rebooting { UnderWay } else { Not };
    let executed = Stage::done_if(rebooting);
    [
        Done, cordon, drain, writes, writes, executed, reboot, reboot, Not, Not, Not, Not,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::NodeView;

    const OLD: &str = "rendered-edge-old";
    const NEW: &str = "rendered-edge-new";

    fn member(says: &[(&str, &str)], cordoned: bool) -> MemberView {
        let pair = |(key, text): &(&str, &str)| ((*key).to_owned(), (*text).to_owned());
        MemberView::from(NodeView {
            name: "n1".to_owned(),
            annotations: says.iter().map(pair).collect(),
            unschedulable: cordoned,
            ..NodeView::default()
        })
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// The conditions that are not `False`, with a `?` behind those under way.
    fn shown(node: &MemberView) -> String {
        let status = machine_node_status(node, &MachineConfigNodeStatus::default(), Some(1), at(1));
        assert!(status.conditions.len() <= 20);
        let conditions = status.conditions.iter();
        let shown = conditions.filter_map(|condition| match condition.status.as_str() {
            "True" => Some(condition.type_.clone()),
            "Unknown" => Some(format!("{}?", condition.type_)),
            _ => None,
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_update_goes_from_step_to_step() {
        let (current, desired, state) = (
            annotation::CURRENT_CONFIG,
            annotation::DESIRED_CONFIG,
            annotation::STATE,
        );
        let (asks, applied) = (annotation::DESIRED_DRAIN, annotation::LAST_APPLIED_DRAIN);
        let drain = format!("drain-{NEW}");
        let moves = [(current, OLD), (desired, NEW), (state, "Working")];
        let with = |more: &[(&'static str, &'static str)]| [&moves[..], more].concat();
        let drain: &'static str = drain.leak();
        for (says, cordoned, expected) in [
            (vec![], false, ""),
            (vec![(current, OLD), (desired, NEW), (state, "Done")], false, ""),
            (
                with(&[]),
                false,
                "UpdatePrepared AppliedFiles? AppliedOSImage? UpdateExecuted?",
            ),
            (
                with(&[(asks, drain)]),
                false,
                "UpdatePrepared Cordoned? Drained? UpdateExecuted?",
            ),
            (
                with(&[(asks, drain)]),
                true,
                "UpdatePrepared Cordoned Drained? UpdateExecuted?",
            ),
            (
                with(&[(asks, drain), (applied, drain)]),
                true,
                "UpdatePrepared Cordoned Drained AppliedFiles? AppliedOSImage? UpdateExecuted?",
            ),
            (
                with(&[
                    (asks, drain),
                    (applied, drain),
                    (annotation::POST_CONFIG_ACTION, "Rebooting"),
                ]),
                true,
                "UpdatePrepared Cordoned Drained AppliedFiles AppliedOSImage UpdateExecuted RebootedNode? \
                 UpdatePostActionComplete?",
            ),
            (
                vec![(current, NEW), (desired, NEW), (state, "Working")],
                true,
                "UpdatePrepared AppliedFiles AppliedOSImage UpdateExecuted UpdatePostActionComplete Uncordoned? \
                 UpdateComplete? Resumed? Updated?",
            ),
            (vec![(current, NEW), (desired, NEW), (state, "Done")], false, "Updated"),
            (
                vec![(current, OLD), (desired, NEW), (state, "Unreconcilable")],
                false,
                "NodeDegraded",
            ),
            (
                vec![(current, NEW), (desired, NEW), (state, "Degraded")],
                false,
                "NodeDegraded",
            ),
        ] {
            assert_eq!(shown(&member(&says, cordoned)), expected, "{says:?}");
        }
    }

    #[test]
    fn what_does_not_change_keeps_its_time_and_what_others_say_stays() {
        let node = member(
            &[
                (annotation::CURRENT_CONFIG, NEW),
                (annotation::DESIRED_CONFIG, NEW),
                (annotation::STATE, "Done"),
            ],
            false,
        );
        let first = machine_node_status(&node, &MachineConfigNodeStatus::default(), Some(1), at(1));
        assert_eq!(machine_node_status(&node, &first, Some(1), at(2)), first);
        let mut before = first;
        before.conditions.push(NodeCondition {
            type_: "PinnedImageSetsDegraded".to_owned(),
            status: "False".to_owned(),
            reason: "AsExpected".to_owned(),
            message: String::new(),
            last_transition_time: at(1),
            observed_generation: None,
        });
        let bad = member(
            &[
                (annotation::CURRENT_CONFIG, NEW),
                (annotation::DESIRED_CONFIG, NEW),
                (annotation::STATE, "Degraded"),
                (annotation::REASON, "disk full"),
            ],
            false,
        );
        let after = machine_node_status(&bad, &before, Some(1), at(9));
        let of = |type_: &str| after.conditions.iter().find(|found| found.type_ == type_).unwrap();
        assert_eq!(of("NodeDegraded").message, "disk full");
        assert_eq!(of("NodeDegraded").last_transition_time, at(9));
        assert_eq!(of("Updated").last_transition_time, at(9));
        assert_eq!(of("Drained").last_transition_time, at(1));
        assert_eq!(of("Drained").reason, "UpdateExecutedDrained");
        assert_eq!(of("PinnedImageSetsDegraded").last_transition_time, at(1));
    }

    #[test]
    fn what_nobody_said_is_not_yet_set() {
        let spec = machine_node_spec(&member(&[], false), None);
        assert_eq!(
            serde_json::to_value(spec).unwrap(),
            serde_json::json!({
                "node": {"name": "n1"}, "pool": {"name": "not-yet-set"}, "configVersion": {"desired": "not-yet-set"},
            })
        );
    }
}
