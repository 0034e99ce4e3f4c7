//! `berth rehearse`.

use std::path::PathBuf;

use clap::Args;

use super::ChangeArgs;

/// Simulate a rollout on a copy of the cluster, with failures
///
/// Takes the nodes as they were observed, applies the labels of the site, and lets planner and node daemons do their work:
/// each node is told, drained, rebooted and taken back, as on the cluster, only that an hour takes no time. It says when
/// each node is out, who is out when the window closes, and what a failure would change. Where nothing goes wrong it says what
/// `berth forecast` says.
///
/// A scenario is a small text: `fail NODE lost`, `fail NODE stuck-drain`, `fail NODE refuses`, `fail NODE slow-boot 40m`,
/// `45m power-off NODE`, `2h power-on NODE`, `1h pause POOL`, `2h resume POOL`, one to a line.
///
/// With `--window` the exit code is 1 when the change does not fit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth rehearse -f site/ --nodes nodes.yaml --window 4h
  berth rehearse -f site/ --nodes nodes.yaml --fail worker-3
  berth rehearse -f site/ --nodes nodes.yaml --fail worker-3=slow-boot:40m
  berth rehearse -f site/ --nodes nodes.yaml --scenario bad-night.txt
  kubectl get nodes -o json | berth rehearse -f site/ --nodes - -o json")]
pub(crate) struct RehearseArgs {
    #[command(flatten)]
    pub(crate) change: ChangeArgs,

    /// What goes wrong, and when
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,

    /// Let a node fail: NODE does not come back from its reboot, or NODE=stuck-drain, NODE=refuses, NODE=slow-boot:40m; repeatable
    #[arg(long, value_name = "NODE")]
    pub(crate) fail: Vec<String>,

    /// Print everything that happens, step by step
    #[arg(long)]
    pub(crate) journal: bool,
}
