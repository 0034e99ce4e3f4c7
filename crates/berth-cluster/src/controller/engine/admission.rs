//! What the admission policies and the roster should be, from what the engine knows.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::Engine;
use crate::{
    admission::{policies, roster},
    controller::policies::Wanted,
};

/// How long changes of places are collected: ten thousand Berths come one by one.
const COLLECT: Duration = Duration::from_millis(500);

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
            roster: roster(self.state.places()),
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
