//! What a cluster does about machines that say nothing any more, as the node lifecycle controller does.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Fleet, Phase};
use crate::{
    cluster::{Target, WriteOptions},
    object::{condition, items, text},
    patch::PatchKind,
    storage::Place,
};

/// How often leases and Pods are looked at.
pub(super) const LOOK_EVERY: i64 = 5;
/// How long a Node counts as ready without a word of its kubelet.
const GRACE: i64 = 50;
/// What a Node of a silent machine gets.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

impl Fleet {
    /// Marks the Nodes of machines whose leases are stale.
    pub(super) async fn look_at_leases(&mut self) {
        let silent: Vec<String> = self
            .machines
            .iter()
            .filter(|machine| !matches!(machine.phase, Phase::Running | Phase::Draining))
            .map(|machine| machine.name.clone())
            .collect();
        for name in silent {
            if self.is_stale(&name) {
                self.tell("cluster", &format!("does not hear of {name}: its Node is Unknown"));
                self.mark(&name, true).await;
            }
        }
    }

    fn is_stale(&self, name: &str) -> bool {
        let Ok(nodes) = self.cluster.find("", "v1", "nodes") else {
            return false;
        };
        let Ok(leases) = self.cluster.find("coordination.k8s.io", "v1", "leases") else {
            return false;
        };
        let ready = self
            .cluster
            .get(&nodes, &Place::new("", name))
            .is_ok_and(|node| condition(&node, "Ready") == "True");
        ready
            && self
                .cluster
                .get(&leases, &Place::new("kube-node-lease", name))
                .ok()
                .and_then(|lease| text(&lease, &["spec", "renewTime"]).parse::<Timestamp>().ok())
                .is_some_and(|renewed| self.cluster.now().as_second().saturating_sub(renewed.as_second()) > GRACE)
    }

    /// Says of a Node that nobody hears of it, or takes that back.
    pub(super) async fn mark(&mut self, name: &str, silent: bool) {
        let Ok(hit) = self.cluster.find("", "v1", "nodes") else {
            return;
        };
        let place = Place::new("", name);
        let Ok(node) = self.cluster.get(&hit, &place) else {
            return;
        };
        if silent {
            let now = self.cluster.now_text();
            let patch = json!({"status": {"conditions": [{
                "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.", "lastTransitionTime": now,
            }]}});
            let target = Target {
                hit: &hit,
                place: &place,
                subresource: "status",
            };
            let caller = Self::administrator();
            // Whoever was faster has changed the Node; it is looked at again soon.
            let _ = self
                .cluster
                .patch(target, PatchKind::Strategic, &patch, &WriteOptions::default(), &caller)
                .await;
        }
        let before: Vec<Value> = items(&node, &["spec", "taints"]).cloned().collect();
        let mut taints: Vec<Value> = before
            .iter()
            .filter(|taint| text(taint, &["key"]) != UNREACHABLE)
            .cloned()
            .collect();
        if silent {
            taints.extend(["NoSchedule", "NoExecute"].map(|effect| json!({"key": UNREACHABLE, "effect": effect})));
        }
        if taints != before {
            let taints = if taints.is_empty() { Value::Null } else { json!(taints) };
            let _ = self.patch_node(name, &json!({"spec": {"taints": taints}})).await;
        }
    }
}
