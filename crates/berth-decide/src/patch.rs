//! Merge patches, and the one shape in which a Node is patched.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// Values of a map in a merge patch, by key; `None` removes.
pub type MapPatch = BTreeMap<String, Option<String>>;

/// One merge patch of a Node with only the keys concerned. Every write to an existing Node has this shape, whoever decides on it.
///
/// It names the object by its uid, so that it cannot land on a Node that was created anew, and the version that it was
/// computed from: a patch that is on its way for long cannot land on what was written since.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodePatch {
    /// `metadata.uid` of the Node.
    pub uid: Option<String>,
    /// `metadata.resourceVersion` of the Node; `None` where the change is right for every version.
    pub resource_version: Option<String>,
    /// `metadata.labels`.
    pub labels: MapPatch,
    /// `metadata.annotations`.
    pub annotations: MapPatch,
    /// All taints of the Node afterwards.
    pub taints: Option<Vec<Taint>>,
    /// Whether the Node is cordoned afterwards.
    pub unschedulable: Option<bool>,
}

impl NodePatch {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        let Self {
            uid: _,
            resource_version: _,
            labels,
            annotations,
            taints,
            unschedulable,
        } = self;
        labels.is_empty() && annotations.is_empty() && taints.is_none() && unschedulable.is_none()
    }

    /// What it lacks to be for the very object, and where it takes something away for the very version, that it was computed from.
    pub fn unbound(&self) -> Option<&'static str> {
        let lacks = |field: &Option<String>| field.as_deref().is_none_or(str::is_empty);
        if lacks(&self.uid) {
            return Some("it does not name the uid of the Node");
        }
        if self.removes() && lacks(&self.resource_version) {
            return Some("it takes something away and does not name the resourceVersion of the Node");
        }
        None
    }

    /// Whether it takes anything away. A list of taints takes the place of the one that is there.
    fn removes(&self) -> bool {
        let mut values = self.labels.values().chain(self.annotations.values());
        values.any(Option::is_none) || self.taints.is_some() || self.unschedulable == Some(false)
    }

    /// The same, unless it changes nothing.
    pub fn non_empty(self) -> Option<Self> {
        (!self.is_empty()).then_some(self)
    }

    /// As it is sent.
    pub fn to_value(&self) -> Value {
        let (mut metadata, mut spec) = (Map::new(), Map::new());
        for (name, value) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(value) = value {
                metadata.insert(name.to_owned(), json!(value));
            }
        }
        for (name, map) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !map.is_empty() {
                metadata.insert(name.to_owned(), json!(map));
            }
        }
        if let Some(taints) = &self.taints {
            let taints = (!taints.is_empty()).then_some(taints);
            spec.insert("taints".to_owned(), json!(taints));
        }
        if let Some(unschedulable) = self.unschedulable {
            // A Node that is not cordoned does not have the field.
            spec.insert("unschedulable".to_owned(), json!(unschedulable.then_some(true)));
        }
        let mut patch = Map::new();
        for (name, part) in [("metadata", metadata), ("spec", spec)] {
            if !part.is_empty() {
                patch.insert(name.to_owned(), Value::Object(part));
            }
        }
        Value::Object(patch)
    }
}

impl Serialize for NodePatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

/// What a map is after a patch.
pub(crate) fn patched(map: &BTreeMap<String, String>, patch: &MapPatch) -> BTreeMap<String, String> {
    let mut after = map.clone();
    for (key, value) in patch {
        match value {
            Some(value) => after.insert(key.clone(), value.clone()),
            None => after.remove(key),
        };
    }
    after
}

/// The merge patch (RFC 7386) that makes `after` from `before`; `None` when they are equal.
pub fn merge_diff(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return Some(after.clone());
    };
    let mut patch = Map::new();
    for (key, value) in after {
        let change = match before.get(key) {
            Some(old) => merge_diff(old, value),
            None => Some(value.clone()),
        };
        if let Some(change) = change {
            patch.insert(key.clone(), change);
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Some(Value::Object(patch))
}
