//! Whose node daemon does not answer.

use std::collections::BTreeMap;

use berth_pools::{DaemonState, NodeState};

use super::{PoolView, membership};

/// The nodes of each pool whose daemon does not answer, by pool. Of pools without a rendered config nothing is asked.
pub fn silent(pools: &[PoolView], nodes: &[NodeState]) -> BTreeMap<String, Vec<String>> {
    let membership = membership(pools);
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in nodes.iter().filter(|node| silent_node(node)) {
        let Ok(placement) = membership.of(&node.name, &node.labels) else {
            continue;
        };
        let Some(primary) = placement.primary() else { continue };
        let asks = |pool: &&PoolView| *pool.name == **primary && pool.target.is_some();
        if let Some(pool) = pools.iter().find(asks) {
            found.entry(pool.name.clone()).or_default().push(node.name.clone());
        }
    }
    for nodes in found.values_mut() {
        nodes.sort();
    }
    found
}

/// Whether nobody says what a node runs, or nobody begins with what it is told: a daemon does that at once.
pub(super) fn silent_node(node: &NodeState) -> bool {
    let told = node.desired_config().is_some() && node.desired_config() != node.current_config();
    !node.reported() || (told && node.daemon() == Some(DaemonState::Done))
}

#[cfg(test)]
mod tests {
    use berth_pools::annotation;
    use serde_json::json;

    use super::*;

    fn node(name: &str, label: &str, annotations: &[(&str, &str)]) -> NodeState {
        let pair = |(key, text): &(&str, &str)| ((*key).to_owned(), (*text).to_owned());
        NodeState {
            name: name.to_owned(),
            labels: [(label.to_owned(), String::new())].into(),
            annotations: annotations.iter().map(pair).collect(),
            ..NodeState::default()
        }
    }

    #[test]
    fn nodes_that_say_nothing_and_nodes_that_do_not_begin_are_silent() {
        let pool = |name: &str, target: Option<&str>| {
            PoolView::read(&json!({
                "metadata": {"name": name},
                "spec": {"nodeSelector": {"matchLabels": {name: ""}}, "configuration": {"name": target}},
            }))
        };
        let says = |current: &'static str, desired: &'static str, state: &'static str| {
            [
                (annotation::CURRENT_CONFIG, current),
                (annotation::DESIRED_CONFIG, desired),
                (annotation::STATE, state),
            ]
        };
        let nodes = [
            node("new", "edge", &[]),
            node("told", "edge", &[(annotation::DESIRED_CONFIG, "b")]),
            node("idle", "edge", &says("a", "b", "Done")),
            node("busy", "edge", &says("a", "b", "Working")),
            node("bad", "edge", &says("a", "b", "Degraded")),
            node("done", "edge", &says("b", "b", "Done")),
            node("unrendered", "core", &[]),
            node("nowhere", "other", &[]),
        ];
        let found = silent(&[pool("edge", Some("b")), pool("core", None)], &nodes);
        let expected = ["idle", "new", "told"].map(str::to_owned).to_vec();
        assert_eq!(found, [("edge".to_owned(), expected)].into());
    }
}
