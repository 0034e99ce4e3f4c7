//! What a node is to carry, by the documents. Pure.

use std::collections::BTreeMap;

use berth_labels::Label;
use berth_site::{Resolution, Resolver};
use serde::{Deserialize, Serialize};

use crate::node_labels::Refusal;

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
    let Some(subject) = resolver
        .subject(&resolution.node)
        .filter(|_| dynamic == DynamicLabels::On)
    else {
        return declaration;
    };
    for (key, value) in resolver.facts(subject).labels() {
        if declaration.labels.contains_key(&key) {
            continue;
        }
        match Label::parse_parts(&key, &value) {
            Ok(_) => {
                declaration.labels.insert(key, value);
            }
            Err(error) => declaration.skipped.push(Refusal {
                key,
                reason: error.to_string(),
            }),
        }
    }
    declaration
}
