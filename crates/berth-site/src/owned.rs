//! The note on a Node that says which of its labels Berth set: one codec for all who read or write it.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::narrowed;

use crate::{
    model::{ObservedNode, Site, WrittenLabels},
    names,
};

/// Reads the annotation [`OWNED_LABELS`](crate::OWNED_LABELS); `None` where it cannot be read. A list of keys, without values,
/// is understood as "whatever they are now".
pub fn read_owned(text: &str, live: &BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    if let Ok(map) = serde_json::from_str(text) {
        return Some(map);
    }
    let keys: Vec<String> = serde_json::from_str(text).ok()?;
    let labels = keys
        .into_iter()
        .filter_map(|key| live.get(&key).cloned().map(|value| (key, value)));
    Some(labels.collect())
}

/// The text of the annotation.
pub fn write_owned(owned: &BTreeMap<String, String>) -> String {
    serde_json::json!(owned).to_string()
}

impl Site {
    /// What the controllers wrote to a Node, from the status of its Berth, where the documents have it.
    pub fn written(&self, node: &str) -> Option<&WrittenLabels> {
        let mut berths = self.berths.iter().filter(|berth| *berth.node_name.value == *node);
        berths.find_map(|berth| berth.written.as_ref())
    }

    /// The labels of an observed Node that are Berth's.
    ///
    /// The status of its Berth says it, where the documents have it from the cluster, narrowed by what the Node says. Without
    /// it the Node's own annotation counts, which its kubelet can write: then this is what is Berth's at most, and the
    /// controllers remove no more than they remember to have set.
    pub fn owned_labels(&self, node: &ObservedNode) -> BTreeMap<String, String> {
        let noted = node.annotations.get(names::OWNED_LABELS);
        let noted = noted.and_then(|text| read_owned(text, &node.labels));
        match self.written(&node.name.value) {
            Some(written) => narrowed(noted.as_ref(), &written.last, &written.earlier),
            None => noted.unwrap_or_default(),
        }
    }

    /// The keys that an administrator removed from a Node on purpose: they are not set again.
    pub fn withheld_labels(&self, node: &ObservedNode) -> BTreeSet<String> {
        let written = self.written(&node.name.value).into_iter();
        written.flat_map(|written| written.removed.keys()).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use berth_documents::DocumentSet;
    use berth_labels::Flavour;

    use super::*;
    use crate::{Placement, Resolver, load};

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn what_is_written_is_read_and_a_list_means_the_live_values() {
        let live = map(&[("a", "1"), ("b", "2")]);
        let owned = map(&[("a", "0"), ("c", "")]);
        assert_eq!(read_owned(&write_owned(&owned), &live), Some(owned));
        assert_eq!(read_owned(r#"["a", "c"]"#, &live), Some(map(&[("a", "1")])));
        for garbage in ["", "{", "7", r#"{"a": 1}"#, "[1]"] {
            assert_eq!(read_owned(garbage, &live), None, "{garbage}");
        }
    }

    #[test]
    fn what_was_removed_on_purpose_is_in_no_placement() {
        let set = DocumentSet::from_iter([(
            "site.yaml",
            "apiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {name: w1}\nspec: {labels: {a: b, c: d}}\n\
             status: {removedLabels: {a: b}}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: w1, labels: {x: z}}\n",
        )]);
        let labels = |site: &Site| {
            let resolver = Resolver::new(site, Flavour::default());
            let placement = Placement::new(&resolver, &resolver.resolve_all());
            ["a", "c", "x"].map(|key| placement.nodes[0].labels.contains_key(key))
        };
        let mut site = load(&set.sources, &set.documents).0;
        assert_eq!(labels(&site), [false, true, true]);
        let observed = std::mem::take(&mut site.observed);
        site = site.declared();
        site.observed = observed;
        assert_eq!(labels(&site), [true, true, true], "a declaration knows of no removal");
    }
}
