//! Until when nodes that were claimed may be worked on.

use std::time::Duration;

use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

/// This part of a lease is left at its end: for requests that are under way, and for clocks of servers that differ.
const RESERVE: u32 = 6;

/// A lease is renewed so often in its duration.
const RENEWALS: u32 = 3;

/// What this engine may believe about everything that it has claimed, by its own clock: another one takes a node over when
/// the store has heard nothing for the duration of a lease.
#[derive(Debug)]
pub(super) struct Lease {
    duration: Duration,
    until: watch::Sender<Instant>,
}

impl Lease {
    /// Nothing is held yet.
    pub(super) fn new(duration: Duration) -> Self {
        Self {
            duration,
            until: watch::Sender::new(Instant::now()),
        }
    }

    /// Says that the store has taken a write, begun at that time, which holds everything for the duration of a lease. The time
    /// before counts, since the store may have written it at once and answered late.
    pub(super) fn holds_since(&self, began: Instant) {
        let working = self.duration.saturating_sub(self.duration / RESERVE);
        self.until.send_replace(began + working);
    }

    /// How long nodes that were claimed may be worked on. Once this is over, another engine may have them.
    pub(super) fn left(&self) -> Option<Duration> {
        let left = self.until.borrow().saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Whether nodes that were claimed may be worked on.
    pub(super) fn is_held(&self) -> bool {
        self.left().is_some()
    }

    /// Returns when nodes that were claimed must not be worked on any more.
    pub(super) async fn over(&self) {
        let mut until = self.until.subscribe();
        loop {
            let end = *until.borrow_and_update();
            if timeout_at(end, until.changed()).await.is_err() {
                return;
            }
        }
    }

    /// The pause between two renewals, and the longest that one may take.
    pub(super) fn renew_every(&self) -> Duration {
        self.duration / RENEWALS
    }

    /// The pause after a renewal that failed: there is time for several before the lease is over.
    pub(super) fn retry_after(&self) -> Duration {
        self.renew_every() / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_over_before_the_lease_ends_unless_it_is_renewed() {
        let (began, lease) = (Instant::now(), Lease::new(Duration::from_secs(30)));
        assert!(!lease.is_held());
        lease.holds_since(began);
        lease.over().await;
        assert_eq!(began.elapsed(), Duration::from_secs(25));
        assert!(!lease.is_held());

        let began = Instant::now();
        lease.holds_since(began);
        let renew = async {
            tokio::time::sleep(lease.renew_every()).await;
            lease.holds_since(Instant::now());
        };
        tokio::join!(lease.over(), renew);
        assert_eq!(began.elapsed(), Duration::from_secs(35));
    }
}
