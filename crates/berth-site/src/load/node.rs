//! Node objects as a cluster showed them.

use std::collections::BTreeMap;

use berth_documents::{Diagnostic, Node};

use super::Object;
use crate::{fields::Report, lints, model::ObservedNode};

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
    Some(ObservedNode {
        labels: read("labels")?,
        annotations: read("annotations")?,
        name: object.name.clone(),
    })
}

fn strings(node: &Node) -> Option<BTreeMap<String, String>> {
    node.as_map()?
        .iter()
        .map(|(key, node)| Some((key.as_str().to_owned(), node.as_str()?.to_owned())))
        .collect()
}
