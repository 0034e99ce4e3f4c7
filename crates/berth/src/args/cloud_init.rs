//! `berth cloud-init`.

use clap::Args;

use super::{
    Files, FlavourArg,
    boot::{ArtefactFormat, BootArgs},
};

/// Make cloud-init user data with a machine's boot labels
///
/// It writes the files that hand the labels to the kubelet. Labels that have to reach the Node by another route are named
/// in comments at the top.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth cloud-init -f examples/telco-site --node atlngamaw01
  berth cloud-init -f site/ --node n1 --way generator --node-binary berth-node
  berth cloud-init -f site/ --node n1 --unit kubelet.service --way dropin")]
pub(crate) struct CloudInitArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// The machine
    #[arg(long, value_name = "NAME")]
    pub(crate) node: String,

    #[command(flatten)]
    pub(crate) boot: BootArgs,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    /// Output format; cloud-init itself reads YAML
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = ArtefactFormat::Yaml)]
    pub(crate) format: ArtefactFormat,
}
