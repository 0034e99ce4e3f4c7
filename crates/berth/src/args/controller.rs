//! `berth controller` and `berth status`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use berth_pools::parse_duration;
use clap::{Args, ValueEnum};

use super::{FlavourArg, LogFormat, LogLevel, Output};

/// Which cluster is meant.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// What the controllers do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    /// Labels, Berths and pre-registration; the rest is left to the Machine Config Operator
    #[default]
    Labels,
    /// Rendering, rollout, drains and clean-up of rendered configs too, where no Machine Config Operator does them
    Full,
}

/// Keep the promise in a cluster
///
/// Creates Nodes with their labels before their kubelets register, keeps the labels right, follows an administrator who
/// moves a Node to another pool, and brings a deleted Node back in its current pool. Several replicas may run: one
/// leads, the others wait with warm caches. Ctrl-C and SIGTERM end it: writes that have begun are finished.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth controller --mode labels
  berth controller --mode full
  berth controller --approve --health-listen 0.0.0.0:8081
  berth controller --no-leader-election --kubeconfig admin.conf")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ControllerArgs {
    /// What the controllers do
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    pub(crate) mode: ModeName,

    /// Decide about certificate requests of kubelets whose names are reserved
    #[arg(long)]
    pub(crate) approve: bool,

    /// Leave Nodes alone that have no Berth
    #[arg(long)]
    pub(crate) no_adoption: bool,

    /// Let a change take away more than a tenth of all labels that Berth set
    #[arg(long)]
    pub(crate) allow_mass_removal: bool,

    /// Set declared labels even where somebody else gave them another value
    #[arg(long)]
    pub(crate) take_over: bool,

    /// Address and port of /healthz, /readyz and /metrics
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) health_listen: Option<SocketAddr>,

    /// This is the only replica
    #[arg(long)]
    pub(crate) no_leader_election: bool,

    /// Namespace of the Lease
    #[arg(long, value_name = "NAMESPACE", default_value = "berth-system")]
    pub(crate) lease_namespace: String,

    /// How long a silent leader keeps the Lease
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "15s")]
    pub(crate) lease_duration: Duration,

    /// Name of this replica, unique among all; without it one is made up
    #[arg(long, value_name = "NAME")]
    pub(crate) identity: Option<String>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    /// Form of the log
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,

    /// How much is logged
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t)]
    pub(crate) log_level: LogLevel,
}

/// Show pools, berths, drift and conflicts of a cluster
///
/// Exit code 1 says that a Berth whose machine has come is not as declared.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth status
  berth status -o json --context lab")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}
