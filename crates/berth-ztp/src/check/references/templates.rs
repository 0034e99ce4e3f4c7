//! `ConfigMaps` that a `ClusterInstance` refers to: templates and extra manifests.

use berth_documents::{Document, Node};

use super::super::{
    Findings,
    model::{Hub, Text, name, namespace, text_at},
};
use crate::lints;

/// What the operator brings for clusters, in its own namespace.
const OF_CLUSTERS: &[&str] = &["ai-cluster-templates-v1", "ibi-cluster-templates-v1"];

/// And for nodes.
const OF_NODES: &[&str] = &["ai-node-templates-v1", "ibi-node-templates-v1"];

pub(super) fn check(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    let Some(spec) = document.body() else { return };
    references(hub, spec, OF_CLUSTERS, OF_NODES, "nodes", findings);
    for node in spec.get("nodes").and_then(Node::as_seq).unwrap_or_default() {
        references(hub, node, OF_NODES, OF_CLUSTERS, "clusters", findings);
    }
    let own = namespace(document).unwrap_or_default();
    for reference in spec
        .get("extraManifestsRefs")
        .and_then(Node::as_seq)
        .unwrap_or_default()
    {
        let Some(wanted) = text_at(reference, &["name"]) else {
            continue;
        };
        if let Some(other) = elsewhere(hub, wanted, own) {
            findings.add_related(
                &lints::MANIFEST,
                wanted.span,
                format!(
                    "ConfigMap `{}` is not in namespace `{own}`, where it is looked for",
                    wanted.text
                ),
                other.span(),
                "in another namespace",
            );
        }
    }
}

/// A `ConfigMap` of that name that is only in other namespaces.
fn elsewhere<'a>(hub: &Hub<'a>, wanted: Text<'_>, place: &str) -> Option<&'a Document> {
    let mut named = hub
        .of_kind("ConfigMap")
        .filter(|map| name(map) == Some(wanted.text))
        .peekable();
    let first = *named.peek()?;
    (!named.any(|map| namespace(map) == Some(place))).then_some(first)
}

/// The templates of a cluster or of a node. `others` are for the other.
fn references(hub: &Hub<'_>, node: &Node, own: &[&'static str], others: &[&str], whose: &str, findings: &mut Findings) {
    for reference in node.get("templateRefs").and_then(Node::as_seq).unwrap_or_default() {
        let Some(wanted) = text_at(reference, &["name"]).filter(|name| !name.text.is_empty()) else {
            continue;
        };
        if own.contains(&wanted.text) {
            continue;
        }
        let place = text_at(reference, &["namespace"]).map_or("", |text| text.text);
        if others.contains(&wanted.text) {
            let right = own.first().copied().unwrap_or_default();
            findings.add_with_help(
                &lints::REFERENCE,
                wanted.span,
                format!("`{}` has the templates of {whose}", wanted.text),
                &format!("write `{right}`"),
            );
        } else if let Some(other) = elsewhere(hub, wanted, place) {
            findings.add_related(
                &lints::REFERENCE,
                wanted.span,
                format!(
                    "ConfigMap `{}` is not in namespace `{place}`, where it is looked for",
                    wanted.text
                ),
                other.span(),
                "in another namespace",
            );
        } else if hub.of_kind("ConfigMap").all(|map| name(map) != Some(wanted.text))
            && let Some(close) = berth_site::close_matches(wanted.text, own.iter().copied()).first()
        {
            findings.add_with_help(
                &lints::REFERENCE,
                wanted.span,
                format!(
                    "the operator brings no templates `{}`, and no ConfigMap of that name is here",
                    wanted.text
                ),
                &format!("did you mean `{close}`?"),
            );
        }
    }
}
