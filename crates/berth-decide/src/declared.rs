//! What a node is to carry, by the documents.

use std::collections::BTreeMap;

use berth_site::{Resolution, Resolver};
use serde::{Deserialize, Serialize};

use crate::relabel::Refusal;

/// Labels that say what the documents know of a host beside its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DynamicLabels {
    /// `berth.dev/rack`, `berth.dev/profile`, `berth.dev/hardware-profile`, and `berth.dev/tag-NAME` for each tag.
    On,
    /// None of them.
    Off,
}

/// What one node is to carry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Dynamic labels that it does not get, because what they would say is no legal label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Refusal>,
}

/// The labels of a node: its resolution, and the dynamic labels. A declared label of the same key is stronger.
pub fn declared(resolver: &Resolver<'_>, resolution: &Resolution, dynamic: DynamicLabels) -> Declaration {
    let mut declaration = Declaration {
        labels: resolution.label_set().to_map(),
        skipped: Vec::new(),
    };
    if dynamic == DynamicLabels::On
        && let Some(subject) = resolver.subject(&resolution.node)
    {
        let facts = resolver.fact_labels(subject, resolution);
        declaration.labels.extend(facts.labels);
        let skipped = facts.skipped.into_iter();
        declaration.skipped = skipped.map(|(key, reason)| Refusal { key, reason }).collect();
    }
    declaration
}
