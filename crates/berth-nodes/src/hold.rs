//! Who may write, and until when.

use std::{fmt, sync::Arc, time::Duration};

/// The right to write to a cluster, which may end: a controller has it while it leads, an action's engine while it holds the
/// lease of its nodes.
///
/// A request takes at most the time that is left of it, so that nothing is under way when somebody else has the right.
#[derive(Clone)]
pub struct Hold(Arc<dyn Fn() -> Option<Duration> + Send + Sync>);

impl Hold {
    /// A right for as long as `left` says at the moment when it is asked; `None` says that it is over.
    pub fn new(left: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self(Arc::new(left))
    }

    /// A right that does not end.
    pub fn endless() -> Self {
        Self::new(|| Some(Duration::MAX))
    }

    /// How long a request may take that is sent now, at most `limit`; nothing when it must not be sent.
    pub fn left(&self, limit: Duration) -> Option<Duration> {
        let left = (self.0)()?.min(limit);
        (!left.is_zero()).then_some(left)
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hold").field(&(self.0)()).finish()
    }
}
