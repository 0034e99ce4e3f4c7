//! `TokenBinding`: which machine a bootstrap token is for.

use jiff::Timestamp;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// Which machine a bootstrap token is for. The name of the object is the id of the token; its secret is not here.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[kube(
    crates(kube_core = "::kube_core"),
    group = "berth.dev",
    version = "v1alpha1",
    kind = "TokenBinding",
    plural = "tokenbindings",
    category = "berth-all",
    status = "TokenBindingStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "A TokenBinding says which machine a bootstrap token is for. Its name is the id of the token.",
    printcolumn = r#"{"name": "Node", "type": "string", "jsonPath": ".spec.nodeName"}"#,
    printcolumn = r#"{"name": "Expires", "type": "string", "jsonPath": ".spec.expires"}"#,
    printcolumn = r#"{"name": "Used", "type": "string", "jsonPath": ".status.usedBy.time"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self == oldSelf",
    "message": "a TokenBinding cannot change: create another token",
}]))]
pub struct TokenBindingSpec {
    /// The Node that may join with the token.
    #[schemars(length(min = 1, max = 253))]
    pub node_name: String,
    /// When the token expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub expires: Option<Timestamp>,
}

/// Whether the token has been used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenBindingStatus {
    /// The machine that joined with the token. It is good for no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<TokenUse>,
}

/// How a token was used.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUse {
    /// The certificate request that was approved.
    pub request: String,
    /// Its uid.
    #[serde(rename = "requestUID")]
    pub request_uid: String,
    /// The SHA-256 of the public key, in base64: the machine that has it may ask again.
    pub key: String,
    /// When it was approved.
    #[schemars(schema_with = "schema::time")]
    pub time: Timestamp,
}
