//! Kubernetes documents in the Airship envelope, for what knows no other: the store and Deckhand's API.

use berth_documents::{Document, Envelope, Node};
use serde_json::{Map, Value, json};

use super::KINDS;

/// What of a Kubernetes document's metadata a site reads.
const KEPT: &[&str] = &["name", "labels", "annotations"];

/// A Kubernetes document of a kind that Berth uses, in the Airship envelope. Other documents have no such form.
///
/// It becomes a control document: such a one has no layer, may have annotations, and goes through rendering as it is,
/// which is what a Kubernetes document does. Reading it again gives the same site.
pub fn to_airship(document: &Document) -> Option<Value> {
    let Envelope::Kubernetes { api_version, kind } = &document.envelope else {
        return None;
    };
    let (_, name, _, namespace) = KINDS
        .iter()
        .find(|(_, name, api, _)| name == kind && api == api_version)?;
    let mut metadata = Map::new();
    metadata.insert("schema".to_owned(), Value::from("metadata/Control/v1"));
    for key in KEPT {
        if let Some(node) = document.metadata().and_then(|metadata| metadata.get(key))
            && !node.is_null()
        {
            metadata.insert((*key).to_owned(), node.to_json());
        }
    }
    let data = document.body().map_or_else(|| json!({}), Node::to_json);
    Some(json!({"schema": format!("{namespace}/{name}/v1"), "metadata": metadata, "data": data}))
}

/// The Kubernetes document of a kind that a cluster can have: as it is, or as it was before it became an Airship document.
pub fn to_kubernetes(document: &Document) -> Option<Value> {
    let schema = match &document.envelope {
        Envelope::Kubernetes { .. } => return Some(document.root.to_json()),
        Envelope::Airship { schema } => schema,
        Envelope::None => return None,
    };
    let (_, kind, api, _) = KINDS
        .iter()
        .find(|(_, name, _, namespace)| *namespace == "berth" && *schema == format!("berth/{name}/v1"))?;
    let metadata: Map<String, Value> = KEPT
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), document.metadata()?.get(key)?.to_json())))
        .collect();
    let spec = document.body().map_or_else(|| json!({}), Node::to_json);
    Some(json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}))
}
