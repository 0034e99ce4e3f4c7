//! Secrets at rest.

use berth_store::{DocumentChange, Error, PostgresStore, SealingKey, SealingKeys, SqliteStore, Store, Write, open};
use serde_json::json;

use crate::{
    fixture::{Kind, document, keys, secret},
    postgres_server,
};

const SECRET: &str = "correct horse battery staple";

#[tokio::test]
async fn the_file_does_not_show_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("berth.db"), keys(1))
        .await
        .unwrap();
    let documents = [document("open", json!("not a secret")), secret("sealed", json!(SECRET))];
    store.put_bucket("site", &documents, Write::at(1)).await.unwrap();
    store.backup(&folder.path().join("backup.db")).await.unwrap();
    let contains = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    let hash = documents[1].data_hash();
    let mut open = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        open += usize::from(contains(&bytes, b"not a secret"));
        assert!(!contains(&bytes, SECRET.as_bytes()));
        assert!(
            !contains(&bytes, hash.as_bytes()),
            "the hash of a short secret is the secret"
        );
    }
    assert!(
        open > 1,
        "the search finds what is open, in the file or its log and in the backup"
    );
}

async fn without_the_key(kind: Kind) {
    let Some(fixture) = kind.start().await else { return };
    let documents = [document("open", json!(1)), secret("sealed", json!(SECRET))];
    fixture
        .store
        .put_bucket("site", &documents, Write::at(1))
        .await
        .unwrap();

    for others in [SealingKeys::none(), keys(2)] {
        let store = open(&fixture.address, others).await.unwrap();
        let found = store.documents(1).await.unwrap();
        assert_eq!(*found[0].data().unwrap(), json!(1), "what is open can be read");
        let error = found[1].data().unwrap_err();
        let key = SealingKey::new(&[1; 32]).unwrap();
        assert_eq!(
            error.to_string(),
            format!(
                "the data of document [example/Kind/v1, site] sealed is sealed with key {}, which the store was not given",
                key.id()
            )
        );
        assert!(matches!(found[1].data_hash(), Err(Error::Sealed { .. })));
        let report = store.check().await.unwrap();
        assert_eq!((report.problems.len(), report.sealed), (0, 1));
    }

    let without = open(&fixture.address, SealingKeys::none()).await.unwrap();
    let error = without
        .put_bucket("other", &[secret("new", json!(SECRET))], Write::at(2))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::NoSealingKey { .. }));
    assert_eq!(without.latest().await.unwrap(), 1, "nothing was written");
    // Going back needs no key: the sealed body is there.
    without.rollback(0, Write::at(2)).await.unwrap();
    without.rollback(1, Write::at(3)).await.unwrap();
    let back = fixture.store.documents(3).await.unwrap();
    assert_eq!(*back[1].data().unwrap(), json!(SECRET));
}

#[tokio::test]
async fn sqlite_without_the_key() {
    without_the_key(Kind::Sqlite).await;
}

#[tokio::test]
async fn postgres_without_the_key() {
    without_the_key(Kind::Postgres).await;
}

#[tokio::test]
async fn a_new_key_seals_and_the_old_one_still_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berth.db");
    let old = SqliteStore::open(&path, keys(1)).await.unwrap();
    let documents = [secret("kept", json!(SECRET)), secret("changed", json!(1))];
    old.put_bucket("site", &documents, Write::at(1)).await.unwrap();
    old.close().await;

    let both = SealingKeys::new(vec![
        SealingKey::new(&[2; 32]).unwrap(),
        SealingKey::new(&[1; 32]).unwrap(),
    ]);
    let store = SqliteStore::open(&path, both).await.unwrap();
    let documents = [secret("kept", json!(SECRET)), secret("changed", json!(2))];
    let put = store.put_bucket("site", &documents, Write::at(2)).await.unwrap();
    let changes: Vec<_> = put
        .changes
        .iter()
        .map(|(identity, change)| (identity.name.as_str(), *change))
        .collect();
    assert_eq!(
        changes,
        [
            ("changed", DocumentChange::Modified),
            ("kept", DocumentChange::Unmodified)
        ]
    );
    let found = store.documents(2).await.unwrap();
    assert_eq!(*found[0].data().unwrap(), json!(SECRET));
    assert_eq!(*found[1].data().unwrap(), json!(2));
    store.close().await;

    let store = SqliteStore::open(&path, keys(2)).await.unwrap();
    let found = store.documents(2).await.unwrap();
    assert!(found[0].data().is_err(), "sealed with the old key");
    assert_eq!(*found[1].data().unwrap(), json!(2));
}

/// The memory store knows the rule too, so tests with it are no laxer than a database.
#[tokio::test]
async fn no_store_takes_a_secret_without_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let mut stores: Vec<Box<dyn Store>> = vec![
        Box::new(berth_store::MemoryStore::new()),
        Box::new(
            SqliteStore::open(&folder.path().join("berth.db"), SealingKeys::none())
                .await
                .unwrap(),
        ),
    ];
    if let Some(url) = postgres_server::database().await {
        stores.push(Box::new(
            PostgresStore::connect(&url, SealingKeys::none()).await.unwrap(),
        ));
    }
    for store in stores {
        let documents = [document("open", json!(1)), secret("sealed", json!(SECRET))];
        let error = store.put_bucket("site", &documents, Write::at(1)).await.unwrap_err();
        assert!(matches!(error, Error::NoSealingKey { .. }), "{store:?}");
        assert_eq!(store.latest().await.unwrap(), 0);
    }
}
