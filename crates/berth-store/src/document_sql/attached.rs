//! What is attached to revisions, and the revisions themselves: tags, validations, locks.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::{Row as _, Transaction};

use super::{
    super::{Connection, DatabaseRow, Db},
    latest,
};
use crate::{
    body,
    error::{Conflict, Error},
    names,
    revision::{Revision, RevisionFilter, StagedVersions, ValidationRecord},
    rows::{self, column},
};

pub(super) async fn revisions(connection: &mut Connection, filter: &RevisionFilter) -> Result<Vec<Revision>, Error> {
    let doing = "reading revisions";
    let found = sqlx::query("SELECT id, created_at, buckets FROM revisions")
        .fetch_all(&mut *connection)
        .await
        .map_err(Error::database(doing))?;
    let mut revisions: BTreeMap<i64, Revision> = BTreeMap::new();
    for row in &found {
        revisions.insert(row.try_get(0).map_err(column)?, revision_row(row)?);
    }
    for row in sqlx::query("SELECT revision, tag, data FROM tags")
        .fetch_all(connection)
        .await
        .map_err(Error::database(doing))?
    {
        let id: i64 = row.try_get(0).map_err(column)?;
        if let Some(revision) = revisions.get_mut(&id) {
            let data: &str = row.try_get(2).map_err(column)?;
            revision.tags.insert(row.try_get(1).map_err(column)?, rows::json(data)?);
        }
    }
    revisions.retain(|_, revision| filter.admits(revision));
    Ok(revisions.into_values().collect())
}

pub(super) async fn revision(connection: &mut Connection, id: u64) -> Result<Revision, Error> {
    let doing = "reading a revision";
    let number = rows::revision_column(id)?;
    let row = sqlx::query("SELECT id, created_at, buckets FROM revisions WHERE id = $1")
        .bind(number)
        .fetch_optional(&mut *connection)
        .await
        .map_err(Error::database(doing))?
        .ok_or(Error::RevisionNotFound { revision: id })?;
    let mut revision = revision_row(&row)?;
    for row in sqlx::query("SELECT tag, data FROM tags WHERE revision = $1")
        .bind(number)
        .fetch_all(connection)
        .await
        .map_err(Error::database(doing))?
    {
        let data: &str = row.try_get(1).map_err(column)?;
        revision.tags.insert(row.try_get(0).map_err(column)?, rows::json(data)?);
    }
    Ok(revision)
}

fn revision_row(row: &DatabaseRow) -> Result<Revision, Error> {
    let buckets: &str = row.try_get(2).map_err(column)?;
    rows::revision(
        row.try_get(0).map_err(column)?,
        row.try_get(1).map_err(column)?,
        buckets,
    )
}

async fn require(connection: &mut Connection, revision: u64) -> Result<i64, Error> {
    let number = rows::revision_column(revision)?;
    let there = (1..=latest(connection).await?).contains(&number);
    there.then_some(number).ok_or(Error::RevisionNotFound { revision })
}

pub(super) async fn put_tag(
    mut transaction: Transaction<'static, Db>,
    revision: u64,
    tag: &str,
    data: &Value,
) -> Result<(), Error> {
    let doing = "setting a tag";
    names::check("the tag", tag)?;
    body::check_depth("the data of a tag", data)?;
    let number = require(&mut transaction, revision).await?;
    sqlx::query(
        "INSERT INTO tags (revision, tag, data) VALUES ($1, $2, $3) \
         ON CONFLICT (revision, tag) DO UPDATE SET data = excluded.data",
    )
    .bind(number)
    .bind(tag)
    .bind(data.to_string())
    .execute(&mut *transaction)
    .await
    .map_err(Error::database(doing))?;
    transaction.commit().await.map_err(Error::database(doing))
}

pub(super) async fn delete_tag(
    mut transaction: Transaction<'static, Db>,
    revision: u64,
    tag: &str,
) -> Result<(), Error> {
    let doing = "deleting a tag";
    let number = require(&mut transaction, revision).await?;
    let deleted = sqlx::query("DELETE FROM tags WHERE revision = $1 AND tag = $2")
        .bind(number)
        .bind(tag)
        .execute(&mut *transaction)
        .await
        .map_err(Error::database(doing))?;
    if deleted.rows_affected() == 0 {
        return Err(Error::TagNotFound {
            revision,
            tag: tag.to_owned(),
        });
    }
    transaction.commit().await.map_err(Error::database(doing))
}

pub(super) async fn delete_tags(mut transaction: Transaction<'static, Db>, revision: u64) -> Result<(), Error> {
    let doing = "deleting tags";
    let number = require(&mut transaction, revision).await?;
    sqlx::query("DELETE FROM tags WHERE revision = $1")
        .bind(number)
        .execute(&mut *transaction)
        .await
        .map_err(Error::database(doing))?;
    transaction.commit().await.map_err(Error::database(doing))
}

pub(super) async fn add_validation(
    mut transaction: Transaction<'static, Db>,
    revision: u64,
    name: &str,
    report: &Value,
    now: i64,
) -> Result<ValidationRecord, Error> {
    let doing = "filing a validation";
    names::check("the name of a validation", name)?;
    body::check_depth("the report of a validation", report)?;
    let number = require(&mut transaction, revision).await?;
    let entry: i64 = sqlx::query_scalar(
        "INSERT INTO validations (revision, name, entry, created_at, report) \
         VALUES ($1, $2, (SELECT count(*) FROM validations WHERE revision = $1 AND name = $2), $3, $4) RETURNING entry",
    )
    .bind(number)
    .bind(name)
    .bind(now)
    .bind(report.to_string())
    .fetch_one(&mut *transaction)
    .await
    .map_err(Error::database(doing))?;
    transaction.commit().await.map_err(Error::database(doing))?;
    Ok(ValidationRecord {
        name: name.to_owned(),
        entry: rows::number(entry)?,
        created_at: now,
        report: report.clone(),
    })
}

pub(super) async fn validations(connection: &mut Connection, revision: u64) -> Result<Vec<ValidationRecord>, Error> {
    let number = require(connection, revision).await?;
    let found =
        sqlx::query("SELECT name, entry, created_at, report FROM validations WHERE revision = $1 ORDER BY name, entry")
            .bind(number)
            .fetch_all(connection)
            .await
            .map_err(Error::database("reading validations"))?;
    let record = |row: &DatabaseRow| {
        let report: &str = row.try_get(3).map_err(column)?;
        Ok(ValidationRecord {
            name: row.try_get(0).map_err(column)?,
            entry: rows::number(row.try_get(1).map_err(column)?)?,
            created_at: row.try_get(2).map_err(column)?,
            report: rows::json(report)?,
        })
    };
    found.iter().map(record).collect()
}

pub(super) async fn staged(connection: &mut Connection) -> Result<StagedVersions, Error> {
    let latest = rows::number(latest(connection).await?)?;
    let mut newest: BTreeMap<String, u64> = BTreeMap::new();
    for row in sqlx::query(
        "SELECT tag, max(revision) FROM tags \
         WHERE tag IN ('committed', 'rollback_commit', 'site-action-success', 'site-action-failure') GROUP BY tag",
    )
    .fetch_all(connection)
    .await
    .map_err(Error::database("reading tags"))?
    {
        newest.insert(
            row.try_get(0).map_err(column)?,
            rows::number(row.try_get(1).map_err(column)?)?,
        );
    }
    Ok(StagedVersions::derive(latest, |tags| {
        tags.iter()
            .filter_map(|tag| newest.get(*tag))
            .max()
            .copied()
            .unwrap_or(0)
    }))
}

pub(super) async fn acquire_lock(
    mut transaction: Transaction<'static, Db>,
    name: &str,
    owner: &str,
    now: i64,
    expires_at: i64,
) -> Result<(), Error> {
    let doing = "taking a lock";
    names::check("the lock", name)?;
    names::check("the owner of a lock", owner)?;
    let taken = sqlx::query(
        "INSERT INTO locks (name, owner, expires_at) VALUES ($1, $2, $3) \
         ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at \
         WHERE locks.owner = excluded.owner OR locks.expires_at <= $4",
    )
    .bind(name)
    .bind(owner)
    .bind(expires_at)
    .bind(now)
    .execute(&mut *transaction)
    .await
    .map_err(Error::database(doing))?;
    if taken.rows_affected() == 0 {
        let row = sqlx::query("SELECT owner, expires_at FROM locks WHERE name = $1")
            .bind(name)
            .fetch_one(&mut *transaction)
            .await
            .map_err(Error::database(doing))?;
        return Err(Conflict::Locked {
            name: name.to_owned(),
            owner: row.try_get(0).map_err(column)?,
            expires_at: row.try_get(1).map_err(column)?,
        }
        .into());
    }
    transaction.commit().await.map_err(Error::database(doing))
}

pub(super) async fn release_lock(
    mut transaction: Transaction<'static, Db>,
    name: &str,
    owner: &str,
) -> Result<bool, Error> {
    let doing = "giving a lock back";
    let released = sqlx::query("DELETE FROM locks WHERE name = $1 AND owner = $2")
        .bind(name)
        .bind(owner)
        .execute(&mut *transaction)
        .await
        .map_err(Error::database(doing))?;
    transaction.commit().await.map_err(Error::database(doing))?;
    Ok(released.rows_affected() > 0)
}
