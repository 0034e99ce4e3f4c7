//! `berth install`, `berth uninstall` and `berth doctor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{DriftName, Output, common::FlavourName, controller::ClusterArgs};

/// Which controllers are installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallModeName {
    /// Labels, Berths and pre-registration; the rest is left to the Machine Config Operator
    #[default]
    Labels,
    /// Rendering, rollout and the node daemon too, for clusters without that operator
    Full,
}

/// How Nodes are checked when they come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallAdmission {
    /// By policies where the API server has them, else by the webhook alone
    #[default]
    Auto,
    /// By policies, which the controllers make from rules and pools, and by the webhook for what policies cannot do
    Policy,
    /// By the webhook of the controllers alone
    Webhook,
    /// Not at all, nor are objects; Berth's own annotations are protected all the same
    Off,
}

/// What happens to a Node or an object that cannot be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailureName {
    /// It comes in all the same
    #[default]
    Ignore,
    /// It is kept out; Nodes that policies check are not, because these need nobody to answer
    Fail,
}

/// Install Berth in a cluster
///
/// Applies the definitions, the rights of the controllers, and the controllers themselves. What is there is brought up to
/// date. Definitions of pools and machine configs are left alone where OpenShift has its own. The policies that keep kubelets and node
/// daemons from annotations that are not theirs come with every --admission; the others are made by the controllers, from the
/// cluster's rules and pools. Berths, rules, pools, machine configs and kubelet configs are
/// checked by a webhook of the controllers, with the words of `berth lint`, unless --admission off is given.
///
/// With --dry-run everything is printed as YAML documents and nothing is sent; -o json prints a List, -o name the names.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth install --image registry.example/berth:1 --dry-run
  berth install --image registry.example/berth:1 --approve
  berth install --image registry.example/berth:1 --admission webhook")]
pub(crate) struct InstallArgs {
    /// Image with the berth executable, from a registry that the nodes can pull from
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,

    /// Which controllers are installed
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    pub(crate) mode: InstallModeName,

    /// Namespace of the controllers
    #[arg(long, value_name = "NAMESPACE", default_value = "berth-system")]
    pub(crate) namespace: String,

    /// How many controllers; one of them leads
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    pub(crate) replicas: u32,

    /// Let the controllers decide about certificate requests of kubelets whose names are reserved
    #[arg(long)]
    pub(crate) approve: bool,

    /// How Nodes are checked when they come in
    #[arg(long, value_name = "WAY", value_enum, default_value_t)]
    pub(crate) admission: InstallAdmission,

    /// What happens to a Node or an object that cannot be checked
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub(crate) admission_failure: FailureName,

    /// Roots of client certificates, in PEM; the webhook then answers only API servers that show one
    #[arg(long, value_name = "FILE")]
    pub(crate) admission_client_ca: Option<PathBuf>,

    /// Whose kubelet and NodeRestriction rules hold; without it OpenShift's where the pools are OpenShift's
    #[arg(long, value_name = "FLAVOUR", value_enum)]
    pub(crate) flavour: Option<FlavourName>,

    /// Secret in the namespace whose key `address` names the database with the committed documents
    #[arg(long, value_name = "SECRET")]
    pub(crate) database_secret: Option<String>,

    /// Leave the node daemon out of full mode, where it runs on the hosts themselves
    #[arg(long)]
    pub(crate) no_daemon: bool,

    /// What the node daemon does about things on its host that are not as the config says
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub(crate) drift: DriftName,

    /// Print what would be applied, and ask no cluster
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Remove Berth from a cluster; Nodes stay as they are
///
/// Removes the controllers, their rights, the admission policies and the definitions, and with these all Berths and label
/// rules. Nodes keep their labels. Pools stay unless --pools is given, and definitions that are not Berth's are never
/// touched. Says what it has removed and what it leaves.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth uninstall --dry-run
  berth uninstall --keep-definitions")]
pub(crate) struct UninstallArgs {
    /// Namespace of the controllers
    #[arg(long, value_name = "NAMESPACE", default_value = "berth-system")]
    pub(crate) namespace: String,

    /// Leave the definitions, and with them Berths, rules and pools
    #[arg(long)]
    pub(crate) keep_definitions: bool,

    /// Remove pools and machine configs too, if their definitions are Berth's
    #[arg(long, conflicts_with = "keep_definitions")]
    pub(crate) pools: bool,

    /// Say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Check an installation, and say what to do
///
/// Looks at the API server's version, definitions, rights, workloads, leader, admission, certificates and Berths. Exit code 1
/// says that something needs attention.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth doctor
  berth doctor -o json --context lab")]
pub(crate) struct DoctorArgs {
    /// Namespace of the controllers
    #[arg(long, value_name = "NAMESPACE", default_value = "berth-system")]
    pub(crate) namespace: String,

    /// Which controllers should run
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    pub(crate) mode: InstallModeName,

    /// The controllers decide about certificate requests
    #[arg(long)]
    pub(crate) approve: bool,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}
