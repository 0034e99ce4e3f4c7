//! Lists whose entries have keys.

use std::{borrow::Cow, collections::HashMap};

use super::Merge;

/// An entry of a list with keys.
pub(super) trait Keyed: Merge {
    /// What makes two entries the same thing.
    fn key(&self) -> Cow<'_, str>;
}

/// A list under construction: for each key, its versions in order.
pub(super) struct Slots<T> {
    places: HashMap<String, usize>,
    /// Empty where an entry was removed; the places of the others stay valid.
    entries: Vec<Option<(T, Vec<T>)>>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            places: HashMap::new(),
            entries: Vec::new(),
        }
    }
}

impl<T: Keyed> Slots<T> {
    pub(super) fn contains(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// Adds a version to its key's entry, or a new entry at the end.
    pub(super) fn add(&mut self, entry: T) {
        let key = entry.key();
        let place = self.places.get(key.as_ref()).copied();
        if let Some(Some((_, later))) = place.and_then(|place| self.entries.get_mut(place)) {
            later.push(entry);
            return;
        }
        self.places.insert(key.into_owned(), self.entries.len());
        self.entries.push(Some((entry, Vec::new())));
    }

    /// Removes the entry of a key. If the key comes again, it comes at the end.
    pub(super) fn remove(&mut self, key: &str) {
        let place = self.places.remove(key);
        if let Some(entry) = place.and_then(|place| self.entries.get_mut(place)) {
            *entry = None;
        }
    }

    /// The merged list, or nothing if it has no entries.
    pub(super) fn finish(self) -> Option<Vec<T>> {
        let entries = self.entries.into_iter().flatten();
        let merged: Vec<T> = entries
            .map(|(first, later)| {
                if later.is_empty() {
                    first
                } else {
                    T::merge(first, later)
                }
            })
            .collect();
        (!merged.is_empty()).then_some(merged)
    }
}
