//! Which parts of a document's data are secret.
//!
//! The data of an encrypted document is secret, and so is every part of another document that came from it: by
//! substitution, by layering, or by both over several documents. A part that is overwritten by something that is not secret
//! is not secret any more. Inside a mapping or list that is secret as a whole nothing is shown, whatever was put there
//! later: its keys and its length are part of the secret.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::deckhand::path::{Path, PathPart};

/// The secret parts of one document's data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretPaths {
    /// Everything here and below.
    whole: bool,
    /// Whether something in it is only a part of a secret. A letter has so few values that a hash of it tells the letter.
    part: bool,
    below: BTreeMap<PathPart, Self>,
}

impl SecretPaths {
    /// Nothing is secret.
    pub const fn none() -> Self {
        Self {
            whole: false,
            part: false,
            below: BTreeMap::new(),
        }
    }

    /// Everything is secret.
    pub const fn whole() -> Self {
        Self {
            whole: true,
            part: false,
            below: BTreeMap::new(),
        }
    }

    /// Everything is secret, and something of it was cut out of a secret by a pattern.
    pub const fn part() -> Self {
        Self {
            whole: true,
            part: true,
            below: BTreeMap::new(),
        }
    }

    /// What is at these paths is secret.
    pub fn of(paths: impl IntoIterator<Item = Path>) -> Self {
        let mut secrets = Self::none();
        for path in paths {
            secrets.put(path.steps(), Self::whole());
        }
        secrets
    }

    /// Everything is secret; it is or has a part of a secret if this has one.
    #[must_use]
    pub fn all(&self) -> Self {
        if self.has_part() { Self::part() } else { Self::whole() }
    }

    /// Whether something was cut out of a secret.
    pub fn has_part(&self) -> bool {
        self.part || self.below.values().any(Self::has_part)
    }

    /// Whether nothing is secret.
    pub fn is_none(&self) -> bool {
        !self.whole && self.below.is_empty()
    }

    /// Whether everything is secret.
    pub const fn is_whole(&self) -> bool {
        self.whole
    }

    /// The secret parts of the value at a path.
    #[must_use]
    pub fn at(&self, steps: &[PathPart]) -> Self {
        let mut here = self;
        for step in steps {
            if here.whole {
                return here.all();
            }
            match here.below.get(step) {
                Some(below) => here = below,
                None => return Self::none(),
            }
        }
        here.clone()
    }

    /// The paths of the secret parts, each as short as it can be.
    pub fn paths(&self) -> Vec<Path> {
        let (mut paths, mut way) = (Vec::new(), Vec::new());
        self.collect(&mut way, &mut paths);
        paths
    }

    fn collect(&self, way: &mut Vec<PathPart>, paths: &mut Vec<Path>) {
        if self.whole {
            paths.push(Path::from(way.as_slice()));
            return;
        }
        for (step, below) in &self.below {
            way.push(step.clone());
            below.collect(way, paths);
            way.pop();
        }
    }

    /// The data with something else in the place of each secret. `replace` gets the path of the secret and what it is.
    pub fn replaced(&self, data: &Value, replace: &mut dyn FnMut(&[PathPart], &Value, &Self) -> Value) -> Value {
        self.replaced_below(data, &mut Vec::new(), replace)
    }

    fn replaced_below(
        &self,
        data: &Value,
        way: &mut Vec<PathPart>,
        replace: &mut dyn FnMut(&[PathPart], &Value, &Self) -> Value,
    ) -> Value {
        if self.whole {
            return replace(way, data, self);
        }
        if self.below.is_empty() {
            return data.clone();
        }
        let mut inner = |step: PathPart, value: &Value| match self.below.get(&step) {
            Some(below) => {
                way.push(step);
                let value = below.replaced_below(value, way, replace);
                way.pop();
                value
            }
            None => value.clone(),
        };
        match data {
            Value::Object(map) => Value::Object(
                map.iter()
                    .map(|(key, value)| (key.clone(), inner(PathPart::Key(key.clone()), value)))
                    .collect(),
            ),
            Value::Array(items) => Value::Array(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, value)| inner(PathPart::Index(index), value))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// A value with these secret parts was put at a path.
    pub(crate) fn put(&mut self, steps: &[PathPart], secrets: Self) {
        if self.whole && !steps.is_empty() {
            self.part |= secrets.has_part();
            return;
        }
        let Some((first, rest)) = steps.split_first() else {
            *self = secrets;
            return;
        };
        if !secrets.is_none() || self.below.contains_key(first) {
            self.below.entry(first.clone()).or_default().put(rest, secrets);
            self.prune(first);
        }
    }

    /// The value at a path was taken away; in a list those after it moved up.
    pub(crate) fn remove(&mut self, steps: &[PathPart]) {
        let Some((first, rest)) = steps.split_first() else {
            *self = Self::none();
            return;
        };
        if !rest.is_empty() {
            if let Some(below) = self.below.get_mut(first) {
                below.remove(rest);
                self.prune(first);
            }
            return;
        }
        match first {
            PathPart::Key(_) => {
                self.below.remove(first);
            }
            PathPart::Index(removed) => {
                self.below = std::mem::take(&mut self.below)
                    .into_iter()
                    .filter_map(|(step, below)| match step {
                        PathPart::Index(index) if index == *removed => None,
                        PathPart::Index(index) if index > *removed => Some((PathPart::Index(index - 1), below)),
                        step => Some((step, below)),
                    })
                    .collect();
            }
        }
    }

    /// A mapping that is not secret was laid over the value at a path, key by key; `target` is that value as it was.
    pub(crate) fn overlay(&mut self, steps: &[PathPart], target: &Value, layer: &Value) {
        if self.whole && !(steps.is_empty() && !(target.is_object() && layer.is_object())) {
            return;
        }
        if let Some((first, rest)) = steps.split_first() {
            if let Some(below) = self.below.get_mut(first) {
                below.overlay(rest, target, layer);
                self.prune(first);
            }
            return;
        }
        match (target, layer) {
            (Value::Object(target), Value::Object(layer)) => {
                for (key, value) in layer {
                    let step = PathPart::Key(key.clone());
                    if let (Some(place), Some(below)) = (target.get(key), self.below.get_mut(&step)) {
                        below.overlay(&[], place, value);
                        self.prune(&step);
                    }
                }
            }
            _ => *self = Self::none(),
        }
    }

    fn prune(&mut self, step: &PathPart) {
        if self.below.get(step).is_some_and(Self::is_none) {
            self.below.remove(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn steps(path: &str) -> Vec<PathPart> {
        Path::parse(path).unwrap().steps().to_vec()
    }

    fn secret(paths: &[&str]) -> SecretPaths {
        let mut secrets = SecretPaths::none();
        for path in paths {
            secrets.put(&steps(path), SecretPaths::whole());
        }
        secrets
    }

    fn shown(secrets: &SecretPaths) -> Vec<String> {
        secrets.paths().iter().map(Path::to_string).collect()
    }

    #[test]
    fn what_is_put_decides() {
        let mut secrets = secret(&[".a.b", ".c[1]", ".c[3].d"]);
        assert_eq!(shown(&secrets), [".a.b", ".c[1]", ".c[3].d"]);
        secrets.put(&steps(".a"), SecretPaths::none());
        assert_eq!(shown(&secrets), [".c[1]", ".c[3].d"]);
        secrets.put(&steps(".x"), secret(&[".y"]));
        secrets.put(&steps(".x.z"), SecretPaths::none());
        assert_eq!(shown(&secrets), [".c[1]", ".c[3].d", ".x.y"]);
        secrets.remove(&steps(".c[0]"));
        assert_eq!(shown(&secrets), [".c[0]", ".c[2].d", ".x.y"]);
        secrets.remove(&steps(".c[0]"));
        assert_eq!(shown(&secrets), [".c[1].d", ".x.y"]);
        secrets.remove(&steps(".x.y"));
        assert_eq!(shown(&secrets.at(&steps(".c"))), [".[1].d"]);
        assert_eq!(secrets.at(&steps(".c[1].d.e")), SecretPaths::whole());
        secrets.put(&[], SecretPaths::none());
        assert!(secrets.is_none());
    }

    #[test]
    fn what_is_secret_as_a_whole_stays_so() {
        let mut secrets = secret(&[".a"]);
        secrets.put(&steps(".a.b"), SecretPaths::none());
        secrets.remove(&steps(".a.b"));
        secrets.overlay(&[], &json!({"a": {"b": 1}}), &json!({"a": {"b": 2}}));
        assert_eq!(shown(&secrets), [".a"]);
        secrets.overlay(&[], &json!({"a": {"b": 1}}), &json!({"a": 2}));
        assert!(secrets.is_none());
    }

    #[test]
    fn a_part_stays_one() {
        let mut secrets = secret(&[".a", ".b"]);
        secrets.put(&steps(".a.letter"), SecretPaths::part());
        assert!(secrets.has_part() && secrets.at(&steps(".a.other")).has_part());
        assert!(!secrets.at(&steps(".b")).has_part());
        assert_eq!(secrets.all(), SecretPaths::part());
        secrets.put(&steps(".a"), SecretPaths::whole());
        assert_eq!(secrets.all(), SecretPaths::whole());
    }

    #[test]
    fn merging_uncovers_what_it_replaces() {
        let mut secrets = secret(&[".a.b", ".a.c", ".d"]);
        let target = json!({"a": {"b": 1, "c": 2}, "d": 3});
        secrets.overlay(&[], &target, &json!({"a": {"b": 5}, "e": 6}));
        assert_eq!(shown(&secrets), [".a.c", ".d"]);
        secrets.overlay(&steps(".a"), &target["a"], &json!({"c": {}}));
        assert_eq!(shown(&secrets), [".d"]);
    }

    #[test]
    fn parts_are_replaced_in_their_places() {
        let mut seen = Vec::new();
        let data = json!({"a": {"b": 1, "c": [1, 2]}, "d": 3});
        let replaced = secret(&[".a.c[1]", ".d", ".missing"]).replaced(&data, &mut |way, value, _| {
            seen.push((Path::from(way).to_string(), value.clone()));
            json!("x")
        });
        assert_eq!(replaced, json!({"a": {"b": 1, "c": [1, "x"]}, "d": "x"}));
        assert_eq!(seen, [(".a.c[1]".to_owned(), json!(2)), (".d".to_owned(), json!(3))]);
    }
}
