//! `berth ztp`.

use std::path::PathBuf;

use berth_site::Release;
use clap::{Args, Subcommand, ValueEnum};

use super::{FlavourArg, Output};

/// Make the manifests that a hub installs a cluster from
///
/// The whole set for a hub that runs Assisted Service: cluster, hosts with role, pool and labels, their static networks,
/// Ignition overrides that carry the boot labels (so that they are there when the node registers, not after it is Ready), and
/// the extra manifests with pools, machine configs and the routers' place. The folder hub/ has what the hub needs once for all
/// clusters: `AgentServiceConfig`, Provisioning and `ClusterImageSet`.
///
/// The release decides what is made. What it cannot do is said. Remote workers come by a supported way: with a load balancer
/// of your own, with user-managed networking, or at day 2, in the folder day2/.
///
/// `SiteConfig` files (ran.openshift.io) are read too; they become `ClusterInstance` objects.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  berth ztp -f examples/telco-site
  berth ztp -f examples/telco-site --as clusterinstance -o hub/georgia
  berth ztp -f examples/telco-site --release 4.12 -o hub/georgia
  berth ztp -f examples/telco-site --unsupported --hub-release 2.16
  berth ztp -f siteconfig.yaml
  berth ztp check hub/georgia"
)]
pub(crate) struct ZtpArgs {
    /// The command, if one is named.
    #[command(subcommand)]
    pub(crate) command: Option<ZtpCommand>,

    /// File or folder with documents; `-` is standard input; repeatable
    ///
    /// Folders are read recursively: files ending in .yaml, .yml or .json, in byte order of their paths. Names that
    /// begin with a dot are skipped.
    #[arg(short = 'f', long = "filename", value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Which objects
    #[arg(long = "as", value_name = "FORM", value_enum, default_value_t)]
    pub(crate) form: FormName,

    /// The release that is installed, such as 4.18; without it, the Cluster's
    #[arg(long, value_name = "4.NN")]
    pub(crate) release: Option<Release>,

    /// Let remote workers in at day 0 by validations that do not block; not supported
    #[arg(long)]
    pub(crate) unsupported: bool,

    /// When overrides carry the boot labels
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) boot_labels: BootLabelsName,

    /// The Secret with the pull secret, in the cluster's namespace of the hub
    #[arg(long, value_name = "NAME", default_value = "pull-secret")]
    pub(crate) pull_secret: String,

    /// The `ClusterImageSet` of the hub; without it, `openshift-RELEASE`
    #[arg(long, value_name = "NAME")]
    pub(crate) image_set: Option<String>,

    /// The release image of the `ClusterImageSet`; without it, the first patch release
    #[arg(long, value_name = "IMAGE")]
    pub(crate) release_image: Option<String>,

    /// The release of Advanced Cluster Management on the hub, such as 2.16
    ///
    /// Before 2.17, `--unsupported` switches validations off by a `ConfigMap` for the whole hub instead of by an annotation of the
    /// cluster.
    #[arg(long, value_name = "2.NN")]
    pub(crate) hub_release: Option<Release>,

    /// The public key with which people log in to the machines
    #[arg(long, value_name = "KEY")]
    pub(crate) ssh_key: Option<String>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    /// Where the manifests go: a folder, with a file for each object, or `-` for one stream
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = "-")]
    pub(crate) output: PathBuf,

    /// Format of the stream
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = super::ArtefactFormat::Yaml)]
    pub(crate) format: super::ArtefactFormat,
}

/// The commands below `ztp`.
#[derive(Debug, Subcommand)]
pub(crate) enum ZtpCommand {
    Check(ZtpCheckArgs),
}

/// Find what the hub would refuse in manifests that you have
///
/// Reads the manifests of one or more clusters, the extra manifests inside `ConfigMap`s too, and shows each finding with file
/// and line. Files ending in .cfg, and texts under such a key of a `ConfigMap`, are read as `HAProxy` configurations of the load
/// balancer in front of the routers. The exit code is 1 when there is an error or a warning; notes alone give 0.
///
/// What is installed cannot be changed at will. Such changes show when the hub's side is known: by `--against`, by an exported
/// `ClusterInstance`, which says what its operator saw last, by exported `Agent`s, or by the site (`-f`).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth ztp check hub/georgia
  berth ztp check hub/ --release 4.18 -o json
  berth ztp check hub/georgia -f site/
  oc get clusterinstance,aci,infraenv,bmh,agent -n georgia -o yaml > now.yaml
  berth ztp check hub/georgia --against now.yaml")]
pub(crate) struct ZtpCheckArgs {
    /// File or folder with manifests; `-` is standard input
    #[arg(value_name = "DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// What the hub has: an export from it, or the folder that was applied last; changes that it refuses are found; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) against: Vec<PathBuf>,

    /// The site that the manifests are for: labels that it does not declare are found too; repeatable
    #[arg(short = 'f', long = "filename", value_name = "PATH")]
    pub(crate) site: Vec<PathBuf>,

    /// The release that is installed, such as 4.18
    #[arg(long, value_name = "4.NN")]
    pub(crate) release: Option<Release>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// When overrides carry the boot labels, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BootLabelsName {
    /// Where the kubelet's unit reads them, by role, platform and release
    #[default]
    Auto,
    /// On all machines
    Always,
    /// On none: labels come when a node is Ready
    Never,
}

/// The forms by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormName {
    /// Every object on its own
    #[default]
    Raw,
    /// A `ClusterInstance`, from which the hub makes the objects
    #[value(name = "clusterinstance")]
    ClusterInstance,
}
