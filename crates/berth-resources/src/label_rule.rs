//! `LabelRule`: gives labels, or a pool, to the nodes it matches.

use std::collections::BTreeMap;

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// Which nodes a rule is for, and what it gives them.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[kube(
    crates(kube_core = "::kube_core"),
    group = "berth.dev",
    version = "v1alpha1",
    kind = "LabelRule",
    plural = "labelrules",
    shortname = "lr",
    category = "berth-all",
    derive = "PartialEq",
    doc = "A LabelRule gives labels, or a pool, to the nodes it matches.",
    printcolumn = r#"{"name": "Priority", "type": "integer", "jsonPath": ".spec.priority"}"#,
    printcolumn = r#"{"name": "Pool", "type": "string", "jsonPath": ".spec.pool"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "has(self.labels) && size(self.labels) > 0 || has(self.pool)",
        "message": "a rule gives labels or a pool",
    },
    {
        "rule": "!has(self.pool) || !has(self.match) || !has(self.match.pools) || size(self.match.pools) == 0",
        "message": "a rule that gives a pool cannot match by pool",
    },
    {
        "rule": "!has(self.admission) || self.admission != 'required' || !has(self.labels) || self.labels.all(key, !key.startsWith('node-role.kubernetes.io/'))",
        "message": "not-at-admission: no kubelet may set a role label when it creates its Node; reserve the machines with Berths, or leave admission out",
    },
]))]
pub struct LabelRuleSpec {
    /// A higher one is stronger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// Which nodes the rule is for.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matching: Option<RuleMatch>,
    /// What to decode as CLLI code: `name`, `hostname` or a capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clli: Option<String>,
    /// Lookup tables: code to value; the entry `*` is for all other codes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, BTreeMap<String, String>>,
    /// Labels; values may contain templates such as `${capture}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::rule_labels")]
    pub labels: BTreeMap<String, String>,
    /// The pool that matching nodes get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// What a machine without a Berth gets when its kubelet creates the Node. Default: what a kubelet may set itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<AtAdmission>,
}

/// What a rule does for machines that nobody reserved, when their kubelets create their Nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AtAdmission {
    /// What a kubelet may set itself is there from the first moment; the rest follows.
    #[default]
    Auto,
    /// All of it is there from the first moment; what cannot be is refused.
    Required,
    /// The rule waits for the controllers.
    Never,
}

/// Which nodes a rule is for. All criteria that are given have to hold; within one, any item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleMatch {
    /// Regular expressions for the whole name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub name_patterns: Vec<String>,
    /// What the patterns are held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_scope: Option<NameScope>,
    /// Pools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<String>,
    /// Racks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub racks: Vec<String>,
    /// Host profiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
}

/// What a name pattern is held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NameScope {
    /// The node's name.
    #[default]
    Name,
    /// The first DNS label of the name.
    Hostname,
}
