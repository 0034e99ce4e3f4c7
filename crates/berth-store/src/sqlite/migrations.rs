//! The schema and its steps.

use std::path::Path;

use sqlx::{AssertSqlSafe, SqliteConnection, SqlitePool};

use super::actions::gather_labels;
use crate::error::Error;

/// "Brth": marks a file as one of this program.
const APPLICATION_ID: i64 = 0x4272_7468;

/// Each step leads from the version before to its own; a step never changes once it was released.
const STEPS: [&str; 3] = [
    include_str!("0001.sql"),
    include_str!("0002.sql"),
    include_str!("0003.sql"),
];

/// The step after which the labels are gathered that actions gave nodes before it.
const LABELS: i64 = 3;

/// Takes the missing steps, all or none of them.
pub(super) async fn migrate(writer: &SqlitePool, path: &Path) -> Result<(), Error> {
    let doing = "bringing the schema up to date";
    let mut transaction = writer
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(Error::database(doing))?;
    let found = pragma(&mut transaction, "PRAGMA user_version").await?;
    let owner = pragma(&mut transaction, "PRAGMA application_id").await?;
    let tables = pragma(&mut transaction, "SELECT count(*) FROM sqlite_schema").await?;
    if owner != APPLICATION_ID && (owner != 0 || tables != 0) {
        return Err(Error::ForeignDatabase {
            place: path.display().to_string(),
        });
    }
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(Error::NewerSchema { found, known });
    }
    for (version, step) in (1_i64..).zip(STEPS).filter(|(version, _)| *version > found) {
        let mark = format!("PRAGMA user_version = {version}; PRAGMA application_id = {APPLICATION_ID};");
        for sql in [AssertSqlSafe(step.to_owned()), AssertSqlSafe(mark)] {
            sqlx::raw_sql(sql)
                .execute(&mut *transaction)
                .await
                .map_err(Error::database(doing))?;
        }
        if version == LABELS {
            gather_labels(&mut transaction).await.map_err(Error::database(doing))?;
        }
    }
    transaction.commit().await.map_err(Error::database(doing))
}

async fn pragma(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64, Error> {
    sqlx::query_scalar(sql)
        .fetch_one(connection)
        .await
        .map_err(Error::database("reading the schema version"))
}
