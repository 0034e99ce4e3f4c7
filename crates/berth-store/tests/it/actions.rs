//! What every store does with actions, told case by case, against the model, and by several at once.

mod cases;
mod model;
mod together;

use std::sync::Arc;

use berth_store::{ActionId, Claim, Database, Finished, MemoryStore, NewAction, Origin, PostgresStore, SqliteStore};
use serde_json::{Value, json};

use crate::{
    fixture::{Kind, keys},
    postgres_server,
};

/// A store of actions, and where it is.
pub(super) struct Stored {
    pub(super) store: Arc<dyn Database>,
    address: String,
    _folder: Option<tempfile::TempDir>,
}

impl Stored {
    /// An empty store, or nothing when its program is not on this machine.
    pub(super) async fn start(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::Memory => Self {
                store: Arc::new(MemoryStore::new()),
                address: String::new(),
                _folder: None,
            },
            Kind::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("berth.db");
                Self {
                    store: Arc::new(SqliteStore::open(&path, keys(1)).await.unwrap()),
                    address: format!("sqlite:{}", path.display()),
                    _folder: Some(folder),
                }
            }
            Kind::Postgres => {
                let url = postgres_server::database().await?;
                Self {
                    store: Arc::new(PostgresStore::connect(&url, keys(1)).await.unwrap()),
                    address: url,
                    _folder: None,
                }
            }
        })
    }

    /// Another server on the same store.
    pub(super) async fn other_server(&self) -> Arc<dyn Database> {
        if self.address.is_empty() {
            return Arc::clone(&self.store);
        }
        berth_store::open(&self.address, keys(1)).await.unwrap()
    }
}

/// The identifier of the action that is created at this time.
pub(super) fn id(now: i64) -> ActionId {
    ActionId::new(now * 1000, [u8::try_from(now % 256).unwrap(); 10])
}

pub(super) fn action(now: i64, nodes: &[&str]) -> NewAction {
    NewAction {
        id: id(now),
        task_id: format!("task {now}"),
        origin: Origin::Action,
        name: "update_labels".to_owned(),
        parameters: json!({ "target_nodes": nodes }),
        user: "site engineer".to_owned(),
        context_marker: "marker".to_owned(),
        revision: Some(3),
        allow_intermediate_commits: None,
        options: json!({"strategy": "mirror"}),
        exclusive: Some("site".to_owned()),
        nodes: nodes
            .iter()
            .map(|node| ((*node).to_owned(), json!({ "node": node })))
            .collect(),
        now,
    }
}

pub(super) fn result(claim: &Claim, success: bool) -> Finished {
    Finished {
        action: claim.action.clone(),
        ordinal: claim.ordinal,
        fence: claim.fence,
        success,
        outcome: outcome(claim),
    }
}

fn outcome(claim: &Claim) -> Value {
    json!({"node": claim.node, "fence": claim.fence})
}
