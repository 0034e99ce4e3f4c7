//! Pauses between attempts.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Pauses that grow: each is twice as long as the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The first pause.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Pace {
    /// The pause after so many failures in a row. What the API server asks for counts where it is longer.
    pub fn after(self, failures: u32, at_least: Option<Duration>) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let pause = self.first.saturating_mul(doubled).min(self.longest);
        at_least.map_or(pause, |least| least.max(pause))
    }
}

/// How long to go on when the API server does not do what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For how long one node is tried.
    pub total: Duration,
    /// The pauses between attempts.
    pub pace: Pace,
    /// For how long the controllers of the cluster are waited for without a sign of life, where they are the ones to write.
    pub controllers: Duration,
}

impl Patience {
    /// For somebody who waits for the answer.
    pub const SHORT: Self = Self {
        total: Duration::from_secs(10),
        pace: Pace {
            first: Duration::from_millis(50),
            longest: Duration::from_secs(1),
        },
        controllers: Duration::from_secs(10),
    };
    /// For an action, which has the time that Shipyard gives it.
    pub const LONG: Self = Self {
        total: Duration::from_mins(15),
        pace: Pace {
            first: Duration::from_millis(50),
            longest: Duration::from_secs(5),
        },
        controllers: Duration::from_mins(5),
    };
}

/// Why there is no further pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// All the patience is used up.
    NoTimeLeft,
    /// Nobody wants the answer any more.
    Stopped,
}

/// The pauses of one task.
#[derive(Debug)]
pub struct Pauses<'a> {
    total: Duration,
    pace: Pace,
    stop: Option<&'a CancellationToken>,
    failures: u32,
    spent: Duration,
}

impl<'a> Pauses<'a> {
    /// Pauses until so much time is spent in them, or until `stop` is cancelled.
    pub fn new(total: Duration, pace: Pace, stop: Option<&'a CancellationToken>) -> Self {
        Self {
            total,
            pace,
            stop,
            failures: 0,
            spent: Duration::ZERO,
        }
    }

    /// Makes a pause, as long as the API server asks for at least.
    ///
    /// # Errors
    /// When there is none to be made.
    pub async fn pause(&mut self, at_least: Option<Duration>) -> Result<(), Over> {
        if self.spent >= self.total {
            return Err(Over::NoTimeLeft);
        }
        self.failures = self.failures.saturating_add(1);
        let pause = self.pace.after(self.failures, at_least);
        self.spent = self.spent.saturating_add(pause);
        let sleep = tokio::time::sleep(pause);
        match self.stop {
            None => sleep.await,
            Some(stop) => tokio::select! {
                () = stop.cancelled() => return Err(Over::Stopped),
                () = sleep => {}
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        first: Duration::from_millis(200),
        longest: Duration::from_mins(1),
    };

    #[test]
    fn pauses_grow_up_to_the_longest_unless_the_server_asks_for_more() {
        let pauses: Vec<u128> = (1..5).map(|failures| PACE.after(failures, None).as_millis()).collect();
        assert_eq!(pauses, [200, 400, 800, 1600]);
        assert_eq!(PACE.after(u32::MAX, None), PACE.longest);
        let asked = Duration::from_secs(7);
        assert_eq!(PACE.after(1, Some(asked)), asked);
        assert_eq!(PACE.after(9, Some(asked)), Duration::from_millis(51_200));
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends() {
        let mut pauses = Pauses::new(Duration::from_secs(1), PACE, None);
        let began = tokio::time::Instant::now();
        while pauses.pause(None).await.is_ok() {}
        assert_eq!(began.elapsed(), Duration::from_millis(1400));
        assert_eq!(pauses.pause(None).await, Err(Over::NoTimeLeft));
        let stop = CancellationToken::new();
        stop.cancel();
        let mut stopped = Pauses::new(Duration::from_secs(1), PACE, Some(&stop));
        assert_eq!(stopped.pause(None).await, Err(Over::Stopped));
    }
}
