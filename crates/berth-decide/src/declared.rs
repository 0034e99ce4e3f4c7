//! What a node is to carry, as an action keeps it.

use std::collections::BTreeMap;

use berth_site::Resolution;
use serde::{Deserialize, Serialize};

use crate::relabel::Refusal;

/// What one node is to carry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Facts of the host that it does not get as labels, because they are not legal ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Refusal>,
}

impl From<&Resolution> for Declaration {
    fn from(resolution: &Resolution) -> Self {
        let skipped = resolution.skipped.iter().map(|fact| Refusal {
            key: fact.key.clone(),
            reason: fact.reason.clone(),
        });
        Self {
            labels: resolution.label_set().to_map(),
            skipped: skipped.collect(),
        }
    }
}
