//! `berth lint`.

use std::path::PathBuf;

use clap::Args;

use super::{FlavourArg, Output};

/// Find every mistake in a folder of documents
///
/// Parses the documents, builds the site and resolves every node, and shows each finding with its place in the source.
/// The exit code is 1 when there is an error or a warning; notes alone give 0.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth lint -f examples/telco-site
  berth lint -f site/ -f extra.yaml -o json
  kubectl get mcp -o yaml | berth lint -f -
  berth lint --list
  berth lint --explain duplicate-key")]
pub(crate) struct LintArgs {
    /// File or folder with documents; `-` is standard input; repeatable
    ///
    /// Folders are read recursively: files ending in .yaml, .yml or .json, in byte order of their paths. Names that
    /// begin with a dot are skipped.
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "PATH",
        required_unless_present_any = ["explain", "list"]
    )]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    #[command(flatten)]
    pub(crate) output: Output,

    /// Explain one code and exit
    #[arg(long, value_name = "CODE", conflicts_with_all = ["paths", "list"])]
    pub(crate) explain: Option<String>,

    /// List all codes and exit
    #[arg(long, conflicts_with = "paths")]
    pub(crate) list: bool,
}
