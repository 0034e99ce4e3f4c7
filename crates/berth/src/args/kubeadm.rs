//! `berth kubeadm`.

use clap::Args;

use super::{Files, boot::ArtefactFormat};

/// Make a kubeadm config with a machine's boot labels
///
/// It holds the registration of the node: its name, the kubelet's `node-labels`, and the taints of its Berth. How the
/// machine finds the cluster is for you to add, under `discovery`. The rules of upstream Kubernetes hold, whatever the
/// site says: that is what kubeadm installs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth kubeadm -f examples/telco-site --node atlngamaw01 > join.yaml
  berth kubeadm -f site/ --node first --init")]
pub(crate) struct KubeadmArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// The machine
    #[arg(long, value_name = "NAME")]
    pub(crate) node: String,

    /// For the machine that makes the cluster (`InitConfiguration`), not one that joins it
    #[arg(long)]
    pub(crate) init: bool,

    /// Output format; kubeadm reads both
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = ArtefactFormat::Yaml)]
    pub(crate) format: ArtefactFormat,
}
