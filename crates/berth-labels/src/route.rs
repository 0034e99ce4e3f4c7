//! How a label reaches its Node.
//!
//! A route is chosen by rule, never by trying: a key the kubelet refuses stops the machine forever.

use std::{fmt, str::FromStr};

use thiserror::Error;

use crate::{
    key::LabelKey,
    permission::{Flavour, ROLE_PREFIX, Writer, permission},
};

/// How a label reaches its Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Route {
    /// The kubelet's `--node-labels` at first start.
    Boot,
    /// The controller creates the Node before the kubelet does.
    Preregister,
    /// A mutating policy adds it when a kubelet creates its Node.
    Admission,
    /// The controller patches the Node that exists.
    Live,
}

impl Route {
    /// All routes, the preferred ones first.
    pub const ALL: [Self; 4] = [Self::Boot, Self::Preregister, Self::Admission, Self::Live];

    /// The name in output and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Preregister => "preregister",
            Self::Admission => "admission",
            Self::Live => "live",
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Route {
    type Err = UnknownRoute;

    fn from_str(text: &str) -> Result<Self, UnknownRoute> {
        Self::ALL
            .into_iter()
            .find(|route| route.as_str() == text)
            .ok_or_else(|| UnknownRoute(text.to_owned()))
    }
}

/// No route of this name exists.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown route \"{0}\": use boot, preregister, admission or live")]
pub struct UnknownRoute(pub String);

/// Every route that can carry the key, the preferred one first.
pub fn routes(flavour: Flavour, key: &LabelKey) -> Vec<Route> {
    Route::ALL
        .into_iter()
        .filter(|route| can_carry(flavour, key, *route))
        .collect()
}

/// The route for a machine that is reserved but has not booted.
///
/// Boot labels need nothing from the cluster, so they come first; what the kubelet may not set itself is put on a Node
/// that is created before it.
pub fn choose_route(flavour: Flavour, key: &LabelKey) -> Route {
    if can_carry(flavour, key, Route::Boot) {
        Route::Boot
    } else {
        Route::Preregister
    }
}

/// The sentences that justify a route for a key, or that say why the route cannot carry it.
pub fn route_proof(flavour: Flavour, key: &LabelKey, route: Route) -> Vec<String> {
    let reason = |writer| permission(flavour, writer, key).reason.into_owned();
    let mut proof = Vec::new();
    match route {
        Route::Boot => {
            proof.push(reason(Writer::Flag));
            push_new(&mut proof, reason(Writer::Create));
        }
        Route::Preregister => {
            for writer in [Writer::Flag, Writer::Create] {
                if !permission(flavour, writer, key).allowed {
                    proof.push(reason(writer));
                }
            }
            proof.push(reason(Writer::Controller));
            proof.push(
                "A Node that exists before its kubelet registers keeps the labels the controller gave it.".to_owned(),
            );
        }
        Route::Admission => {
            proof.push(reason(Writer::Create));
            if key.prefix() == Some(ROLE_PREFIX) {
                proof.push(
                    "The API server runs NodeRestriction again after a mutating policy, so role keys are never added \
                     there."
                        .to_owned(),
                );
            } else {
                proof.push(
                    "The API server runs NodeRestriction again after a mutating policy, so a policy can add what the \
                     kubelet may set itself and nothing else."
                        .to_owned(),
                );
            }
        }
        Route::Live => proof.push(reason(Writer::Controller)),
    }
    proof.push(if can_carry(flavour, key, route) {
        format!("So {key} can go by the route {route} with the flavour {flavour}.")
    } else {
        format!("So {key} cannot go by the route {route} with the flavour {flavour}.")
    });
    proof
}

fn can_carry(flavour: Flavour, key: &LabelKey, route: Route) -> bool {
    let allowed = |writer| permission(flavour, writer, key).allowed;
    match route {
        Route::Boot => allowed(Writer::Flag) && allowed(Writer::Create),
        // Roles are left out even where NodeRestriction would let some pass on create: what a policy adds must be right
        // for every flavour it may be installed on, and a refused Node never registers.
        Route::Admission => allowed(Writer::Create) && key.prefix() != Some(ROLE_PREFIX),
        Route::Preregister | Route::Live => allowed(Writer::Controller),
    }
}

/// The same rule often allows flag and create; it need not be said twice.
fn push_new(proof: &mut Vec<String>, sentence: String) {
    if !proof.contains(&sentence) {
        proof.push(sentence);
    }
}
