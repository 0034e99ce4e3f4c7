//! Admission: what the API server does with Nodes that kubelets create, and with wrong objects.
//!
//! ```text
//! pools, rules ── policies ──► MutatingAdmissionPolicy    labels for machines without a Berth
//!                              ValidatingAdmissionPolicy  claims of pools that are not a kubelet's place, annotations of Berth
//! Berths ──────── roster ────► Roster                     who has a place, and where (the policies' parameter)
//! everything ──── review ────► the same by webhook, and what policies cannot do: judge objects, tell a claim as an event
//! ```
//!
//! All of it is pure. The controllers keep the objects up to date.

mod cel;
mod pattern;
mod policy;
mod request;
mod review;
mod rules;
mod serve;
mod webhook;

pub use policy::{CLAIMS_POLICY, LABELS_POLICY, NOTES_POLICY, Policies, ROSTER, all_names, policies, roster};
pub(crate) use policy::{is_named, label_text, labels_of_kubelets, labels_of_pools, notes_policy};
pub use request::Review;
pub use review::{Claim, Endpoint, Outcome, World, review};
pub use webhook::{MUTATE_PATH, VALIDATE_PATH, Webhook, WebhookError};

/// Something of a rule that the policies cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The rule.
    pub rule: String,
    /// The label; `None` for the whole rule.
    pub key: Option<String>,
    /// Why.
    pub why: String,
    /// The rule promises it all the same, with `admission: required`.
    pub required: bool,
}

/// What happens when a policy or webhook cannot be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The node joins all the same.
    #[default]
    Ignore,
    /// The node does not join.
    Fail,
}

impl FailurePolicy {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Fail => "Fail",
        }
    }
}

#[cfg(test)]
mod tests;
