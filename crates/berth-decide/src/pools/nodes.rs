//! What a rollout writes to Nodes.

use std::collections::BTreeMap;

use berth_pools::{RolloutPlan, annotation};
use k8s_openapi::api::core::v1::Taint;

use super::MemberView;
use crate::patch::NodePatch;

/// The taint of a node that is going to move: Pods that come now would have to leave again.
pub const UPDATE_IN_PROGRESS: &str = "UpdateInProgress";

const PREFER_NO_SCHEDULE: &str = "PreferNoSchedule";

/// A write to one Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeChange {
    /// The Node.
    pub node: String,
    /// The config it shall get.
    pub desired: Option<String>,
    /// Whether it shall have the taint.
    pub tainted: Option<bool>,
}

impl NodeChange {
    /// The merge patch, for this very object. Taints are one list, so a change of them is for this very version.
    pub fn patch(&self, member: &MemberView) -> NodePatch {
        let desired = self.desired.clone();
        let taints = self.tainted.map(|tainted| {
            let ours = tainted.then(|| Taint {
                key: UPDATE_IN_PROGRESS.to_owned(),
                effect: PREFER_NO_SCHEDULE.to_owned(),
                ..Taint::default()
            });
            let others = member.taints.iter().filter(|taint| !is_ours(taint)).cloned();
            others.chain(ours).collect()
        });
        NodePatch {
            uid: Some(member.uid.clone()),
            resource_version: taints.is_some().then(|| member.resource_version.clone()),
            annotations: desired
                .map(|desired| (annotation::DESIRED_CONFIG.to_owned(), Some(desired)))
                .into_iter()
                .collect(),
            taints,
            ..NodePatch::default()
        }
    }
}

/// What the plan of a pool changes on its nodes: those that move now first, then taints alone. A paused pool changes
/// nothing.
pub fn changes(plan: &RolloutPlan, members: impl IntoIterator<Item = MemberView>) -> Vec<NodeChange> {
    let Some(target) = plan.target.as_deref().filter(|_| !plan.paused) else {
        return Vec::new();
    };
    let members: BTreeMap<String, MemberView> = members
        .into_iter()
        .map(|member| (member.state.name.clone(), member))
        .collect();
    let taint = |member: &MemberView, desired: Option<&str>| {
        let wanted = member.state.reported() && desired != Some(target);
        (wanted != is_tainted(member)).then_some(wanted)
    };
    let mut changes: Vec<NodeChange> = plan
        .candidates
        .iter()
        .filter_map(|name| {
            let member = members.get(name.as_str())?;
            Some(NodeChange {
                node: name.clone(),
                desired: Some(target.to_owned()),
                tainted: taint(member, Some(target)),
            })
        })
        .collect();
    let moving: std::collections::BTreeSet<&str> = plan.candidates.iter().map(String::as_str).collect();
    let taints = members
        .iter()
        .filter(|(name, _)| !moving.contains(name.as_str()))
        .filter_map(|(name, member)| {
            Some(NodeChange {
                node: name.clone(),
                desired: None,
                tainted: Some(taint(member, member.state.desired_config())?),
            })
        });
    changes.extend(taints);
    changes
}

fn is_ours(taint: &Taint) -> bool {
    taint.key == UPDATE_IN_PROGRESS && taint.effect == PREFER_NO_SCHEDULE
}

fn is_tainted(member: &MemberView) -> bool {
    member.taints.iter().any(is_ours)
}
