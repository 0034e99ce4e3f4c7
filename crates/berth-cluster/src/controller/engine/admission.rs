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
use berth_decide::{Answer, Definitions, may_register};
use berth_resources::Berth;
use berth_site::Site;

/// How long changes of places are collected: ten thousand Berths come one by one.
const COLLECT: Duration = Duration::from_millis(500);

/// Labels of other pools that nodes may have all the same.
#[derive(Debug, Default)]
pub(super) struct OwnLabels {
    of_pools: BTreeMap<String, Vec<String>>,
    of_nodes: BTreeMap<String, OfNode>,
}

#[derive(Debug, Default, PartialEq)]
struct OfNode {
    /// Declared by its Berth, or by rules.
    declared: BTreeSet<String>,
    /// Its kubelet may create the Node with them.
    registrable: BTreeSet<String>,
}

impl OwnLabels {
    /// Pools give other labels now.
    pub(super) fn define(&mut self, definitions: &Definitions) {
        self.of_pools = labels_of_pools(definitions.site());
    }

    /// Takes what a node is to have. Whether that is news.
    pub(super) fn note(&mut self, berth: &Berth, answer: &Answer, site: &Site) -> bool {
        let declared = answer.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let by_berth = berth
            .spec
            .labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        let elsewhere = |label: &String| {
            let pools = self.of_pools.get(label);
            pools.is_some_and(|pools| !pools.iter().any(|pool| Some(pool.as_str()) == answer.pool.as_deref()))
        };
        let texts = |(key, value): (&str, &str)| label_text(key, value);
        let declared: BTreeSet<String> = declared.chain(by_berth).map(texts).filter(elsewhere).collect();
        let free = may_register(site, berth).into_iter().map(texts);
        let registrable = free.filter(|label| !declared.contains(label) && elsewhere(label));
        let own = OfNode {
            registrable: registrable.collect(),
            declared,
        };
        let node = berth.node_name();
        if own == OfNode::default() {
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

    fn lists<'a>(
        &'a self,
        list: impl Fn(&'a OfNode) -> &'a BTreeSet<String>,
    ) -> impl Iterator<Item = (&'a str, &'a BTreeSet<String>)> {
        let lists = self.of_nodes.iter().map(move |(node, own)| (node.as_str(), list(own)));
        lists.filter(|(_, labels)| !labels.is_empty())
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
            roster: roster(
                self.state.places(),
                self.own_labels.lists(|own| &own.declared),
                self.own_labels.lists(|own| &own.registrable),
            ),
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
