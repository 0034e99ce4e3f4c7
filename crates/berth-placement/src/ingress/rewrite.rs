//! Selectors that the ingress operator refuses, said with a label of their own.

use std::collections::BTreeMap;

use berth_labels::LabelSelector;
use serde_json::{Value, json};

use super::{IngressController, indices};
use crate::node::PlacementNode;

/// The domain of the labels that mark a controller's nodes.
pub const HELPER_PREFIX: &str = "ingress.berth.dev";

/// The way out for one controller.
#[derive(Clone, Debug)]
pub struct Rewrite {
    /// The controller's name.
    pub controller: String,
    /// The label that marks its nodes; the value is empty.
    pub label: String,
    /// The nodes that get it, by their place in the input: those that the selector means.
    pub nodes: Vec<usize>,
    /// Host names in the selector that no node has, each with the node that is called so in full.
    pub whole_names: Vec<(String, String)>,
    /// The `LabelRule` that gives it.
    pub rule: Value,
    /// The controller with a selector that can be converted.
    pub ingress_controller: Value,
}

fn selected(nodes: &[PlacementNode], selector: &LabelSelector) -> Option<Vec<usize>> {
    let selector = selector.compile().ok()?;
    Some(indices(nodes, |node| {
        selector.matches_with(|key| node.labels.get(key).map(String::as_str))
    }))
}

/// The label with the name of a node.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// The selector with whole host names in the place of short ones that no node has, and what was replaced. A short name counts where
/// exactly one node begins with it.
fn whole_names(nodes: &[PlacementNode], selector: &LabelSelector) -> (LabelSelector, Vec<(String, String)>) {
    let mut selector = selector.clone();
    let mut replaced = Vec::new();
    let named = selector.match_labels.iter_mut().filter(|(key, _)| *key == HOSTNAME);
    let named = named.map(|(_, value)| value);
    let listed = selector
        .match_expressions
        .iter_mut()
        .filter(|item| item.key == HOSTNAME);
    for value in named.chain(listed.flat_map(|item| &mut item.values)) {
        if nodes.iter().any(|node| node.labels.get(HOSTNAME) == Some(value)) {
            continue;
        }
        let mut called = nodes
            .iter()
            .filter_map(|node| node.labels.get(HOSTNAME))
            .filter(|whole| whole.split_once('.').is_some_and(|(first, _)| first == value));
        if let (Some(whole), None) = (called.next(), called.next()) {
            replaced.push((value.clone(), whole.clone()));
            value.clone_from(whole);
        }
    }
    (selector, replaced)
}

/// Whether a selector that can be converted names hosts that no node is called.
fn names_nobody(nodes: &[PlacementNode], selector: &LabelSelector) -> bool {
    let mut keys = selector
        .match_labels
        .keys()
        .chain(selector.match_expressions.iter().map(|item| &item.key));
    keys.any(|key| key == HOSTNAME) && !nodes.is_empty() && selected(nodes, selector).is_some_and(|own| own.is_empty())
}

/// Rewrites a controller whose selector cannot be converted, or names hosts that no node is called. `document` is its manifest, `pools`
/// says which pool each node is in.
///
/// `None` where the selector is fine, or means nothing at all.
pub fn rewrite(
    nodes: &[PlacementNode],
    controller: &IngressController,
    document: &Value,
    pools: &[Option<String>],
) -> Option<Rewrite> {
    let selector = controller.node_selector.as_ref()?;
    if selector.to_map().is_ok() && !names_nobody(nodes, selector) {
        return None;
    }
    let (selector, whole_names) = whole_names(nodes, selector);
    let meant = selected(nodes, &selector)?;
    let label = format!("{HELPER_PREFIX}/{}", controller.name);
    let rule = label_rule(
        &format!("ingress-{}", controller.name),
        &matching(nodes, &meant, pools),
        &BTreeMap::from([(label.clone(), String::new())]),
    );
    let mut ingress_controller = document.clone();
    let body = if ingress_controller.get("spec").is_some() {
        "spec"
    } else {
        "data"
    };
    ingress_controller[body]["nodePlacement"]["nodeSelector"] = json!({"matchLabels": {label.clone(): ""}});
    Some(Rewrite {
        controller: controller.name.clone(),
        label,
        nodes: meant,
        whole_names,
        rule,
        ingress_controller,
    })
}

/// What a rule has to match for exactly these nodes: whole pools where that is the same, so that the rule holds for nodes that come
/// later too; names otherwise.
pub(super) fn matching(nodes: &[PlacementNode], meant: &[usize], pools: &[Option<String>]) -> Value {
    let pool = |index: &usize| pools.get(*index).and_then(Option::as_deref);
    let mut names: Vec<&str> = meant.iter().filter_map(pool).collect();
    names.sort_unstable();
    names.dedup();
    let all = (0..nodes.len()).filter(|index| pool(index).is_some_and(|pool| names.contains(&pool)));
    if !meant.is_empty() && meant.iter().all(|index| pool(index).is_some()) && all.eq(meant.iter().copied()) {
        return json!({"pools": names});
    }
    let patterns: Vec<String> = meant
        .iter()
        .filter_map(|index| nodes.get(*index))
        .map(|node| node.name.replace('.', "\\."))
        .collect();
    json!({"namePatterns": patterns})
}

/// A rule that gives exactly these nodes labels.
pub fn names_rule(name: &str, nodes: &[&str], labels: &[(&str, &str)]) -> Value {
    let patterns: Vec<String> = nodes.iter().map(|node| node.replace('.', "\\.")).collect();
    let labels = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    label_rule(name, &json!({"namePatterns": patterns}), &labels)
}

pub(super) fn label_rule(name: &str, matching: &Value, labels: &BTreeMap<String, String>) -> Value {
    json!({
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "LabelRule",
        "metadata": {"name": name},
        "spec": {"match": matching, "labels": labels},
    })
}
