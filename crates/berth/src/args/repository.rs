//! Where the revisions are: a database or a server.

use clap::Args;

use super::{DatabaseArgs, ServerArgs};

/// A server, or where none is named a database on this machine.
#[derive(Debug, Args)]
pub(crate) struct RepositoryArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,

    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}
