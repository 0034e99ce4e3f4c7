//! The store in one `SQLite` file.
//!
//! One connection writes, a few read. The file is in WAL mode, so readers and the writer do not wait for each other, and
//! every commit is synced: what was acknowledged is there also after a power cut. Writers of other processes wait for
//! the write lock, which every write takes before it reads anything.

#[expect(
    clippy::duplicate_mod,
    reason = "both back ends have the statements about actions in common, on types of their own"
)]
#[path = "action_sql/store.rs"]
mod actions;
mod attached;
mod keeping;
mod migrations;

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use berth_documents::deckhand::{DeckhandDocument, Identity, RedactionKey};
use serde_json::Value;
use sqlx::{
    QueryBuilder, Row as _, Sqlite, SqliteConnection, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous},
};
use tokio::time::sleep;

use crate::{
    body::Digest,
    check::CheckReport,
    document::StoredDocument,
    error::{Conflict, Error},
    plan::{self, Plan},
    ranges,
    revision::{PutResult, Revision, RevisionFilter, StagedVersions, ValidationRecord, Write},
    rows::{self, DocumentRow, VersionRow},
    sealing::{KeyId, SealingKeys},
    store::Store,
};

// The names under which the statements about actions know this back end.
use Sqlite as Db;
use SqliteConnection as Connection;
use SqliteRow as DatabaseRow;
use SqliteStore as Backend;

/// How long a writer waits for the writers of other processes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it is before a file that was locked is opened again, and how often that is tried.
const LOCKED_PAUSE: Duration = Duration::from_millis(10);
const LOCKED_TRIES: u32 = 500;
/// The code of a lock that somebody else holds.
const SQLITE_BUSY: i32 = 5;
/// How long a writer waits for its turn in this process: many writers may stand in line.
const TURN_TIMEOUT: Duration = Duration::from_mins(2);
/// Reads are short and the work of one core.
const READERS: u32 = 4;
/// Rows in one statement: few enough for the limit of 32,766 parameters, enough to save most of the round trips.
const BATCH: usize = 250;

/// The nodes of an action that have no outcome yet. Without the hint all of its nodes are looked through, however many are done.
const OPEN_SUBTASKS: &str = "subtasks INDEXED BY subtasks_open";

/// A store in one file, which several processes of one machine can use at a time.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    path: PathBuf,
    writer: SqlitePool,
    readers: SqlitePool,
    keys: SealingKeys,
}

impl SqliteStore {
    /// Opens the file, makes it if there is none, and brings it to the schema of this program.
    ///
    /// A new file is readable by its owner only.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::NewerSchema`], [`Error::ForeignDatabase`], [`Error::Database`].
    pub async fn open(path: &Path, keys: SealingKeys) -> Result<Self, Error> {
        // SQLite gives the files beside it the same permissions.
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .map_err(|source| Error::File {
                doing: "opening",
                path: path.to_owned(),
                source,
            })?;
        let writer = connect(path).await.map_err(Error::database("opening the file"))?;
        migrations::migrate(&writer, path).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(TURN_TIMEOUT)
            .test_before_acquire(false)
            .connect_lazy_with(connection(path).pragma("query_only", "on"));
        Ok(Self {
            path: path.to_owned(),
            writer,
            readers,
            keys,
        })
    }

    /// Closes the file; writes under way are finished first.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// A transaction that has the write lock from its beginning, so that nothing it reads can change under it.
    async fn write(&self, doing: &'static str) -> Result<Transaction<'static, Sqlite>, Error> {
        self.writer
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(Error::database(doing))
    }

    /// A write to the tables of actions.
    async fn write_actions(&self, doing: &'static str) -> Result<Transaction<'static, Sqlite>, Error> {
        self.write(doing).await
    }

    /// A transaction that sees one state.
    async fn read(&self, doing: &'static str) -> Result<Transaction<'static, Sqlite>, Error> {
        self.readers.begin().await.map_err(Error::database(doing))
    }

    /// Writes a plan down, or only says what it would do.
    async fn apply(
        &self,
        mut transaction: Transaction<'static, Sqlite>,
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

/// Connects for writing. The first of several programs changes the journal; `SQLite` tells the others at once that the file is
/// locked, without the waiting that it does elsewhere, so they wait here.
async fn connect(path: &Path) -> Result<SqlitePool, sqlx::Error> {
    let mut tries = 0;
    loop {
        let connected = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(TURN_TIMEOUT)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_with(connection(path).journal_mode(SqliteJournalMode::Wal))
            .await;
        match connected {
            Err(error) if is_locked(&error) && tries < LOCKED_TRIES => sleep(LOCKED_PAUSE).await,
            done => return done,
        }
        tries += 1;
    }
}

fn is_locked(error: &sqlx::Error) -> bool {
    // The low byte is the kind of error, the rest says more about it.
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.and_then(|code| code.parse::<i32>().ok())
        .is_some_and(|code| code & 0xff == SQLITE_BUSY)
}

fn connection(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_TIMEOUT)
        // With WAL, NORMAL would lose the last acknowledged writes in a power cut. FULL costs one sync per revision.
        .synchronous(SqliteSynchronous::Full)
        .row_buffer_size(1024)
        .optimize_on_close(false, None)
}

#[async_trait]
impl Store for SqliteStore {
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
        sqlx::raw_sql(
            "DELETE FROM validations; DELETE FROM tags; DELETE FROM versions; DELETE FROM bodies; DELETE FROM revisions;",
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

    async fn backup(&self, to: &Path) -> Result<(), Error> {
        keeping::backup(&connection(&self.path), to).await
    }

    async fn compact(&self) -> Result<(), Error> {
        keeping::compact(&self.writer).await
    }
}

fn check_base(latest: i64, write: Write) -> Result<(), Error> {
    let latest = rows::number(latest)?;
    match write.base {
        Some(expected) if expected != latest => Err(Conflict::Stale { expected, latest }.into()),
        _ => Ok(()),
    }
}

async fn latest(connection: &mut SqliteConnection) -> Result<i64, Error> {
    sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM revisions")
        .fetch_one(connection)
        .await
        .map_err(Error::database("reading the newest revision"))
}

/// The rows of one revision. The nodes come first in the joins, or the planner may walk the whole history.
macro_rules! select_revision {
    ($columns:literal) => {
        concat!(
            "SELECT v.id, v.schema, v.layer, v.name, v.bucket, v.revision, v.valid_from, \
                d.digest, m.digest, d.sealed_with",
            $columns,
            " FROM (
                SELECT * FROM versions WHERE valid_to IS NULL AND valid_from <= ?1
                UNION ALL
                SELECT e.* FROM json_each(?2) AS n CROSS JOIN versions AS e INDEXED BY versions_fork_end
                    WHERE e.fork = n.value AND e.valid_to > ?1
                UNION ALL
                SELECT b.* FROM json_each(?3) AS n CROSS JOIN versions AS b INDEXED BY versions_fork_begin
                    WHERE b.fork = n.value AND b.valid_from <= ?1
            ) AS v
            CROSS JOIN bodies AS d ON d.id = v.data
            CROSS JOIN bodies AS m ON m.id = v.metadata"
        )
    };
}

async fn versions(connection: &mut SqliteConnection, revision: i64, latest: i64) -> Result<Vec<VersionRow>, Error> {
    let found = fetch(connection, select_revision!(""), revision, latest).await?;
    let mut versions: Vec<VersionRow> = found.iter().map(version).collect::<Result<_, _>>()?;
    versions.sort_unstable_by_key(|version| version.id);
    Ok(versions)
}

async fn documents(connection: &mut SqliteConnection, revision: i64, latest: i64) -> Result<Vec<DocumentRow>, Error> {
    let found = fetch(connection, select_revision!(", d.content, m.content"), revision, latest).await?;
    let document = |row: &SqliteRow| {
        Ok(DocumentRow {
            version: version(row)?,
            data: row.try_get(10).map_err(column)?,
            metadata: row.try_get(11).map_err(column)?,
        })
    };
    found.iter().map(document).collect()
}

async fn fetch(
    connection: &mut SqliteConnection,
    select: &'static str,
    revision: i64,
    latest: i64,
) -> Result<Vec<SqliteRow>, Error> {
    if revision < 1 {
        return Ok(Vec::new());
    }
    let nodes = ranges::nodes(revision, latest);
    sqlx::query(select)
        .bind(revision)
        .bind(Value::from(nodes.before).to_string())
        .bind(Value::from(nodes.after).to_string())
        .fetch_all(connection)
        .await
        .map_err(Error::database("reading a revision's documents"))
}

fn version(row: &SqliteRow) -> Result<VersionRow, Error> {
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

async fn insert(connection: &mut SqliteConnection, plan: &Plan, now: i64) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO revisions (id, created_at, buckets) VALUES (?1, ?2, ?3)")
        .bind(plan.revision)
        .bind(now)
        .bind(rows::buckets_column(&plan.buckets))
        .execute(&mut *connection)
        .await?;
    for (node, ids) in &plan.close {
        sqlx::query("UPDATE versions SET valid_to = ?1, fork = ?2 WHERE id IN (SELECT value FROM json_each(?3))")
            .bind(plan.revision)
            .bind(node)
            .bind(Value::from(ids.clone()).to_string())
            .execute(&mut *connection)
            .await?;
    }
    for batch in plan.bodies.chunks(BATCH) {
        let mut query = QueryBuilder::<Sqlite>::new("INSERT INTO bodies (digest, sealed_with, content) ");
        query.push_values(batch, |mut row, body| {
            row.push_bind(body.digest.as_bytes().as_slice())
                .push_bind(body.sealed_with.as_ref().map(KeyId::as_str))
                .push_bind(body.content.as_slice());
        });
        query.push(" ON CONFLICT (digest) DO NOTHING");
        query.build().execute(&mut *connection).await?;
    }
    // Ids go up in the order of the request, which is the order of reading.
    let mut id: i64 = sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM versions")
        .fetch_one(&mut *connection)
        .await?;
    for batch in plan.versions.chunks(BATCH) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT INTO versions (id, schema, layer, name, bucket, revision, valid_from, data, metadata) ",
        );
        query.push_values(batch, |mut row, version| {
            id += 1;
            row.push_bind(id)
                .push_bind(&version.identity.schema)
                .push_bind(version.identity.layer.as_ref())
                .push_bind(&version.identity.name)
                .push_bind(&version.bucket)
                .push_bind(version.revision)
                .push_bind(plan.revision);
            for digest in [&version.data, &version.metadata] {
                row.push("(SELECT id FROM bodies WHERE digest = ")
                    .push_bind_unseparated(digest.as_bytes().as_slice())
                    .push_unseparated(")");
            }
        });
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time would tell it on a long history only; the plan tells it at once.
    #[tokio::test]
    async fn reading_a_revision_walks_no_table_from_end_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("berth.db"), SealingKeys::none())
            .await
            .unwrap();
        let explain = concat!("EXPLAIN QUERY PLAN ", select_revision!(", d.content, m.content"));
        let steps: Vec<String> = sqlx::query(explain)
            .bind(1)
            .bind("[1]")
            .bind("[2]")
            .fetch_all(&store.readers)
            .await
            .unwrap()
            .iter()
            .map(|row| row.get(3))
            .collect();
        for index in ["versions_live", "versions_fork_end", "versions_fork_begin"] {
            let used = format!("USING INDEX {index}");
            assert!(steps.iter().any(|step| step.contains(&used)), "{index}: {steps:#?}");
        }
        let walks: Vec<_> = steps
            .iter()
            .filter(|step| step.starts_with("SCAN") && !step.contains("VIRTUAL TABLE"))
            .collect();
        assert!(walks.is_empty(), "{steps:#?}");
    }
}
