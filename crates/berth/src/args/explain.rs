//! `berth explain`.

use clap::Args;

use super::{Files, FlavourArg, Output};

/// Explain where the labels of one node come from
///
/// For each label: the source that won, what it beat, and the proof that the chosen route is allowed to carry it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth explain -f examples/telco-site --node atlngamaw01
  berth explain -f site/ --node NAME --label node-role.kubernetes.io/infra
  berth explain -f site/ --node NAME --flavour openshift -o json")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// The node to explain
    #[arg(long, value_name = "NAME")]
    pub(crate) node: String,

    /// Only this label
    #[arg(long, value_name = "KEY")]
    pub(crate) label: Option<String>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    #[command(flatten)]
    pub(crate) output: Output,
}
