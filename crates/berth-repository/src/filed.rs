//! Documents with the place where they are filed.

use std::sync::Arc;

use berth_documents::deckhand::{DeckhandDocument, RenderedDocument, View, redact};
use serde_json::{Value, json};

/// Whether secrets are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Secrets {
    /// Hashes stand for the data of encrypted documents.
    #[default]
    Redacted,
    /// As they are. Whoever asks for this must have seen that the reader may have them.
    Cleartext,
}

impl Secrets {
    /// What a reader who may see secrets asked for.
    pub const fn asked(cleartext: bool) -> Self {
        if cleartext { Self::Cleartext } else { Self::Redacted }
    }
}

/// A document of a revision, as it is written or as it is rendered.
#[derive(Clone, Debug)]
pub struct FiledDocument {
    /// The document as it is written.
    pub document: Arc<DeckhandDocument>,
    /// Its data: as written, or as rendered.
    pub data: Arc<Value>,
    /// The bucket it is in.
    pub bucket: Arc<str>,
    /// The revision where it last changed.
    pub revision: u64,
}

impl FiledDocument {
    /// The document as replies show it, with `status`.
    pub fn to_json(&self, secrets: Secrets) -> Value {
        let mut shown = self.document_json(secrets);
        if let Value::Object(fields) = &mut shown {
            fields.insert(
                "status".to_owned(),
                json!({"bucket": &*self.bucket, "revision": self.revision}),
            );
        }
        shown
    }

    /// The document alone, as it could be put into a bucket again.
    pub fn document_json(&self, secrets: Secrets) -> Value {
        match secrets {
            Secrets::Redacted => redact(&self.document, &self.data),
            Secrets::Cleartext => self.rendered().to_json(),
        }
    }

    pub(crate) fn rendered(&self) -> RenderedDocument {
        RenderedDocument {
            document: Arc::clone(&self.document),
            data: Arc::clone(&self.data),
        }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View {
            document: &self.document,
            data: &self.data,
            bucket: &self.bucket,
            revision: self.revision,
        }
    }
}
