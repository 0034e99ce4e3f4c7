//! What every store does with actions, told case by case, against the model, and by several at once.

mod cases;
mod model;
mod together;

use std::{collections::BTreeMap, sync::Arc};

use berth_store::{
    ActionId, Begin, Claim, Database, Finished, LabelMemory, MemoryStore, NewAction, Origin, PostgresStore, SqliteStore,
};
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
        labels: labels(claim, success),
    }
}

/// One that went well settles its keys; one that did not may have given labels all the same.
fn labels(claim: &Claim, success: bool) -> LabelMemory {
    let fence = claim.fence.to_string();
    let given = BTreeMap::from([
        ("fence".to_owned(), fence.clone()),
        (format!("key-{fence}"), String::new()),
    ]);
    let settled = given.keys().filter(|_| success).cloned();
    LabelMemory {
        settled: settled.chain((claim.fence > 2).then(|| "key-1".to_owned())).collect(),
        given,
    }
}

fn outcome(claim: &Claim) -> Value {
    json!({"node": claim.node, "fence": claim.fence})
}

/// Actions as they were filed before labels were remembered beside outcomes.
pub(super) async fn file_as_before(store: &dyn Database) {
    let outcomes = [
        json!({"set": {"role": "infra", "rack": "r1"}, "changed": {"tier": {"from": "1", "to": "2"}}}),
        json!({"set": {}, "changed": {"rack": {"from": "r1", "to": "r2"}}, "removed": {"role": "infra"}}),
        json!("no outcome of this program"),
    ];
    for (now, outcome) in (1_i64..).zip(outcomes) {
        let new = action(now, &["a"]);
        store.create_action(&new).await.unwrap();
        store.begin_action(&new.id, &Begin::Run, now).await.unwrap();
        let claims = store.claim("one", 1, now, now + 10).await.unwrap();
        let finished = Finished {
            outcome,
            labels: LabelMemory::default(),
            ..result(&claims[0], true)
        };
        store.finish(&[finished], now).await.unwrap();
    }
}

/// What follows from them.
pub(super) async fn is_gathered(store: &dyn Database) {
    let given = store.given_labels(None).await.unwrap();
    assert_eq!(json!(given), json!({"a": {"rack": ["r2"], "tier": ["2"]}}));
}
