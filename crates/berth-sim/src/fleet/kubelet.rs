//! The kubelet, as the real one was seen to behave.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use super::{Fleet, MachineStep, Phase, steps::listed};
use crate::{
    access::Identity,
    cluster::{Caller, Target, WriteOptions, token_of},
    failure::Failure,
    machine::certificate_request,
    object::{condition, text, uid},
    patch::PatchKind,
    storage::Place,
};

/// How often a kubelet without a certificate looks for it.
const ASK_EVERY: i64 = 5;
/// How often a kubelet renews its lease and tells its status.
const BEAT_EVERY: i64 = 10;

const REQUESTS: (&str, &str, &str) = ("certificates.k8s.io", "v1", "certificatesigningrequests");

fn request_name(machine: &str) -> String {
    format!("node-csr-{machine}")
}

impl Fleet {
    /// A kubelet without a certificate asks for one and does nothing else before it has it.
    pub(super) async fn ask(&mut self, index: usize) {
        let Some(machine) = self.machines.get_mut(index) else {
            return;
        };
        machine.phase = Phase::Requesting;
        let (name, bootstrap) = (machine.name.clone(), machine.bootstrap.clone());
        match self.ask_once(&name, bootstrap).await {
            Ok(Some(identity)) => {
                if let Some(machine) = self.machines.get_mut(index) {
                    machine.credential = Some(identity);
                }
                self.register(index).await;
            }
            Ok(None) => self.push(index, ASK_EVERY, MachineStep::AskAgain),
            Err(failure) => {
                self.wait(index, &format!("certificate request: {failure}"));
                self.push(index, ASK_EVERY, MachineStep::AskAgain);
            }
        }
    }

    async fn ask_once(&mut self, name: &str, bootstrap: Identity) -> Result<Option<Identity>, Failure> {
        let (group, version, plural) = REQUESTS;
        let hit = self.cluster.find(group, version, plural)?;
        let place = Place::new("", request_name(name));
        let found = match self.cluster.get(&hit, &place) {
            Ok(found) => found,
            Err(failure) if failure.code == 404 => {
                let pem = certificate_request(name).map_err(|error| Failure::internal(error.to_string()))?;
                let request = json!({
                    "apiVersion": "certificates.k8s.io/v1",
                    "kind": "CertificateSigningRequest",
                    "metadata": {"name": place.name},
                    "spec": {
                        "request": STANDARD.encode(pem),
                        "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
                        "usages": ["digital signature", "client auth"],
                    },
                });
                let caller = kubelet_caller(bootstrap);
                let written = self
                    .cluster
                    .create(&hit, "", request, &WriteOptions::default(), &caller)
                    .await?;
                self.tell(name, "kubelet asks for its certificate");
                if self.approves {
                    self.approve_request(name).await?;
                    self.cluster.get(&hit, &place)?
                } else {
                    written.object
                }
            }
            Err(failure) => return Err(failure),
        };
        let token = token_of(text(&found, &["status", "certificate"]));
        Ok(token.and_then(|token| self.cluster.identity(&token)))
    }

    pub(super) async fn approve_request(&mut self, name: &str) -> Result<(), Failure> {
        let (group, version, plural) = REQUESTS;
        let hit = self.cluster.find(group, version, plural)?;
        let place = Place::new("", request_name(name));
        let mut request = (*self.cluster.get(&hit, &place)?).clone();
        request["status"]["conditions"] =
            json!([{"type": "Approved", "status": "True", "reason": "Approved", "message": "by the fleet"}]);
        let target = Target {
            hit: &hit,
            place: &place,
            subresource: "approval",
        };
        self.cluster
            .update(target, request, &WriteOptions::default(), &Self::administrator())
            .await
            .map(|_| ())
    }

    /// Registers once per start. A Node that exists keeps its labels; only the keys that kubelets set by default are put
    /// right.
    pub(super) async fn register(&mut self, index: usize) {
        let Some(machine) = self.machines.get(index) else {
            return;
        };
        let (name, flags) = (machine.name.clone(), machine.flags.clone());
        match self.register_once(&name, &flags, machine.credential.clone()).await {
            Ok((node, made)) => {
                if let Some(machine) = self.machines.get_mut(index) {
                    machine.phase = Phase::Running;
                    machine.node_uid = Some(uid(&node).to_owned());
                    machine.waits_for.clear();
                }
                if made {
                    self.tell(&name, &format!("kubelet makes its Node{}", listed(&flags)));
                } else {
                    self.tell(&name, "kubelet finds its Node and keeps its labels");
                }
                self.beat(index).await;
            }
            Err(failure) => {
                self.wait(index, &format!("registration: {failure}"));
                self.push(index, ASK_EVERY, MachineStep::Started);
            }
        }
    }

    async fn register_once(
        &mut self,
        name: &str,
        flags: &[(String, String)],
        credential: Option<Identity>,
    ) -> Result<(Arc<Value>, bool), Failure> {
        let caller = kubelet_caller(credential.unwrap_or_else(|| Identity::kubelet(name)));
        let hit = self.cluster.find("", "v1", "nodes")?;
        let mut labels: Map<String, Value> = default_labels(name);
        labels.extend(flags.iter().map(|(key, value)| (key.clone(), json!(value))));
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": status(name, &self.cluster.now_text()),
        });
        let options = WriteOptions::default();
        let place = Place::new("", name);
        match self.cluster.create(&hit, "", node, &options, &caller).await {
            Ok(written) => return Ok((written.object, true)),
            Err(failure) if failure.reason == "AlreadyExists" => {}
            // Admission speaks before the API server looks whether the Node is there, so kubelets look themselves.
            Err(failure) if failure.reason == "Forbidden" && self.cluster.get(&hit, &place).is_ok() => {}
            Err(failure) => return Err(failure),
        }
        let target = Target {
            hit: &hit,
            place: &place,
            subresource: "",
        };
        let patch = json!({"metadata": {"labels": default_labels(name)}});
        let written = self
            .cluster
            .patch(target, PatchKind::Strategic, &patch, &options, &caller)
            .await?;
        Ok((written.object, false))
    }

    /// Lease and status. A kubelet whose Node is gone goes on without one and does not register again; a Node that comes
    /// back it adopts, without its `kubernetes.io/hostname`.
    pub(super) async fn beat(&mut self, index: usize) {
        let Some(machine) = self.machines.get(index) else {
            return;
        };
        let name = machine.name.clone();
        let credential = machine.credential.clone().unwrap_or_else(|| Identity::kubelet(&name));
        let caller = kubelet_caller(credential);
        if let Err(failure) = self.renew_lease(&name, &caller).await {
            self.wait(index, &format!("lease: {failure}"));
        }
        match self.tell_status(&name, &caller).await {
            Ok(node) => {
                let adopted = self
                    .machines
                    .get(index)
                    .is_some_and(|machine| machine.node_uid.as_deref() != Some(uid(&node)));
                if let Some(machine) = self.machines.get_mut(index) {
                    machine.node_uid = Some(uid(&node).to_owned());
                    if machine.phase != Phase::Draining {
                        machine.waits_for.clear();
                    }
                }
                if adopted {
                    self.tell(&name, "kubelet adopts the Node that came back");
                }
                self.follow_config(index, &node).await;
            }
            Err(failure) if failure.code == 404 => {
                self.wait(index, "kubelet has no Node and does not make one while it runs");
            }
            Err(failure) => self.wait(index, &format!("status: {failure}")),
        }
        let beats = self
            .machines
            .get(index)
            .is_some_and(|machine| matches!(machine.phase, Phase::Running | Phase::Draining));
        if beats {
            self.push(index, BEAT_EVERY, MachineStep::Beat);
        }
    }

    async fn renew_lease(&mut self, name: &str, caller: &Caller) -> Result<(), Failure> {
        let hit = self.cluster.find("coordination.k8s.io", "v1", "leases")?;
        let place = Place::new("kube-node-lease", name);
        let now = self.cluster.now().strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string();
        let spec = json!({"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now});
        let options = WriteOptions::default();
        if self.cluster.get(&hit, &place).is_err() {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": name, "namespace": place.namespace}, "spec": spec,
            });
            return self
                .cluster
                .create(&hit, &place.namespace, lease, &options, caller)
                .await
                .map(|_| ());
        }
        let target = Target {
            hit: &hit,
            place: &place,
            subresource: "",
        };
        let patch = json!({"spec": spec});
        self.cluster
            .patch(target, PatchKind::Merge, &patch, &options, caller)
            .await
            .map(|_| ())
    }

    async fn tell_status(&mut self, name: &str, caller: &Caller) -> Result<Arc<Value>, Failure> {
        let hit = self.cluster.find("", "v1", "nodes")?;
        let place = Place::new("", name);
        let found = self.cluster.get(&hit, &place)?;
        let silent = condition(&found, "Ready") == "Unknown";
        if !text(&found, &["status", "nodeInfo", "kubeletVersion"]).is_empty() && !silent {
            return Ok(found);
        }
        let target = Target {
            hit: &hit,
            place: &place,
            subresource: "status",
        };
        let patch = json!({"status": status(name, &self.cluster.now_text())});
        let written = self
            .cluster
            .patch(target, PatchKind::Strategic, &patch, &WriteOptions::default(), caller)
            .await?;
        if silent {
            self.tell("cluster", &format!("hears of {name} again"));
            self.mark(name, false).await;
        }
        Ok(written.object)
    }

    /// Tells once why a machine does not go on.
    pub(super) fn wait(&mut self, index: usize, why: &str) {
        let Some(machine) = self.machines.get_mut(index) else {
            return;
        };
        if machine.waits_for == why {
            return;
        }
        why.clone_into(&mut machine.waits_for);
        let name = machine.name.clone();
        self.tell(&name, why);
    }
}

pub(super) fn kubelet_caller(identity: Identity) -> Caller {
    Caller {
        identity,
        agent: "kubelet".to_owned(),
    }
}

fn default_labels(name: &str) -> Map<String, Value> {
    [
        ("beta.kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/hostname", name),
        ("kubernetes.io/os", "linux"),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), json!(value)))
    .collect()
}

fn status(name: &str, now: &str) -> Value {
    let seed = name
        .bytes()
        .fold(7_u64, |sum, byte| sum.rotate_left(9) ^ u64::from(byte));
    let system_uuid = crate::ids::Ids::new(seed).uid();
    json!({
        "capacity": {"cpu": "64", "memory": "256Gi", "pods": "250"},
        "allocatable": {"cpu": "63", "memory": "250Gi", "pods": "250"},
        "addresses": [{"type": "Hostname", "address": name}],
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        }],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": system_uuid.replace('-', ""),
            "systemUUID": system_uuid,
            "bootID": system_uuid,
            "kernelVersion": "6.12.0-simulated",
            "osImage": "Simulated Linux",
            "containerRuntimeVersion": "simulated://1",
            "kubeletVersion": "v1.36.4-simulated",
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    })
}
