//! `Roster`: who has a place, and where. Admission policies look here.

use std::collections::BTreeMap;

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All places, in one object: an admission policy can read one parameter, and not the Berth of the Node in question.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[kube(
    crates(kube_core = "::kube_core"),
    group = "berth.dev",
    version = "v1alpha1",
    kind = "Roster",
    plural = "rosters",
    category = "berth-all",
    derive = "PartialEq",
    doc = "The Roster lists every reserved node with its pool. The controllers keep it for the admission policies.",
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
pub struct RosterSpec {
    /// Node name to pool; empty where the pool is not known.
    #[serde(default)]
    pub places: BTreeMap<String, String>,
    /// Labels of other pools than the node's own, as `key=value`, that a Berth or a rule gives the node all the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Vec<String>>,
    /// Labels of other pools than the node's own, as `key=value`, with which its kubelet may create the Node: it had them in an
    /// earlier place, or nobody reserved its place and they are those of a built-in pool. The controllers correct or follow them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub registrable: BTreeMap<String, Vec<String>>,
}
