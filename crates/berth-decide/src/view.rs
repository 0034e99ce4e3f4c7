//! What is kept of each Node: enough to decide, small enough for ten thousand of them.

use std::collections::BTreeMap;

use berth_pools::NodeConditions;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeStatus, Taint};

use crate::names;

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
    /// A MAC address of the machine, where its network plugin shows one. Nodes themselves carry none.
    pub mac_address: Option<String>,
    /// Whether a kubelet has reported its version, and so runs or ran on this very object.
    pub has_kubelet: bool,
    /// Whether its kubelet is alive: it says that the Node is Ready or that it is not. When it stops saying so, the node
    /// controller writes that it is unknown.
    pub reports: bool,
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
        let info = status.node_info;
        let mac_address = metadata.annotations.as_ref().and_then(gateway_mac);
        let kept = |key: &String| key.starts_with("berth.dev/") || key.starts_with(names::MACHINE_CONFIG_PREFIX);
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
            provider_id: spec.provider_id,
            system_uuid: info
                .as_ref()
                .map(|info| info.system_uuid.clone())
                .filter(|uuid| !uuid.is_empty()),
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
