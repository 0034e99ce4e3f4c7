//! Promenade's way to update the labels of a Node, for clients that rely on it.

use std::collections::BTreeMap;

/// The patch that Promenade's `PUT node-labels` sends; `None` removes a key, and an empty patch is not sent.
///
/// What is not requested is removed, unless the text `kubernetes.io` occurs anywhere in its key. That guards removal
/// only: such keys are set, changed and (by an explicit null) removed like any other. A Node with no label at all gets
/// what is requested and nothing is removed. There is no ownership: labels of vendors and operators are removed too,
/// which is why this is a strategy to ask for by name and [`OwnershipDiff`](crate::OwnershipDiff) is the default.
pub fn promenade_diff(
    existing: &BTreeMap<String, String>,
    requested: &BTreeMap<String, Option<String>>,
) -> BTreeMap<String, Option<String>> {
    if existing.is_empty() {
        return requested
            .iter()
            .filter(|(_, value)| value.is_some())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
    }
    // A null for a key that is not there is sent as well: it is "not in existing".
    let written = requested
        .iter()
        .filter(|(key, value)| existing.get(*key).is_none_or(|current| Some(current) != value.as_ref()))
        .map(|(key, value)| (key.clone(), value.clone()));
    let orphans = existing
        .keys()
        .filter(|key| !requested.contains_key(*key) && !key.contains("kubernetes.io"))
        .map(|key| (key.clone(), None));
    written.chain(orphans).collect()
}
