//! Certificate requests that are to be denied: behind everything that Nodes wait for, and a few at once.

use std::collections::{BTreeSet, HashSet, VecDeque};

use super::{Job, Key};

/// So many denials are decided ahead.
const WAITING: usize = 64;
/// So many are written at once: Nodes that come meanwhile find a writer.
const AT_ONCE: usize = 4;

/// Denials that wait or are under way.
#[derive(Debug, Default)]
pub(super) struct Denials {
    waiting: VecDeque<Job>,
    running: HashSet<Key>,
    /// Requests that are looked at again when there is room.
    postponed: BTreeSet<String>,
}

impl Denials {
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.postponed.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING
    }

    pub(super) fn push(&mut self, job: Job) {
        self.waiting.push_back(job);
    }

    pub(super) fn postpone(&mut self, request: String) {
        self.postponed.insert(request);
    }

    /// The requests for which there is room now.
    pub(super) fn make_room(&mut self) -> Vec<String> {
        let room = WAITING.saturating_sub(self.waiting.len());
        std::iter::from_fn(|| self.postponed.pop_first()).take(room).collect()
    }

    /// The next one, if not enough are under way.
    pub(super) fn start(&mut self) -> Option<Job> {
        if self.running.len() >= AT_ONCE {
            return None;
        }
        let job = self.waiting.pop_front()?;
        self.running.insert(job.key.clone());
        Some(job)
    }

    pub(super) fn ended(&mut self, key: &Key) {
        self.running.remove(key);
    }
}
