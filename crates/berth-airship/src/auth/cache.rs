//! Answers that are good for a short while.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
};

/// More callers than an API for a site has, and little memory.
const MOST: usize = 4096;

/// A bounded map whose entries end at a time. Times are microseconds.
#[derive(Debug)]
pub(super) struct Cache<K, V>(Mutex<HashMap<K, (V, i64)>>);

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    pub(super) fn get(&self, key: &K, now: i64) -> Option<V> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (value, until) = entries.get(key)?;
        (*until > now).then(|| value.clone())
    }

    pub(super) fn insert(&self, key: K, value: V, until: i64, now: i64) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MOST {
            entries.retain(|_, (_, until)| *until > now);
            if entries.len() >= MOST {
                // Somebody floods it. What is forgotten is asked again.
                entries.clear();
            }
        }
        entries.insert(key, (value, until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_end_and_memory_is_bounded() {
        let cache = Cache::new();
        cache.insert(1, "one", 10, 0);
        assert_eq!(cache.get(&1, 9), Some("one"));
        assert_eq!(cache.get(&1, 10), None);
        for key in 0..3 * MOST {
            cache.insert(key, "x", 10, 0);
        }
        assert!(cache.0.lock().unwrap().len() <= MOST);
    }
}
