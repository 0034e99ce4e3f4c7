//! The objects of a cluster on disk, in `SQLite`.
//!
//! One table holds what is there. Changes are written in the order of their revisions, many in one transaction when many
//! come at once, and a write is answered when its change is on disk.

use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt as _, path::Path, sync::Arc, time::Duration};

use serde_json::Value;
use sqlx::{
    Row as _, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use crate::storage::{Place, Storage, WriteRecord};

/// The name of the file in the folder.
const FILE: &str = "cluster.sqlite";

/// Why the objects cannot be kept.
#[derive(Clone, Debug, Error)]
pub enum JournalError {
    /// The folder cannot be made, or not written to.
    #[error("cannot write to the folder {folder}")]
    Folder {
        /// The folder.
        folder: String,
        /// Why.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The database cannot be read or written.
    #[error("cannot use {file}: the folder must be writable and on a local disk")]
    Database {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// An object in the database is not JSON.
    #[error("{file} holds an object that cannot be read; move the file away to begin anew")]
    Damaged {
        /// The file.
        file: String,
    },
    /// Writing has failed before.
    #[error("the cluster's objects cannot be written to disk any more: {0}")]
    Broken(String),
}

/// How far writing has come.
#[derive(Clone, Debug, Default)]
struct Progress {
    revision: u64,
    broken: Option<String>,
}

/// Keeps changes on disk.
#[derive(Debug)]
pub(crate) struct Journal {
    changes: mpsc::UnboundedSender<Arc<WriteRecord>>,
    progress: watch::Receiver<Progress>,
}

impl Journal {
    /// Opens the database in a folder and reads what is in it.
    pub(crate) async fn open(folder: &Path, remembered: usize) -> Result<(Self, Storage), JournalError> {
        std::fs::create_dir_all(folder).map_err(|source| JournalError::Folder {
            folder: folder.display().to_string(),
            source: Arc::new(source),
        })?;
        let path = folder.join(FILE);
        let file = path.display().to_string();
        let refuse = |source: sqlx::Error| JournalError::Database {
            file: file.clone(),
            source: Arc::new(source),
        };
        // It has Secrets in it. SQLite gives the files beside it the same permissions.
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(|source| JournalError::Folder {
                folder: folder.display().to_string(),
                source: Arc::new(source),
            })?;
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(Duration::from_secs(5));
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_with(options)
            .await
            .map_err(refuse)?;
        for statement in [
            "CREATE TABLE IF NOT EXISTS objects (resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, \
             object TEXT NOT NULL, PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID",
            "CREATE TABLE IF NOT EXISTS progress (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL)",
            "INSERT OR IGNORE INTO progress VALUES (1, 0)",
        ] {
            sqlx::query(statement).execute(&pool).await.map_err(refuse)?;
        }
        let storage = read(&pool, &file, remembered).await?;
        let (changes, receiver) = mpsc::unbounded_channel();
        let (sender, progress) = watch::channel(Progress {
            revision: storage.revision(),
            broken: None,
        });
        tokio::spawn(write_all(pool, receiver, sender));
        Ok((Self { changes, progress }, storage))
    }

    /// Takes a change. Called in the order of revisions.
    pub(crate) fn record(&self, change: Arc<WriteRecord>) {
        // If the writer is gone, whoever waits for the revision is told.
        let _ = self.changes.send(change);
    }

    /// Waits until the change of a revision is on disk.
    pub(crate) async fn flushed(&self, revision: u64) -> Result<(), JournalError> {
        let mut progress = self.progress.clone();
        let reached = progress
            .wait_for(|progress| progress.revision >= revision || progress.broken.is_some())
            .await
            .map_err(|_| JournalError::Broken("the writer has ended".to_owned()))?;
        match &reached.broken {
            Some(why) => Err(JournalError::Broken(why.clone())),
            None => Ok(()),
        }
    }
}

async fn read(pool: &SqlitePool, file: &str, remembered: usize) -> Result<Storage, JournalError> {
    let refuse = |source: sqlx::Error| JournalError::Database {
        file: file.to_owned(),
        source: Arc::new(source),
    };
    let damaged = || JournalError::Damaged { file: file.to_owned() };
    let revision: i64 = sqlx::query("SELECT revision FROM progress")
        .fetch_one(pool)
        .await
        .and_then(|row| row.try_get(0))
        .map_err(refuse)?;
    let rows = sqlx::query("SELECT resource, namespace, name, object FROM objects")
        .fetch_all(pool)
        .await
        .map_err(refuse)?;
    let mut objects = Vec::with_capacity(rows.len());
    for row in rows {
        let resource: String = row.try_get(0).map_err(refuse)?;
        let namespace: String = row.try_get(1).map_err(refuse)?;
        let name: String = row.try_get(2).map_err(refuse)?;
        let text: String = row.try_get(3).map_err(refuse)?;
        let object: Value = serde_json::from_str(&text).map_err(|_| damaged())?;
        objects.push((resource, Place::new(namespace, name), object));
    }
    if revision == 0 && objects.is_empty() {
        return Ok(Storage::new(remembered));
    }
    let revision = u64::try_from(revision).map_err(|_| damaged())?;
    Ok(Storage::restore(remembered, revision, objects))
}

/// Writes until nobody sends changes any more.
async fn write_all(
    pool: SqlitePool,
    mut changes: mpsc::UnboundedReceiver<Arc<WriteRecord>>,
    progress: watch::Sender<Progress>,
) {
    let mut batch = Vec::new();
    while changes.recv_many(&mut batch, 1_000).await > 0 {
        let last = batch.last().map_or(0, |change| change.revision);
        match write(&pool, &batch).await {
            Ok(()) => progress.send_modify(|progress| progress.revision = last),
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "changes cannot be written to disk"
                );
                progress.send_modify(|progress| progress.broken = Some(error.to_string()));
                return;
            }
        }
        batch.clear();
    }
    pool.close().await;
}

async fn write(pool: &SqlitePool, batch: &[Arc<WriteRecord>]) -> Result<(), sqlx::Error> {
    let mut transaction = pool.begin().await?;
    for change in batch {
        let query = match &change.after {
            Some(object) => sqlx::query("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)")
                .bind(change.resource.to_string())
                .bind(change.place.namespace.clone())
                .bind(change.place.name.clone())
                .bind(object.to_string()),
            None => sqlx::query("DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?")
                .bind(change.resource.to_string())
                .bind(change.place.namespace.clone())
                .bind(change.place.name.clone()),
        };
        query.execute(&mut *transaction).await?;
    }
    let last = batch.last().map_or(0, |change| change.revision);
    sqlx::query("UPDATE progress SET revision = ?")
        .bind(i64::try_from(last).unwrap_or(i64::MAX))
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await
}
