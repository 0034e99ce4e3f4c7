//! What kubelets do with the Pods of their nodes.
//!
//! Nothing runs in them: a Pod on a machine that runs is ready at once, and goes when its grace period is over.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Fleet, Phase, kubelet::kubelet_caller};
use crate::{
    access::Identity,
    cluster::{DeleteOptions, ListOptions, Target, WriteOptions},
    failure::Failure,
    object::{at, is_terminating, items, name, namespace, text, uid},
    patch::PatchKind,
    resources::Hit,
    storage::Place,
};

impl Fleet {
    /// Lets all kubelets see to their Pods. The Pods are looked at once for all machines.
    pub(super) async fn tend_pods(&self) {
        let Ok(hit) = self.cluster.find("", "v1", "pods") else {
            return;
        };
        let Ok(all) = self.cluster.list(&hit, None, &ListOptions::default()) else {
            return;
        };
        for pod in all.items {
            let Some(machine) = self.find(text(&pod, &["spec", "nodeName"])) else {
                continue;
            };
            if !matches!(machine.phase, Phase::Running | Phase::Draining) {
                continue;
            }
            let identity = machine.credential.clone();
            let identity = identity.unwrap_or_else(|| Identity::kubelet(&machine.name));
            // Whoever was faster has changed the Pod; it is looked at again soon.
            let _ = if is_terminating(&pod) {
                if machine.habits.stuck_drain || !self.is_due(&pod) {
                    continue;
                }
                self.end_pod(&hit, &pod, identity).await
            } else if text(&pod, &["status", "phase"]) == "Pending" {
                self.run_pod(&hit, &pod, identity).await
            } else {
                continue;
            };
        }
    }

    /// Whether the grace period of a Pod is over and its kubelet has not said so yet.
    fn is_due(&self, pod: &Value) -> bool {
        let grace = at(pod, &["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
        let until = text(pod, &["metadata", "deletionTimestamp"]).parse::<Timestamp>();
        grace.is_some_and(|grace| grace > 0) && until.is_ok_and(|until| until <= self.cluster.now())
    }

    async fn run_pod(&self, hit: &Hit, pod: &Arc<Value>, identity: Identity) -> Result<(), Failure> {
        let place = Place::new(namespace(pod), name(pod));
        let target = Target {
            hit,
            place: &place,
            subresource: "status",
        };
        let patch = json!({
            "metadata": {"uid": uid(pod)},
            "status": running(pod, &self.cluster.now_text()),
        });
        let options = WriteOptions::default();
        let caller = kubelet_caller(identity);
        self.cluster
            .patch(target, PatchKind::Strategic, &patch, &options, &caller)
            .await
            .map(|_| ())
    }

    async fn end_pod(&self, hit: &Hit, pod: &Arc<Value>, identity: Identity) -> Result<(), Failure> {
        let place = Place::new(namespace(pod), name(pod));
        let at_once = DeleteOptions {
            grace_seconds: Some(0),
            uid: Some(uid(pod).to_owned()),
            ..DeleteOptions::default()
        };
        let caller = kubelet_caller(identity);
        self.cluster.delete(hit, &place, &at_once, &caller).await.map(|_| ())
    }
}

/// The status of a Pod all of whose containers run.
fn running(pod: &Value, now: &str) -> Value {
    let conditions = [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    .map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": now}));
    let containers: Vec<Value> = items(pod, &["spec", "containers"])
        .map(|container| {
            json!({
                "name": text(container, &["name"]),
                "image": text(container, &["image"]),
                "imageID": "",
                "ready": true,
                "started": true,
                "restartCount": 0,
                "lastState": {},
                "state": {"running": {"startedAt": now}},
            })
        })
        .collect();
    json!({
        "phase": "Running",
        "startTime": now,
        "conditions": conditions,
        "containerStatuses": containers,
    })
}
