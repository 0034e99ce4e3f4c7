//! Where the revisions are: a database or a server.

use clap::Args;

use super::DatabaseArgs;

/// A database on this machine, or a server.
#[derive(Debug, Args)]
pub(crate) struct RepositoryArgs {
    /// Address of a server, such as `https://berth.example.com`; `--database` is not looked at then
    #[arg(long, env = "BERTH_SERVER", hide_env_values = true, value_name = "URL")]
    pub(crate) server: Option<String>,

    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}
