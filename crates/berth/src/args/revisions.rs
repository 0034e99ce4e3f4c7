//! `berth revisions`, `berth show`, `berth rollback` and `berth tag`.

use clap::Args;

use super::{Output, RepositoryArgs};

/// List the revisions with their buckets and tags
///
/// The JSON form is `[{revision, created, buckets[], tags[]}]`, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth revisions
  berth revisions --tag committed -o json")]
pub(crate) struct RevisionsArgs {
    /// Only revisions with this tag; repeatable: with any of them
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Print the documents of a revision
///
/// As they are written, or with `--rendered` after layering and substitution. The data of documents with storagePolicy
/// encrypted is shown as a hash unless it is asked for. `status` says in which bucket a document is, and in which
/// revision it last changed; `berth apply` does not mind it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth show latest
  berth show 3 --rendered
  berth show committed --bucket site -o json")]
pub(crate) struct ShowArgs {
    /// A number, `latest`, `committed`, `buffer`, or a tag: the newest revision that has it
    #[arg(value_name = "REVISION")]
    pub(crate) revision: String,

    /// After layering and substitution
    #[arg(long)]
    pub(crate) rendered: bool,

    /// Only the documents of this bucket
    #[arg(long, value_name = "NAME")]
    pub(crate) bucket: Option<String>,

    /// Show secrets as they are
    #[arg(long)]
    pub(crate) cleartext: bool,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Make a new revision with the documents of an earlier one
///
/// Nothing is lost: the revisions in between stay. Revision 0 is the empty one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth rollback 3 --dry-run
  berth rollback 3")]
pub(crate) struct RollbackArgs {
    /// A number, `committed`, or a tag: the newest revision that has it
    #[arg(value_name = "REVISION")]
    pub(crate) revision: String,

    /// Only show what would change
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Give a revision a tag, or take one away
///
/// Some tags mean something: `committed` marks the revision that the site is at, `site-action-success` and
/// `site-action-failure` those that were acted on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth tag 3 reviewed
  berth tag latest reviewed --data '{by: ada}'
  berth tag 3 reviewed --delete")]
pub(crate) struct TagArgs {
    /// A number, `latest`, `committed`, `buffer`, or a tag: the newest revision that has it
    #[arg(value_name = "REVISION")]
    pub(crate) revision: String,

    /// The tag
    #[arg(value_name = "TAG")]
    pub(crate) tag: String,

    /// What to keep with the tag: a mapping in YAML or JSON
    #[arg(long, value_name = "MAPPING")]
    pub(crate) data: Option<String>,

    /// Take the tag away
    #[arg(long, conflicts_with = "data")]
    pub(crate) delete: bool,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}
