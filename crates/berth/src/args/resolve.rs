//! `berth resolve`.

use clap::Args;

use super::{Files, FlavourArg, Output};

/// Show the pool and the labels of every node
///
/// The JSON form also says for each label where it comes from, what it beat and by which route it reaches the node.
/// Errors in the documents are shown on standard error and give exit code 1; what can be resolved is printed all the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth resolve -f examples/telco-site
  berth resolve -f site/ -o wide
  berth resolve -f examples/telco-site --node atlngamaw01 -o yaml
  berth resolve -f site/ -o json | jq '.[] | {node, pool}'")]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// Only this node; repeatable
    #[arg(long = "node", value_name = "NAME")]
    pub(crate) nodes: Vec<String>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    #[command(flatten)]
    pub(crate) output: Output,
}
