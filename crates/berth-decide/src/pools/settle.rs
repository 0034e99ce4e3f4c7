//! Waiting until changes have come to rest.

use std::time::Duration;

/// Waits until nothing has changed for a while, but not forever. Times are counted from any one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settle {
    due: Option<Duration>,
    latest: Option<Duration>,
}

impl Settle {
    /// How many times the quiet time somebody may go on changing things before they are taken as they are.
    const PATIENCE: u32 = 10;

    /// Something changed.
    pub fn changed(&mut self, now: Duration, quiet: Duration) {
        let latest = *self
            .latest
            .get_or_insert_with(|| now + quiet.saturating_mul(Self::PATIENCE));
        self.due = Some(latest.min(now + quiet));
    }

    /// When it is due, if something changed.
    pub fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Whether it is due; if so it is over.
    pub fn take(&mut self, now: Duration) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            *self = Self::default();
        }
        is_due
    }
}
