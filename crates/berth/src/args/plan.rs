//! `berth plan`.

use std::path::PathBuf;

use clap::Args;

use super::{Files, FlavourArg, Output};

/// Show what would change on the live nodes
///
/// Per node: the labels to set and to remove, those kept, those in conflict, the pool before and after, and whether the move
/// costs a reboot. Nothing is changed. Errors and conflicts give exit code 1. Nodes among the documents are not used: what
/// is live is what `--nodes` says.
///
/// With `-o wide` each label stands below its node: `+` set, `~` changed, `-` removed, `!` in conflict.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth plan -f examples/telco-site --nodes examples/telco-cluster/nodes.yaml
  kubectl get nodes -o json | berth plan -f site/ --nodes -
  berth plan -f site/ --nodes nodes.yaml -o wide
  berth plan -f site/ --nodes nodes.yaml --promenade -o json")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: PathBuf,

    /// Use Promenade's strategy: what is not declared is removed, unless its key contains `kubernetes.io`
    #[arg(long)]
    pub(crate) promenade: bool,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    #[command(flatten)]
    pub(crate) output: Output,
}
