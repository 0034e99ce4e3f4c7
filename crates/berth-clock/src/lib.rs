//! The clock that is passed to whatever needs the time.
//!
//! The executable makes one from the system's clock, the emulator one that passes faster, a test one that stands still.
//! Nothing else asks the system for the time, so that the same input gives the same answer.

use std::{fmt, sync::Arc};

use jiff::Timestamp;

/// Tells the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that tells what the function gives.
    pub fn new(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The system's clock, for executables. Whoever is part of one gets it from there.
    #[expect(
        clippy::disallowed_methods,
        reason = "here the system is asked for the time, and nowhere else"
    )]
    pub fn system() -> Self {
        Self::new(Timestamp::now)
    }

    /// A clock that stands still.
    pub fn stopped(at: Timestamp) -> Self {
        Self::new(move || at)
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }

    /// The time as databases keep it, in microseconds since 1970.
    pub fn microseconds(&self) -> i64 {
        self.now().as_microsecond()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").finish_non_exhaustive()
    }
}
