//! `berth daemon`.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use berth_pools::parse_duration;
use clap::{Args, ValueEnum};

use super::{LogFormat, LogLevel, controller::ClusterArgs};

/// What is done about things on the host that are not as the config says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriftName {
    /// They are reported, and left alone
    #[default]
    Report,
    /// They are put right
    Repair,
    /// The node is Degraded until somebody puts them right
    Degrade,
}

impl DriftName {
    /// The word on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Repair => "repair",
            Self::Degrade => "degrade",
        }
    }
}

/// Run the node daemon
///
/// Makes its machine what the pool of its Node wants: files, units, SSH keys, kernel arguments and the operating system, with
/// no more restarts, drains and reboots than the change needs. It speaks the annotations of the Machine Config Operator's daemon.
/// What it does is on the disk first, in /etc/berth/state, so that it can be ended at any moment. A config that does not make
/// a healthy node is taken back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth daemon --node-name worker-1 --kubeconfig /etc/berth/kubeconfig
  berth daemon --root /host --drift repair
  berth daemon --drift repair --print-unit > berth-daemon.service
  berth daemon --health-deadline 5m --probe 'curl -fs localhost:8080/healthz'")]
pub(crate) struct DaemonArgs {
    /// Name of the Node; without it the name of the host
    #[arg(long, env = "BERTH_NODE_NAME", value_name = "NAME")]
    pub(crate) node_name: Option<String>,

    /// Folder that the file system of the host is below
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    pub(crate) root: PathBuf,

    /// What is done about things on the host that are not as the config says
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub(crate) drift: DriftName,

    /// How long a node may take to be healthy after a change before the change is taken back
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10m")]
    pub(crate) health_deadline: Duration,

    /// Command of the host that has to succeed after a change; repeatable
    #[arg(long = "probe", value_name = "COMMAND")]
    pub(crate) probes: Vec<String>,

    /// Reboot without the firmware where the host can
    #[arg(long)]
    pub(crate) kexec: bool,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    /// Form of the log
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,

    /// How much is logged
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t)]
    pub(crate) log_level: LogLevel,

    /// Print a systemd unit that runs this command with these arguments, and end
    #[arg(long)]
    pub(crate) print_unit: bool,

    /// Run this program of the host in its root, and nothing else
    #[arg(last = true, hide = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
