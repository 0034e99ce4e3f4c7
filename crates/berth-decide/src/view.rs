//! What is kept of each Node: enough to decide, small enough for ten thousand of them.

use std::collections::BTreeMap;

use berth_pools::NodeConditions;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeStatus, Taint};

use crate::names;
use berth_resources::MachineObject;

/// A Node as the controllers remember it.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct NodeView {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`: a Node that is created anew is another one.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// The annotations of Berth and of the Machine Config Operator.
    pub annotations: BTreeMap<String, String>,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`: whether the Node is cordoned.
    pub unschedulable: bool,
    /// The conditions that say whether the Node serves.
    pub conditions: NodeConditions,
    /// `spec.providerID`.
    pub provider_id: Option<String>,
    /// `status.nodeInfo.systemUUID`.
    pub system_uuid: Option<String>,
    /// `status.nodeInfo.machineID`: another one is another installation.
    pub machine_id: Option<String>,
    /// The objects that stand for the machine.
    pub machine_objects: Vec<MachineObject>,
    /// A MAC address of the machine, where its network plugin shows one. Nodes themselves carry none.
    pub mac_address: Option<String>,
    /// Whether a kubelet has reported its version, and so runs or ran on this very object.
    pub has_kubelet: bool,
    /// Whether its kubelet is alive: it says that the Node is Ready or that it is not. When it stops saying so, the node
    /// controller writes that it is unknown.
    pub reports: bool,
    /// Since when it is Ready.
    pub ready_since: Option<Timestamp>,
    /// Since when nothing is heard of its kubelet, as the node controller noted it.
    pub silent_since: Option<Timestamp>,
}

impl From<Node> for NodeView {
    fn from(node: Node) -> Self {
        let metadata = node.metadata;
        let spec = node.spec.unwrap_or_default();
        let status = node.status.unwrap_or_default();
        let conditions = conditions(&status);
        let reports = status
            .conditions
            .iter()
            .flatten()
            .any(|condition| condition.type_ == "Ready" && ["True", "False"].contains(&condition.status.as_str()));
        let since = |wanted: &str| {
            let mut conditions = status.conditions.iter().flatten();
            let ready = conditions.find(|condition| condition.type_ == "Ready" && condition.status == wanted);
            ready.and_then(|condition| Some(condition.last_transition_time.as_ref()?.0))
        };
        let (ready_since, silent_since) = (since("True"), since("Unknown"));
        let info = status.node_info;
        let mac_address = metadata.annotations.as_ref().and_then(gateway_mac);
        let machine_objects = machine_objects(metadata.annotations.as_ref(), spec.provider_id.as_deref());
        let kept = |key: &String| key.starts_with(names::PREFIX) || key.starts_with(names::MACHINE_CONFIG_PREFIX);
        Self {
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            created: metadata.creation_timestamp.map(|time| time.0),
            deleting: metadata.deletion_timestamp.is_some(),
            labels: metadata.labels.unwrap_or_default(),
            annotations: metadata
                .annotations
                .unwrap_or_default()
                .into_iter()
                .filter(|(key, _)| kept(key))
                .collect(),
            mac_address,
            taints: spec.taints.unwrap_or_default(),
            unschedulable: spec.unschedulable.unwrap_or_default(),
            conditions,
            reports,
            ready_since,
            silent_since,
            provider_id: spec.provider_id,
            system_uuid: info
                .as_ref()
                .map(|info| info.system_uuid.clone())
                .filter(|uuid| !uuid.is_empty()),
            machine_id: info
                .as_ref()
                .map(|info| info.machine_id.clone())
                .filter(|id| !id.is_empty()),
            machine_objects,
            has_kubelet: info.is_some_and(|info| !info.kubelet_version.is_empty()),
        }
    }
}

/// `Unknown` is bad news for each of them: nobody can say that the Node serves.
fn conditions(status: &NodeStatus) -> NodeConditions {
    let mut found = NodeConditions::default();
    for condition in status.conditions.iter().flatten() {
        match condition.type_.as_str() {
            "Ready" => found.ready = Some(condition.status == "True"),
            "DiskPressure" => found.disk_pressure = Some(condition.status != "False"),
            "NetworkUnavailable" => found.network_unavailable = Some(condition.status != "False"),
            _ => {}
        }
    }
    found
}

/// The annotation in which OVN-Kubernetes describes the machine's gateway.
const GATEWAY: &str = "k8s.ovn.org/l3-gateway-config";

fn gateway_mac(annotations: &BTreeMap<String, String>) -> Option<String> {
    let config: serde_json::Value = serde_json::from_str(annotations.get(GATEWAY)?).ok()?;
    let mut networks = config.as_object()?.values();
    let mac = networks.find_map(|network| network.get("mac-address")?.as_str())?;
    Some(mac.to_owned())
}

/// The annotation in which OpenShift's Machine API names a Node's Machine, as `NAMESPACE/NAME`.
const MACHINE: &str = "machine.openshift.io/machine";
/// The annotations in which Cluster API names a Node's Machine, and its namespace.
const CLUSTER_API: (&str, &str) = ("cluster.x-k8s.io/machine", "cluster.x-k8s.io/cluster-namespace");
/// The annotation in which Metal3 names a host, as `NAMESPACE/NAME`.
const HOST: &str = "metal3.io/BareMetalHost";
/// What provider IDs of bare-metal hosts begin with; `NAMESPACE/NAME/…` follows.
const HOST_IDS: [&str; 2] = ["baremetalhost:///", "metal3://"];

/// The objects that stand for the machine of a Node: those that provision machines name them on the Node.
fn machine_objects(annotations: Option<&BTreeMap<String, String>>, provider_id: Option<&str>) -> Vec<MachineObject> {
    let said = |key: &str| {
        annotations
            .and_then(|annotations| annotations.get(key))
            .map(String::as_str)
    };
    let object = |group: &str, kind: &str, namespace: &str, name: &str| {
        let named = !namespace.is_empty() && !name.is_empty();
        named.then(|| MachineObject {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    };
    let machine = said(MACHINE)
        .and_then(|text| text.split_once('/'))
        .and_then(|(namespace, name)| object("machine.openshift.io", "Machine", namespace, name));
    let (name, namespace) = CLUSTER_API;
    let cluster_api = said(namespace)
        .zip(said(name))
        .and_then(|(namespace, name)| object("cluster.x-k8s.io", "Machine", namespace, name));
    let by_id = || {
        let id = provider_id?;
        let mut parts = HOST_IDS.iter().find_map(|prefix| id.strip_prefix(prefix))?.split('/');
        // Without a namespace it is a UID, which names nothing.
        Some((parts.next()?, parts.next()?))
    };
    let host = said(HOST)
        .and_then(|text| text.split_once('/'))
        .or_else(by_id)
        .and_then(|(namespace, name)| object("metal3.io", "BareMetalHost", namespace, name));
    [machine, cluster_api, host].into_iter().flatten().collect()
}

impl NodeView {
    /// The labels that Berth applied last, from the annotation that was written together with them. `None` where the
    /// annotation is missing or cannot be read. The kubelet can write it too: what counts of it is in the Berth's status.
    pub fn owned(&self) -> Option<BTreeMap<String, String>> {
        berth_site::read_owned(self.annotations.get(names::OWNED_LABELS)?, &self.labels)
    }

    /// The pool that Berth gave the Node, written together with its labels.
    pub fn given_pool(&self) -> Option<&str> {
        self.annotations.get(names::POOL).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_objects_that_stand_for_a_machine_are_named_on_its_node() {
        for (annotations, provider_id, expected) in [
            (
                json!({"machine.openshift.io/machine": "openshift-machine-api/w1"}),
                "baremetalhost:///openshift-machine-api/host-1/6b2f",
                vec![
                    "machine.openshift.io Machine openshift-machine-api/w1",
                    "metal3.io BareMetalHost openshift-machine-api/host-1",
                ],
            ),
            (
                json!({"cluster.x-k8s.io/machine": "m1", "cluster.x-k8s.io/cluster-namespace": "site"}),
                "metal3://site/host-1/m1",
                vec![
                    "cluster.x-k8s.io Machine site/m1",
                    "metal3.io BareMetalHost site/host-1",
                ],
            ),
            (
                json!({"metal3.io/BareMetalHost": "site/host-2"}),
                "metal3://6b2f",
                vec!["metal3.io BareMetalHost site/host-2"],
            ),
            (
                json!({"machine.openshift.io/machine": "nowhere", "cluster.x-k8s.io/machine": "m1"}),
                "metal3://6b2f",
                vec![],
            ),
            (json!({}), "aws:///zone/i-1", vec![]),
        ] {
            let node: Node = serde_json::from_value(json!({
                "metadata": {"name": "w1", "annotations": annotations}, "spec": {"providerID": provider_id},
            }))
            .unwrap();
            let found: Vec<String> = NodeView::from(node)
                .machine_objects
                .iter()
                .map(|it| format!("{} {} {}/{}", it.group, it.kind, it.namespace, it.name))
                .collect();
            assert_eq!(found, expected, "{annotations} {provider_id}");
        }
    }
}
