//! Revisions and what is attached to them, in a database. Both back ends have this file as a module of theirs: the
//! statements are the same, and what differs is in the names that come from above.

mod attached;
mod checking;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use async_trait::async_trait;
use berth_documents::deckhand::{DeckhandDocument, Identity, RedactionKey};
use serde_json::Value;
use sqlx::{Row as _, Transaction};

use super::{Backend, Connection, DELETE_ALL, DOCUMENTS, DatabaseRow, Db, VERSIONS, actions, fetch, insert};
use crate::{
    body::Digest,
    check::{CheckReport, Checker},
    document::StoredDocument,
    error::{Conflict, Error},
    plan::{self, Plan},
    revision::{PutResult, Revision, RevisionFilter, StagedVersions, ValidationRecord, Write},
    rows::{self, DocumentRow, VersionRow, column},
    sealing::KeyId,
    store::Store,
};

impl Backend {
    /// Writes a plan down, or only says what it would do.
    async fn apply(
        &self,
        mut transaction: Transaction<'static, Db>,
        plan: Plan,
        write: Write,
    ) -> Result<PutResult, Error> {
        let result = PutResult {
            revision: Some(Revision {
                id: rows::number(plan.revision)?,
                created_at: write.now,
                tags: BTreeMap::new(),
                buckets: plan.buckets.clone(),
            }),
            changes: plan.changes.clone(),
        };
        if !write.dry_run {
            let doing = "writing a revision";
            insert(&mut transaction, &plan, write.now)
                .await
                .map_err(Error::database(doing))?;
            transaction.commit().await.map_err(Error::database(doing))?;
        }
        Ok(result)
    }
}

#[async_trait]
impl Store for Backend {
    fn redaction_key(&self) -> RedactionKey {
        self.keys.redaction_key()
    }

    async fn put_bucket(
        &self,
        bucket: &str,
        documents: &[Arc<DeckhandDocument>],
        write: Write,
    ) -> Result<PutResult, Error> {
        plan::check_request(bucket, documents)?;
        let mut transaction = self.write("writing a bucket").await?;
        let latest = latest(&mut transaction).await?;
        check_base(latest, write)?;
        let live = versions(&mut transaction, latest, latest).await?;
        match plan::put(&live, latest, bucket, documents, &self.keys)? {
            Some(plan) => self.apply(transaction, plan, write).await,
            None => Ok(PutResult {
                revision: None,
                changes: BTreeMap::new(),
            }),
        }
    }

    async fn rollback(&self, to: u64, write: Write) -> Result<PutResult, Error> {
        let target = rows::revision_column(to)?;
        let mut transaction = self.write("rolling back").await?;
        let latest = latest(&mut transaction).await?;
        check_base(latest, write)?;
        if target > latest {
            return Err(Error::RevisionNotFound { revision: to });
        }
        let live = versions(&mut transaction, latest, latest).await?;
        let wanted = versions(&mut transaction, target, latest).await?;
        self.apply(transaction, plan::rollback(&live, latest, &wanted, target), write)
            .await
    }

    async fn delete_all(&self) -> Result<(), Error> {
        let doing = "deleting all revisions";
        let mut transaction = self.write(doing).await?;
        sqlx::raw_sql(DELETE_ALL)
            .execute(&mut *transaction)
            .await
            .map_err(Error::database(doing))?;
        transaction.commit().await.map_err(Error::database(doing))
    }

    async fn latest(&self) -> Result<u64, Error> {
        let mut transaction = self.read("reading revisions").await?;
        rows::number(latest(&mut transaction).await?)
    }

    async fn revisions(&self, filter: &RevisionFilter) -> Result<Vec<Revision>, Error> {
        let mut transaction = self.read("reading revisions").await?;
        attached::revisions(&mut transaction, filter).await
    }

    async fn revision(&self, id: u64) -> Result<Revision, Error> {
        let mut transaction = self.read("reading a revision").await?;
        attached::revision(&mut transaction, id).await
    }

    async fn documents(&self, revision: u64) -> Result<Vec<StoredDocument>, Error> {
        let target = rows::revision_column(revision)?;
        let mut transaction = self.read("reading documents").await?;
        let latest = latest(&mut transaction).await?;
        if target > latest {
            return Err(Error::RevisionNotFound { revision });
        }
        let found = documents(&mut transaction, target, latest).await?;
        drop(transaction);
        rows::documents(found, &self.keys)
    }

    async fn put_tag(&self, revision: u64, tag: &str, data: &Value) -> Result<(), Error> {
        attached::put_tag(self.write("setting a tag").await?, revision, tag, data).await
    }

    async fn tag(&self, revision: u64, tag: &str) -> Result<Value, Error> {
        self.tags(revision)
            .await?
            .remove(tag)
            .ok_or_else(|| Error::TagNotFound {
                revision,
                tag: tag.to_owned(),
            })
    }

    async fn tags(&self, revision: u64) -> Result<BTreeMap<String, Value>, Error> {
        Ok(self.revision(revision).await?.tags)
    }

    async fn delete_tag(&self, revision: u64, tag: &str) -> Result<(), Error> {
        attached::delete_tag(self.write("deleting a tag").await?, revision, tag).await
    }

    async fn delete_tags(&self, revision: u64) -> Result<(), Error> {
        attached::delete_tags(self.write("deleting tags").await?, revision).await
    }

    async fn add_validation(
        &self,
        revision: u64,
        name: &str,
        report: &Value,
        now: i64,
    ) -> Result<ValidationRecord, Error> {
        attached::add_validation(self.write("filing a validation").await?, revision, name, report, now).await
    }

    async fn validations(&self, revision: u64) -> Result<Vec<ValidationRecord>, Error> {
        let mut transaction = self.read("reading validations").await?;
        attached::validations(&mut transaction, revision).await
    }

    async fn staged(&self) -> Result<StagedVersions, Error> {
        let mut transaction = self.read("reading tags").await?;
        attached::staged(&mut transaction).await
    }

    async fn acquire_lock(&self, name: &str, owner: &str, now: i64, expires_at: i64) -> Result<(), Error> {
        attached::acquire_lock(self.write("taking a lock").await?, name, owner, now, expires_at).await
    }

    async fn release_lock(&self, name: &str, owner: &str) -> Result<bool, Error> {
        attached::release_lock(self.write("giving a lock back").await?, name, owner).await
    }

    async fn check(&self) -> Result<CheckReport, Error> {
        let mut transaction = self.read("checking").await?;
        let mut checker = Checker::new(self.keys.clone());
        self.check_engine(&mut transaction, &mut checker).await?;
        checking::check(&mut transaction, &mut checker).await?;
        actions::check(&mut transaction, &mut checker).await?;
        Ok(checker.finish())
    }

    async fn backup(&self, to: &Path) -> Result<(), Error> {
        self.copy_to(to).await
    }

    async fn compact(&self) -> Result<(), Error> {
        self.vacuum().await
    }
}

fn check_base(latest: i64, write: Write) -> Result<(), Error> {
    let latest = rows::number(latest)?;
    match write.base {
        Some(expected) if expected != latest => Err(Conflict::Stale { expected, latest }.into()),
        _ => Ok(()),
    }
}

async fn latest(connection: &mut Connection) -> Result<i64, Error> {
    sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM revisions")
        .fetch_one(connection)
        .await
        .map_err(Error::database("reading the newest revision"))
}

async fn versions(connection: &mut Connection, revision: i64, latest: i64) -> Result<Vec<VersionRow>, Error> {
    let found = fetch(connection, VERSIONS, revision, latest).await?;
    let mut versions: Vec<VersionRow> = found.iter().map(version).collect::<Result<_, _>>()?;
    versions.sort_unstable_by_key(|version| version.id);
    Ok(versions)
}

async fn documents(connection: &mut Connection, revision: i64, latest: i64) -> Result<Vec<DocumentRow>, Error> {
    let found = fetch(connection, DOCUMENTS, revision, latest).await?;
    let document = |row: &DatabaseRow| {
        Ok(DocumentRow {
            version: version(row)?,
            data: row.try_get(10).map_err(column)?,
            metadata: row.try_get(11).map_err(column)?,
        })
    };
    found.iter().map(document).collect()
}

fn version(row: &DatabaseRow) -> Result<VersionRow, Error> {
    let (data, metadata): (&[u8], &[u8]) = (row.try_get(7).map_err(column)?, row.try_get(8).map_err(column)?);
    Ok(VersionRow {
        id: row.try_get(0).map_err(column)?,
        identity: Arc::new(Identity {
            schema: row.try_get(1).map_err(column)?,
            layer: row.try_get(2).map_err(column)?,
            name: row.try_get(3).map_err(column)?,
        }),
        bucket: row.try_get(4).map_err(column)?,
        revision: row.try_get(5).map_err(column)?,
        valid_from: row.try_get(6).map_err(column)?,
        data: Digest::from_column(data)?,
        metadata: Digest::from_column(metadata)?,
        sealed_with: row
            .try_get::<Option<String>, _>(9)
            .map_err(column)?
            .map(KeyId::from_column),
    })
}
