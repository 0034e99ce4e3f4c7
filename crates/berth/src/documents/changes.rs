//! What differs between two sets of documents.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::output::{Report, Table, counted};

/// What a document is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Document {
    pub(crate) schema: String,
    pub(crate) layer: Option<String>,
    pub(crate) name: String,
}

impl Document {
    /// The name of a document in the form that is stored.
    pub(crate) fn of(document: &berth_api::Document) -> Self {
        let metadata = document.written.get("metadata");
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        Self {
            schema: text(document.written.get("schema")).unwrap_or_default(),
            layer: text(metadata.and_then(|metadata| metadata.pointer("/layeringDefinition/layer"))),
            name: text(metadata.and_then(|metadata| metadata.get("name"))).unwrap_or_default(),
        }
    }

    /// `layer/schema/name`, as a path would be.
    pub(crate) fn path(&self) -> String {
        match &self.layer {
            Some(layer) => format!("{layer}/{}/{}", self.schema, self.name),
            None => format!("{}/{}", self.schema, self.name),
        }
    }
}

/// What happens to one document. The fields are a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ChangedDocument {
    pub(crate) change: &'static str,
    #[serde(flatten)]
    pub(crate) document: Document,
}

/// What changes from one set to the other, by name. `status` is where a document is filed, and no part of it.
pub(crate) fn changes(before: &[berth_api::Document], after: &[berth_api::Document]) -> Vec<ChangedDocument> {
    let (mut before, after) = (by_name(before), by_name(after));
    let mut changes: Vec<ChangedDocument> = Vec::new();
    for (document, content) in after {
        let change = match before.remove(&document) {
            None => "created",
            Some(old) if old != content => "modified",
            Some(_) => continue,
        };
        changes.push(ChangedDocument { change, document });
    }
    changes.extend(before.into_keys().map(|document| ChangedDocument {
        change: "deleted",
        document,
    }));
    changes.sort_by(|a, b| a.document.cmp(&b.document));
    changes
}

fn by_name(documents: &[berth_api::Document]) -> BTreeMap<Document, &Map<String, Value>> {
    let named = |document| (Document::of(document), &document.written);
    documents.iter().map(named).collect()
}

/// What a write changes, and the revision it makes. The fields are a contract.
#[derive(Debug, Serialize)]
pub(crate) struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bucket: Option<String>,
    pub(crate) dry_run: bool,
    /// The newest revision afterwards; null when there is none.
    pub(crate) revision: Option<u64>,
    pub(crate) changes: Vec<ChangedDocument>,
}

impl Report for Written {
    fn text(&self, _wide: bool) -> String {
        if self.changes.is_empty() {
            return match self.revision {
                Some(revision) => format!("nothing to change: revision {revision} has these documents\n"),
                None => "nothing to change\n".to_owned(),
            };
        }
        let mut table = Table::new(["CHANGE", "SCHEMA", "LAYER", "NAME"]);
        for ChangedDocument { change, document } in &self.changes {
            table.row([
                change,
                document.schema.as_str(),
                document.layer.as_deref().unwrap_or_default(),
                &document.name,
            ]);
        }
        let count = counted(self.changes.len(), "document");
        let end = match self.revision {
            _ if self.dry_run => format!("{count} would change; this is a dry run, nothing was stored"),
            Some(revision) => format!("{count} changed: revision {revision}"),
            None => format!("{count} changed"),
        };
        format!("{table}{end}\n")
    }

    fn names(&self) -> Vec<String> {
        self.revision
            .map(|revision| format!("revision/{revision}"))
            .into_iter()
            .collect()
    }
}
