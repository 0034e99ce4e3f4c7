//! Stores to test, and documents to put into them.

use std::sync::Arc;

use berth_documents::deckhand::DeckhandDocument;
use berth_store::{MemoryStore, PostgresStore, SealingKey, SealingKeys, SqliteStore, Store};
use serde_json::{Value, json};

use crate::postgres_server;

/// A kind of store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Memory,
    Sqlite,
    Postgres,
}

/// A new store, and where it is.
#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    /// The file or the URL.
    pub(crate) address: String,
    _folder: Option<tempfile::TempDir>,
}

impl Kind {
    /// An empty store with a sealing key, or nothing when its program is not on this machine.
    pub(crate) async fn start(self) -> Option<Fixture> {
        match self {
            Self::Memory => Some(Fixture {
                store: Arc::new(MemoryStore::with_sealing()),
                address: String::new(),
                _folder: None,
            }),
            Self::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("berth.db");
                Some(Fixture {
                    store: Arc::new(SqliteStore::open(&path, keys(1)).await.unwrap()),
                    address: format!("sqlite:{}", path.display()),
                    _folder: Some(folder),
                })
            }
            Self::Postgres => {
                let url = postgres_server::database().await?;
                Some(Fixture {
                    store: Arc::new(PostgresStore::connect(&url, keys(1)).await.unwrap()),
                    address: url,
                    _folder: None,
                })
            }
        }
    }
}

pub(crate) fn keys(seed: u8) -> SealingKeys {
    SealingKeys::new(vec![SealingKey::new(&[seed; 32]).unwrap()])
}

pub(crate) type Documents = Vec<Arc<DeckhandDocument>>;

fn read(document: Value) -> Arc<DeckhandDocument> {
    Arc::new(DeckhandDocument::from_json(document).unwrap())
}

pub(crate) fn document(name: &str, data: Value) -> Arc<DeckhandDocument> {
    policy_document(name, "site", "cleartext", data)
}

pub(crate) fn secret(name: &str, data: Value) -> Arc<DeckhandDocument> {
    policy_document(name, "site", "encrypted", data)
}

pub(crate) fn policy_document(name: &str, layer: &str, policy: &str, data: Value) -> Arc<DeckhandDocument> {
    let mut document = json!({
        "schema": "example/Kind/v1",
        "metadata": {
            "schema": "metadata/Document/v1",
            "name": name,
            "storagePolicy": policy,
            "layeringDefinition": {"layer": layer},
        },
    });
    document["data"] = data;
    read(document)
}

pub(crate) fn layering_policy(name: &str) -> Arc<DeckhandDocument> {
    read(json!({
        "schema": "deckhand/LayeringPolicy/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": name},
        "data": {"layerOrder": ["global", "site"]},
    }))
}

/// What a revision holds, short enough to compare at a glance: bucket, name, revision, data.
pub(crate) async fn contents(store: &dyn Store, revision: u64) -> Vec<(String, String, u64, Value)> {
    let documents = store.documents(revision).await.unwrap();
    documents
        .into_iter()
        .map(|document| {
            let data = document.data().unwrap().clone();
            (document.bucket, document.identity.name.clone(), document.revision, data)
        })
        .collect()
}

pub(crate) fn row(bucket: &str, name: &str, revision: u64, data: impl Into<Value>) -> (String, String, u64, Value) {
    (bucket.to_owned(), name.to_owned(), revision, data.into())
}
