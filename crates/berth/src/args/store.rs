//! `berth store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DatabaseArgs, Output};

/// Check, back up and compact the database
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth store check
  berth store backup berth-2026-03-02.db
  berth store compact --database sqlite:/var/lib/berth/berth.db"
)]
pub(crate) struct StoreArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

/// What can be done with the database.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    Check(StoreCheckArgs),
    Backup(StoreBackupArgs),
    Compact(StoreCompactArgs),
}

/// Look through everything that is stored and say what is wrong
///
/// Every document is read and compared with its hash, sealed ones are opened where their key is given, and revisions,
/// tags and reports are counted. Others may read and write meanwhile. The exit code is 1 when something is wrong.
///
/// The JSON form is `{revisions, documents, sealed, problems: [{place, message}]}`. `sealed` counts documents that could
/// not be looked into for want of their key.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth store check
  berth store check --database postgres://berth@db.example.com/berth -o json")]
pub(crate) struct StoreCheckArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Write a copy of the database to a new file
///
/// The copy is one moment's state; others may read and write meanwhile. It is a database of its own: `--database
/// sqlite:FILE` opens it. A database on a server is copied with its own tool, `pg_dump`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth store backup berth-2026-03-02.db
  berth store check --database sqlite:berth-2026-03-02.db")]
pub(crate) struct StoreBackupArgs {
    /// The file to write; it must not exist
    #[arg(value_name = "FILE")]
    pub(crate) to: PathBuf,

    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Give unused space of the database back; no revision is lost
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth store compact
  berth store compact --database sqlite:/var/lib/berth/berth.db")]
pub(crate) struct StoreCompactArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}
