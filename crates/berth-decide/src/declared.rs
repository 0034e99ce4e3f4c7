//! What a node is to carry, as an action keeps it.

use std::collections::{BTreeMap, BTreeSet};

use berth_resources::Berth;
use berth_site::{Resolution, Resolver, Source};
use serde::{Deserialize, Serialize};

use crate::{relabel::Refusal, units::UnitLabels};

/// What one node is to carry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What a Berth that is made for it declares.
    #[serde(default)]
    pub berth: BerthDeclaration,
    /// Facts of the host that it does not get as labels, because they are not legal ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Refusal>,
}

/// What documents put into the Berth of a node. Labels that come from the pool itself are left to the pool, so that a change
/// of the pool reaches the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BerthDeclaration {
    /// `spec.pool`.
    pub pool: Option<String>,
    /// `spec.labels`.
    pub labels: BTreeMap<String, String>,
    /// What the kubelets of the pool register with by the documents. The Berth does not say it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub registered: BTreeMap<String, String>,
    /// The keys by which the pools of the documents know their nodes. The Berth does not say them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub identifying: BTreeSet<String>,
}

impl From<&Resolution> for BerthDeclaration {
    fn from(resolution: &Resolution) -> Self {
        let own = resolution
            .labels
            .iter()
            .filter(|label| !matches!(label.source, Source::Explicit(_) | Source::Implicit(_)));
        Self {
            pool: resolution.pool_name().map(str::to_owned),
            labels: own
                .map(|label| (label.key.as_str().to_owned(), label.value.as_str().to_owned()))
                .collect(),
            registered: BTreeMap::new(),
            identifying: BTreeSet::new(),
        }
    }
}

impl BerthDeclaration {
    /// Whether a Berth declares just this.
    pub fn is_that_of(&self, berth: &Berth) -> bool {
        self.pool == berth.spec.pool && self.labels == berth.spec.labels
    }
}

impl Declaration {
    /// What a node is to carry by its resolution, and what its kubelet adds.
    pub fn new(resolver: &Resolver<'_>, resolution: &Resolution, units: &mut UnitLabels<'_>) -> Self {
        let skipped = resolution.skipped.iter().map(|fact| Refusal {
            key: fact.key.clone(),
            reason: fact.reason.clone(),
        });
        let berth = BerthDeclaration {
            registered: units.of(resolution.pool_name()),
            identifying: resolver.membership().selector_keys(),
            ..resolution.into()
        };
        Self {
            labels: resolution.label_set().to_map(),
            berth,
            skipped: skipped.collect(),
        }
    }
}
