//! Check, backup and compaction of a file.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqliteConnection, SqlitePool, sqlite::SqliteConnectOptions,
};

use crate::{check::Checker, error::Error, rows::column};

/// What `SQLite` says itself.
pub(super) async fn check(connection: &mut SqliteConnection, checker: &mut Checker) -> Result<(), Error> {
    let doing = "checking";
    let lines: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check")
        .fetch_all(&mut *connection)
        .await
        .map_err(Error::database(doing))?;
    for line in lines.into_iter().filter(|line| line != "ok") {
        checker.problem("file", line);
    }
    let dangling = sqlx::query("PRAGMA foreign_key_check")
        .fetch_all(&mut *connection)
        .await
        .map_err(Error::database(doing))?;
    for row in &dangling {
        let (table, target): (String, String) = (row.try_get(0).map_err(column)?, row.try_get(2).map_err(column)?);
        checker.problem(
            format!("table {table}"),
            format!("a row names a row of {target} that is not there"),
        );
    }
    Ok(())
}

/// Copies the file as it is at one moment, through a connection of its own: readers and the writer go on.
///
/// The copy appears under its name only when it is whole and on the disk.
pub(super) async fn backup(options: &SqliteConnectOptions, to: &Path) -> Result<(), Error> {
    let doing = "writing the backup";
    let file_error = |source| Error::File {
        doing,
        path: to.to_owned(),
        source,
    };
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    let partial: PathBuf = to.with_file_name(name);
    for path in [to, partial.as_path()] {
        if path.exists() {
            return Err(Error::File {
                doing,
                path: path.to_owned(),
                source: std::io::ErrorKind::AlreadyExists.into(),
            });
        }
    }
    let target = partial.to_str().ok_or(Error::Unsupported {
        what: "the path of a backup must be UTF-8",
        instead: "write it elsewhere and move it",
    })?;
    let mut connection = options.connect().await.map_err(Error::database(doing))?;
    let copied = sqlx::query("VACUUM INTO ?1")
        .bind(target)
        .execute(&mut connection)
        .await
        .map_err(Error::database(doing));
    let published = match copied {
        Ok(_) => publish(&partial, to).map_err(file_error),
        Err(error) => Err(error),
    };
    if published.is_err() {
        // What remains is of no use, and the error that counts is the first one.
        let _ = std::fs::remove_file(&partial);
    }
    published?;
    connection.close().await.map_err(Error::database(doing))
}

fn publish(partial: &Path, to: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let file = File::open(partial)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.sync_all()?;
    std::fs::rename(partial, to)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

pub(super) async fn compact(writer: &SqlitePool) -> Result<(), Error> {
    let doing = "compacting";
    let mut connection = writer.acquire().await.map_err(Error::database(doing))?;
    for sql in ["VACUUM", "PRAGMA optimize", "PRAGMA wal_checkpoint(TRUNCATE)"] {
        sqlx::raw_sql(sql)
            .execute(&mut *connection)
            .await
            .map_err(Error::database(doing))?;
    }
    Ok(())
}
