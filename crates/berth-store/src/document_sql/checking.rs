//! Whether what is kept of documents fits together.

use std::sync::Arc;

use berth_documents::deckhand::Identity;
use sqlx::Row as _;

use super::super::Connection;
use crate::{
    check::{CheckedBody, CheckedVersion, Checker},
    error::Error,
    rows::column,
    sealing::KeyId,
};

/// How many bodies are held at a time.
const PAGE: i64 = 1000;

pub(super) async fn check(connection: &mut Connection, checker: &mut Checker) -> Result<(), Error> {
    let doing = "checking";
    for row in sqlx::query("SELECT id, buckets FROM revisions")
        .fetch_all(&mut *connection)
        .await
        .map_err(Error::database(doing))?
    {
        checker.revision(row.try_get(0).map_err(column)?, row.try_get(1).map_err(column)?);
    }
    check_bodies(connection, checker).await?;
    for row in sqlx::query(
        "SELECT id, schema, layer, name, bucket, revision, valid_from, valid_to, fork, data, metadata FROM versions",
    )
    .fetch_all(&mut *connection)
    .await
    .map_err(Error::database(doing))?
    {
        checker.version(CheckedVersion {
            id: row.try_get(0).map_err(column)?,
            identity: Arc::new(Identity {
                schema: row.try_get(1).map_err(column)?,
                layer: row.try_get(2).map_err(column)?,
                name: row.try_get(3).map_err(column)?,
            }),
            bucket: row.try_get(4).map_err(column)?,
            revision: row.try_get(5).map_err(column)?,
            valid_from: row.try_get(6).map_err(column)?,
            valid_to: row.try_get(7).map_err(column)?,
            fork: row.try_get(8).map_err(column)?,
            data: row.try_get(9).map_err(column)?,
            metadata: row.try_get(10).map_err(column)?,
        });
    }
    for row in sqlx::query("SELECT revision, tag, data FROM tags")
        .fetch_all(&mut *connection)
        .await
        .map_err(Error::database(doing))?
    {
        let (tag, data): (&str, &str) = (row.try_get(1).map_err(column)?, row.try_get(2).map_err(column)?);
        checker.tag(row.try_get(0).map_err(column)?, tag, data);
    }
    for row in sqlx::query("SELECT revision, name, entry, report FROM validations ORDER BY revision, name, entry")
        .fetch_all(&mut *connection)
        .await
        .map_err(Error::database(doing))?
    {
        let (name, report): (&str, &str) = (row.try_get(1).map_err(column)?, row.try_get(3).map_err(column)?);
        checker.validation(
            row.try_get(0).map_err(column)?,
            name,
            row.try_get(2).map_err(column)?,
            report,
        );
    }
    Ok(())
}

async fn check_bodies(connection: &mut Connection, checker: &mut Checker) -> Result<(), Error> {
    let mut last = i64::MIN;
    loop {
        let page =
            sqlx::query("SELECT id, digest, sealed_with, content FROM bodies WHERE id > $1 ORDER BY id LIMIT $2")
                .bind(last)
                .bind(PAGE)
                .fetch_all(&mut *connection)
                .await
                .map_err(Error::database("checking bodies"))?;
        if page.is_empty() {
            return Ok(());
        }
        for row in page {
            last = row.try_get(0).map_err(column)?;
            checker.body(CheckedBody {
                id: last,
                digest: row.try_get(1).map_err(column)?,
                sealed_with: row
                    .try_get::<Option<String>, _>(2)
                    .map_err(column)?
                    .map(KeyId::from_column),
                content: row.try_get(3).map_err(column)?,
            });
        }
    }
}
