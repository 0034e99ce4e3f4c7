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
#[expect(clippy::duplicate_mod, reason = "the same for the statements about documents")]
#[path = "document_sql/store.rs"]
mod documents;
mod migrations;

pub use address::has_password;

use std::{path::Path, time::Duration};

use sqlx::{
    Connection as _, PgConnection, PgPool, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions, PgRow},
};

use crate::{
    check::Checker,
    error::Error,
    plan::{NewVersion, Plan},
    ranges,
    rows::{self, version_columns},
    sealing::{KeyId, SealingKeys},
};

// The names under which the shared statements know this back end.
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

    /// The server looks after its own files.
    #[expect(clippy::unused_async, reason = "a file has to be asked, and waited for")]
    async fn check_engine(&self, _connection: &mut PgConnection, _checker: &mut Checker) -> Result<(), Error> {
        Ok(())
    }

    #[expect(clippy::unused_async, reason = "a file has to be asked, and waited for")]
    async fn copy_to(&self, _to: &Path) -> Result<(), Error> {
        Err(Error::Unsupported {
            what: "PostgreSQL makes its own backups",
            instead: "use pg_dump, or the backups of the database server",
        })
    }

    async fn vacuum(&self) -> Result<(), Error> {
        sqlx::raw_sql("VACUUM (ANALYZE) revisions, bodies, versions, tags, validations, locks")
            .execute(&self.pool)
            .await
            .map_err(Error::database("compacting"))?;
        Ok(())
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

/// Readers lock revisions first too, so nobody can be caught between the tables.
const DELETE_ALL: &str = "LOCK TABLE revisions IN ACCESS EXCLUSIVE MODE; \
    TRUNCATE revisions, versions, bodies, tags, validations RESTART IDENTITY";

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
            version_columns!(),
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

const VERSIONS: &str = select_revision!("");
const DOCUMENTS: &str = select_revision!(", d.content, m.content");

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
