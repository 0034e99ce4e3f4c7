//! The node daemon: it answers the config annotations of a pool.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Fleet, Phase};
use crate::{
    cluster::{DeleteOptions, ListOptions},
    failure::Failure,
    object::{items, name, namespace, text},
    storage::Place,
};

/// What the pool wants.
pub(super) const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const STATE: &str = "machineconfiguration.openshift.io/state";

/// What a daemon writes when its machine came up with a config.
pub(super) fn first_annotations(config: &str) -> Value {
    json!({CURRENT: config, DESIRED: config, STATE: "Done"})
}

impl Fleet {
    /// Drains, reboots and comes back when the pool wants another config than the machine has.
    pub(super) async fn follow_config(&mut self, index: usize, node: &Arc<Value>) {
        if self.has_daemons {
            return;
        }
        let annotation = |key: &str| text(node, &["metadata", "annotations", key]).to_owned();
        let (desired, current, state) = (annotation(DESIRED), annotation(CURRENT), annotation(STATE));
        let Some(machine) = self.machines.get(index) else {
            return;
        };
        let (who, phase) = (machine.name.clone(), machine.phase);
        if desired.is_empty() {
            return;
        }
        if current.is_empty() {
            self.annotate(&who, &json!({CURRENT: desired, STATE: "Done"}), None)
                .await;
            return;
        }
        if desired == current {
            return;
        }
        if phase == Phase::Rebooting {
            return;
        }
        if state == "Rebooting" {
            self.annotate(&who, &json!({CURRENT: desired, STATE: "Done"}), Some(false))
                .await;
            self.tell(&who, &format!("has {desired} and takes Pods again"));
            return;
        }
        if phase != Phase::Draining {
            self.tell(&who, &format!("drains for {desired}"));
            self.annotate(&who, &json!({STATE: "Working"}), Some(true)).await;
            self.set_phase(index, Phase::Draining);
        }
        let stuck = self
            .machines
            .get(index)
            .is_some_and(|machine| machine.habits.stuck_drain);
        let left = if stuck { Ok(1) } else { self.drain(&who).await };
        match left {
            Ok(0) => {
                self.annotate(&who, &json!({STATE: "Rebooting"}), None).await;
                self.tell(&who, "reboots");
                self.boot(index, Phase::Rebooting);
            }
            Ok(1) => self.wait(index, "waits for a Pod to go"),
            Ok(count) => self.wait(index, &format!("waits for {count} Pods to go")),
            Err(failure) => self.wait(index, &format!("drain: {failure}")),
        }
    }

    fn set_phase(&mut self, index: usize, phase: Phase) {
        if let Some(machine) = self.machines.get_mut(index) {
            machine.phase = phase;
        }
    }

    async fn annotate(&mut self, who: &str, annotations: &Value, unschedulable: Option<bool>) {
        let mut patch = json!({"metadata": {"annotations": annotations}});
        if let Some(unschedulable) = unschedulable {
            patch["spec"] = json!({"unschedulable": unschedulable.then_some(true)});
        }
        if let Err(failure) = self.patch_node(who, &patch).await {
            self.tell(who, &format!("cannot write its annotations: {failure}"));
        }
    }

    /// Evicts what can be evicted, ends what was told to end, and counts what is left.
    async fn drain(&mut self, who: &str) -> Result<usize, Failure> {
        let hit = self.cluster.find("", "v1", "pods")?;
        let here = ListOptions {
            fields: format!("spec.nodeName={who}"),
            ..ListOptions::default()
        };
        let caller = Self::administrator();
        for pod in self.cluster.list(&hit, None, &here)?.items {
            if items(&pod, &["metadata", "ownerReferences"]).any(|owner| text(owner, &["kind"]) == "DaemonSet") {
                continue;
            }
            let place = Place::new(namespace(&pod), name(&pod));
            match self
                .cluster
                .evict(&hit, &place, &DeleteOptions::default(), &caller)
                .await
            {
                Ok(()) => {
                    // The kubelet stops the containers and lets the Pod go.
                    let at_once = DeleteOptions {
                        grace_seconds: Some(0),
                        ..DeleteOptions::default()
                    };
                    let _ = self.cluster.delete(&hit, &place, &at_once, &caller).await;
                }
                Err(failure) if [404, 429].contains(&failure.code) => {}
                Err(failure) => return Err(failure),
            }
        }
        let left = self.cluster.list(&hit, None, &here)?.items;
        Ok(left
            .iter()
            .filter(|pod| {
                !items(pod, &["metadata", "ownerReferences"]).any(|owner| text(owner, &["kind"]) == "DaemonSet")
            })
            .count())
    }
}
