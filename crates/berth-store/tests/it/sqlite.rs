//! What is particular to the store in a file.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use berth_store::{Error, SealingKeys, SqliteStore, Store as _, Write, open};
use serde_json::json;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};

use crate::{
    actions::{file_as_before, is_gathered},
    fixture::{contents, document, keys, row, secret},
};

async fn execute(path: &Path, sql: &str) {
    let mut connection = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .foreign_keys(false)
        .pragma("ignore_check_constraints", "on")
        .connect()
        .await
        .unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

/// Three revisions with open and sealed documents, a tag and reports.
async fn filled(path: &Path) {
    let store = SqliteStore::open(path, keys(1)).await.unwrap();
    for number in 1..=3 {
        let documents = [
            document("a", json!(number)),
            document("b", json!(1)),
            secret("s", json!(number)),
        ];
        store.put_bucket("site", &documents, Write::at(number)).await.unwrap();
    }
    store
        .put_bucket("more", &[document("c", json!(1))], Write::at(4))
        .await
        .unwrap();
    store.put_tag(2, "committed", &json!({})).await.unwrap();
    for _ in 0..2 {
        store.add_validation(2, "lint", &json!({}), 5).await.unwrap();
    }
    store.close().await;
}

#[tokio::test]
async fn a_newer_schema_is_refused_with_both_versions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berth.db");
    filled(&path).await;
    execute(&path, "PRAGMA user_version = 99").await;
    let error = SqliteStore::open(&path, SealingKeys::none()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the database has schema version 99 and this program knows versions up to 3; \
         run a version of berth that knows 99, or restore a backup from before the upgrade"
    );
    execute(&path, "PRAGMA user_version = 3").await;
    SqliteStore::open(&path, SealingKeys::none()).await.unwrap();
}

#[tokio::test]
async fn a_file_of_the_first_version_gets_the_tables_of_actions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berth.db");
    filled(&path).await;
    execute(
        &path,
        "DROP TABLE subtasks; DROP TABLE action_audit; DROP TABLE action_validations; DROP TABLE notes; \
         DROP TABLE actions; DROP TABLE node_labels; PRAGMA user_version = 1",
    )
    .await;
    let store = SqliteStore::open(&path, SealingKeys::none()).await.unwrap();
    assert_eq!(berth_store::ActionStore::open_actions(&store).await.unwrap(), []);
    assert_eq!(store.latest().await.unwrap(), 4);
}

#[tokio::test]
async fn a_file_of_the_second_version_knows_which_labels_actions_gave() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berth.db");
    let store = SqliteStore::open(&path, SealingKeys::none()).await.unwrap();
    file_as_before(&store).await;
    store.close().await;
    execute(&path, "DROP TABLE node_labels; PRAGMA user_version = 2").await;
    is_gathered(&SqliteStore::open(&path, SealingKeys::none()).await.unwrap()).await;
}

#[tokio::test]
async fn files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    execute(&other, "CREATE TABLE revisions (id INTEGER)").await;
    let error = SqliteStore::open(&other, SealingKeys::none()).await.unwrap_err();
    assert!(matches!(error, Error::ForeignDatabase { .. }), "{error:?}");

    let text = folder.path().join("text");
    std::fs::write(
        &text,
        "no database at all, but long enough to have a header".repeat(100),
    )
    .unwrap();
    let error = SqliteStore::open(&text, SealingKeys::none()).await.unwrap_err();
    assert!(matches!(error, Error::Database { .. }), "{error:?}");
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("no database"));

    let nowhere = folder.path().join("missing").join("berth.db");
    let error = SqliteStore::open(&nowhere, SealingKeys::none()).await.unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn programs_that_start_together_make_the_schema_once() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..8 {
            let path = folder.path().join("berth.db");
            tasks.spawn(async move {
                let store = SqliteStore::open(&path, SealingKeys::none()).await.unwrap();
                let documents = [document(&number.to_string(), json!(1))];
                store
                    .put_bucket(&number.to_string(), &documents, Write::at(1))
                    .await
                    .unwrap();
                store.close().await;
            });
        }
        tasks.join_all().await;
        let store = SqliteStore::open(&folder.path().join("berth.db"), SealingKeys::none())
            .await
            .unwrap();
        assert_eq!(store.documents(8).await.unwrap().len(), 8);
        assert_eq!(store.check().await.unwrap().problems, []);
    }
}

#[tokio::test]
async fn addresses_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berth.db");
    for prefix in ["sqlite:", "sqlite://"] {
        open(&format!("{prefix}{}", path.display()), SealingKeys::none())
            .await
            .unwrap();
    }
    for address in ["", "berth.db", "mysql://root:secret@host/db", "sqlite:"] {
        let error = open(address, SealingKeys::none()).await.unwrap_err();
        assert!(matches!(error, Error::Address { .. }), "{error:?}");
        assert!(!error.to_string().contains("secret"));
    }
}

#[tokio::test]
async fn the_file_is_its_owners_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berth.db");
    filled(&path).await;
    let store = SqliteStore::open(&path, keys(1)).await.unwrap();
    store.put_tag(1, "write", &json!({})).await.unwrap();
    store.backup(&folder.path().join("backup.db")).await.unwrap();
    let mut files = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.path());
        files += 1;
    }
    assert!(files >= 3, "the file, its log and the backup");
}

#[tokio::test]
async fn a_backup_is_a_whole_store_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("berth.db"), folder.path().join("copy.db"));
    filled(&path).await;
    let store = SqliteStore::open(&path, keys(1)).await.unwrap();
    store.backup(&copy).await.unwrap();
    store.rollback(0, Write::at(9)).await.unwrap();

    let restored = SqliteStore::open(&copy, keys(1)).await.unwrap();
    assert_eq!(restored.check().await.unwrap().problems, []);
    assert_eq!(restored.latest().await.unwrap(), 4);
    for revision in 1..=4 {
        assert_eq!(
            restored.documents(revision).await.unwrap(),
            store.documents(revision).await.unwrap()
        );
    }
    let before = std::fs::read(&copy).unwrap();
    let error = store.backup(&copy).await.unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error:?}");
    assert_eq!(std::fs::read(&copy).unwrap(), before);
    let error = store
        .backup(&folder.path().join("missing").join("copy.db"))
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Database { .. } | Error::File { .. }),
        "{error:?}"
    );
}

/// Of the file and its log together.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

#[tokio::test]
async fn compaction_gives_space_back_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berth.db");
    let store = SqliteStore::open(&path, keys(1)).await.unwrap();
    for number in 0..20 {
        let documents = [document("a", json!(vec![number; 20_000]))];
        store.put_bucket("site", &documents, Write::at(1)).await.unwrap();
    }
    store.delete_all().await.unwrap();
    store
        .put_bucket("site", &[document("b", json!(1))], Write::at(1))
        .await
        .unwrap();
    let before = size(folder.path());
    store.compact().await.unwrap();
    let after = size(folder.path());
    assert!(after < before / 2, "{before} bytes became {after}");
    assert_eq!(contents(&store, 1).await, [row("site", "b", 1, 1)]);
    assert_eq!(store.check().await.unwrap().problems, []);
}

/// Each way to break the file is found, and the finding says where.
#[tokio::test]
async fn check_finds_every_kind_of_damage() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.db");
    filled(&whole).await;
    for (damage, finding) in [
        (
            "UPDATE bodies SET content = CAST('7' AS BLOB) WHERE content = CAST('2' AS BLOB)",
            "body",
        ),
        (
            "UPDATE bodies SET digest = x'00' WHERE content = CAST('2' AS BLOB)",
            "a digest has 1 bytes",
        ),
        (
            "UPDATE bodies SET content = CAST(content || x'00' AS BLOB) WHERE sealed_with IS NOT NULL",
            "the sealed data of document [example/Kind/v1, site] s was changed",
        ),
        ("DELETE FROM bodies WHERE content = CAST('2' AS BLOB)", "is not there"),
        ("DELETE FROM revisions WHERE id = 2", "revision 2: is missing"),
        (
            "UPDATE versions SET fork = 3 WHERE name = 'a' AND valid_from = 1",
            "which do not fit",
        ),
        (
            "UPDATE versions SET valid_to = 4, fork = 2 WHERE name = 'a' AND valid_from = 1",
            "is twice in revision 2",
        ),
        ("UPDATE versions SET revision = 4 WHERE name = 'b'", "which is later"),
        (
            "UPDATE versions SET name = 'z' WHERE name = 'b'",
            "is not the metadata of this document",
        ),
        (
            "UPDATE versions SET bucket = 'lost' WHERE name = 'c'",
            "names the buckets",
        ),
        (
            "UPDATE revisions SET buckets = '[]' WHERE id = 3",
            "revision 3: names the buckets []",
        ),
        (
            "INSERT INTO tags VALUES (77, 't', '{}')",
            "tag t of revision 77: the revision is not there",
        ),
        (
            "UPDATE tags SET data = '{'",
            "tag committed of revision 2: the content is not JSON",
        ),
        ("DELETE FROM validations WHERE entry = 0", "report 0 is missing"),
    ] {
        let path = folder.path().join("damaged.db");
        std::fs::copy(&whole, &path).unwrap();
        execute(&path, "DROP INDEX versions_identity").await;
        execute(&path, damage).await;
        let store = SqliteStore::open(&path, keys(1)).await.unwrap();
        let problems = store.check().await.unwrap().problems;
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|line| line.contains(finding)), "{damage}: {told:#?}");
        store.close().await;
    }
}

/// Bytes of the file turned over: the check says so or the file does not open; it never passes for whole and never
/// panics.
#[tokio::test]
async fn rotten_bytes_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.db");
    filled(&whole).await;
    let bytes = std::fs::read(&whole).unwrap();
    let marks: Vec<usize> = bytes
        .windows(9)
        .enumerate()
        .filter(|(_, window)| *window == b"cleartext")
        .map(|(index, _)| index)
        .collect();
    assert!(marks.len() >= 3);
    for mark in marks {
        let mut rotten = bytes.clone();
        rotten[mark] ^= 1;
        let path = folder.path().join("rotten.db");
        std::fs::write(&path, rotten).unwrap();
        let store = SqliteStore::open(&path, keys(1)).await.unwrap();
        assert_ne!(store.check().await.unwrap().problems, [], "byte {mark}");
        store.close().await;
    }
}

#[tokio::test]
async fn actions_that_do_not_fit_together_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berth.db");
    let store = SqliteStore::open(&path, keys(1)).await.unwrap();
    let action = crate::actions::action(1, &["a", "b"]);
    berth_store::ActionStore::create_action(&store, &action).await.unwrap();
    assert_eq!(store.check().await.unwrap().problems, []);
    execute(
        &path,
        "UPDATE actions SET queued = 1, state = 'success'; UPDATE subtasks SET state = 'success' WHERE node = 'a'",
    )
    .await;
    let problems: Vec<String> = store
        .check()
        .await
        .unwrap()
        .problems
        .iter()
        .map(ToString::to_string)
        .collect();
    let id = action.id;
    assert_eq!(
        problems,
        [
            format!("action {id}: a node has ended without an outcome, or is worked on by nobody"),
            format!("action {id}: it has ended and has not"),
            format!("action {id}: its counts are not those of its nodes"),
        ]
    );
}
