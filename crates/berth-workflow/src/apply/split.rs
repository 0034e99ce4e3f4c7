//! An order that the API server refuses as a whole: which of its keys it does not take, and the rest applied.

use std::collections::BTreeSet;

use kube::api::Patch;

use super::{ApplyError, NodeClient, Order, Pauses, Trouble};
use crate::{
    node_labels::{Refusal, label_diff},
    outcome::Outcome,
};

impl NodeClient {
    /// Halves what is refused until it is one key. A few refused keys of many cost few requests.
    pub(super) async fn relabel_by_parts(&self, order: Order<'_>) -> Result<Outcome, ApplyError> {
        let Order {
            node,
            requested,
            strategy,
            patience,
            stop,
        } = order;
        let mut outcome = Outcome::default();
        let mut pauses = Pauses::new(patience, stop);
        let state = self.read_within(node, &mut pauses).await?;
        let keys = label_diff(&state, requested, strategy, self.policy()).keys();
        let mut parts: Vec<BTreeSet<String>> = halves(keys);
        while let Some(keys) = parts.pop() {
            let state = self.read_within(node, &mut pauses).await?;
            let part = label_diff(&state, requested, strategy, self.policy()).only(&state, &keys);
            let Some(patch) = part.merge_patch(&state) else {
                continue;
            };
            match self.api.patch_metadata(node, &self.params, &Patch::Merge(&patch)).await {
                Ok(_) => outcome.add(&part, &state),
                Err(error) => match Trouble::of(&error) {
                    Trouble::Refused(reason) if keys.len() == 1 => {
                        outcome.refused.extend(keys.into_iter().map(|key| Refusal {
                            key,
                            reason: reason.clone(),
                        }));
                    }
                    Trouble::Refused(_) => parts.extend(halves(keys)),
                    trouble => {
                        self.endure(node, trouble, &mut pauses).await?;
                        parts.push(keys);
                    }
                },
            }
        }
        let state = self.read_within(node, &mut pauses).await?;
        let rest = label_diff(&state, requested, strategy, self.policy());
        let told = Outcome::of(&rest, &state);
        outcome.refused.extend(rest.refused);
        outcome.refused.sort_by(|one, other| one.key.cmp(&other.key));
        outcome.protected = told.protected;
        outcome.conflicts = told.conflicts;
        outcome.labels = Some(state.labels);
        outcome.settle(rest.conflicts.iter().any(|conflict| conflict.declared.is_some()));
        Ok(outcome)
    }
}

fn halves(keys: BTreeSet<String>) -> Vec<BTreeSet<String>> {
    if keys.len() < 2 {
        return vec![keys];
    }
    let middle = keys.len() / 2;
    let mut first: Vec<String> = keys.into_iter().collect();
    let second = first.split_off(middle);
    vec![first.into_iter().collect(), second.into_iter().collect()]
}
