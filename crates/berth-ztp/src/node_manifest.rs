//! The Node object of a machine that has not booted yet.

use berth_site::Resolution;
use serde_json::{Value, json};

/// Why no Node is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeManifestError {
    /// Assisted Service installs the cluster.
    Assisted,
}

impl std::fmt::Display for NodeManifestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "a Node among the extra manifests makes an assisted installation fail: it stands there before its machine, never \
             becomes Ready, and the installer waits for it",
        )
    }
}

impl std::error::Error for NodeManifestError {}

/// The Node of a machine with its labels and its taints, for installations that the user provisions.
///
/// A kubelet that finds its Node there keeps the labels, role labels too, but applies no taints of its own to it: so the
/// taints are here.
pub fn node_manifest(
    resolution: &Resolution,
    taints: &[berth_site::Taint],
    assisted: bool,
) -> Result<Value, NodeManifestError> {
    if assisted {
        return Err(NodeManifestError::Assisted);
    }
    let mut labels = resolution.label_set().to_map();
    // Without its role label the node would be in no pool: the kubelet's own flag does not reach a Node that exists.
    let role = match resolution.pool_name() {
        Some("master") => vec![
            "node-role.kubernetes.io/master",
            "node-role.kubernetes.io/control-plane",
        ],
        Some("arbiter") => vec!["node-role.kubernetes.io/arbiter"],
        _ => vec!["node-role.kubernetes.io/worker"],
    };
    for key in role {
        labels.entry(key.to_owned()).or_default();
    }
    let taints: Vec<Value> = taints
        .iter()
        .map(|taint| json!({"key": taint.key.as_str(), "value": taint.value.as_str(), "effect": taint.effect}))
        .collect();
    let mut spec = json!({});
    if let (false, Value::Object(map)) = (taints.is_empty(), &mut spec) {
        map.insert("taints".to_owned(), Value::Array(taints));
    }
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": &*resolution.node, "labels": labels},
        "spec": spec,
    }))
}
