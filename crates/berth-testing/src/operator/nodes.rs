//! The operator's decisions about nodes, as a small model: each function is one rule of its node controller or server, over
//! objects as the API server has them.

use serde_json::Value;

use super::machines::pools_of;

const PREFIX: &str = "machineconfiguration.openshift.io/";

/// What the node controller sees in a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct NodeVerdict {
    /// No bad condition, and not cordoned.
    pub ready: bool,
    /// It has what it shall have, whatever that is.
    pub done: bool,
    /// It failed on the move.
    pub failing: bool,
    /// It counts against `maxUnavailable`.
    pub unavailable: bool,
    /// Its daemon reports trouble.
    pub degraded: bool,
}

/// What the node controller sees in a node.
pub fn node_verdict(node: &Value) -> NodeVerdict {
    let conditions = node["status"]["conditions"].as_array();
    let is_bad = |condition: &Value| match condition["type"].as_str() {
        Some("Ready") => condition["status"] != "True",
        Some("DiskPressure" | "NetworkUnavailable") => condition["status"] != "False",
        _ => false,
    };
    let cordoned = node["spec"]["unschedulable"] == true;
    let ready = !cordoned && !conditions.into_iter().flatten().any(is_bad);
    let (current, desired) = (note(node, "currentConfig"), note(node, "desiredConfig"));
    // Both are absent, or equal and not empty.
    let image = |key: &str| node["metadata"]["annotations"].get(format!("{PREFIX}{key}"));
    let images_agree = match (image("currentImage"), image("desiredImage")) {
        (None, None) => true,
        (Some(current), Some(desired)) => current == desired && current != "",
        _ => false,
    };
    let state = note(node, "state");
    let degraded = matches!(state, "Degraded" | "Unreconcilable");
    let done = !current.is_empty() && current == desired && images_agree && state == "Done";
    let failing = current != desired && degraded;
    NodeVerdict {
        ready,
        done,
        failing,
        unavailable: !ready || !done && !failing,
        degraded,
    }
}

/// The pool that a node counts in: the first of those that it belongs to. `Err` where it is in two custom pools and in none's
/// count.
pub fn pool_of<'a>(node: &Value, pools: &'a [Value]) -> Result<Option<&'a str>, String> {
    Ok(pools_of(node, pools)?.first().copied())
}

/// Whether a pool's node selector selects a node; only `matchLabels`, which is what the tests' pools have. An empty one selects
/// nothing.
pub(super) fn selects(pool: &Value, node: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    let wanted = pool["spec"]["nodeSelector"]["matchLabels"].as_object();
    wanted.is_some_and(|wanted| !wanted.is_empty() && wanted.iter().all(|(key, value)| labels.get(key) == Some(value)))
}

/// The nodes of a pool that the operator targets next, with `maxUnavailable` as a number.
pub fn candidates<'a>(
    pool: &Value,
    max_unavailable: usize,
    nodes: impl IntoIterator<Item = &'a Value>,
) -> Vec<&'a str> {
    let target = pool["spec"]["configuration"]["name"].as_str().unwrap_or_default();
    if pool["spec"]["paused"] == true || target.is_empty() {
        return Vec::new();
    }
    let nodes: Vec<&Value> = nodes.into_iter().collect();
    let unavailable = nodes.iter().filter(|node| node_verdict(node).unavailable).count();
    let mut capacity = max_unavailable.saturating_sub(unavailable);
    let mut found = Vec::new();
    let mut failing = 0;
    for node in nodes {
        let verdict = node_verdict(node);
        if note(node, "desiredConfig") == target {
            failing += usize::from(verdict.failing);
        } else if verdict.ready {
            found.push(node);
        }
    }
    if failing >= capacity {
        return Vec::new();
    }
    capacity -= failing;
    found.sort_by_key(|node| {
        let zone = node["metadata"]["labels"]["topology.kubernetes.io/zone"]
            .as_str()
            .unwrap_or_default();
        let created = node["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
        (zone.is_empty(), zone, created)
    });
    let names = found.into_iter().filter_map(|node| node["metadata"]["name"].as_str());
    names.take(capacity).collect()
}

/// The rendered config that the operator's server gives a new machine of a pool; empty while there is none.
pub fn served_config(pool: &Value) -> &str {
    let updated = pool["status"]["updatedMachineCount"].as_i64().unwrap_or_default();
    let part = if updated > 0 { "spec" } else { "status" };
    pool[part]["configuration"]["name"].as_str().unwrap_or_default()
}

pub(super) fn note<'a>(node: &'a Value, key: &str) -> &'a str {
    let annotations = &node["metadata"]["annotations"];
    annotations[format!("{PREFIX}{key}")].as_str().unwrap_or_default()
}
