//! What a machine that is taken away means for the operator, as a model.
//!
//! The operator reads no Machines. What it knows of one that is being deleted is what is done to its Node, and its rules for Nodes
//! say the rest:
//!
//! | what happens | the Node | the rollout of its pools |
//! |---|---|---|
//! | the Machine is marked as deleted | is as it was | goes on |
//! | its controller cordons the Node and drains it | is not ready | has one place of `maxUnavailable` less; it is not a candidate |
//! | the machine is switched off | `Ready` is `Unknown` | the same |
//! | the Node is deleted | is gone | all its pools are looked at again and count the Nodes that are there: the place is free |
//! | somebody creates the Node again | has no config, or is not `Ready` | has one place less for as long as the Node stands |

use serde_json::Value;

use super::nodes::{candidates, node_verdict, note, pool_of, selects};

/// The pools that a node belongs to, in the operator's order. They are looked at again when the node comes, changes or goes; it
/// counts in the first. `Err` where it is in two custom pools, and then in no count.
pub fn pools_of<'a>(node: &Value, pools: &'a [Value]) -> Result<Vec<&'a str>, String> {
    if node["metadata"]["labels"]["kubernetes.io/os"] == "windows" {
        return Ok(Vec::new());
    }
    let matching = pools.iter().filter(|pool| selects(pool, node));
    let names: Vec<&str> = matching.filter_map(|pool| pool["metadata"]["name"].as_str()).collect();
    let known = |name: &str| names.iter().copied().find(|found| *found == name);
    let custom: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !matches!(*name, "master" | "worker"))
        .collect();
    match (custom.as_slice(), known("master"), known("worker")) {
        ([], Some(master), _) => Ok(vec![master]),
        ([], None, worker) => Ok(worker.into_iter().collect()),
        ([custom], master, worker) => Ok([Some(master.unwrap_or(*custom)), worker]
            .into_iter()
            .flatten()
            .collect()),
        (several, ..) => {
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            let count = several.len();
            Err(format!(
                "node {name} belongs to {count} custom roles, cannot proceed with this Node"
            ))
        }
    }
}

/// The nodes that count in a pool.
pub fn nodes_of<'a>(pool: &str, pools: &[Value], nodes: &'a [Value]) -> Vec<&'a Value> {
    let counts = |node: &&Value| pool_of(node, pools) == Ok(Some(pool));
    nodes.iter().filter(counts).collect()
}

/// What the operator writes into a pool's status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// `machineCount`.
    pub machines: usize,
    /// `updatedMachineCount`.
    pub updated: usize,
    /// `readyMachineCount`: updated and ready.
    pub ready: usize,
    /// `unavailableMachineCount`.
    pub unavailable: usize,
    /// `degradedMachineCount`.
    pub degraded: usize,
}

impl PoolCounts {
    /// Whether the rollout is over, so that the target becomes what the pool has reached.
    pub fn all_updated(&self) -> bool {
        self.updated == self.machines && self.ready == self.machines && self.unavailable == 0
    }
}

/// Counts the nodes of a pool.
pub fn pool_counts(pool: &Value, pools: &[Value], nodes: &[Value]) -> PoolCounts {
    let name = pool["metadata"]["name"].as_str().unwrap_or_default();
    let target = pool["spec"]["configuration"]["name"].as_str().unwrap_or_default();
    let mut counts = PoolCounts::default();
    for node in nodes_of(name, pools, nodes) {
        let verdict = node_verdict(node);
        let updated = verdict.done && note(node, "desiredConfig") == target;
        counts.machines += 1;
        counts.updated += usize::from(updated);
        counts.ready += usize::from(updated && verdict.ready);
        counts.unavailable += usize::from(verdict.unavailable);
        counts.degraded += usize::from(verdict.degraded);
    }
    counts
}

/// The nodes of a pool of a cluster that the operator targets next.
pub fn next_of<'a>(pool: &Value, max_unavailable: usize, pools: &[Value], nodes: &'a [Value]) -> Vec<&'a str> {
    let name = pool["metadata"]["name"].as_str().unwrap_or_default();
    candidates(pool, max_unavailable, nodes_of(name, pools, nodes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(name: &str) -> String {
        format!("node-role.kubernetes.io/{name}")
    }

    fn pool(name: &str) -> Value {
        json!({
            "metadata": {"name": name},
            "spec": {"nodeSelector": {"matchLabels": {role(name): ""}}, "configuration": {"name": format!("rendered-{name}-2")}},
        })
    }

    fn node(name: &str, roles: &[&str]) -> Value {
        let labels: serde_json::Map<String, Value> = roles.iter().map(|name| (role(name), json!(""))).collect();
        let prefix = "machineconfiguration.openshift.io/";
        let old = "rendered-infra-1";
        json!({
            "metadata": {"name": name, "labels": labels, "annotations": {
                format!("{prefix}currentConfig"): old, format!("{prefix}desiredConfig"): old, format!("{prefix}state"): "Done",
            }},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        })
    }

    #[test]
    fn pools_that_are_looked_at_when_a_node_goes() {
        let pools = ["worker", "infra", "storage", "master", "arbiter"].map(pool);
        for (roles, expected) in [
            (vec![], Ok(vec![])),
            (vec!["worker"], Ok(vec!["worker"])),
            (vec!["worker", "infra"], Ok(vec!["infra", "worker"])),
            (vec!["infra"], Ok(vec!["infra"])),
            (vec!["master", "worker"], Ok(vec!["master"])),
            (vec!["master", "infra", "worker"], Ok(vec!["master", "worker"])),
            (vec!["arbiter"], Ok(vec!["arbiter"])),
            (
                vec!["infra", "storage"],
                Err("node w1 belongs to 2 custom roles, cannot proceed with this Node".to_owned()),
            ),
        ] {
            assert_eq!(pools_of(&node("w1", &roles), &pools), expected, "{roles:?}");
        }
    }

    #[test]
    fn the_place_of_a_machine_that_is_deleted_is_free_when_its_node_is_gone() {
        let pools = ["worker", "infra"].map(pool);
        let nodes = || ["w1", "w2", "w3"].map(|name| node(name, &["worker", "infra"])).to_vec();
        let played = |nodes: &[Value]| {
            let counts = pool_counts(&pools[1], &pools, nodes);
            let next: Vec<String> = next_of(&pools[1], 1, &pools, nodes)
                .iter()
                .map(ToString::to_string)
                .collect();
            (counts.machines, counts.unavailable, next)
        };
        let none: [&str; 0] = [];
        let row = |machines, unavailable, next: &[&str]| {
            let next: Vec<String> = next.iter().map(ToString::to_string).collect();
            (machines, unavailable, next)
        };
        let marked = nodes();
        assert_eq!(played(&marked), row(3, 0, &["w1"]), "the Machine is marked");
        let mut drained = nodes();
        drained[0]["spec"]["unschedulable"] = json!(true);
        assert_eq!(played(&drained), row(3, 1, &none), "it is drained");
        let mut off = nodes();
        off[0]["status"]["conditions"][0]["status"] = json!("Unknown");
        assert_eq!(played(&off), row(3, 1, &none), "it is switched off");
        let gone = nodes().split_off(1);
        assert_eq!(played(&gone), row(2, 0, &["w2"]), "its Node is deleted");
        // Created again, and nobody reports: without the daemon's notes it is unavailable at once, with them once the node
        // controller has said so, as one that is switched off.
        let mut again = nodes();
        again[0]["metadata"]["annotations"] = json!({});
        again[0]["status"] = json!({});
        assert_eq!(played(&again), row(3, 1, &none));
    }

    #[test]
    fn counts_are_those_of_the_status() {
        let pools = ["worker", "infra"].map(pool);
        let prefix = "machineconfiguration.openshift.io/";
        let mut nodes: Vec<Value> = ["w1", "w2", "w3", "w4"].map(|name| node(name, &["infra"])).to_vec();
        for index in [1, 2] {
            for key in ["currentConfig", "desiredConfig"] {
                nodes[index]["metadata"]["annotations"][format!("{prefix}{key}")] = json!("rendered-infra-2");
            }
        }
        nodes[2]["spec"]["unschedulable"] = json!(true);
        nodes[3]["metadata"]["annotations"][format!("{prefix}state")] = json!("Degraded");
        nodes.push(node("w5", &["worker"]));
        let counts = pool_counts(&pools[1], &pools, &nodes);
        let expected = PoolCounts {
            machines: 4,
            updated: 2,
            ready: 1,
            unavailable: 2,
            degraded: 1,
        };
        assert_eq!(counts, expected);
        assert!(!counts.all_updated());
        assert!(pool_counts(&pools[1], &pools, &nodes[1..2]).all_updated());
        assert!(
            pool_counts(&pools[1], &pools, &[]).all_updated(),
            "an empty pool is updated"
        );
    }
}
