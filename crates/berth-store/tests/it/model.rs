//! Random sequences of operations, on a database and on the model at once.

use std::sync::Arc;

use berth_documents::deckhand::DeckhandDocument;
use berth_store::{Error, MemoryStore, PostgresStore, RevisionFilter, SqliteStore, Store, Write};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use crate::{
    fixture::{Documents, keys, layering_policy, policy_document},
    postgres_server,
};

#[derive(Clone, Debug)]
enum Operation {
    Put {
        bucket: &'static str,
        documents: Documents,
        write: Write,
    },
    Rollback {
        to: u64,
        write: Write,
    },
    DeleteAll,
    PutTag(u64, &'static str, Value),
    DeleteTag(u64, &'static str),
    DeleteTags(u64),
    AddValidation(u64, &'static str, Value),
    Lock(&'static str, i64),
    Release(&'static str),
}

fn any_document() -> impl Strategy<Value = Arc<DeckhandDocument>> {
    let plain =
        ("[a-d]", prop_oneof!["global", "site"], any::<bool>(), 0..3_u8).prop_map(|(name, layer, encrypted, value)| {
            let policy = if encrypted { "encrypted" } else { "cleartext" };
            policy_document(&name, &layer, policy, json!({ "value": value }))
        });
    let policy = "[xy]".prop_map(|name| layering_policy(&name));
    prop_oneof![9 => plain, 1 => policy]
}

fn any_write() -> impl Strategy<Value = Write> {
    let base = prop_oneof![6 => Just(None), 1 => (0..12_u64).prop_map(Some)];
    (0..1000_i64, base, prop::bool::weighted(0.1)).prop_map(|(now, base, dry_run)| Write { now, base, dry_run })
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let revision = || 0..12_u64;
    let tag = || {
        prop::sample::select(vec![
            "committed",
            "rollback_commit",
            "site-action-success",
            "site-action-failure",
            "other",
        ])
    };
    let owner = || prop::sample::select(vec!["me", "you"]);
    let put = (
        prop::sample::select(vec!["one", "two", "three"]),
        prop::collection::vec(any_document(), 0..6),
        any_write(),
    );
    prop_oneof![
        12 => put.prop_map(|(bucket, documents, write)| Operation::Put { bucket, documents, write }),
        4 => (revision(), any_write()).prop_map(|(to, write)| Operation::Rollback { to, write }),
        3 => (revision(), tag(), 0..2_u8).prop_map(|(to, tag, data)| Operation::PutTag(to, tag, json!({"n": data}))),
        1 => (revision(), tag()).prop_map(|(to, tag)| Operation::DeleteTag(to, tag)),
        1 => revision().prop_map(Operation::DeleteTags),
        1 => (revision(), tag()).prop_map(|(to, name)| Operation::AddValidation(to, name, json!({"status": name}))),
        1 => (owner(), 0..50_i64).prop_map(|(owner, now)| Operation::Lock(owner, now)),
        1 => owner().prop_map(Operation::Release),
        1 => Just(Operation::DeleteAll),
    ]
}

/// The answer as a text: equal texts are equal answers. Errors show their kind and all their data.
async fn apply(store: &dyn Store, operation: &Operation) -> String {
    fn told<T: std::fmt::Debug>(answer: &Result<T, Error>) -> String {
        format!("{answer:?}")
    }
    match operation {
        Operation::Put {
            bucket,
            documents,
            write,
        } => told(&store.put_bucket(bucket, documents, *write).await),
        Operation::Rollback { to, write } => told(&store.rollback(*to, *write).await),
        Operation::DeleteAll => told(&store.delete_all().await),
        Operation::PutTag(revision, tag, data) => told(&store.put_tag(*revision, tag, data).await),
        Operation::DeleteTag(revision, tag) => told(&store.delete_tag(*revision, tag).await),
        Operation::DeleteTags(revision) => told(&store.delete_tags(*revision).await),
        Operation::AddValidation(revision, name, report) => {
            told(&store.add_validation(*revision, name, report, 5).await)
        }
        Operation::Lock(owner, now) => told(&store.acquire_lock("lock", owner, *now, now + 10).await),
        Operation::Release(owner) => told(&store.release_lock("lock", owner).await),
    }
}

async fn same_state(store: &dyn Store, model: &dyn Store) {
    let latest = model.latest().await.unwrap();
    assert_eq!(store.latest().await.unwrap(), latest);
    let everything = RevisionFilter::default();
    assert_eq!(
        store.revisions(&everything).await.unwrap(),
        model.revisions(&everything).await.unwrap()
    );
    let committed = RevisionFilter {
        tags: vec!["committed".to_owned(), "other".to_owned()],
    };
    assert_eq!(
        store.revisions(&committed).await.unwrap(),
        model.revisions(&committed).await.unwrap()
    );
    assert_eq!(store.staged().await.unwrap(), model.staged().await.unwrap());
    for revision in 1..=latest {
        assert_eq!(
            store.documents(revision).await.unwrap(),
            model.documents(revision).await.unwrap(),
            "documents of revision {revision}"
        );
        assert_eq!(
            store.validations(revision).await.unwrap(),
            model.validations(revision).await.unwrap()
        );
        assert_eq!(store.tags(revision).await.unwrap(), model.tags(revision).await.unwrap());
    }
    let report = store.check().await.unwrap();
    assert_eq!(report.problems, []);
    assert_eq!((report.revisions, report.sealed), (latest, 0));
}

/// The same store for all cases: each begins by deleting everything, so that is tested too.
fn compare(runtime: &tokio::runtime::Runtime, store: &dyn Store, cases: u32) {
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let operations = prop::collection::vec(any_operation(), 1..30);
    runner
        .run(&operations, |operations| {
            runtime.block_on(async {
                let model = MemoryStore::with_sealing();
                store.delete_all().await.unwrap();
                for owner in ["me", "you"] {
                    store.release_lock("lock", owner).await.unwrap();
                }
                for operation in &operations {
                    let (found, expected) = (apply(store, operation).await, apply(&model, operation).await);
                    assert_eq!(found, expected, "{operation:?}");
                }
                same_state(store, &model).await;
            });
            Ok(())
        })
        .unwrap();
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn sqlite_does_as_the_model() {
    let (runtime, folder) = (runtime(), tempfile::tempdir().unwrap());
    let path = folder.path().join("berth.db");
    let store = runtime.block_on(SqliteStore::open(&path, keys(1))).unwrap();
    compare(&runtime, &store, 64);
}

#[test]
fn postgres_does_as_the_model() {
    let runtime = runtime();
    if let Some(url) = runtime.block_on(postgres_server::database()) {
        let store = runtime.block_on(PostgresStore::connect(&url, keys(1))).unwrap();
        compare(&runtime, &store, 48);
    }
}
