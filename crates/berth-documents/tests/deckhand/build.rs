//! Short ways to write documents.

use std::{collections::BTreeMap, sync::Arc};

use berth_documents::deckhand::{DeckhandDocument, RenderErrors, RenderOptions, Rendered, render};
use serde_json::{Value, json};

pub(crate) const SCHEMA: &str = "example/Kind/v1";

/// A document under construction.
#[derive(Clone, Debug)]
pub(crate) struct Doc(pub(crate) Value);

pub(crate) fn doc(layer: &str, name: &str, data: Value) -> Doc {
    Doc(json!({
        "schema": SCHEMA,
        "metadata": {
            "schema": "metadata/Document/v1",
            "name": name,
            "storagePolicy": "cleartext",
            "layeringDefinition": {"layer": layer},
        },
        "data": data,
    }))
}

pub(crate) fn policy(layers: &[&str]) -> Doc {
    Doc(json!({
        "schema": "deckhand/LayeringPolicy/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": "layering-policy"},
        "data": {"layerOrder": layers},
    }))
}

impl Doc {
    pub(crate) fn schema(mut self, schema: &str) -> Self {
        self.0["schema"] = json!(schema);
        self
    }

    /// The same with one more key of the data.
    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.0["data"][key] = value;
        self
    }

    pub(crate) fn labels(mut self, labels: Value) -> Self {
        self.0["metadata"]["labels"] = labels;
        self
    }

    pub(crate) fn encrypted(mut self) -> Self {
        self.0["metadata"]["storagePolicy"] = json!("encrypted");
        self
    }

    pub(crate) fn abstracted(mut self) -> Self {
        self.0["metadata"]["layeringDefinition"]["abstract"] = json!(true);
        self
    }

    pub(crate) fn replacement(mut self) -> Self {
        self.0["metadata"]["replacement"] = json!(true);
        self
    }

    /// A child, with actions written as `merge .a`.
    pub(crate) fn child_of(mut self, selector: Value, actions: &[&str]) -> Self {
        let layering = &mut self.0["metadata"]["layeringDefinition"];
        layering["parentSelector"] = selector;
        layering["actions"] = actions
            .iter()
            .map(|action| {
                let (method, path) = action.split_once(' ').unwrap();
                json!({"method": method, "path": path})
            })
            .collect();
        self
    }

    /// A substitution out of the document with this name.
    pub(crate) fn takes(self, name: &str, path: &str, dest: Value) -> Self {
        self.substitution(json!({"src": {"schema": SCHEMA, "name": name, "path": path}, "dest": dest}))
    }

    pub(crate) fn substitution(mut self, substitution: Value) -> Self {
        match &mut self.0["metadata"]["substitutions"] {
            Value::Array(list) => list.push(substitution),
            other => *other = json!([substitution]),
        }
        self
    }

    pub(crate) fn read(self) -> Arc<DeckhandDocument> {
        Arc::new(DeckhandDocument::from_json(self.0).unwrap())
    }
}

pub(crate) fn read(documents: impl IntoIterator<Item = Doc>) -> Vec<Arc<DeckhandDocument>> {
    documents.into_iter().map(Doc::read).collect()
}

/// Renders documents under a policy of the layers global, region and site.
pub(crate) fn try_render(documents: impl IntoIterator<Item = Doc>) -> Result<Rendered, RenderErrors> {
    let policy = policy(&["global", "region", "site"]);
    render(&read(documents.into_iter().chain([policy])), RenderOptions::default())
}

/// The rendered data by name, without the policy.
pub(crate) fn by_name(rendered: &Rendered) -> BTreeMap<String, Value> {
    rendered
        .documents
        .iter()
        .filter(|rendered| !rendered.document.is_control())
        .map(|rendered| (rendered.document.name().to_owned(), Value::clone(&rendered.data)))
        .collect()
}

/// What one document is rendered to.
pub(crate) fn data_of(name: &str, documents: impl IntoIterator<Item = Doc>) -> Value {
    by_name(&try_render(documents).unwrap()).remove(name).unwrap()
}
