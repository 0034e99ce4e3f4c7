//! What keeps one node from what its pool wants, and what helps.

use std::{collections::BTreeSet, fmt::Write as _};

use berth_pools::{DaemonState, NodeState, annotation};
use jiff::{SignedDuration, Timestamp};

use super::{DrainRequest, MemberView, PoolView, StuckPod, UPDATE_IN_PROGRESS, silent_node};
use crate::{patch::NodePatch, view::NodeView};

/// A server takes ten minutes in its firmware, and a switch in its network some more.
const LONGEST_REBOOT: SignedDuration = SignedDuration::from_mins(20);

/// The step at which a daemon begins.
pub const STEP_DAEMON: &str = "daemon";

/// A node with what has to be known about it.
#[derive(Clone, Copy, Debug)]
pub struct NodeCase<'a> {
    /// The Node.
    pub node: &'a NodeView,
    /// Its pool; `None`: it is in none.
    pub pool: Option<&'a PoolView>,
    /// The rendered configs that the cluster has.
    pub configs: &'a BTreeSet<String>,
    /// The Pods that keep its drain from ending, where it [`drains`].
    pub stuck: &'a [StuckPod],
    /// The time.
    pub now: Timestamp,
}

/// Whether a node waits for a drain, so that its Pods have to be looked at.
pub fn drains(node: &NodeView) -> bool {
    let state = MemberView::from(node.clone()).state;
    matches!(DrainRequest::of(&state), Some(DrainRequest::Drain(_)))
}

/// Something that keeps a node from going on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct NodeTrouble {
    /// The step that it does not get beyond.
    pub step: &'static str,
    /// What is wrong.
    pub message: String,
    /// What helps.
    pub advice: String,
    /// What `berth node repair` does about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
}

/// What can be put right from outside of the machine.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Repair {
    /// Want this config.
    Want(String),
    /// Let the daemon write anew what it does.
    ForgetState,
    /// Let Pods come again.
    Uncordon,
    /// Nothing is asked for but what was carried out last.
    ForgetDrain,
    /// Delete Pods that a disruption budget holds. Only if somebody wants just that.
    DeletePods(Vec<StuckPod>),
}

impl Repair {
    /// What is done, for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Want(config) => format!("desiredConfig is {config}"),
            Self::ForgetState => "the daemon is asked to say anew what it does".to_owned(),
            Self::Uncordon => "the node takes Pods again".to_owned(),
            Self::ForgetDrain => "the request that nobody understands is taken back".to_owned(),
            Self::DeletePods(pods) => {
                let names: Vec<String> = pods
                    .iter()
                    .map(|pod| format!("{}/{}", pod.namespace, pod.name))
                    .collect();
                format!("deleted, whatever their budgets say: {}", names.join(", "))
            }
        }
    }
}

/// The patch that puts this right, for this very version of the Node.
pub fn repair(node: &NodeView, repairs: &[Repair]) -> NodePatch {
    let mut patch = NodePatch {
        uid: Some(node.uid.clone()),
        resource_version: Some(node.resource_version.clone()),
        ..NodePatch::default()
    };
    for repair in repairs {
        match repair {
            Repair::Want(config) => {
                let key = annotation::DESIRED_CONFIG.to_owned();
                patch.annotations.insert(key, Some(config.clone()));
            }
            Repair::ForgetState => {
                patch.annotations.insert(annotation::STATE.to_owned(), None);
            }
            Repair::ForgetDrain => {
                let applied = node.annotations.get(annotation::LAST_APPLIED_DRAIN).cloned();
                patch.annotations.insert(annotation::DESIRED_DRAIN.to_owned(), applied);
            }
            Repair::DeletePods(_) => {}
            Repair::Uncordon => {
                patch.unschedulable = Some(false);
                let others = node.taints.iter().filter(|taint| taint.key != UPDATE_IN_PROGRESS);
                let others: Vec<_> = others.cloned().collect();
                patch.taints = (others.len() < node.taints.len()).then_some(others);
            }
        }
    }
    patch
}

/// Everything that keeps a node from what its pool wants, in the order of the steps. Nothing is said of a node that is on its way.
pub fn troubles(case: &NodeCase<'_>) -> Vec<NodeTrouble> {
    let Some((pool, target)) = case.pool.and_then(|pool| Some((pool, pool.target.as_deref()?))) else {
        return Vec::new();
    };
    let node = MemberView::from(case.node.clone()).state;
    [
        wanted(&node, pool, target, case.configs),
        state(&node),
        daemon(&node),
        drain(&node, case.stuck),
        reboot(&node, case),
        given_up(&node),
        drift(case.node),
        cordon(&node),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn text<'a>(node: &'a NodeState, key: &str) -> &'a str {
    node.annotations.get(key).map(String::as_str).unwrap_or_default()
}

/// The wanted config is not there, and nobody would ever bring it.
fn wanted(node: &NodeState, pool: &PoolView, target: &str, configs: &BTreeSet<String>) -> Option<NodeTrouble> {
    let desired = node.desired_config()?;
    if configs.contains(desired) || node.current_config() == Some(desired) {
        return None;
    }
    let repair = configs.contains(target).then(|| Repair::Want(target.to_owned()));
    Some(NodeTrouble {
        step: "config",
        message: format!("{desired} is wanted and is not in the cluster"),
        advice: match &repair {
            Some(_) => format!(
                "`berth node repair {}` has it take {target}, which pool {} wants",
                node.name, pool.name
            ),
            None => format!(
                "pool {} has no rendered config either; its condition RenderDegraded says why",
                pool.name
            ),
        },
        repair,
    })
}

/// A state that is not a word of the contract.
fn state(node: &NodeState) -> Option<NodeTrouble> {
    let state = text(node, annotation::STATE);
    (!state.is_empty() && node.daemon().is_none()).then(|| NodeTrouble {
        step: "state",
        message: format!("the state `{state}` is not one of Working, Done, Degraded and Unreconcilable"),
        advice: format!("`berth node repair {}` has its daemon write it anew", node.name),
        repair: Some(Repair::ForgetState),
    })
}

fn daemon(node: &NodeState) -> Option<NodeTrouble> {
    silent_node(node).then(|| NodeTrouble {
        step: STEP_DAEMON,
        message: match node.desired_config().filter(|_| node.reported()) {
            Some(desired) => format!("its node daemon does not begin with {desired}"),
            None => "no node daemon says what it runs".to_owned(),
        },
        advice: "`berth doctor --mode full` says whether the daemon runs; its log says what it waits for".to_owned(),
        repair: None,
    })
}

/// Its drain does not end, or nobody knows what it asks for.
fn drain(node: &NodeState, stuck: &[StuckPod]) -> Option<NodeTrouble> {
    let name = &node.name;
    match DrainRequest::of(node)? {
        DrainRequest::Uncordon(_) => None,
        DrainRequest::Unknown(request) => Some(NodeTrouble {
            step: "drain",
            message: format!("it asks for `{request}`, which is neither a drain nor an uncordon"),
            advice: format!("`berth node repair {name}` takes that back"),
            repair: Some(Repair::ForgetDrain),
        }),
        DrainRequest::Drain(_) => {
            let first = stuck.first()?;
            let mut message = format!("its drain waits for {}/{}: {}", first.namespace, first.name, first.why);
            if stuck.len() > 1 {
                // Writing to a String cannot fail.
                let _ = write!(message, " (and {} more)", stuck.len() - 1);
            }
            let held: Vec<StuckPod> = stuck.iter().filter(|pod| pod.held).cloned().collect();
            let mut advice = first.advice.clone();
            if !held.is_empty() {
                let _ = write!(
                    advice,
                    "; `berth node repair {name} --delete-pods` deletes what budgets hold"
                );
            }
            Some(NodeTrouble {
                step: "drain",
                message,
                advice,
                repair: (!held.is_empty()).then_some(Repair::DeletePods(held)),
            })
        }
    }
}

/// It was started again, and nothing has been heard of it since.
fn reboot(node: &NodeState, case: &NodeCase<'_>) -> Option<NodeTrouble> {
    if text(node, annotation::POST_CONFIG_ACTION) != "Rebooting" {
        return None;
    }
    let silent = case.now.duration_since(case.node.silent_since?);
    (silent > LONGEST_REBOOT).then(|| NodeTrouble {
        step: "reboot",
        message: format!(
            "it was started again and has not been heard of for {} minutes",
            silent.as_mins()
        ),
        advice: "look at its console, or switch it off and on: its daemon goes on by what is on the disk, and goes back if the \
                 node does not become healthy"
            .to_owned(),
        repair: None,
    })
}

/// Something on the host is not as its config says.
fn drift(node: &NodeView) -> Option<NodeTrouble> {
    let first = node.annotations.get(annotation::DRIFT)?.lines().next()?;
    Some(NodeTrouble {
        step: "drift",
        message: first.to_owned(),
        advice: format!(
            "`berth node show {0}` shows all of it, `berth node force {0}` writes everything anew",
            node.name
        ),
        repair: None,
    })
}

/// The daemon has said why it does not go on.
fn given_up(node: &NodeState) -> Option<NodeTrouble> {
    let reason = text(node, annotation::REASON);
    let step = match node.daemon()? {
        DaemonState::Degraded => "update",
        DaemonState::Unreconcilable => "plan",
        DaemonState::Working | DaemonState::Done => return None,
    };
    let name = &node.name;
    Some(NodeTrouble {
        step,
        message: if reason.is_empty() {
            "its daemon gives no reason".to_owned()
        } else {
            reason.to_owned()
        },
        advice: match step {
            "plan" => "change the machine configs of its pool so that this host can have them".to_owned(),
            _ => format!("correct the config, or `berth node force {name}` to write everything anew and try again"),
        },
        repair: None,
    })
}

/// The node has what is wanted and takes no Pods, because a drain was not taken back.
fn cordon(node: &NodeState) -> Option<NodeTrouble> {
    let applied = text(node, annotation::LAST_APPLIED_DRAIN);
    let asks = text(node, annotation::DESIRED_DRAIN) != applied;
    (node.unschedulable && node.done() && !asks).then(|| {
        let name = &node.name;
        let leftover = applied.starts_with("drain-");
        NodeTrouble {
            step: "cordon",
            message: if leftover {
                "it has what is wanted, and its drain was not taken back".to_owned()
            } else {
                "it has what is wanted, and somebody cordoned it".to_owned()
            },
            advice: if leftover {
                format!("`berth node repair {name}` uncordons it")
            } else {
                format!("`kubectl uncordon {name}`, unless it was cordoned on purpose")
            },
            repair: leftover.then_some(Repair::Uncordon),
        }
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Taint;
    use serde_json::json;

    use super::*;

    const OLD: &str = "rendered-edge-old";
    const NEW: &str = "rendered-edge-new";

    fn node(current: &str, desired: &str, state: &str) -> NodeView {
        let pairs = [
            (annotation::CURRENT_CONFIG, current),
            (annotation::DESIRED_CONFIG, desired),
            (annotation::STATE, state),
        ];
        let pairs = pairs.into_iter().filter(|(_, text)| !text.is_empty());
        NodeView {
            name: "n1".to_owned(),
            uid: "u1".to_owned(),
            resource_version: "7".to_owned(),
            annotations: pairs.map(|(key, text)| (key.to_owned(), text.to_owned())).collect(),
            ..NodeView::default()
        }
    }

    fn found(node: &NodeView, configs: &[&str]) -> Vec<(&'static str, Option<Repair>)> {
        all(node, configs, &[])
            .into_iter()
            .map(|trouble| (trouble.step, trouble.repair))
            .collect()
    }

    fn all(node: &NodeView, configs: &[&str], stuck: &[StuckPod]) -> Vec<NodeTrouble> {
        let pool = PoolView::read(&json!({
            "metadata": {"name": "edge"}, "spec": {"configuration": {"name": NEW}},
        }));
        let configs = configs.iter().map(|name| (*name).to_owned()).collect();
        let case = NodeCase {
            node,
            pool: Some(&pool),
            configs: &configs,
            stuck,
            now: "2026-11-19T12:00:00Z".parse().unwrap(),
        };
        troubles(&case)
    }

    #[test]
    fn a_drain_that_does_not_end_names_the_pod_and_what_holds_it() {
        let mut node = node(OLD, NEW, "Working");
        let ask = |node: &mut NodeView, request: &str| {
            node.annotations
                .insert(annotation::DESIRED_DRAIN.to_owned(), request.to_owned());
        };
        ask(&mut node, &format!("drain-{NEW}"));
        assert!(drains(&node));
        assert_eq!(found(&node, &[NEW]), [], "it is on its way");
        let pod = |name: &str, held: bool| StuckPod {
            namespace: "web".to_owned(),
            name: name.to_owned(),
            uid: Some(name.to_owned()),
            why: "the budget says no".to_owned(),
            advice: "change it".to_owned(),
            held,
        };
        let stuck = [pod("web-0", true), pod("web-1", false)];
        let [trouble] = &all(&node, &[NEW], &stuck)[..] else {
            panic!("one trouble");
        };
        assert_eq!(trouble.step, "drain");
        assert_eq!(
            trouble.message,
            "its drain waits for web/web-0: the budget says no (and 1 more)"
        );
        assert!(
            trouble.advice.contains("berth node repair n1 --delete-pods"),
            "{}",
            trouble.advice
        );
        assert_eq!(trouble.repair, Some(Repair::DeletePods(stuck[..1].to_vec())));
        // What only terminates is never deleted by force.
        assert_eq!(all(&node, &[NEW], &stuck[1..])[0].repair, None);

        ask(&mut node, "dance-with-me");
        assert!(!drains(&node));
        assert_eq!(found(&node, &[NEW]), [("drain", Some(Repair::ForgetDrain))]);
        let patch = repair(&node, &[Repair::ForgetDrain]).to_value();
        assert_eq!(
            patch["metadata"]["annotations"],
            json!({annotation::DESIRED_DRAIN: null})
        );
    }

    #[test]
    fn a_node_that_does_not_come_back_from_a_reboot_is_named_after_a_while() {
        let mut node = node(OLD, NEW, "Working");
        node.annotations
            .insert(annotation::POST_CONFIG_ACTION.to_owned(), "Rebooting".to_owned());
        assert_eq!(found(&node, &[NEW]), [], "it has not gone down yet");
        node.silent_since = Some("2026-11-19T11:50:00Z".parse().unwrap());
        assert_eq!(found(&node, &[NEW]), [], "servers take their time");
        node.silent_since = Some("2026-11-19T11:20:00Z".parse().unwrap());
        let [trouble] = &all(&node, &[NEW], &[])[..] else {
            panic!("one trouble");
        };
        assert_eq!(
            (trouble.step, trouble.message.as_str()),
            (
                "reboot",
                "it was started again and has not been heard of for 40 minutes"
            )
        );
    }

    #[test]
    fn drift_is_named_by_its_first_line() {
        let mut node = node(NEW, NEW, "Done");
        let drift = "content mismatch for file \"/etc/motd\"\n-ours\n+theirs";
        node.annotations.insert(annotation::DRIFT.to_owned(), drift.to_owned());
        let [trouble] = &all(&node, &[NEW], &[])[..] else {
            panic!("one trouble");
        };
        assert_eq!(
            (trouble.step, trouble.message.as_str()),
            ("drift", "content mismatch for file \"/etc/motd\"")
        );
    }

    #[test]
    fn each_trouble_is_named_with_what_helps() {
        let all = [OLD, NEW];
        for (node, configs, expected) in [
            (node(NEW, NEW, "Done"), &all[..], vec![]),
            (node(OLD, NEW, "Working"), &all, vec![]),
            // What runs need not be in the cluster any more.
            (node(OLD, OLD, "Done"), &[NEW], vec![]),
            (node("", "", ""), &all, vec![("daemon", None)]),
            (node(OLD, NEW, "Done"), &all, vec![("daemon", None)]),
            (
                node(OLD, "rendered-gone", "Working"),
                &all,
                vec![("config", Some(Repair::Want(NEW.to_owned())))],
            ),
            (node(OLD, "rendered-gone", "Working"), &[OLD], vec![("config", None)]),
            (
                node(OLD, NEW, "Dreaming"),
                &all,
                vec![("state", Some(Repair::ForgetState))],
            ),
            (node(OLD, NEW, "Degraded"), &all, vec![("update", None)]),
            (node(OLD, NEW, "Unreconcilable"), &all, vec![("plan", None)]),
        ] {
            assert_eq!(found(&node, configs), expected, "{node:?}");
        }
    }

    #[test]
    fn a_cordon_is_taken_back_only_if_a_drain_left_it() {
        let cordoned = |drain: &str| {
            let mut node = node(NEW, NEW, "Done");
            node.unschedulable = true;
            for key in [annotation::DESIRED_DRAIN, annotation::LAST_APPLIED_DRAIN] {
                node.annotations.insert(key.to_owned(), drain.to_owned());
            }
            node
        };
        let of_drain = cordoned(&format!("drain-{NEW}"));
        assert_eq!(found(&of_drain, &[NEW]), [("cordon", Some(Repair::Uncordon))]);
        assert_eq!(found(&cordoned(&format!("uncordon-{NEW}")), &[NEW]), [("cordon", None)]);
        assert_eq!(found(&cordoned(""), &[NEW]), [("cordon", None)]);
        // Whoever was asked to uncordon it is on its way.
        let mut asked = of_drain;
        asked
            .annotations
            .insert(annotation::DESIRED_DRAIN.to_owned(), format!("uncordon-{NEW}"));
        assert_eq!(found(&asked, &[NEW]), []);
    }

    #[test]
    fn a_repair_writes_its_own_keys_of_this_very_node() {
        let mut node = node(OLD, "rendered-gone", "Dreaming");
        let taint = |key: &str| Taint {
            key: key.to_owned(),
            ..Taint::default()
        };
        node.taints = vec![taint("other"), taint(UPDATE_IN_PROGRESS)];
        let patch = repair(
            &node,
            &[Repair::Want(NEW.to_owned()), Repair::ForgetState, Repair::Uncordon],
        );
        assert_eq!(
            patch.to_value(),
            json!({
                "metadata": {
                    "uid": "u1", "resourceVersion": "7",
                    "annotations": {annotation::DESIRED_CONFIG: NEW, annotation::STATE: null},
                },
                "spec": {"unschedulable": null, "taints": [{"key": "other", "effect": ""}]},
            })
        );
    }
}
