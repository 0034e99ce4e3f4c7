//! `berth apply`.

use clap::Args;

use super::{Files, Output, RepositoryArgs};

/// Store a folder of documents as a new revision
///
/// What the bucket holds becomes what the folder holds: documents that are not in the folder any more are taken away, other
/// buckets stay as they are. What changes is shown; when nothing does, no revision is made. Kubernetes documents are kept
/// in the Airship envelope, in which Berth reads them too. Documents with storagePolicy encrypted need a sealing key.
///
/// The exit code is 1 when the documents are refused; nothing is stored then.
///
/// The JSON form is `{bucket, dry_run, revision, changes: [{change, schema, layer, name}]}`; `change` is created, modified
/// or deleted, `revision` the newest one afterwards.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth apply -f site/ --dry-run
  berth apply -f site/
  berth apply -f site/ --bucket atlanta --server https://berth.example.com")]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// The bucket that takes the documents
    #[arg(long, value_name = "NAME", default_value = "site")]
    pub(crate) bucket: String,

    /// Only show what would change
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}
