//! An action that would remove too much of what Berth owns is held, and says why.

use std::collections::{BTreeMap, HashMap};

use berth_decide::{BerthDeclaration, LabelPolicy, NodeState, Requested, Strategy, label_diff};
use berth_labels::Brake;
use berth_resources::Berth;
use berth_store::GivenLabels;

use crate::apply::{ApplyError, NodeClient};

/// Too many labels would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} of {} labels that Berth owns in this cluster would be removed, which is more than {} %. If that is meant, resume the \
     action; otherwise stop it. allow_mass_removal lets an action do it without asking",
    .0.removed, .0.owned, Brake::PERCENT
)]
struct TooMany(Brake);

/// What an action asks of one node.
#[derive(Clone, Debug)]
pub(crate) struct NodeWork<'a> {
    pub(crate) node: &'a str,
    pub(crate) requested: Requested,
    /// What documents put into its Berth.
    pub(crate) declared: Option<BerthDeclaration>,
}

/// What an action asks of nodes, by its strategy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<'a> {
    pub(crate) work: &'a [NodeWork<'a>],
    pub(crate) strategy: Strategy,
}

/// What is remembered of earlier writes, by node: by the Berths of the cluster, and of actions.
struct Remembered {
    berths: HashMap<String, Berth>,
    given: BTreeMap<String, GivenLabels>,
}

impl Remembered {
    /// Whether Berth is known to have written a label.
    fn has(&self, node: &str, key: &str, value: &str) -> bool {
        let by_controllers = |berth: &Berth| {
            let status = berth.status.as_ref()?;
            let last = status.labels.get(key).is_some_and(|last| last == value);
            let earlier = status.earlier_labels.get(key);
            Some(last || earlier.is_some_and(|values| values.iter().any(|earlier| earlier == value)))
        };
        let given = self.given.get(node).and_then(|given| given.get(key));
        given.is_some_and(|values| values.contains(value))
            || self.berths.get(node).and_then(by_controllers).unwrap_or_default()
    }
}

impl Whole<'_> {
    /// Whether so many labels would go, whoever set them, that it matters whose they are. `known` has the Nodes of the action.
    pub(crate) fn removes_many(&self, nodes: &NodeClient, known: &HashMap<String, NodeState>) -> bool {
        let removals = self.work.iter().filter_map(|work| {
            let state = known.get(work.node)?;
            Some(removed(state, &work.requested, self.strategy, nodes.policy()).len())
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
        let given = nodes.given().await?;
        let remembered = Remembered { berths, given };
        let removed = self.owned_removals(nodes.policy(), known, &remembered);
        let brake = Brake {
            removed,
            // What would go is there, even if only its Node knows.
            owned: owned(known, &remembered).max(removed),
        };
        // The nodes of an action were named by a person.
        Ok(brake.holds_named().then(|| TooMany(brake).to_string()))
    }

    /// Labels that would go and are Berth's by the word of whoever remembers it, or of the Node: whoever leaves something out
    /// must not make the change look smaller.
    fn owned_removals(
        &self,
        policy: &LabelPolicy,
        known: &HashMap<String, NodeState>,
        remembered: &Remembered,
    ) -> usize {
        let nothing = GivenLabels::new();
        let of_node = |work: &NodeWork<'_>| {
            let state = known.get(work.node)?;
            let mut confirmed = state.clone();
            if let Some(declared) = &work.declared {
                confirmed.identifying.clone_from(&declared.identifying);
            }
            if self.strategy != Strategy::Promenade {
                confirmed.confirm(
                    remembered.berths.get(work.node),
                    work.declared.as_ref(),
                    remembered.given.get(work.node).unwrap_or(&nothing),
                );
            }
            let removed = removed(&confirmed, &work.requested, self.strategy, policy);
            let owned = removed
                .into_iter()
                .filter(|(key, value)| state.owned.contains_key(key) || remembered.has(work.node, key, value));
            Some(owned.count())
        };
        self.work.iter().filter_map(of_node).sum()
    }
}

/// The labels of a Node that would go.
fn removed(
    state: &NodeState,
    requested: &Requested,
    strategy: Strategy,
    policy: &LabelPolicy,
) -> Vec<(String, String)> {
    let diff = label_diff(state, requested, strategy, policy);
    let there = diff.remove.into_iter();
    there
        .filter_map(|key| state.labels.get_key_value(&key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// How many labels of the cluster are Berth's. What Nodes say does not count: it could make any removal look small.
fn owned(known: &HashMap<String, NodeState>, remembered: &Remembered) -> usize {
    let of_node = |(node, state): (&String, &NodeState)| {
        let labels = state.labels.iter();
        labels.filter(|(key, value)| remembered.has(node, key, value)).count()
    };
    known.iter().map(of_node).sum()
}
