//! `Berth`: the durable reservation of one machine's place.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_core::ResourceExt as _;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// What is declared about one machine's place.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[kube(
    crates(kube_core = "::kube_core"),
    group = "berth.dev",
    version = "v1alpha1",
    kind = "Berth",
    plural = "berths",
    shortname = "bth",
    category = "berth-all",
    status = "BerthStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "A Berth reserves the place of one machine: its pool, its labels and its taints. It outlives the Node.",
    printcolumn = r#"{"name": "Node", "type": "string", "jsonPath": ".status.nodeName"}"#,
    printcolumn = r#"{"name": "Pool", "type": "string", "jsonPath": ".status.pool"}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "(has(self.nodeName) ? self.nodeName : '') == (has(oldSelf.nodeName) ? oldSelf.nodeName : '')",
    "message": "nodeName cannot change: a Berth is the place of one machine",
}]))]
pub struct BerthSpec {
    /// The name of the Node. Default: the name of the Berth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub node_name: Option<String>,
    /// Which machine it is. What is given here is compared with what the kubelet reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Pins the machine-config pool. Without it rules and labels decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub pool: Option<String>,
    /// Labels of the Node, with the rank of a node document.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::labels")]
    pub labels: BTreeMap<String, String>,
    /// Taints that the Node gets when Berth creates it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// When Berth creates the Node object.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preregister: Preregister,
    /// What happens when an administrator relabels the Node into another pool.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pool_policy: PoolPolicy,
    /// Gives the place up: Berth says nothing more about the Node and does not create it again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub release: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Which machine it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Machine {
    /// The system UUID, as the kubelet reports it in `nodeInfo`.
    #[serde(default, rename = "systemUUID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub system_uuid: Option<String>,
    /// MAC addresses.
    #[serde(default, rename = "macAddresses", skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = r"^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$")))]
    pub mac_addresses: Vec<String>,
}

/// A taint.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Taint {
    /// The key, with the syntax of a label key.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub value: Option<String>,
    /// What it does to pods.
    pub effect: TaintEffect,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods stay away where they can.
    PreferNoSchedule,
    /// All pods go.
    NoExecute,
}

impl TaintEffect {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// When Berth creates the Node object of a reserved machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Preregister {
    /// When the machine asks to join: no phantom Node stands around before.
    #[default]
    OnRequest,
    /// At once.
    Now,
}

/// What happens when an administrator relabels a Node into another pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PoolPolicy {
    /// The Berth follows.
    #[default]
    Follow,
    /// The Berth puts the declared pool back.
    Enforce,
}

/// Where a berth stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
pub enum Phase {
    /// No kubelet has come yet.
    #[default]
    Reserved,
    /// Its kubelet runs.
    Occupied,
    /// The Node is gone and the place is kept.
    Vacant,
    /// The place is given up.
    Released,
}

impl Phase {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "Reserved",
            Self::Occupied => "Occupied",
            Self::Vacant => "Vacant",
            Self::Released => "Released",
        }
    }
}

/// What Berth knows about the place, and has to remember when the Node is gone.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BerthStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where the berth stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The name of the Node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// The Node object that was last seen with a running kubelet or created by Berth.
    #[serde(default, rename = "nodeUID", skip_serializing_if = "Option::is_none")]
    pub node_uid: Option<String>,
    /// The pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Set when an administrator moved the Node and the Berth followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<Followed>,
    /// The labels that were last applied. They are noted here before they are written to the Node, where the annotation
    /// `berth.dev/owned-labels` says which of them arrived.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Labels of earlier writes, with every value that the Node may still have or get: until the last write has arrived,
    /// any of them may be what it says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub earlier_labels: BTreeMap<String, Vec<String>>,
    /// The version of the Node that `labels` were computed from. A write that has not arrived can only arrive while the
    /// Node has this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_version: Option<String>,
    /// Labels that an administrator removed on purpose, with the values they had. They are not brought back, neither by
    /// Berth nor by the flags of a kubelet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub removed_labels: BTreeMap<String, String>,
    /// Labels that Berth took away because they are declared no more. Stale flags of a kubelet cannot bring them back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retired_labels: BTreeMap<String, String>,
    /// Declared labels that were on the Node before Berth could set them. Berth never removes these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub found_labels: BTreeMap<String, String>,
    /// Labels of the kubelet itself, such as `kubernetes.io/hostname`. A running kubelet does not set them again on a
    /// Node that is created anew.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kubelet_labels: BTreeMap<String, String>,
    /// `spec.providerID` of the Node, for a Node that is created anew.
    #[serde(default, rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Annotations of the Machine Config Operator, for a Node that is created anew.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The machine that the kubelet reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Labels that the machine's kubelet gives itself when it registers, such as `node-role.kubernetes.io/worker` or a zone, as
    /// the Node last had them. A kubelet that finds its Node does not set them. Berth gives them to a Node that it creates and
    /// never removes them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub registered_labels: BTreeMap<String, String>,
    /// The machine ID that the kubelet reported. Another one is another installation.
    #[serde(default, rename = "machineID", skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// The objects that stand for the machine: its Machine, its `BareMetalHost`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine_objects: Vec<MachineObject>,
    /// Set while the Node of an occupied place is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departure: Option<Departure>,
    /// How often the Node had to be created again in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recreations: Option<Recreations>,
    /// `Ready`, `LabelsInSync`, `PoolAssigned`, `IdentityMatched`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// An administrator's move of a Node that the Berth follows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Followed {
    /// The pool that the Node was moved to.
    pub pool: String,
    /// The pool that `spec.pool` named at that time. Once `spec.pool` names another one, it counts again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
}

/// An object that stands for a machine: when it goes, so does the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineObject {
    /// Its API group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// That the Node of an occupied place went.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Departure {
    /// When the controllers noticed it. A machine that shows itself later gets its Node back.
    #[schemars(schema_with = "schema::time")]
    pub time: Timestamp,
    /// Why the Node is not created again by itself, as a reason in `CamelCase`. Missing while the machine counts as alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How often a Node had to be created again in a row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recreations {
    /// How often.
    pub count: i32,
    /// When it was last created again.
    #[schemars(schema_with = "schema::time")]
    pub last: Timestamp,
}

impl Berth {
    /// The name of the Node, which defaults to the name of the Berth.
    pub fn node_name(&self) -> String {
        self.spec.node_name.clone().unwrap_or_else(|| self.name_any())
    }

    /// The phase; a Berth that nobody has looked at is reserved.
    pub fn phase(&self) -> Phase {
        self.status.as_ref().and_then(|status| status.phase).unwrap_or_default()
    }
}
