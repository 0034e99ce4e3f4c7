//! `berth labels`.

use berth_labels::Writer;
use clap::{Args, Subcommand, ValueEnum};

use super::{FlavourArg, Output};

/// Check labels against the rules of kubelets
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth labels check rack=r1 node-role.kubernetes.io/infra="
)]
pub(crate) struct LabelsArgs {
    /// The question.
    #[command(subcommand)]
    pub(crate) command: LabelsCommand,
}

/// The questions.
#[derive(Debug, Subcommand)]
pub(crate) enum LabelsCommand {
    Check(LabelsCheckArgs),
}

/// Check labels: are they legal, and who may set them
///
/// A label is `key=value`, or `key` for an empty value. The exit code is 1 when a label is not legal, or when the writer
/// named by `--as` may not set it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth labels check rack=r1 node-role.kubernetes.io/infra=
  berth labels check --flavour openshift node-role.kubernetes.io/worker=
  berth labels check --as controller node-role.kubernetes.io/infra -o json
  berth labels check --list 'rack=r1, zone=a,,rack=r2'")]
pub(crate) struct LabelsCheckArgs {
    /// Labels to check, each `key=value` or `key`
    #[arg(value_name = "LABEL", required_unless_present = "list")]
    pub(crate) labels: Vec<String>,

    /// A whole `--node-labels` value, read as the kubelet reads it
    #[arg(long, value_name = "STRING", conflicts_with = "labels")]
    pub(crate) list: Option<String>,

    /// Who sets the labels
    #[arg(long = "as", value_name = "WRITER", value_enum, default_value_t)]
    pub(crate) writer: WriterName,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// The writers by name.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum WriterName {
    /// The kubelet's `--node-labels` flag
    #[default]
    Flag,
    /// A kubelet that creates its Node
    Create,
    /// A kubelet that updates its Node
    Update,
    /// A controller with rights on Nodes
    Controller,
}

impl From<WriterName> for Writer {
    fn from(name: WriterName) -> Self {
        match name {
            WriterName::Flag => Self::Flag,
            WriterName::Create => Self::Create,
            WriterName::Update => Self::Update,
            WriterName::Controller => Self::Controller,
        }
    }
}
