//! The store in a `PostgreSQL` database, for several servers at a time.
//!
//! Every write locks the table of revisions against other writers before it reads anything, so writers of all servers
//! follow one another and none has to try again. Readers do not wait: each sees the state of one moment.

#[expect(
    clippy::duplicate_mod,
    reason = "both back ends have the statements about actions in common, on types of their own"
)]
#[path = "action_sql/store.rs"]
mod actions;
mod address;
mod attached;
mod keeping;
mod migrations;

pub use address::has_password;

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use berth_documents::deckhand::{DeckhandDocument, Identity, RedactionKey};
use serde_json::Value;
use sqlx::{
    Connection as _, PgConnection, PgPool, Postgres, Row as _, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions, PgRow},
};

use crate::{
    body::Digest,
    check::CheckReport,
    document::StoredDocument,
    error::{Conflict, Error},
    plan::{self, NewVersion, Plan},
    ranges,
    revision::{PutResult, Revision, RevisionFilter, StagedVersions, ValidationRecord, Write},
    rows::{self, DocumentRow, VersionRow},
    sealing::{KeyId, SealingKeys},
    store::Store,
};

// The names under which the statements about actions know this back end.
use PgConnection as Connection;
use PgRow as DatabaseRow;
use Postgres as Db;
use PostgresStore as Backend;

/// Of one server. Several servers share a database, which has 100 by default.
const CONNECTIONS: u32 = 8;
/// How long a server may take to answer at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a caller waits for a connection; writers hold one while they wait for their turn.
const TURN_TIMEOUT: Duration = Duration::from_mins(2);
/// Rows in one statement, so that a message stays well below the limit of 1 GB.
const BATCH: usize = 1000;
/// The nodes of an action that have no outcome yet. The database finds the index by itself.
const OPEN_SUBTASKS: &str = "subtasks";

/// A store that several servers share.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    pool: PgPool,
    keys: SealingKeys,
}

impl PostgresStore {
    /// Connects to the database, and brings it to the schema of this program.
    ///
    /// # Errors
    /// [`Error::NewerSchema`], [`Error::ForeignDatabase`], [`Error::Database`].
    pub async fn connect(url: &str, keys: SealingKeys) -> Result<Self, Error> {
        let options = address::options(url)?;
        greet(&options)
            .await
            .map_err(|error| Error::connecting(&options, error))?;
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(TURN_TIMEOUT)
            .connect_with(options)
            .await
            .map_err(Error::database("connecting"))?;
        migrations::migrate(&pool).await?;
        Ok(Self { pool, keys })
    }

    /// Closes all connections; writes under way are finished first.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// A transaction that no other writer can run beside, so that nothing it reads can change under it.
    async fn write(&self, doing: &'static str) -> Result<Transaction<'static, Postgres>, Error> {
        let mut transaction = self.pool.begin().await.map_err(Error::database(doing))?;
        // The limit is there for the case that a server hangs with the lock in its hands.
        sqlx::raw_sql("SET LOCAL lock_timeout = '120s'; LOCK TABLE revisions IN EXCLUSIVE MODE")
            .execute(&mut *transaction)
            .await
            .map_err(Error::database(doing))?;
        Ok(transaction)
    }

    /// A write to the tables of actions. Writers of actions follow one another, and do not wait for those of documents.
    async fn write_actions(&self, doing: &'static str) -> Result<Transaction<'static, Postgres>, Error> {
        let mut transaction = self.pool.begin().await.map_err(Error::database(doing))?;
        sqlx::raw_sql("SET LOCAL lock_timeout = '120s'; LOCK TABLE actions IN EXCLUSIVE MODE")
            .execute(&mut *transaction)
            .await
            .map_err(Error::database(doing))?;
        Ok(transaction)
    }

    /// A transaction that sees one state. It looks at `revisions` first, which keeps
    /// [`delete_all`](Store::delete_all) out.
    async fn read(&self, doing: &'static str) -> Result<Transaction<'static, Postgres>, Error> {
        self.pool
            .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await
            .map_err(Error::database(doing))
    }

    /// Writes a plan down, or only says what it would do.
    async fn apply(
        &self,
        mut transaction: Transaction<'static, Postgres>,
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
impl Store for PostgresStore {
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
        let target = rows::column(to)?;
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
        // Readers lock revisions first too, so nobody can be caught between the tables.
        sqlx::raw_sql(
            "LOCK TABLE revisions IN ACCESS EXCLUSIVE MODE; \
             TRUNCATE revisions, versions, bodies, tags, validations RESTART IDENTITY",
        )
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
        let target = rows::column(revision)?;
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
        keeping::check(&mut transaction, self.keys.clone()).await
    }

    async fn backup(&self, _to: &Path) -> Result<(), Error> {
        Err(Error::Unsupported {
            what: "PostgreSQL makes its own backups",
            instead: "use pg_dump, or the backups of the database server",
        })
    }

    async fn compact(&self) -> Result<(), Error> {
        keeping::compact(&self.pool).await
    }
}

fn check_base(latest: i64, write: Write) -> Result<(), Error> {
    let latest = rows::number(latest)?;
    match write.base {
        Some(expected) if expected != latest => Err(Conflict::Stale { expected, latest }.into()),
        _ => Ok(()),
    }
}

/// Connects once. A pool tries again for as long as its callers may wait, and does not say why it could not.
async fn greet(options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    let connection = tokio::time::timeout(CONNECT_TIMEOUT, PgConnection::connect_with(options));
    let silent = |_| {
        sqlx::Error::Io(std::io::Error::new(
            std::io::ErrorKind::TimedOut,
            "the server does not answer",
        ))
    };
    connection.await.map_err(silent)??.close().await
}

async fn latest(connection: &mut PgConnection) -> Result<i64, Error> {
    sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM revisions")
        .fetch_one(connection)
        .await
        .map_err(Error::database("reading the newest revision"))
}

/// For the rest of the transaction. Each index leads to answers only, which the planner cannot know: it would rather walk
/// the history, so that reads became slower with every revision, or start workers, which takes longer than the read.
const BY_INDEX_ALONE: &str = "\
    SET LOCAL enable_seqscan = off; \
    SET LOCAL enable_hashjoin = off; \
    SET LOCAL enable_mergejoin = off; \
    SET LOCAL max_parallel_workers_per_gather = 0; \
    SET LOCAL plan_cache_mode = force_custom_plan; \
    SET LOCAL jit = off";

/// The rows of one revision; each part of the union has an index that leads to answers only.
macro_rules! select_revision {
    ($columns:literal) => {
        concat!(
            "SELECT v.id, v.schema, v.layer, v.name, v.bucket, v.revision, v.valid_from, \
                d.digest, m.digest, d.sealed_with",
            $columns,
            " FROM (
                SELECT * FROM versions WHERE valid_to IS NULL AND valid_from <= $1
                UNION ALL
                SELECT * FROM versions WHERE fork = ANY ($2) AND valid_to > $1
                UNION ALL
                SELECT * FROM versions WHERE fork = ANY ($3) AND valid_from <= $1
            ) AS v
            JOIN bodies AS d ON d.id = v.data
            JOIN bodies AS m ON m.id = v.metadata"
        )
    };
}

async fn versions(connection: &mut PgConnection, revision: i64, latest: i64) -> Result<Vec<VersionRow>, Error> {
    let found = fetch(connection, select_revision!(""), revision, latest).await?;
    let mut versions: Vec<VersionRow> = found.iter().map(version).collect::<Result<_, _>>()?;
    versions.sort_unstable_by_key(|version| version.id);
    Ok(versions)
}

async fn documents(connection: &mut PgConnection, revision: i64, latest: i64) -> Result<Vec<DocumentRow>, Error> {
    let found = fetch(connection, select_revision!(", d.content, m.content"), revision, latest).await?;
    let document = |row: &PgRow| {
        Ok(DocumentRow {
            version: version(row)?,
            data: row.try_get(10).map_err(column)?,
            metadata: row.try_get(11).map_err(column)?,
        })
    };
    found.iter().map(document).collect()
}

async fn fetch(
    connection: &mut PgConnection,
    select: &'static str,
    revision: i64,
    latest: i64,
) -> Result<Vec<PgRow>, Error> {
    if revision < 1 {
        return Ok(Vec::new());
    }
    sqlx::raw_sql(BY_INDEX_ALONE)
        .execute(&mut *connection)
        .await
        .map_err(Error::database("reading a revision's documents"))?;
    let nodes = ranges::nodes(revision, latest);
    sqlx::query(select)
        .bind(revision)
        .bind(nodes.before)
        .bind(nodes.after)
        .fetch_all(connection)
        .await
        .map_err(Error::database("reading a revision's documents"))
}

fn version(row: &PgRow) -> Result<VersionRow, Error> {
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

fn column(error: sqlx::Error) -> Error {
    Error::database("reading a column")(error)
}

async fn insert(connection: &mut PgConnection, plan: &Plan, now: i64) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO revisions (id, created_at, buckets) VALUES ($1, $2, $3)")
        .bind(plan.revision)
        .bind(now)
        .bind(rows::buckets_column(&plan.buckets))
        .execute(&mut *connection)
        .await?;
    for (node, ids) in &plan.close {
        sqlx::query("UPDATE versions SET valid_to = $1, fork = $2 WHERE id = ANY ($3)")
            .bind(plan.revision)
            .bind(node)
            .bind(ids)
            .execute(&mut *connection)
            .await?;
    }
    for batch in plan.bodies.chunks(BATCH) {
        let digests: Vec<&[u8]> = batch.iter().map(|body| body.digest.as_bytes().as_slice()).collect();
        let keys: Vec<Option<&str>> = batch
            .iter()
            .map(|body| body.sealed_with.as_ref().map(KeyId::as_str))
            .collect();
        let contents: Vec<&[u8]> = batch.iter().map(|body| body.content.as_slice()).collect();
        sqlx::query(
            "INSERT INTO bodies (digest, sealed_with, content) \
             SELECT * FROM unnest($1::bytea[], $2::text[], $3::bytea[]) ON CONFLICT (digest) DO NOTHING",
        )
        .bind(digests)
        .bind(keys)
        .bind(contents)
        .execute(&mut *connection)
        .await?;
    }
    // Ids go up in the order of the request, which is the order of reading.
    let mut next: i64 = sqlx::query_scalar("SELECT coalesce(max(id), 0) + 1 FROM versions")
        .fetch_one(&mut *connection)
        .await?;
    for batch in plan.versions.chunks(BATCH) {
        insert_versions(connection, batch, plan.revision, next).await?;
        next = next.saturating_add_unsigned(batch.len() as u64);
    }
    Ok(())
}

async fn insert_versions(
    connection: &mut PgConnection,
    batch: &[NewVersion],
    revision: i64,
    first_id: i64,
) -> Result<(), sqlx::Error> {
    fn all<'a, T>(batch: &'a [NewVersion], part: impl Fn(&'a NewVersion) -> T) -> Vec<T> {
        batch.iter().map(part).collect()
    }
    // A body that is missing makes a NULL, which the table refuses.
    sqlx::query(
        "INSERT INTO versions (id, schema, layer, name, bucket, revision, valid_from, data, metadata) \
         SELECT $1 + n.position - 1, n.schema, n.layer, n.name, n.bucket, n.revision, $2, d.id, m.id \
         FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bytea[], $9::bytea[]) \
             WITH ORDINALITY AS n (schema, layer, name, bucket, revision, data, metadata, position) \
         LEFT JOIN bodies AS d ON d.digest = n.data LEFT JOIN bodies AS m ON m.digest = n.metadata",
    )
    .bind(first_id)
    .bind(revision)
    .bind(all(batch, |version| version.identity.schema.as_str()))
    .bind(all(batch, |version| version.identity.layer.as_deref()))
    .bind(all(batch, |version| version.identity.name.as_str()))
    .bind(all(batch, |version| version.bucket.as_str()))
    .bind(all(batch, |version| version.revision))
    .bind(all(batch, |version| version.data.as_bytes().as_slice()))
    .bind(all(batch, |version| version.metadata.as_bytes().as_slice()))
    .execute(connection)
    .await?;
    Ok(())
}
