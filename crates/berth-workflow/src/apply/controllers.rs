//! Nodes that the controllers of the cluster keep by documents: they write what is declared, and an action waits for it.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use berth_nodes::{Over, Pauses, WriteError};
use berth_resources::Berth;
use kube::ResourceExt as _;
use tokio::time::Instant;

use super::{ApplyError, NodeClient, Order};
use crate::outcome::Outcome;
use berth_decide::{NodeState, Requested, Strategy, held_back, is_by_documents, lag};

/// When nobody has waited for so long, it is not known any more how long the controllers have been silent.
const FORGOTTEN: Duration = Duration::from_secs(30);

/// Since when nodes wait for the controllers without any of them getting what it waits for, and when one asked last. Should
/// the controllers not run, the first nodes of an action wait, and not each of thousands for itself.
#[derive(Debug, Default)]
pub(super) struct Silence(Mutex<Option<(Instant, Instant)>>);

impl Silence {
    /// A node waits: for how long the controllers have been silent.
    fn lasts(&self, now: Instant) -> Duration {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = match *known {
            Some((since, asked)) if now.saturating_duration_since(asked) < FORGOTTEN => since,
            _ => now,
        };
        *known = Some((since, now));
        now.saturating_duration_since(since)
    }

    /// A node got what it waited for.
    fn ends(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// What the controllers did.
pub(super) struct Followed {
    before: NodeState,
    pub(super) after: NodeState,
    /// The keys that were theirs when they were first looked at.
    keys: BTreeSet<String>,
    held: Option<String>,
}

impl Followed {
    /// Tells it in the outcome.
    pub(super) fn add_to(&self, outcome: &mut Outcome, requested: &Requested) {
        let keys = self.keys.iter().chain(requested.keys());
        outcome.add_difference(&self.before.labels, &self.after.labels, keys);
        if let Some(held) = &self.held {
            outcome.success = false;
            outcome.message = format!("{}, {held}", outcome.message);
        }
    }
}

fn recorded(berth: &Berth) -> BTreeSet<String> {
    let status = berth.status.iter();
    status.flat_map(|status| status.labels.keys().cloned()).collect()
}

impl NodeClient {
    /// Waits until the controllers have done what documents declare for a Node, where its Berth was made for documents.
    /// Whatever an action wrote there by itself, controllers with other documents would undo.
    pub(super) async fn follow(
        &self,
        order: Order<'_>,
        known: Option<&NodeState>,
    ) -> Result<Option<Followed>, ApplyError> {
        let Some(declared) = order.declared.filter(|_| order.strategy != Strategy::Promenade) else {
            return Ok(None);
        };
        let (node, mut pauses) = (order.node, order.pauses());
        let Some(mut berth) = self.berth_of(node, &mut pauses).await?.filter(is_by_documents) else {
            return Ok(None);
        };
        let before = match known {
            Some(known) => known.clone(),
            None => self.read_within(node, &mut pauses).await?,
        };
        let (keys, name) = (recorded(&berth), berth.name_any());
        let patience = order.patience.controllers;
        let mut waits = Pauses::new(Duration::MAX, order.patience.pace, order.stop);
        let mut waited = false;
        loop {
            let mut after = self.read_within(node, &mut pauses).await?;
            let diff = self.diff_beside(&mut after, order, Some(&berth)).await?;
            let Some(lag) = lag(&berth, declared, &after, order.requested, &diff) else {
                if waited {
                    self.silence.ends();
                }
                let held = held_back(&berth).map(str::to_owned);
                return Ok(Some(Followed {
                    before,
                    after,
                    keys,
                    held,
                }));
            };
            if self.silence.lasts(Instant::now()) >= patience {
                return Err(ApplyError::Controllers {
                    node: node.to_owned(),
                    lag,
                });
            }
            waits.pause(None).await.map_err(|_: Over| ApplyError::GivenUp)?;
            waited = true;
            berth = loop {
                match self.nodes.berth(&name).await {
                    Ok(berth) if is_by_documents(&berth) => break berth,
                    Ok(_) => return Ok(None),
                    Err(WriteError::Refused(kube::Error::Api(status))) if status.code == 404 => return Ok(None),
                    Err(error) => self.endure(node, error.trouble(), &mut pauses).await?,
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silence_counts_for_all_nodes_that_wait() {
        let (silence, start) = (Silence::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(silence.lasts(at(0)), Duration::ZERO);
        assert_eq!(silence.lasts(at(20)).as_secs(), 20);
        assert_eq!(
            silence.lasts(at(40)).as_secs(),
            40,
            "also for a node that has just begun to wait"
        );
        silence.ends();
        assert_eq!(silence.lasts(at(41)), Duration::ZERO);
        assert_eq!(silence.lasts(at(100)), Duration::ZERO, "nobody asked for a while");
    }
}
