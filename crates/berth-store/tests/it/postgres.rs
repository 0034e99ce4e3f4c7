//! What is particular to the store in `PostgreSQL`.

use std::path::Path;

use berth_store::{Error, PostgresStore, SealingKeys, Store as _, Write};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use crate::{
    actions::{file_as_before, is_gathered},
    fixture::{document, keys, secret},
    postgres_server,
};

async fn execute(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_newer_schema_is_refused_with_both_versions() {
    let Some(url) = postgres_server::database().await else {
        return;
    };
    PostgresStore::connect(&url, SealingKeys::none()).await.unwrap();
    execute(&url, "INSERT INTO berth_schema VALUES (7)").await;
    let error = PostgresStore::connect(&url, SealingKeys::none()).await.unwrap_err();
    assert!(matches!(error, Error::NewerSchema { found: 7, known: 3 }), "{error:?}");
}

#[tokio::test]
async fn a_database_of_the_second_version_knows_which_labels_actions_gave() {
    let Some(url) = postgres_server::database().await else {
        return;
    };
    let store = PostgresStore::connect(&url, SealingKeys::none()).await.unwrap();
    file_as_before(&store).await;
    store.close().await;
    execute(
        &url,
        "DROP TABLE node_labels; DELETE FROM berth_schema WHERE version = 3",
    )
    .await;
    is_gathered(&PostgresStore::connect(&url, SealingKeys::none()).await.unwrap()).await;
}

#[tokio::test]
async fn databases_of_others_are_left_alone() {
    let Some(url) = postgres_server::database().await else {
        return;
    };
    execute(&url, "CREATE TABLE revisions (id INTEGER)").await;
    let error = PostgresStore::connect(&url, SealingKeys::none()).await.unwrap_err();
    assert!(matches!(error, Error::ForeignDatabase { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_start_together_make_the_schema_once() {
    let Some(url) = postgres_server::database().await else {
        return;
    };
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let url = url.clone();
        tasks.spawn(async move {
            let store = PostgresStore::connect(&url, SealingKeys::none()).await.unwrap();
            assert_eq!(store.latest().await.unwrap(), 0);
            store.close().await;
        });
    }
    tasks.join_all().await;
}

#[tokio::test]
async fn backups_are_the_database_servers() {
    let Some(url) = postgres_server::database().await else {
        return;
    };
    let store = PostgresStore::connect(&url, SealingKeys::none()).await.unwrap();
    let error = store.backup(Path::new("/nowhere")).await.unwrap_err();
    assert!(error.to_string().contains("pg_dump"), "{error}");
    store.compact().await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_that_says_so() {
    let error = PostgresStore::connect("postgres:///db?host=/nonexistent&user=me", SealingKeys::none())
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::Database {
                doing: "connecting",
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn check_finds_damage() {
    let Some(url) = postgres_server::database().await else {
        return;
    };
    let store = PostgresStore::connect(&url, keys(1)).await.unwrap();
    for number in 1..=3 {
        let documents = [document("a", json!(number)), secret("s", json!(number))];
        store.put_bucket("site", &documents, Write::at(1)).await.unwrap();
    }
    assert_eq!(store.check().await.unwrap().problems, []);
    for (damage, finding) in [
        (
            "UPDATE bodies SET content = '7' WHERE content = '2'",
            "the content does not have the hash",
        ),
        (
            "UPDATE bodies SET content = content || '\\x00' WHERE sealed_with IS NOT NULL",
            "was changed",
        ),
        (
            "UPDATE versions SET fork = 3 WHERE name = 'a' AND valid_from = 1",
            "which do not fit",
        ),
        (
            "UPDATE revisions SET buckets = '[]' WHERE id = 3",
            "revision 3: names the buckets []",
        ),
    ] {
        execute(&url, damage).await;
        let problems = store.check().await.unwrap().problems;
        assert!(
            problems.iter().any(|problem| problem.to_string().contains(finding)),
            "{damage}: {problems:#?}"
        );
    }
    let error = store.documents(3).await.unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
}
