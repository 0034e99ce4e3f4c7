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
#[expect(clippy::duplicate_mod, reason = "the same for the statements about documents")]
#[path = "document_sql/store.rs"]
mod documents;
mod keeping;
mod migrations;

use std::{
    fs::OpenOptions,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use sqlx::{
    QueryBuilder, Sqlite, SqliteConnection, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous},
};
use tokio::time::sleep;

use crate::{
    check::Checker,
    error::Error,
    plan::Plan,
    ranges,
    rows::{self, version_columns},
    sealing::{KeyId, SealingKeys},
};

// The names under which the shared statements know this back end.
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

    /// What the file itself has wrong.
    async fn check_engine(&self, connection: &mut SqliteConnection, checker: &mut Checker) -> Result<(), Error> {
        keeping::check(connection, checker).await
    }

    async fn copy_to(&self, to: &Path) -> Result<(), Error> {
        keeping::backup(&connection(&self.path), to).await
    }

    async fn vacuum(&self) -> Result<(), Error> {
        keeping::compact(&self.writer).await
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

const DELETE_ALL: &str =
    "DELETE FROM validations; DELETE FROM tags; DELETE FROM versions; DELETE FROM bodies; DELETE FROM revisions;";

/// The rows of one revision. The nodes come first in the joins, or the planner may walk the whole history.
macro_rules! select_revision {
    ($columns:literal) => {
        concat!(
            version_columns!(),
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

const VERSIONS: &str = select_revision!("");
const DOCUMENTS: &str = select_revision!(", d.content, m.content");

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
    use sqlx::Row as _;

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
