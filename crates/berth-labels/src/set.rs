//! Sets of labels.

use std::{
    collections::{BTreeMap, btree_map},
    fmt,
};

use crate::{error::LabelError, key::LabelKey, label::Label, value::LabelValue};

/// Labels of one thing: each key at most once, in the order of the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct LabelSet(BTreeMap<LabelKey, LabelValue>);

impl LabelSet {
    /// A set with no label.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks a map of plain texts, as it stands in a Node; the first illegal key or value is the error.
    pub fn try_from_map<'a>(map: impl IntoIterator<Item = (&'a String, &'a String)>) -> Result<Self, LabelError> {
        map.into_iter()
            .map(|(key, value)| Label::parse_parts(key, value))
            .collect()
    }

    /// The same labels as plain texts, as they stand in a Node.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        self.iter()
            .map(|(key, value)| (key.as_str().to_owned(), value.as_str().to_owned()))
            .collect()
    }

    /// Sets a key and returns the value it had.
    pub fn insert(&mut self, key: LabelKey, value: LabelValue) -> Option<LabelValue> {
        self.0.insert(key, value)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&LabelValue> {
        self.0.get(key)
    }

    /// Whether the key is there, whatever its value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Removes a key and returns the value it had.
    pub fn remove(&mut self, key: &str) -> Option<LabelValue> {
        self.0.remove(key)
    }

    /// The labels in the order of their keys.
    pub fn iter(&self) -> btree_map::Iter<'_, LabelKey, LabelValue> {
        self.0.iter()
    }

    /// The keys in their order.
    pub fn keys(&self) -> btree_map::Keys<'_, LabelKey, LabelValue> {
        self.0.keys()
    }

    /// How many labels there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no label.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for LabelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{}={}", key.as_str(), value.as_str())?;
        }
        Ok(())
    }
}

impl FromIterator<(LabelKey, LabelValue)> for LabelSet {
    fn from_iter<I: IntoIterator<Item = (LabelKey, LabelValue)>>(labels: I) -> Self {
        Self(labels.into_iter().collect())
    }
}

impl FromIterator<Label> for LabelSet {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        labels.into_iter().map(|label| (label.key, label.value)).collect()
    }
}

impl Extend<(LabelKey, LabelValue)> for LabelSet {
    fn extend<I: IntoIterator<Item = (LabelKey, LabelValue)>>(&mut self, labels: I) {
        self.0.extend(labels);
    }
}

impl Extend<Label> for LabelSet {
    fn extend<I: IntoIterator<Item = Label>>(&mut self, labels: I) {
        self.0.extend(labels.into_iter().map(|label| (label.key, label.value)));
    }
}

impl IntoIterator for LabelSet {
    type Item = (LabelKey, LabelValue);
    type IntoIter = btree_map::IntoIter<LabelKey, LabelValue>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a LabelSet {
    type Item = (&'a LabelKey, &'a LabelValue);
    type IntoIter = btree_map::Iter<'a, LabelKey, LabelValue>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
