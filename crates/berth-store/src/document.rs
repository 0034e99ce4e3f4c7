//! Documents as they come out of the store.

use std::sync::Arc;

use berth_documents::deckhand::{DeckhandDocument, Identity};
use serde_json::{Map, Value};

use crate::{body::Digest, error::Error, sealing::KeyId};

/// A document of a revision.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDocument {
    /// Schema, layer and name.
    pub identity: Arc<Identity>,
    /// The bucket it is in.
    pub bucket: String,
    /// The revision where it last changed.
    pub revision: u64,
    /// The whole metadata, defaults included.
    pub metadata: Value,
    /// The hash of the metadata.
    pub metadata_hash: Digest,
    pub(crate) data: StoredData,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StoredData {
    /// The data and its hash.
    Open(Value, Digest),
    /// The key that would open the data is not there.
    Sealed(KeyId),
}

impl StoredDocument {
    /// The data.
    ///
    /// # Errors
    /// [`Error::Sealed`] when the store was not given the key that opens it.
    pub fn data(&self) -> Result<&Value, Error> {
        match &self.data {
            StoredData::Open(value, _) => Ok(value),
            StoredData::Sealed(key) => Err(self.sealed(key)),
        }
    }

    /// The hash of the data, as Deckhand computes it.
    ///
    /// # Errors
    /// As [`data`](Self::data).
    pub fn data_hash(&self) -> Result<Digest, Error> {
        match &self.data {
            StoredData::Open(_, hash) => Ok(*hash),
            StoredData::Sealed(key) => Err(self.sealed(key)),
        }
    }

    /// The document in the form that is rendered, compared and shown.
    ///
    /// # Errors
    /// As [`data`](Self::data), and [`Error::Form`] when the rules for documents have become stricter since it was stored.
    pub fn into_document(self) -> Result<DeckhandDocument, Error> {
        let data = match self.data {
            StoredData::Open(value, _) => value,
            StoredData::Sealed(ref key) => return Err(self.sealed(key)),
        };
        let mut document = Map::new();
        document.insert("schema".to_owned(), Value::String(self.identity.schema.clone()));
        document.insert("metadata".to_owned(), self.metadata);
        document.insert("data".to_owned(), data);
        DeckhandDocument::from_json(Value::Object(document)).map_err(|errors| Error::Form {
            identity: self.identity,
            source: Box::new(errors),
        })
    }

    fn sealed(&self, key: &KeyId) -> Error {
        Error::Sealed {
            identity: Arc::clone(&self.identity),
            key: key.clone(),
        }
    }
}
