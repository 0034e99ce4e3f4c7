//! What `berth status` shows: pools, berths, drift and conflicts.

use std::collections::BTreeMap;

use berth_pools::NodeState;
use berth_resources::{Berth, Phase};
use kube_core::ResourceExt as _;
use serde::Serialize;

use crate::{
    names::{condition, reason},
    pools::{NodeTrouble, PoolView, silent},
};

/// The state of a cluster in a few lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The pools, by name.
    pub pools: Vec<PoolSummary>,
    /// The Berths, by name.
    pub berths: Vec<BerthSummary>,
    /// Nodes that have no Berth.
    pub without_berth: Vec<String>,
    /// What keeps nodes from what their pools want, by node. Pools whose daemons do not answer name them themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub troubled: Vec<TroubledNode>,
}

/// One thing that keeps a node from what its pool wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TroubledNode {
    /// The node.
    pub node: String,
    /// Its pool.
    pub pool: String,
    /// What is wrong, and what helps.
    #[serde(flatten)]
    pub trouble: NodeTrouble,
}

/// One pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PoolSummary {
    /// Its name.
    pub name: String,
    /// Berths in it.
    pub berths: usize,
    /// Berths in it that are ready.
    pub ready: usize,
    /// Nodes in it whose node daemon does not answer. Only pools that somebody renders need one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
}

/// One Berth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BerthSummary {
    /// Its name.
    pub name: String,
    /// The Node's name.
    pub node: String,
    /// The pool.
    pub pool: Option<String>,
    /// Where it stands.
    pub phase: &'static str,
    /// Whether all is as declared.
    pub ready: bool,
    /// Why not, in one word.
    pub reason: String,
    /// Why not, in a sentence.
    pub message: String,
}

impl BerthSummary {
    /// Whether a declared label is not there because an administrator removed it on purpose.
    pub fn is_held_back(&self) -> bool {
        self.ready && self.reason == reason::REMOVED_ON_PURPOSE
    }

    /// Whether something is not as declared. A machine that has not come yet, or whose place was given up, is not drift.
    pub fn has_drifted(&self) -> bool {
        !self.ready
            && ![
                reason::AWAITING_MACHINE,
                reason::AWAITING_REGISTRATION,
                reason::PREREGISTERED,
                reason::RELEASED,
            ]
            .contains(&self.reason.as_str())
    }
}

/// Sums up. Pools that only Berths know of are shown too.
pub fn summarize(pools: &[PoolView], berths: &[Berth], nodes: &[NodeState]) -> Summary {
    let mut silent = silent(pools, nodes);
    let mut by_pool: BTreeMap<String, PoolSummary> = pools
        .iter()
        .map(|pool| {
            let summary = PoolSummary {
                name: pool.name.clone(),
                silent: silent.remove(&pool.name).unwrap_or_default(),
                ..PoolSummary::default()
            };
            (pool.name.clone(), summary)
        })
        .collect();
    let mut rows: Vec<BerthSummary> = berths.iter().map(row).collect();
    rows.sort_by(|left, right| left.name.cmp(&right.name));
    // A place that was given up is in no pool: the operator does not count its machine there either.
    let held = rows.iter().filter(|row| row.phase != Phase::Released.as_str());
    for row in held {
        if let Some(name) = &row.pool {
            let pool = by_pool.entry(name.clone()).or_default();
            pool.name.clone_from(name);
            pool.berths += 1;
            pool.ready += usize::from(row.ready);
        }
    }
    let mut without_berth: Vec<String> = nodes
        .iter()
        .filter(|node| !rows.iter().any(|row| row.node == node.name))
        .map(|node| node.name.clone())
        .collect();
    without_berth.sort();
    Summary {
        pools: by_pool.into_values().collect(),
        berths: rows,
        without_berth,
        troubled: Vec::new(),
    }
}

fn row(berth: &Berth) -> BerthSummary {
    let status = berth.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().find(|known| known.type_ == condition::READY);
    BerthSummary {
        name: berth.name_any(),
        node: berth.node_name(),
        pool: status.pool,
        phase: berth.phase().as_str(),
        ready: ready.is_some_and(|ready| ready.status == "True"),
        reason: ready.map_or_else(String::new, |ready| ready.reason.clone()),
        message: ready.map_or_else(
            || "no controller has looked at it yet; `berth doctor` says why".to_owned(),
            |ready| ready.message.clone(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use berth_resources::{BerthSpec, BerthStatus};

    use super::*;

    #[test]
    fn a_place_that_waits_for_its_machine_says_why() {
        let mut berth = Berth::new("a", BerthSpec::default());
        let ready = serde_json::json!({
            "type": "Ready", "status": "False", "reason": "NodeNotReady", "message": "the Node was not Ready",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        berth.status = Some(BerthStatus {
            phase: Some(Phase::Vacant),
            conditions: vec![serde_json::from_value(ready).unwrap()],
            ..BerthStatus::default()
        });
        let summary = summarize(&[], &[berth], &[]);
        let row = &summary.berths[0];
        assert_eq!(
            (row.phase, row.reason.as_str(), row.message.as_str()),
            ("Vacant", "NodeNotReady", "the Node was not Ready")
        );
        assert!(row.has_drifted(), "`berth status` shows the message");
    }

    #[test]
    fn places_that_were_given_up_are_shown_and_not_counted() {
        let berth = |name: &str, phase: Phase| {
            let mut berth = Berth::new(name, BerthSpec::default());
            berth.status = Some(BerthStatus {
                phase: Some(phase),
                pool: Some("infra".to_owned()),
                ..BerthStatus::default()
            });
            berth
        };
        let berths = [berth("a", Phase::Occupied), berth("b", Phase::Released)];
        let pool = PoolView::read(&serde_json::json!({"metadata": {"name": "infra"}}));
        let nodes = ["a", "b", "c"].map(|name| NodeState {
            name: name.to_owned(),
            ..NodeState::default()
        });
        let summary = summarize(&[pool], &berths, &nodes);
        let counts: Vec<(&str, usize)> = summary
            .pools
            .iter()
            .map(|pool| (pool.name.as_str(), pool.berths))
            .collect();
        assert_eq!(counts, [("infra", 1)]);
        assert_eq!(summary.berths.len(), 2);
        assert_eq!(summary.without_berth, ["c"]);
    }
}
