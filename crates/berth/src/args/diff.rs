//! `berth diff`.

use clap::Args;

use super::{FlavourArg, Output, RepositoryArgs};

/// Compare two folders or revisions: what changes, what it costs
///
/// Per pool: files, units, drop-ins, kernel arguments, extensions and settings of the pool that differ, each with what it
/// needs on a machine (none, daemon-reload, reload, restart, drain, reboot), and for all together. Text is shown as a
/// unified diff. Per node: the labels that are set or removed, and its pool before and after.
///
/// Either side is a folder, a file or a revision: a number, `latest`, `committed`, `buffer` or a tag. What exists as a path is
/// a path; `revision/3` is always the revision.
///
/// The exit code is 0 when nothing differs, 1 when something does, and 2 when either side cannot be read or rendered.
///
/// The JSON form is `{pools: [{pool, old, new, changes: [{kind, name, change, actions[]}], actions[]}], nodes: [{node,
/// pool_before, pool_after, set{}, remove[], actions[]}]}`.
/// `old` and `new` are names of rendered configs, or null where the pool does not exist. `kind` is one of file, directory, link, unit,
/// drop-in, kernel-argument, extension, kernel-type, os-image, extensions-image, fips, order, user, section or setting; `change` is
/// added, removed or changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth diff site-before/ site-after/
  berth diff site-before/ site-after/ --pool worker
  berth diff 3 4
  berth diff committed site/
  berth diff site-before/ site-after/ -o json | jq '.pools[].actions'
  git worktree add ../main main && berth diff ../main/site site")]
pub(crate) struct DiffArgs {
    /// The documents as they were: a folder, a file or a revision
    #[arg(value_name = "OLD")]
    pub(crate) old: String,

    /// The documents as they shall be: a folder, a file or a revision; `-` is standard input
    #[arg(value_name = "NEW")]
    pub(crate) new: String,

    /// Only this pool, and the nodes that are in it before or after
    #[arg(long, value_name = "POOL")]
    pub(crate) pool: Option<String>,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    #[command(flatten)]
    pub(crate) output: Output,
}
