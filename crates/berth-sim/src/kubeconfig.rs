//! The file by which clients find the cluster.

use serde_json::json;

/// A kubeconfig for one cluster and one bearer token. It is JSON, which every reader of YAML takes.
pub fn kubeconfig(url: &str, token: &str) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "berth", "cluster": {"server": url}}],
        "users": [{"name": "berth", "user": {"token": token}}],
        "contexts": [{"name": "berth", "context": {"cluster": "berth", "user": "berth", "namespace": "default"}}],
        "current-context": "berth",
    });
    let mut text = serde_json::to_string_pretty(&config).unwrap_or_default();
    text.push('\n');
    text
}
