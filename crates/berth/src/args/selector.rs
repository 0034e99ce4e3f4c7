//! `berth selector`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::Output;

/// Convert a label selector, to debug it
///
/// `--to-map` gives the plain map that some APIs want instead of a selector; `--invert` gives the labels a node needs to
/// match, and the constraints it must meet besides. The selector is an argument in JSON or YAML, or is read from a file, which may
/// also be a MachineConfigPool or an `IngressController`, whose `nodeSelector` is taken. A conversion that is not possible
/// gives exit code 1.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("conversion").required(true).args(["to_map", "invert"]),
    group = ArgGroup::new("source").required(true).args(["selector", "file"]),
    after_help = "\
Examples:
  berth selector --to-map '{matchLabels: {rack: r1}}'
  berth selector --invert -f pool.yaml
  berth selector --invert -f pool.yaml --choose zone=a
  kubectl get mcp infra -o yaml | berth selector --invert -f -"
)]
pub(crate) struct SelectorArgs {
    /// The plain map that means the same
    #[arg(long)]
    pub(crate) to_map: bool,

    /// The labels that satisfy the selector
    #[arg(long)]
    pub(crate) invert: bool,

    /// The selector, in JSON or YAML; `-` is standard input
    #[arg(value_name = "JSON")]
    pub(crate) selector: Option<String>,

    /// File with a selector, a MachineConfigPool or an `IngressController`; `-` is standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Value to take where `In` allows several; repeatable
    #[arg(long, value_name = "KEY=VALUE", requires = "invert")]
    pub(crate) choose: Vec<String>,

    #[command(flatten)]
    pub(crate) output: Output,
}
