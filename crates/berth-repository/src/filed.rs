//! Documents with the place where they are filed.

use std::sync::Arc;

use berth_api::{Document, DocumentStatus};
use berth_documents::deckhand::{DeckhandDocument, Path, RedactionKey, RenderedDocument, SecretPaths, View, redact};
use serde_json::{Map, Value};

/// Whether secrets are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Secrets {
    /// Keyed hashes stand for the data of encrypted documents, and for what other documents took from them.
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
    /// Which parts of the data are secret.
    pub secrets: Arc<SecretPaths>,
    /// The key of the hashes that stand for them.
    pub redaction: RedactionKey,
    /// The bucket it is in.
    pub bucket: Arc<str>,
    /// The revision where it last changed.
    pub revision: u64,
}

impl FiledDocument {
    /// A document as it is written.
    pub(crate) fn as_written(
        document: Arc<DeckhandDocument>,
        redaction: RedactionKey,
        bucket: Arc<str>,
        revision: u64,
    ) -> Self {
        let secrets = if document.is_encrypted() {
            SecretPaths::whole()
        } else {
            SecretPaths::none()
        };
        Self {
            data: Arc::clone(document.data()),
            secrets: Arc::new(secrets),
            redaction,
            bucket,
            revision,
            document,
        }
    }

    /// The document as replies show it, with `status`. That says which parts of the data are secret, shown or not.
    pub fn to_api(&self, secrets: Secrets) -> Document {
        let paths = || self.secrets.paths().iter().map(data_path).collect();
        Document {
            written: match self.document_json(secrets) {
                Value::Object(fields) => fields,
                _ => Map::new(),
            },
            status: Some(DocumentStatus {
                bucket: self.bucket.as_ref().to_owned(),
                revision: self.revision,
                secret_paths: (!self.secrets.is_none()).then(paths),
            }),
        }
    }

    /// The document alone, as it could be put into a bucket again.
    pub fn document_json(&self, secrets: Secrets) -> Value {
        match secrets {
            Secrets::Redacted => redact(&self.document, &self.data, &self.secrets, &self.redaction),
            Secrets::Cleartext => self.rendered().to_json(),
        }
    }

    pub(crate) fn rendered(&self) -> RenderedDocument {
        RenderedDocument {
            document: Arc::clone(&self.document),
            data: Arc::clone(&self.data),
            secrets: Arc::clone(&self.secrets),
        }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View {
            document: &self.document,
            data: &self.data,
            secrets: &self.secrets,
            bucket: &self.bucket,
            revision: self.revision,
        }
    }
}

/// A path into the data as a path into the document.
fn data_path(path: &Path) -> String {
    if path.is_root() {
        return ".data".to_owned();
    }
    format!(".data{path}")
}
