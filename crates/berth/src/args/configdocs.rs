//! `berth configdocs`.

use clap::{Args, Subcommand};

use super::{Files, Output, RepositoryArgs};

/// Stage documents and commit them, as Shipyard does
///
/// Collections, which are buckets, are loaded into a buffer. A commit validates the whole buffer by everything that `berth
/// lint` knows, and makes it the version that the site is at.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth configdocs load site -f site/
  berth configdocs status
  berth configdocs commit --dry-run
  berth configdocs commit
  berth configdocs versions"
)]
pub(crate) struct ConfigdocsArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ConfigdocsCommand,
}

/// What can be done with staged documents.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigdocsCommand {
    Load(ConfigdocsLoadArgs),
    Status(ConfigdocsStatusArgs),
    Commit(ConfigdocsCommitArgs),
    Show(ConfigdocsShowArgs),
    Versions(ConfigdocsVersionsArgs),
}

/// Load a collection into the buffer
///
/// The buffer must be empty, unless `--append` or `--replace` says what to do with what is there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth configdocs load site -f site/
  berth configdocs load global -f global/ --append
  berth configdocs load site -f site/ --replace")]
pub(crate) struct ConfigdocsLoadArgs {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    pub(crate) collection: String,

    #[command(flatten)]
    pub(crate) files: Files,

    /// Keep the other collections of the buffer; this one must not be in it yet
    #[arg(long, conflicts_with = "replace")]
    pub(crate) append: bool,

    /// Empty the buffer first
    #[arg(long)]
    pub(crate) replace: bool,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Show how every collection stands in two versions
///
/// Without versions: what the buffer would change. The JSON form is Shipyard's.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth configdocs status
  berth configdocs status --versions last_site_action,committed -o json")]
pub(crate) struct ConfigdocsStatusArgs {
    /// Two of buffer, committed, `last_site_action` and `successful_site_action`
    #[arg(long, value_name = "ONE,OTHER")]
    pub(crate) versions: Option<String>,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Validate the buffer and make it the committed version
///
/// The exit code is 1 when the documents have errors; they are committed only with `--force` then. The JSON form is
/// Shipyard's status document.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth configdocs commit --dry-run
  berth configdocs commit")]
pub(crate) struct ConfigdocsCommitArgs {
    /// Commit also what has errors
    #[arg(long)]
    pub(crate) force: bool,

    /// Only validate
    #[arg(long, conflicts_with = "force")]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Print the documents of a collection
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth configdocs show site
  berth configdocs show site --version committed -o json")]
pub(crate) struct ConfigdocsShowArgs {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    pub(crate) collection: String,

    /// buffer, committed, `last_site_action` or `successful_site_action`
    #[arg(long, value_name = "VERSION", default_value = "buffer")]
    pub(crate) version: String,

    /// Show secrets as they are
    #[arg(long)]
    pub(crate) cleartext: bool,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// List the versions of the site with their revisions
///
/// The JSON form is `{buffer, committed, last_site_action, successful_site_action}`, each a revision or null.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth configdocs versions
  berth configdocs versions -o json")]
pub(crate) struct ConfigdocsVersionsArgs {
    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}
