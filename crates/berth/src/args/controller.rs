//! `berth controller` and `berth status`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use berth_pools::parse_duration;
use clap::{Args, ValueEnum};

use super::{FailureName, FlavourArg, LimitArgs, LogFormat, LogLevel, Output, database::SealingArgs};

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

/// How Nodes are checked when they come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdmissionName {
    /// By admission policies, made from the cluster's rules and pools
    #[default]
    Policy,
    /// By the webhook at --admission-listen alone
    Webhook,
    /// Not at all
    Off,
}

/// Run the controllers
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
  berth controller --site site/
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

    /// File or folder with documents, for whose nodes Berths are kept; repeatable, and read again when it changes
    #[arg(
        short = 'f',
        long = "filename",
        visible_alias = "site",
        value_name = "PATH",
        conflicts_with_all = ["database", "database_file"]
    )]
    pub(crate) paths: Vec<PathBuf>,

    /// Database for whose committed revision Berths are kept: `sqlite:PATH` or `postgres://USER@HOST/NAME`
    #[arg(long, env = "BERTH_DATABASE", hide_env_values = true, value_name = "ADDRESS")]
    pub(crate) database: Option<String>,

    /// File with the address of the database, for one with a password
    #[arg(long, value_name = "FILE")]
    pub(crate) database_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) sealing: SealingArgs,

    /// How Nodes are checked when they come in
    #[arg(long, value_name = "WAY", value_enum, default_value_t)]
    pub(crate) admission: AdmissionName,

    /// What happens to a Node whose policy cannot be evaluated
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub(crate) admission_failure: FailureName,

    /// Address and port of the webhook, which checks objects, and Nodes where policies cannot
    #[arg(long, value_name = "ADDR:PORT", requires_all = ["tls_cert", "tls_key"])]
    pub(crate) admission_listen: Option<SocketAddr>,

    /// The webhook's certificate, in PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "admission_listen")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "admission_listen")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Roots of client certificates, in PEM; reviews are then taken only from API servers that show one
    #[arg(long, value_name = "FILE", requires = "admission_listen")]
    pub(crate) admission_client_ca: Option<PathBuf>,

    /// Let a change take away more than a tenth of all labels that Berth set
    #[arg(long)]
    pub(crate) allow_mass_removal: bool,

    /// Set declared labels even where somebody else gave them another value
    #[arg(long)]
    pub(crate) take_over: bool,

    /// Address and port of /healthz, /readyz and /metrics
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) health_listen: Option<SocketAddr>,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

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
