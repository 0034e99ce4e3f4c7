//! Node objects as a cluster showed them.

use std::collections::BTreeMap;

use berth_documents::{Diagnostic, Node};

use super::Object;
use crate::{
    fields::Report,
    lints,
    model::{ObservedNode, ObservedTaint},
    names,
    network::ObservedNetwork,
    owned::read_owned,
};

pub(super) fn read(object: &Object<'_>, report: &mut Report<'_>) -> Option<ObservedNode> {
    let mut read = |field: &str| match object.document.root.at(&["metadata", field]) {
        None => Some(BTreeMap::new()),
        Some(node) if node.is_null() => Some(BTreeMap::new()),
        Some(node) => strings(node).or_else(|| {
            let message = format!(
                "the {field} of node `{}` are not a mapping of strings",
                object.name.value
            );
            report.push(Diagnostic::new(&lints::INVALID_OBSERVED, node.span, message));
            None
        }),
    };
    let (labels, annotations) = (read("labels")?, read("annotations")?);
    check_owned_labels(object, &annotations, report);
    let root = &object.document.root;
    Some(ObservedNode {
        network: network(object, &annotations, report),
        taints: taints(root),
        ready: ready(root),
        labels,
        annotations,
        name: object.name.clone(),
    })
}

/// What the cluster says of the node's networks. Without it the node is left out of placement, so an annotation that cannot
/// be read is told.
fn network(object: &Object<'_>, annotations: &BTreeMap<String, String>, report: &mut Report<'_>) -> ObservedNetwork {
    let (mut network, unreadable) = ObservedNetwork::from_annotations(annotations);
    for key in unreadable {
        let node = object.document.annotations().and_then(|map| map.get(key));
        let message = format!("`{key}` of node `{}` cannot be read", object.name.value);
        let span = node.map_or(object.name.span, |node| node.span);
        report.push(Diagnostic::new(&lints::INVALID_OBSERVED, span, message));
    }
    let addresses = object.document.root.at(&["status", "addresses"]).and_then(Node::as_seq);
    network.addresses = addresses
        .into_iter()
        .flatten()
        .filter_map(|item| item.get("address")?.as_str()?.parse().ok())
        .collect();
    network
}

fn taints(root: &Node) -> Vec<ObservedTaint> {
    let text = |item: &Node, key: &str| item.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    let taints = root.at(&["spec", "taints"]).and_then(Node::as_seq).unwrap_or_default();
    taints
        .iter()
        .map(|item| ObservedTaint {
            key: text(item, "key"),
            value: text(item, "value"),
            effect: text(item, "effect"),
        })
        .collect()
}

fn ready(root: &Node) -> Option<bool> {
    let conditions = root.at(&["status", "conditions"])?.as_seq()?;
    let ready = conditions
        .iter()
        .find(|condition| condition.get("type").and_then(Node::as_str) == Some("Ready"))?;
    Some(ready.get("status")?.as_str()? == "True")
}

/// With a record that cannot be read Berth owns nothing on the node, and removes nothing.
fn check_owned_labels(object: &Object<'_>, annotations: &BTreeMap<String, String>, report: &mut Report<'_>) {
    let Some(text) = annotations.get(names::OWNED_LABELS) else {
        return;
    };
    if read_owned(text, &BTreeMap::new()).is_none() {
        let node = object
            .document
            .annotations()
            .and_then(|map| map.get(names::OWNED_LABELS));
        let message = format!(
            "`{}` of node `{}` is not a JSON object of labels, so no label of the node counts as Berth's",
            names::OWNED_LABELS,
            object.name.value
        );
        let span = node.map_or(object.name.span, |node| node.span);
        report.push(Diagnostic::new(&lints::INVALID_OBSERVED, span, message));
    }
}

fn strings(node: &Node) -> Option<BTreeMap<String, String>> {
    node.as_map()?
        .iter()
        .map(|(key, node)| Some((key.as_str().to_owned(), node.as_str()?.to_owned())))
        .collect()
}
