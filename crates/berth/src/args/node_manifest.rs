//! `berth node-manifest`.

use clap::{Args, ValueEnum};

use super::{ArtefactFormat, Files, FlavourArg};

/// Print the Node of a machine that has not booted yet
///
/// For installations that you provision yourself: the Node is created before its kubelet registers, with all its labels, role
/// labels too, and its taints. An assisted installation would wait for it forever, so there it is refused.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth node-manifest -f site/ --node worker-3
  berth node-manifest -f site/ --node worker-3 --install user-provisioned")]
pub(crate) struct NodeManifestArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// The machine
    #[arg(long, value_name = "NAME")]
    pub(crate) node: String,

    /// Who installs the machine; without it, the hub if the documents know its management controller
    #[arg(long, value_name = "WAY", value_enum)]
    pub(crate) install: Option<InstallName>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = ArtefactFormat::Yaml)]
    pub(crate) format: ArtefactFormat,
}

/// Who installs a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallName {
    /// You do
    UserProvisioned,
    /// Assisted Service on a hub does
    Assisted,
}
