//! Sets of fields, as a tree of steps.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::path::PathElement;

/// A set of paths. Each level says whether the path up to it is in the set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    pub(crate) here: bool,
    pub(crate) below: BTreeMap<PathElement, Self>,
}

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        !self.here && self.below.values().all(Self::is_empty)
    }

    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        match path.split_first() {
            None => self.here = true,
            Some((step, rest)) => self.below.entry(step.clone()).or_default().insert(rest),
        }
    }

    pub(crate) fn union(&mut self, other: &Self) {
        self.here |= other.here;
        for (step, below) in &other.below {
            self.below.entry(step.clone()).or_default().union(below);
        }
    }

    /// What is in both.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self {
            here: self.here && other.here,
            below: BTreeMap::new(),
        };
        for (step, below) in &self.below {
            if let Some(theirs) = other.below.get(step) {
                let common = below.intersection(theirs);
                if !common.is_empty() {
                    both.below.insert(step.clone(), common);
                }
            }
        }
        both
    }

    /// Takes out what is in the other.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.here &= !other.here;
        for (step, theirs) in &other.below {
            if let Some(below) = self.below.get_mut(step) {
                below.subtract(theirs);
                if below.is_empty() {
                    self.below.remove(step);
                }
            }
        }
    }

    /// Takes out every path in the other, and everything below such a path.
    pub(crate) fn subtract_deep(&mut self, other: &Self) {
        if other.here {
            *self = Self::default();
            return;
        }
        for (step, theirs) in &other.below {
            if let Some(below) = self.below.get_mut(step) {
                below.subtract_deep(theirs);
                if below.is_empty() {
                    self.below.remove(step);
                }
            }
        }
    }

    /// All paths, in order.
    pub(crate) fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, at: &mut Vec<PathElement>, into: &mut Vec<Vec<PathElement>>) {
        if self.here {
            into.push(at.clone());
        }
        for (step, below) in &self.below {
            at.push(step.clone());
            below.collect(at, into);
            at.pop();
        }
    }

    /// The form in `fieldsV1`.
    pub(crate) fn to_wire(&self) -> Value {
        let mut map = Map::new();
        if self.here && !self.below.is_empty() {
            map.insert(".".to_owned(), json!({}));
        }
        for (step, below) in &self.below {
            if !below.is_empty() {
                map.insert(step.to_wire(), below.to_wire());
            }
        }
        Value::Object(map)
    }

    /// Reads the form in `fieldsV1`. What is not understood is left out.
    pub(crate) fn from_wire(value: &Value) -> Self {
        let mut root = Self::read(value);
        root.here = false;
        root
    }

    fn read(value: &Value) -> Self {
        let Some(map) = value.as_object() else {
            return Self::default();
        };
        let below: BTreeMap<PathElement, Self> = map
            .iter()
            .filter_map(|(key, value)| Some((PathElement::from_wire(key)?, Self::read(value))))
            .collect();
        Self {
            here: map.contains_key(".") || below.is_empty(),
            below,
        }
    }
}
