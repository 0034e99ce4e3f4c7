//! Leader election by a Lease: caches are warm on every replica, and only the holder of the claim writes.
//!
//! [`evaluate`] is pure. It never compares the clocks of two machines: a lease has expired when *this* replica has seen
//! no change of it for its whole duration, by its own monotonic clock. So skewed clocks cost no safety.

mod task;

use std::time::Duration;

pub use task::{Claim, LeaseOptions, campaign};
pub(crate) use task::{hold, time_to_write};

/// What a Lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// `spec.holderIdentity`; empty when it was given back.
    pub holder: String,
    /// `spec.renewTime`, as written. It is only compared with itself.
    pub renewed: String,
    /// `spec.leaseDurationSeconds`.
    pub duration: Duration,
    /// `spec.leaseTransitions`.
    pub transitions: i32,
}

/// A record, and since when this replica has seen it unchanged, by its own monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The record.
    pub record: Record,
    /// When it was first seen like this.
    pub since: Duration,
}

impl Observed {
    /// Takes note of what the Lease says now.
    pub fn note(previous: Option<&Self>, record: Record, now: Duration) -> Self {
        match previous {
            Some(previous) if previous.record == record => previous.clone(),
            _ => Self { record, since: now },
        }
    }
}

/// What to do about the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseAction {
    /// Take it: nobody has it, or its holder is silent.
    Acquire,
    /// It is ours: renew it.
    Renew,
    /// Somebody else has it; look again after this time at the latest.
    Yield(Duration),
}

/// Decides about the lease. `now` is this replica's monotonic clock.
pub fn evaluate(observed: Option<&Observed>, me: &str, now: Duration) -> LeaseAction {
    let Some(observed) = observed else {
        return LeaseAction::Acquire;
    };
    if observed.record.holder.is_empty() {
        return LeaseAction::Acquire;
    }
    if observed.record.holder == me {
        return LeaseAction::Renew;
    }
    let silent = now.saturating_sub(observed.since);
    match observed.record.duration.checked_sub(silent) {
        Some(left) if !left.is_zero() => LeaseAction::Yield(left),
        _ => LeaseAction::Acquire,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn record(holder: &str, renewed: &str) -> Record {
        Record {
            holder: holder.to_owned(),
            renewed: renewed.to_owned(),
            duration: seconds(15),
            transitions: 1,
        }
    }

    #[test]
    fn a_lease_that_nobody_holds_is_taken() {
        assert_eq!(evaluate(None, "a", seconds(0)), LeaseAction::Acquire);
        let given_back = Observed::note(None, record("", "1"), seconds(0));
        assert_eq!(evaluate(Some(&given_back), "a", seconds(0)), LeaseAction::Acquire);
    }

    #[test]
    fn the_holder_renews_and_others_wait_for_its_silence() {
        let mut seen = Observed::note(None, record("a", "1"), seconds(100));
        assert_eq!(evaluate(Some(&seen), "a", seconds(200)), LeaseAction::Renew);
        assert_eq!(
            evaluate(Some(&seen), "b", seconds(100)),
            LeaseAction::Yield(seconds(15))
        );
        assert_eq!(evaluate(Some(&seen), "b", seconds(114)), LeaseAction::Yield(seconds(1)));
        assert_eq!(evaluate(Some(&seen), "b", seconds(115)), LeaseAction::Acquire);
        seen = Observed::note(Some(&seen), record("a", "2"), seconds(114));
        assert_eq!(
            evaluate(Some(&seen), "b", seconds(115)),
            LeaseAction::Yield(seconds(14))
        );
    }

    #[test]
    fn what_the_holders_clock_says_does_not_matter() {
        for renewed in ["1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z"] {
            let seen = Observed::note(None, record("a", renewed), seconds(50));
            assert_eq!(evaluate(Some(&seen), "b", seconds(51)), LeaseAction::Yield(seconds(14)));
            assert_eq!(evaluate(Some(&seen), "b", seconds(65)), LeaseAction::Acquire);
        }
    }
}
