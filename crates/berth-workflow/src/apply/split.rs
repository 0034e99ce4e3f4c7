//! An order that the API server refuses as a whole: which of its keys it does not take, and the rest applied.

use std::collections::BTreeSet;

use berth_nodes::{Pauses, Trouble};
use berth_store::LabelMemory;

use super::{ApplyError, NodeClient, Order};
use crate::outcome::{Outcome, conflicts};
use berth_decide::Refusal;

impl NodeClient {
    /// Applies what the API server takes, and says what it does not take.
    pub(super) async fn relabel_by_parts(
        &self,
        order: Order<'_>,
        memory: &mut LabelMemory,
    ) -> Result<Outcome, ApplyError> {
        let mut pauses = order.pauses();
        let mut outcome = self.by_parts(order, false, &mut pauses, memory).await?;
        let mut state = self.read_within(order.node, &mut pauses).await?;
        let rest = self.diff(&mut state, order).await?;
        let (told, conflicting) = (Outcome::of(&rest, &state), conflicts(&rest));
        outcome.refused.extend(rest.refused);
        outcome.refused.sort_by(|one, other| one.key.cmp(&other.key));
        outcome.protected = told.protected;
        outcome.conflicts = told.conflicts;
        outcome.labels = Some(state.labels);
        outcome.settle(conflicting);
        Ok(outcome)
    }

    /// The keys that the API server does not take, found without writing anything. When it takes each of them alone, it is all
    /// of them together that it refuses, with the reason that it gave.
    pub(super) async fn refused_keys(
        &self,
        order: Order<'_>,
        all: BTreeSet<String>,
        reason: &str,
    ) -> Result<Vec<Refusal>, ApplyError> {
        let mut unwritten = LabelMemory::default();
        let tried = self.by_parts(order, true, &mut order.pauses(), &mut unwritten).await?;
        let mut refused = tried.refused;
        if refused.is_empty() {
            refused.extend(all.into_iter().map(|key| Refusal {
                key,
                reason: reason.to_owned(),
            }));
        }
        refused.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(refused)
    }

    /// Halves what is refused until it is one key. A few refused keys of many cost few requests.
    async fn by_parts(
        &self,
        order: Order<'_>,
        dry_run: bool,
        pauses: &mut Pauses<'_>,
        memory: &mut LabelMemory,
    ) -> Result<Outcome, ApplyError> {
        let node = order.node;
        let mut outcome = Outcome::default();
        let mut state = self.read_within(node, pauses).await?;
        let keys = self.diff(&mut state, order).await?.keys();
        let mut parts: Vec<BTreeSet<String>> = halves(keys);
        while let Some(keys) = parts.pop() {
            let mut state = self.read_within(node, pauses).await?;
            let part = self.diff(&mut state, order).await?.only(&state, &keys);
            let Some(patch) = part.patch(&state) else {
                continue;
            };
            match self.nodes.patch_metadata(node, &patch, dry_run).await {
                Ok(()) => outcome.add(&part, &state),
                Err(error) => match error.trouble() {
                    Trouble::Refused(reason) if keys.len() == 1 => {
                        outcome.refused.extend(keys.into_iter().map(|key| Refusal {
                            key,
                            reason: reason.clone(),
                        }));
                    }
                    Trouble::Refused(_) => parts.extend(halves(keys)),
                    trouble => {
                        if matches!(trouble, Trouble::Wait(..)) {
                            memory.given.extend(part.written());
                        }
                        self.endure(node, trouble, pauses).await?;
                        parts.push(keys);
                    }
                },
            }
        }
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
