//! `berth pools`.

use std::path::PathBuf;

use clap::Args;

use super::{Files, Output};

/// Show which pool each node is in
///
/// Uses OpenShift's membership rules and its error texts. Without `--nodes` the nodes are those of the documents, with the labels they
/// will have; with `--nodes` they are live nodes with the labels they have now. A node in no pool is not an error; a
/// node in two custom pools is, and gives exit code 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth pools -f examples/telco-site
  kubectl get nodes -o yaml > nodes.yaml
  berth pools -f site/ --nodes nodes.yaml
  kubectl get nodes -o json | berth pools -f site/ --nodes - -o json")]
pub(crate) struct PoolsArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Output,
}
