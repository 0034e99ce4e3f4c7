//! What the admission policies and the roster should be, from what the engine knows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use super::Engine;
use crate::{
    admission::{label_text, labels_of_pools, policies, roster},
    controller::policies::Wanted,
};
use berth_decide::{Answer, Definitions};
use berth_resources::Berth;

/// How long changes of places are collected: ten thousand Berths come one by one.
const COLLECT: Duration = Duration::from_millis(500);

/// Labels of other pools that are declared for nodes all the same: by their Berths, or by rules.
#[derive(Debug, Default)]
pub(super) struct OwnLabels {
    of_pools: BTreeMap<String, Vec<String>>,
    of_nodes: BTreeMap<String, BTreeSet<String>>,
}

impl OwnLabels {
    /// Pools give other labels now.
    pub(super) fn define(&mut self, definitions: &Definitions) {
        self.of_pools = labels_of_pools(definitions.site());
    }

    /// Takes what a node is to have. Whether that is news.
    pub(super) fn note(&mut self, berth: &Berth, answer: &Answer) -> bool {
        let declared = answer.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let by_berth = berth
            .spec
            .labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        let own: BTreeSet<String> = declared
            .chain(by_berth)
            .map(|(key, value)| label_text(key, value))
            .filter(|label| {
                let pools = self.of_pools.get(label);
                pools.is_some_and(|pools| !pools.iter().any(|pool| Some(pool.as_str()) == answer.pool.as_deref()))
            })
            .collect();
        let node = berth.node_name();
        if own.is_empty() {
            return self.of_nodes.remove(&node).is_some();
        }
        let same = self.of_nodes.get(&node) == Some(&own);
        self.of_nodes.insert(node, own);
        !same
    }

    /// Nobody reserves the node any more.
    pub(super) fn forget(&mut self, node: &str) {
        self.of_nodes.remove(node);
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.of_nodes.iter().map(|(node, labels)| (node.as_str(), labels))
    }
}

impl Engine {
    /// Takes note that places or definitions changed.
    pub(super) fn policies_changed(&mut self) {
        if self.wanted.is_some() && std::mem::take(&mut self.state.places_changed) {
            self.policies_at.get_or_insert_with(|| Instant::now() + COLLECT);
        }
    }

    /// Says what should be in the cluster now.
    pub(super) fn publish_policies(&mut self) {
        self.policies_at = None;
        let (Some(wanted), Some(failure)) = (&self.wanted, self.options.admission) else {
            return;
        };
        let next = Wanted {
            policies: policies(self.definitions.site(), self.definitions.flavour(), failure),
            roster: roster(self.state.places(), self.own_labels.iter()),
        };
        wanted.send_if_modified(|current| {
            let changed = current.as_deref() != Some(&next);
            if changed {
                *current = Some(Arc::new(next));
            }
            changed
        });
    }
}
