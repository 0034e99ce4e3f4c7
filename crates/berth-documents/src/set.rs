//! Documents that were read together, with what they were read from.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    diagnostic::Diagnostic,
    document::Document,
    parse::parse,
    source::{SourceId, Sources},
};

/// Documents of texts and objects, in the order they came.
#[derive(Clone, Debug, Default)]
pub struct DocumentSet {
    /// What the documents were read from, for findings.
    pub sources: Sources,
    /// The documents.
    pub documents: Vec<Document>,
    /// What is wrong with the sources.
    pub diagnostics: Vec<Diagnostic>,
}

impl DocumentSet {
    /// Reads the documents of a text, under the name that messages show for it.
    pub fn add_text(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceId {
        let id = self.sources.add(name, text);
        self.read(id)
    }

    /// Reads the documents of an object, under the name that messages show for it.
    pub fn add_object(&mut self, name: impl Into<String>, value: &Value) -> SourceId {
        let id = self.sources.add_object(name, value);
        self.read(id)
    }

    fn read(&mut self, id: SourceId) -> SourceId {
        let parsed = parse(&self.sources, id);
        self.documents.extend(parsed.documents);
        self.diagnostics.extend(parsed.diagnostics);
        id
    }

    /// Objects, each under its kind and name.
    pub fn of_objects<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut set = Self::default();
        for object in objects {
            set.add_object(object_name(object), object);
        }
        set
    }
}

/// Texts, each under its name.
impl<N: Into<String>, T: Into<Arc<str>>> FromIterator<(N, T)> for DocumentSet {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(texts: I) -> Self {
        let mut set = Self::default();
        for (name, text) in texts {
            set.add_text(name, text);
        }
        set
    }
}

/// What messages call an object: `Kind/name`.
pub fn object_name(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let schema = || text("/schema")?.split('/').nth(1);
    let kind = text("/kind").or_else(schema).unwrap_or_default();
    format!("{kind}/{}", text("/metadata/name").unwrap_or_default())
}
