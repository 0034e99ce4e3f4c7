//! The operator's labelling of machines that booted straight into a custom pool, as a model.
//!
//! Its rows are those of the operator's node controller (`isCustomPoolBootedNode`, `applyCustomPoolLabels` and
//! `filterCustomPoolBootedNodes`), which runs them for the candidates of a pool's rollout:
//!
//! | a candidate | is |
//! |---|---|
//! | with the annotation `customPoolLabelsApplied` | left alone |
//! | without `firstPivotConfig`, or whose config is gone | left alone |
//! | whose config belongs to `master` or `worker` | left alone |
//! | any other | given the labels of the pool that owns the config, and that annotation |

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

const PREFIX: &str = "machineconfiguration.openshift.io/";

/// The merge patch that the operator sends for a Node; `None` where it leaves the Node alone. Pools and configs are objects of the
/// cluster.
pub fn first_boot_labelling(node: &Value, pools: &[Value], configs: &[Value]) -> Option<Value> {
    let named = |objects: &'_ [Value], name: &str| -> Option<Value> {
        let mut objects = objects.iter();
        objects.find(|object| object["metadata"]["name"] == name).cloned()
    };
    let annotation = |key: &str| node["metadata"]["annotations"][format!("{PREFIX}{key}")].as_str();
    if !is_candidate(node, pools) || annotation("customPoolLabelsApplied").is_some() {
        return None;
    }
    let config = named(configs, annotation("firstPivotConfig")?)?;
    let pool = config.pointer("/metadata/ownerReferences/0/name")?.as_str()?.to_owned();
    if pool == "master" || pool == "worker" {
        return None;
    }
    let labels = demanded(&named(pools, &pool)?);
    Some(json!({"metadata": {"labels": labels, "annotations": {format!("{PREFIX}customPoolLabelsApplied"): ""}}}))
}

/// Whether the Node does not have the target of its pool, which is not paused.
fn is_candidate(node: &Value, pools: &[Value]) -> bool {
    let labels = &node["metadata"]["labels"];
    let matches = |pool: &Value| {
        let demanded = demanded(pool);
        !demanded.is_empty() && demanded.iter().all(|(key, value)| labels.get(key) == Some(value))
    };
    let desired = &node["metadata"]["annotations"][format!("{PREFIX}desiredConfig")];
    let found: BTreeMap<&str, &Value> = pools
        .iter()
        .filter(|pool| matches(pool))
        .filter_map(|pool| Some((pool["metadata"]["name"].as_str()?, pool)))
        .collect();
    let custom = found.iter().find(|(name, _)| **name != "worker");
    let pool = custom.map(|(_, pool)| pool).or_else(|| found.get("worker"));
    pool.is_some_and(|pool| pool["spec"]["paused"] != true && pool["spec"]["configuration"]["name"] != *desired)
}

/// The labels of a pool's nodeSelector: matchLabels, `In` with one value and `Exists`; matchLabels win.
fn demanded(pool: &Value) -> Map<String, Value> {
    let selector = &pool["spec"]["nodeSelector"];
    let mut labels = Map::new();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let Some(key) = expression["key"].as_str() else {
            continue;
        };
        let values = expression["values"].as_array().map(Vec::as_slice).unwrap_or_default();
        match (expression["operator"].as_str(), values) {
            (Some("In"), [value]) => labels.insert(key.to_owned(), value.clone()),
            (Some("Exists"), _) => labels.insert(key.to_owned(), json!("")),
            _ => None,
        };
    }
    labels.extend(selector["matchLabels"].as_object().cloned().unwrap_or_default());
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_booted_in_a_custom_pool_is_labelled_once() {
        let role = |name: &str| format!("node-role.kubernetes.io/{name}");
        let pool = |name: &str| {
            json!({
                "metadata": {"name": name},
                "spec": {"nodeSelector": {"matchLabels": {role(name): ""}}, "configuration": {"name": format!("rendered-{name}-1")}},
            })
        };
        let config = |name: &str| json!({"metadata": {"name": format!("rendered-{name}-1"), "ownerReferences": [{"name": name}]}});
        let pools = [pool("worker"), pool("infra"), pool("edge")];
        let configs = [config("worker"), config("infra")];
        let node = |roles: &[&str], booted: &str, applied: bool| {
            let labels: Map<String, Value> = roles.iter().map(|name| (role(name), json!(""))).collect();
            let mut annotations = json!({
                format!("{PREFIX}desiredConfig"): booted, format!("{PREFIX}firstPivotConfig"): booted,
            });
            if applied {
                annotations[format!("{PREFIX}customPoolLabelsApplied")] = json!("");
            }
            json!({"metadata": {"name": "w1", "labels": labels, "annotations": annotations}})
        };
        for (what, node, labelled) in [
            (
                "it comes as a worker",
                node(&["worker"], "rendered-infra-1", false),
                true,
            ),
            (
                "it was labelled before",
                node(&["worker"], "rendered-infra-1", true),
                false,
            ),
            (
                "it booted as a worker",
                node(&["worker"], "rendered-worker-1", false),
                false,
            ),
            (
                "its config is gone",
                node(&["worker"], "rendered-infra-0", false),
                false,
            ),
            (
                "it is in its pool",
                node(&["worker", "infra"], "rendered-infra-1", false),
                false,
            ),
            (
                "it was moved elsewhere",
                node(&["worker", "edge"], "rendered-infra-1", false),
                true,
            ),
            (
                "it was moved elsewhere and labelled before",
                node(&["worker", "edge"], "rendered-infra-1", true),
                false,
            ),
        ] {
            let patch = first_boot_labelling(&node, &pools, &configs);
            assert_eq!(patch.is_some(), labelled, "{what}");
            if let Some(patch) = patch {
                assert_eq!(
                    patch["metadata"]["labels"],
                    json!({"node-role.kubernetes.io/infra": ""})
                );
            }
        }
    }
}
