//! `berth unit`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::FlavourArg;

/// Inspect the kubelet's systemd unit
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth unit kubelet --unit kubelet.service --labels rack=r1"
)]
pub(crate) struct UnitArgs {
    /// The question.
    #[command(subcommand)]
    pub(crate) command: UnitCommand,
}

/// The questions.
#[derive(Debug, Subcommand)]
pub(crate) enum UnitCommand {
    Kubelet(UnitKubeletArgs),
}

/// Make the drop-in that gives a kubelet its labels, or show its command
///
/// Reads the unit and its drop-ins as systemd does and prints a drop-in that repeats the command with one more
/// `--node-labels` flag. The files themselves stay as they are. `-o json` shows the commands as systemd splits them with that
/// drop-in in place, and the labels that the kubelet registers with.
///
/// A unit to which no flag can be added safely is refused with file and line, and exit code 1. So is a label with which
/// the kubelet would not start: it is left out, and the exit code says so.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth unit kubelet --unit kubelet.service --labels rack=r1,zone=a
  systemctl cat kubelet.service | berth unit kubelet --unit - --labels rack=r1
  berth unit kubelet --unit kubelet.service --dropin kubelet.service.d -o json
  berth unit kubelet --unit kubelet.service -o json | jq '.exec[0].argv'")]
pub(crate) struct UnitKubeletArgs {
    /// The unit file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) unit: PathBuf,

    /// A drop-in, or a folder of drop-ins; repeatable
    ///
    /// Drop-ins count in the order of their file names, not in the order given. Of two with the same name the one that is
    /// given first counts, as if it were in /etc and the other in /usr/lib.
    #[arg(long = "dropin", alias = "drop-in", value_name = "FILE")]
    pub(crate) dropins: Vec<PathBuf>,

    /// Labels for the kubelet, `key=value,…`; repeatable
    #[arg(long, value_name = "LABELS")]
    pub(crate) labels: Vec<String>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: UnitFormat,
}

/// The output formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnitFormat {
    /// The drop-in, to be put into kubelet.service.d
    #[default]
    Conf,
    /// For programs; the fields are stable
    Json,
}
