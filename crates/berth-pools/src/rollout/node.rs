//! What the planner needs to know about a node, and the questions it asks.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

/// Keys of the annotations through which controller and node daemon talk. They are OpenShift's.
pub mod annotation {
    /// The config on the node's disk.
    pub const CURRENT_CONFIG: &str = "machineconfiguration.openshift.io/currentConfig";
    /// The config the node shall get.
    pub const DESIRED_CONFIG: &str = "machineconfiguration.openshift.io/desiredConfig";
    /// The operating system image on the node's disk, for pools with built images.
    pub const CURRENT_IMAGE: &str = "machineconfiguration.openshift.io/currentImage";
    /// The operating system image the node shall get.
    pub const DESIRED_IMAGE: &str = "machineconfiguration.openshift.io/desiredImage";
    /// What the node daemon is doing.
    pub const STATE: &str = "machineconfiguration.openshift.io/state";
    /// Why the daemon is degraded.
    pub const REASON: &str = "machineconfiguration.openshift.io/reason";
    /// What the daemon does after a change: `Rebooting` before a reboot, empty otherwise.
    pub const POST_CONFIG_ACTION: &str = "machineconfiguration.openshift.io/post-config-action";
    /// The shape of the cluster; with `SingleReplica` there is nowhere to drain to.
    pub const TOPOLOGY: &str = "machineconfiguration.openshift.io/controlPlaneTopology";
    /// The drain or uncordon that the daemon asks for.
    pub const DESIRED_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
    /// The last drain or uncordon that was carried out.
    pub const LAST_APPLIED_DRAIN: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
    /// Berth's own: the config that the node ran, was not healthy with, and went back from.
    pub const GIVEN_UP: &str = "berth.dev/given-up";
    /// Berth's own: what on the host is not as its config says, where that does not degrade the node.
    pub const DRIFT: &str = "berth.dev/drift";
}

/// The zone of a node; nodes of one zone move together.
const ZONE: &str = "topology.kubernetes.io/zone";

/// A node as the planner sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeState {
    /// The node's name.
    pub name: String,
    /// All labels.
    pub labels: BTreeMap<String, String>,
    /// All annotations; the planner reads those of [`annotation`].
    pub annotations: BTreeMap<String, String>,
    /// Conditions that decide whether the node serves.
    pub conditions: NodeConditions,
    /// Whether the node is cordoned.
    pub unschedulable: bool,
    /// When the Node object was made. Older nodes move first.
    pub created: Option<Timestamp>,
    /// What others than the daemon's annotation report about the node's trouble, such as a `MachineConfigNode`.
    pub reports: Vec<String>,
}

/// Node conditions that matter here. `None`: the node does not have the condition, which is not an obstacle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeConditions {
    /// `Ready` is `True`.
    pub ready: Option<bool>,
    /// `DiskPressure` is anything but `False`.
    pub disk_pressure: Option<bool>,
    /// `NetworkUnavailable` is anything but `False`.
    pub network_unavailable: Option<bool>,
}

/// What the node daemon says it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonState {
    /// It carries out a change.
    Working,
    /// It has nothing to do.
    Done,
    /// A change failed, or the disk no longer is what it should be.
    Degraded,
    /// The change cannot be made on a running node.
    Unreconcilable,
}

impl DaemonState {
    /// The word of the annotation.
    pub fn word(self) -> &'static str {
        match self {
            Self::Working => "Working",
            Self::Done => "Done",
            Self::Degraded => "Degraded",
            Self::Unreconcilable => "Unreconcilable",
        }
    }
}

/// Why a value is not a Node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeStateError {
    /// The object is of another kind.
    #[error("expected a Node, found {0}")]
    NotANode(String),
    /// The Node has no name.
    #[error("the Node has no metadata.name")]
    NoName,
    /// A field has another type than Kubernetes gives it.
    #[error("{field} of node {node} is not {expected}")]
    WrongType {
        /// The node.
        node: String,
        /// The field, as a path.
        field: String,
        /// What the field holds in Kubernetes.
        expected: &'static str,
    },
    /// The creation time cannot be read.
    #[error("metadata.creationTimestamp of node {node} is not a time such as 2026-03-01T10:00:00Z: `{text}`")]
    Created {
        /// The node.
        node: String,
        /// What is there instead.
        text: String,
    },
}

impl NodeState {
    /// Whether the node serves: no bad condition, and not cordoned.
    pub fn ready(&self) -> bool {
        let conditions = &self.conditions;
        conditions.ready != Some(false)
            && conditions.disk_pressure != Some(true)
            && conditions.network_unavailable != Some(true)
            && !self.unschedulable
    }

    /// Whether the node has what it shall have, whatever that is.
    pub fn done(&self) -> bool {
        self.current_config().is_some()
            && self.current_config() == self.desired_config()
            && self.images_agree()
            && self.daemon() == Some(DaemonState::Done)
    }

    /// Whether a move failed half-way.
    pub fn failing(&self) -> bool {
        self.current_config() != self.desired_config() && self.degraded()
    }

    /// Whether the node counts as unavailable in the pool's status.
    ///
    /// This is the original's rule. Beside nodes that do not serve it counts nodes on the move and nodes that are
    /// degraded without being on the move, but not those that failed on the move.
    pub fn unavailable(&self) -> bool {
        !self.ready() || !(self.done() || self.failing())
    }

    /// Whether the node is done with this very config.
    pub fn updated(&self, target: &str) -> bool {
        self.done() && self.desired_config() == Some(target) && self.text(annotation::DESIRED_IMAGE).is_none()
    }

    /// Whether the node ran this very config and went back from it.
    pub fn gave_up(&self, target: &str) -> bool {
        self.text(annotation::GIVEN_UP) == Some(target)
    }

    /// Whether the daemon reports trouble.
    pub fn degraded(&self) -> bool {
        matches!(self.daemon(), Some(DaemonState::Degraded | DaemonState::Unreconcilable))
    }

    /// Whether the daemon has said what the node runs. Before that, anything written for it would be lost.
    pub fn reported(&self) -> bool {
        self.current_config().is_some() && self.text(annotation::STATE).is_some()
    }

    /// Whether the daemon waits for its drain while the node still serves.
    pub fn asks_for_drain(&self) -> bool {
        let desired = self.text(annotation::DESIRED_DRAIN);
        self.ready()
            && self.daemon() == Some(DaemonState::Working)
            && desired.is_some_and(|desired| desired.starts_with("drain-"))
            && desired != self.text(annotation::LAST_APPLIED_DRAIN)
    }

    /// The config on the node's disk.
    pub fn current_config(&self) -> Option<&str> {
        self.text(annotation::CURRENT_CONFIG)
    }

    /// The config the node shall get.
    pub fn desired_config(&self) -> Option<&str> {
        self.text(annotation::DESIRED_CONFIG)
    }

    /// What the daemon says it does, if that is a word of the contract.
    pub fn daemon(&self) -> Option<DaemonState> {
        match self.text(annotation::STATE)? {
            "Working" | "Rebooting" => Some(DaemonState::Working),
            "Done" => Some(DaemonState::Done),
            "Degraded" => Some(DaemonState::Degraded),
            "Unreconcilable" => Some(DaemonState::Unreconcilable),
            _ => None,
        }
    }

    /// The node's zone.
    pub fn zone(&self) -> Option<&str> {
        self.labels
            .get(ZONE)
            .map(String::as_str)
            .filter(|zone| !zone.is_empty())
    }

    /// What is wrong with the node, each reason once.
    pub fn troubles(&self) -> Vec<&str> {
        let mut troubles: Vec<&str> = Vec::new();
        let all = self
            .reports
            .iter()
            .map(String::as_str)
            .chain(self.text(annotation::REASON));
        for trouble in all.map(str::trim).filter(|trouble| !trouble.is_empty()) {
            if !troubles.contains(&trouble) {
                troubles.push(trouble);
            }
        }
        troubles
    }

    /// An annotation that says something. The contract treats an empty value as none.
    fn text(&self, key: &str) -> Option<&str> {
        self.annotations
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    fn images_agree(&self) -> bool {
        let [current, desired] =
            [annotation::CURRENT_IMAGE, annotation::DESIRED_IMAGE].map(|key| self.annotations.get(key));
        current == desired && current.is_none_or(|image| !image.is_empty())
    }
}

// === reading ===

impl NodeState {
    /// Reads a Node object as `kubectl get node NAME -o json` prints it.
    pub fn from_json(node: &Value) -> Result<Self, NodeStateError> {
        let Value::Object(_) = node else {
            return Err(NodeStateError::NotANode(json_type(node).to_owned()));
        };
        if let Some(kind) = node.get("kind").and_then(Value::as_str).filter(|kind| *kind != "Node") {
            return Err(NodeStateError::NotANode(format!("a {kind}")));
        }
        let name = node
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
            .ok_or(NodeStateError::NoName)?;
        let unschedulable = match present(node, "/spec/unschedulable") {
            None => false,
            Some(value) => value
                .as_bool()
                .ok_or_else(|| wrong_type(name, "spec.unschedulable", "a boolean"))?,
        };
        Ok(Self {
            name: name.to_owned(),
            labels: texts(node, name, "labels")?,
            annotations: texts(node, name, "annotations")?,
            conditions: conditions(node, name)?,
            unschedulable,
            created: created(node, name)?,
            reports: Vec::new(),
        })
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn present<'a>(node: &'a Value, pointer: &str) -> Option<&'a Value> {
    node.pointer(pointer).filter(|value| !value.is_null())
}

fn wrong_type(node: &str, field: impl Into<String>, expected: &'static str) -> NodeStateError {
    NodeStateError::WrongType {
        node: node.to_owned(),
        field: field.into(),
        expected,
    }
}

fn texts(node: &Value, name: &str, field: &str) -> Result<BTreeMap<String, String>, NodeStateError> {
    let Some(value) = present(node, &format!("/metadata/{field}")) else {
        return Ok(BTreeMap::new());
    };
    let object = value
        .as_object()
        .ok_or_else(|| wrong_type(name, format!("metadata.{field}"), "a map"))?;
    object
        .iter()
        .map(|(key, value)| match value {
            Value::String(value) => Ok((key.clone(), value.clone())),
            _ => Err(wrong_type(name, format!("metadata.{field}[{key}]"), "a text")),
        })
        .collect()
}

fn conditions(node: &Value, name: &str) -> Result<NodeConditions, NodeStateError> {
    let mut found = NodeConditions::default();
    let Some(value) = present(node, "/status/conditions") else {
        return Ok(found);
    };
    let list = value
        .as_array()
        .ok_or_else(|| wrong_type(name, "status.conditions", "a list"))?;
    for condition in list {
        let text = |key| condition.get(key).and_then(Value::as_str);
        let (Some(kind), Some(status)) = (text("type"), text("status")) else {
            return Err(wrong_type(
                name,
                "status.conditions[]",
                "a condition with type and status",
            ));
        };
        // `Unknown` is bad news for each of them: nobody can say that the node serves.
        match kind {
            "Ready" => found.ready = Some(status == "True"),
            "DiskPressure" => found.disk_pressure = Some(status != "False"),
            "NetworkUnavailable" => found.network_unavailable = Some(status != "False"),
            _ => {}
        }
    }
    Ok(found)
}

fn created(node: &Value, name: &str) -> Result<Option<Timestamp>, NodeStateError> {
    let Some(value) = present(node, "/metadata/creationTimestamp") else {
        return Ok(None);
    };
    let text = value
        .as_str()
        .ok_or_else(|| wrong_type(name, "metadata.creationTimestamp", "a time"))?;
    text.parse().map(Some).map_err(|_| NodeStateError::Created {
        node: name.to_owned(),
        text: text.to_owned(),
    })
}
