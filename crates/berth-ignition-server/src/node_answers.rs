//! Answers for single machines, within a budget.
//!
//! A pool's answer is asked for by all its machines and stays. A machine asks for its own once or twice in its life, so
//! keeping every one would fill memory for nothing: the oldest go when the budget is used up.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use berth_ignition::SpecVersion;

use crate::answer::Built;

/// Bytes of bodies that are kept: some two hundred machines with large configs, which is more than boot at once.
const BUDGET: usize = 64 << 20;

type Key = (Arc<str>, SpecVersion);

/// The latest answers for single machines.
#[derive(Debug, Default)]
pub(crate) struct NodeAnswers(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<Key, Built>,
    /// Oldest first.
    order: VecDeque<Key>,
    bytes: usize,
}

impl NodeAnswers {
    pub(crate) fn ready(&self, node: &Arc<str>, version: SpecVersion) -> Option<Built> {
        self.lock().answers.get(&(Arc::clone(node), version)).cloned()
    }

    /// Keeps an answer. If another request was faster, its answer stays and is the one to use.
    pub(crate) fn keep(&self, node: &Arc<str>, version: SpecVersion, built: Built) -> Built {
        let mut kept = self.lock();
        let key = (Arc::clone(node), version);
        if let Some(first) = kept.answers.get(&key) {
            return first.clone();
        }
        kept.bytes = kept.bytes.saturating_add(weight(&built));
        kept.order.push_back(key.clone());
        kept.answers.insert(key, built.clone());
        while kept.bytes > BUDGET
            && let Some(oldest) = kept.order.pop_front()
        {
            if let Some(old) = kept.answers.remove(&oldest) {
                kept.bytes = kept.bytes.saturating_sub(weight(&old));
            }
        }
        built
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // Nothing in here can be left half done, so a panic elsewhere is not a reason to stop serving.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn weight(built: &Built) -> usize {
    // Failures cost little, but not nothing.
    built.as_ref().map_or(1024, |answer| answer.body.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;

    #[test]
    fn the_oldest_go_when_the_budget_is_used_up() {
        let kept = NodeAnswers::default();
        let names: Vec<Arc<str>> = (0..5).map(|n| Arc::from(format!("n{n}"))).collect();
        for name in &names {
            let answer = Arc::new(Answer::new(vec![0; BUDGET / 4 + 1]));
            kept.keep(name, SpecVersion::V3_4, Ok(answer)).unwrap();
        }
        let there: Vec<_> = names
            .iter()
            .map(|name| kept.ready(name, SpecVersion::V3_4).is_some())
            .collect();
        assert_eq!(there, [false, false, true, true, true]);
        let kept = kept.lock();
        assert!(kept.bytes <= BUDGET);
        assert_eq!(kept.order.len(), kept.answers.len());
    }
}
