//! `berth token`.

use std::{path::PathBuf, time::Duration};

use berth_pools::parse_duration;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::{ClusterArgs, Output};

/// Manage tokens of machines and of API users
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth token create --node NAME --single-use --token-file tokens.json
  berth token list --token-file tokens.json
  berth token revoke ID --token-file tokens.json"
)]
pub(crate) struct TokenArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    Create(TokenCreateArgs),
    List(TokenListArgs),
    Revoke(TokenRevokeArgs),
}

/// `--token-file`.
#[derive(Debug, Args)]
pub(crate) struct TokenFile {
    /// File that holds the tokens, hashed; a running server notices changes
    #[arg(long = "token-file", value_name = "FILE")]
    pub(crate) path: PathBuf,
}

/// Make a token
///
/// With --bootstrap it is a token of the cluster, with which the kubelet of one machine asks for its certificate, and for no
/// other machine's. It is good for one machine and for 24 hours, unless --expires says otherwise. It is written to the
/// cluster, with a `TokenBinding` that says which machine it is for; `berth controller --approve` knows it.
///
/// The secret is printed on standard output, once: the file keeps only its hash. A token for single use is used up by the first
/// config that is fetched with it; for five minutes the same address may fetch the same config again, for retries.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("scope").required(true).args(["pool", "node", "any", "role", "bootstrap"]),
    after_help = "\
Examples:
  berth token create --node NAME --single-use --token-file tokens.json
  berth token create --pool worker --expires 24h --token-file tokens.json
  berth token create --any --comment lab -o json --token-file tokens.json
  berth token create --role operator --comment ana \\
    --token-file api-tokens.json"
)]
pub(crate) struct TokenCreateArgs {
    /// Opens the config of this pool, and those of the nodes in it
    #[arg(long, value_name = "POOL")]
    pub(crate) pool: Option<String>,

    /// Opens the config of this node
    #[arg(long, value_name = "NODE")]
    pub(crate) node: Option<String>,

    /// Opens every config
    #[arg(long)]
    pub(crate) any: bool,

    /// Lets its holder use the API of `berth serve --auth tokens`, and opens no config
    #[arg(long, value_name = "ROLE", value_enum, conflicts_with = "single_use")]
    pub(crate) role: Option<RoleArg>,

    /// Lets the kubelet of this node join the cluster
    #[arg(long, value_name = "NODE", conflicts_with_all = ["single_use", "comment", "token_file"])]
    pub(crate) bootstrap: Option<String>,

    /// How long the token is good for: 24h, 7d; when left out 24h with --bootstrap, else forever
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) expires: Option<Duration>,

    /// The first config fetched with it is the last
    #[arg(long)]
    pub(crate) single_use: bool,

    /// A word for people, shown in the list; the API's records name the holder by it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) comment: String,

    /// File that holds the tokens, hashed; a running server notices changes
    #[arg(long, value_name = "FILE", required_unless_present = "bootstrap")]
    pub(crate) token_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// What the holder of a token may do in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleArg {
    /// Read everything but secrets
    Viewer,
    /// Load and commit documents and relabel nodes, too
    Operator,
    /// See secrets and remove revisions, tags and tasks, too
    Admin,
}

/// List tokens: what each opens, until when, and whether it still does
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth token list --token-file tokens.json
  berth token list --token-file tokens.json -o json")]
pub(crate) struct TokenListArgs {
    #[command(flatten)]
    pub(crate) file: TokenFile,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Take a token back: from now on it opens nothing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth token revoke 5f0a1b2c3d4e5f60 --token-file tokens.json")]
pub(crate) struct TokenRevokeArgs {
    /// The token's name, as `berth token list` shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) file: TokenFile,
}
