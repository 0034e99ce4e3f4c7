//! An action that would remove too much of what Berth owns is held, and says why.

use std::collections::HashMap;

use berth_decide::{LabelPolicy, NodeState, Requested, Strategy, label_diff};
use berth_labels::Brake;
use berth_site::WrittenLabels;

use crate::apply::{ApplyError, NodeClient};

/// Too many labels would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} of {} labels that Berth owns in this cluster would be removed, which is more than {} %. If that is meant, resume the \
     action; otherwise stop it. allow_mass_removal lets an action do it without asking",
    .0.removed, .0.owned, Brake::PERCENT
)]
struct TooMany(Brake);

/// What an action asks of nodes, by its strategy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<'a> {
    pub(crate) work: &'a [(&'a str, Requested)],
    pub(crate) strategy: Strategy,
}

impl Whole<'_> {
    /// Whether so many labels would go, whoever set them, that it matters whose they are. `known` has the Nodes of the action.
    pub(crate) fn removes_many(&self, nodes: &NodeClient, known: &HashMap<String, NodeState>) -> bool {
        let removals = self.work.iter().filter_map(|(node, requested)| {
            let state = known.get(*node)?;
            Some(removed(state, requested, self.strategy, nodes.policy()).len())
        });
        let at_most = Brake {
            removed: removals.sum(),
            ..Brake::default()
        };
        !at_most.is_few()
    }

    /// Why a person has to agree first, if so. `known` has all Nodes of the cluster.
    pub(crate) async fn reason_to_ask(
        &self,
        nodes: &NodeClient,
        known: &HashMap<String, NodeState>,
    ) -> Result<Option<String>, ApplyError> {
        let berths = match nodes.berths().await {
            Ok(berths) => berths,
            // Trying again does not help.
            Err(error @ ApplyError::BerthsForbidden { .. }) => {
                return Ok(Some(format!(
                    "how many of Berth's labels would go cannot be known. {error}. Then start the action again, or resume this \
                     one if it may remove labels of many nodes"
                )));
            }
            Err(error) => return Err(error),
        };
        let brake = Brake {
            removed: self.owned_removals(nodes.policy(), known, &berths),
            owned: owned(known, &berths),
        };
        // What would go is there, even if only its Node knows.
        let brake = Brake {
            owned: brake.owned.max(brake.removed),
            ..brake
        };
        // The nodes of an action were named by a person.
        Ok(brake.holds_named().then(|| TooMany(brake).to_string()))
    }

    /// Labels that would go and are Berth's by the word of the Berth or of the Node: whoever leaves something out must not
    /// make the change look smaller.
    fn owned_removals(
        &self,
        policy: &LabelPolicy,
        known: &HashMap<String, NodeState>,
        berths: &HashMap<String, WrittenLabels>,
    ) -> usize {
        let of_node = |(node, requested): &(&str, Requested)| {
            let state = known.get(*node)?;
            let written = berths.get(*node);
            let mut confirmed = state.clone();
            confirmed.confirm(written);
            let is_written = |key: &str| {
                written.is_some_and(|written| written.last.contains_key(key) || written.earlier.contains_key(key))
            };
            let removed = removed(&confirmed, requested, self.strategy, policy);
            let owned = removed
                .into_iter()
                .filter(|key| state.owned.contains_key(key) || is_written(key));
            Some(owned.count())
        };
        self.work.iter().filter_map(of_node).sum()
    }
}

/// The labels of a Node that would go.
fn removed(state: &NodeState, requested: &Requested, strategy: Strategy, policy: &LabelPolicy) -> Vec<String> {
    let diff = label_diff(state, requested, strategy, policy);
    let there = diff.remove.into_iter().filter(|key| state.labels.contains_key(key));
    there.collect()
}

/// How many labels of the cluster are Berth's. Where there are Berths they say it alone: what Nodes say could make any
/// removal look small.
fn owned(known: &HashMap<String, NodeState>, berths: &HashMap<String, WrittenLabels>) -> usize {
    if berths.is_empty() {
        return known.values().map(NodeState::owned_labels).sum();
    }
    let of_node = |(node, state): (&String, &NodeState)| {
        let written = berths.get(node)?;
        let is_written = |(key, value): &(&String, &String)| {
            written.last.get(*key) == Some(*value) || written.earlier.get(*key) == Some(*value)
        };
        Some(state.labels.iter().filter(is_written).count())
    };
    known.iter().filter_map(of_node).sum()
}
