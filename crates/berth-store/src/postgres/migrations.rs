//! The schema and its steps.

use sqlx::{PgConnection, PgPool};

use super::actions::gather_labels;
use crate::error::Error;

/// Servers that start together take the steps one after the other. The number says "Brth".
const LOCK: i64 = 0x4272_7468;

/// Each step leads from the version before to its own; a step never changes once it was released.
const STEPS: [&str; 3] = [
    include_str!("0001.sql"),
    include_str!("0002.sql"),
    include_str!("0003.sql"),
];

/// The step after which the labels are gathered that actions gave nodes before it.
const LABELS: i64 = 3;

/// Takes the missing steps, all or none of them.
pub(super) async fn migrate(pool: &PgPool) -> Result<(), Error> {
    let doing = "bringing the schema up to date";
    let mut transaction = pool.begin().await.map_err(Error::database(doing))?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut *transaction)
        .await
        .map_err(Error::database(doing))?;
    let found = found(&mut transaction).await?;
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(Error::NewerSchema { found, known });
    }
    for (version, step) in (1_i64..).zip(STEPS).filter(|(version, _)| *version > found) {
        sqlx::raw_sql(step)
            .execute(&mut *transaction)
            .await
            .map_err(Error::database(doing))?;
        sqlx::query("INSERT INTO berth_schema (version) VALUES ($1)")
            .bind(version)
            .execute(&mut *transaction)
            .await
            .map_err(Error::database(doing))?;
        if version == LABELS {
            gather_labels(&mut transaction).await.map_err(Error::database(doing))?;
        }
    }
    transaction.commit().await.map_err(Error::database(doing))
}

/// The version that the database has; 0 for an empty one.
async fn found(connection: &mut PgConnection) -> Result<i64, Error> {
    let doing = "reading the schema version";
    let (ours, theirs): (bool, bool) =
        sqlx::query_as("SELECT to_regclass('berth_schema') IS NOT NULL, to_regclass('revisions') IS NOT NULL")
            .fetch_one(&mut *connection)
            .await
            .map_err(Error::database(doing))?;
    if theirs && !ours {
        let place = sqlx::query_scalar("SELECT current_database()::text")
            .fetch_one(connection)
            .await
            .map_err(Error::database(doing))?;
        return Err(Error::ForeignDatabase { place });
    }
    if !ours {
        sqlx::raw_sql("CREATE TABLE berth_schema (version BIGINT PRIMARY KEY)")
            .execute(&mut *connection)
            .await
            .map_err(Error::database(doing))?;
    }
    sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM berth_schema")
        .fetch_one(connection)
        .await
        .map_err(Error::database(doing))
}
