//! `berth node`.

use clap::{Args, Subcommand};

use super::{ClusterArgs, Output};

/// Show, force or repair what the daemon of one node does
///
/// A node goes from the rendered config that it runs to the one that its pool wants. These commands say how far it is and what
/// keeps it, have its daemon write everything anew, and put right what is wrong in the cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth node show worker-1
  berth node force worker-1
  berth node repair worker-1 --dry-run")]
pub(crate) struct NodeArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: NodeCommand,
}

/// What can be done with one node.
#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    Show(NodeShowArgs),
    Force(NodeForceArgs),
    Repair(NodeRepairArgs),
}

/// Show what a node runs, what is wanted and what lies between
///
/// Lists what differs between the two configs with what each change needs, what of the host is not as its config says, and what keeps
/// the node from going on. Exit code 1 says that something does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth node show worker-1
  berth node show worker-1 -o json")]
pub(crate) struct NodeShowArgs {
    /// The node
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Have a node's daemon write everything anew and try again
///
/// A config that was tried and given up is tried again. What somebody changed on the host is overwritten. The node is drained and
/// started again where what is written needs it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth node force worker-1")]
pub(crate) struct NodeForceArgs {
    /// The node
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Put right what keeps a node from going on, as far as that is in the cluster
///
/// Corrects annotations that nobody can follow, has the node take its pool's config where the one that it is told to take is gone, and
/// takes back the cordon that a drain left. With --delete-pods it also ends a drain that disruption budgets hold up. Exit code 1 says that something is left that it cannot repair.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth node repair worker-1 --dry-run
  berth node repair worker-1")]
pub(crate) struct NodeRepairArgs {
    /// The node
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Delete the Pods that keep its drain from ending because a disruption budget holds them
    #[arg(long)]
    pub(crate) delete_pods: bool,

    /// Say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}
