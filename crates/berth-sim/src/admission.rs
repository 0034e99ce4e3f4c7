//! What is checked of a write beyond its schema: who may set what on a Node.

use std::collections::BTreeSet;

use berth_labels::{Flavour, LabelKey, Writer, permission};
use serde_json::{Map, Value};

use crate::{
    access::Identity,
    failure::Failure,
    object::{at, meta, name, text},
    resources::Hit,
};

/// Checks a write of a kubelet as the NodeRestriction plugin does. Others are not restricted.
pub(crate) fn node_restriction(
    flavour: Flavour,
    identity: &Identity,
    hit: &Hit,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Result<(), Failure> {
    let Some(node) = identity.node() else {
        return Ok(());
    };
    let about = |object: Option<&Value>| object.map(name).unwrap_or_default().to_owned();
    let target = about(new.or(old));
    let refuse = |why: String| Err(Failure::forbidden(&hit.resource.full_name(), &target, &why));
    match (hit.resource.group.as_str(), hit.resource.plural.as_str()) {
        ("", "nodes") => {
            if target != node {
                return refuse(format!("node \"{node}\" is not allowed to modify node \"{target}\""));
            }
            let Some(new) = new else {
                return refuse(format!("node \"{node}\" is not allowed to delete node \"{target}\""));
            };
            let writer = if old.is_some() { Writer::Update } else { Writer::Create };
            let forbidden = forbidden_labels(flavour, writer, old, new);
            if !forbidden.is_empty() {
                let (who, verb) = if old.is_some() {
                    (String::new(), "modify labels")
                } else {
                    (format!("node \"{node}\" "), "set the following labels")
                };
                return refuse(format!(
                    "{who}is not allowed to {verb}: {}",
                    forbidden.into_iter().collect::<Vec<_>>().join(", ")
                ));
            }
            if let Some(old) = old
                && at(old, &["spec", "taints"]) != at(new, &["spec", "taints"])
            {
                return refuse(format!("node \"{node}\" is not allowed to modify taints"));
            }
            if at(new, &["spec", "configSource"]).is_some() {
                return refuse(format!("node \"{node}\" is not allowed to set configSource"));
            }
            Ok(())
        }
        ("", "pods") => {
            let runs_here = |pod: &Value| text(pod, &["spec", "nodeName"]) == node;
            if !new.or(old).is_some_and(runs_here) {
                return refuse(format!(
                    "node \"{node}\" can only touch pods with spec.nodeName set to itself"
                ));
            }
            let is_mirror = |pod: &Value| {
                meta(pod).is_some_and(|meta| {
                    meta.get("annotations")
                        .and_then(|annotations| annotations.get("kubernetes.io/config.mirror"))
                        .is_some()
                })
            };
            if old.is_none() && !new.is_some_and(is_mirror) {
                return refuse(format!(
                    "pod does not have \"kubernetes.io/config.mirror\" annotation, node \"{node}\" can only create mirror pods"
                ));
            }
            Ok(())
        }
        ("coordination.k8s.io", "leases") if target != node => {
            refuse("can only access node lease with the same name as the requesting node".to_owned())
        }
        _ => Ok(()),
    }
}

fn forbidden_labels(flavour: Flavour, writer: Writer, old: Option<&Value>, new: &Value) -> BTreeSet<String> {
    let empty = Map::new();
    let labels = |object: &Value| -> Map<String, Value> {
        at(object, &["metadata", "labels"])
            .and_then(Value::as_object)
            .unwrap_or(&empty)
            .clone()
    };
    let (before, after) = (old.map(labels).unwrap_or_default(), labels(new));
    before
        .keys()
        .chain(after.keys())
        .filter(|key| before.get(*key) != after.get(*key))
        .filter(|key| {
            key.parse::<LabelKey>()
                .is_ok_and(|key| !permission(flavour, writer, &key).allowed)
        })
        .cloned()
        .collect()
}
