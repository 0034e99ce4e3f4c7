//! `berth drydock` and `berth promenade`: the words of those services' command lines.

use clap::{Args, Subcommand};

use super::{AirshipServerArgs, Output};

/// Drydock's own command line, for scripts that have it
///
/// As far as tasks that relabel, nodes and designs go. `--server` or `BERTH_SERVER` says where Berth is, `--token-file`,
/// `BERTH_TOKEN` or `OS_AUTH_TOKEN` who asks. Tasks are printed as JSON, as Drydock prints them.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth drydock task create -a relabel_nodes -n node1,node2 --block
  berth drydock task show -t 0f0e0d0c-0b0a-4908-8706-050400000000
  berth drydock node list
  berth drydock design validate"
)]
pub(crate) struct DrydockArgs {
    #[command(flatten)]
    pub(crate) server: AirshipServerArgs,

    /// What to do.
    #[command(subcommand)]
    pub(crate) command: DrydockCommand,
}

/// Drydock's commands.
#[derive(Debug, Subcommand)]
pub(crate) enum DrydockCommand {
    Task(DrydockTaskArgs),
    Node(DrydockNodeArgs),
    Design(DrydockDesignArgs),
}

/// Start a task, or look at tasks
#[derive(Debug, Args)]
pub(crate) struct DrydockTaskArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: DrydockTask,
}

/// What can be done with tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum DrydockTask {
    Create(DrydockTaskCreateArgs),
    List(DrydockTaskListArgs),
    Show(DrydockTaskShowArgs),
    Resume(DrydockTaskResumeArgs),
    Delete(DrydockTaskDeleteArgs),
}

/// Start a task that relabels nodes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth drydock task create -a relabel_nodes -n node1,node2
  berth drydock task create -a relabel_nodes -t masters --block")]
pub(crate) struct DrydockTaskCreateArgs {
    /// `relabel_nodes`
    #[arg(short = 'a', long, value_name = "ACTION")]
    pub(crate) action: String,

    /// The design; the committed revision unless given
    #[arg(short = 'd', long, value_name = "URL")]
    pub(crate) design_ref: Option<String>,

    /// Names of nodes, with commas between
    #[arg(short = 'n', long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) node_names: Vec<String>,

    /// Names of racks, with commas between
    #[arg(short = 'r', long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) rack_names: Vec<String>,

    /// Tags of nodes, with commas between
    #[arg(short = 't', long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) node_tags: Vec<String>,

    /// Wait until the task has ended or waits for a person
    #[arg(short = 'b', long, overrides_with = "no_block")]
    pub(crate) block: bool,

    /// Do not wait, which is the default
    #[arg(long)]
    no_block: bool,

    /// Seconds between two looks at the task
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) poll_interval: u32,
}

/// List tasks with their subtasks
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth drydock task list")]
pub(crate) struct DrydockTaskListArgs {}

/// Show one task, or one of its subtasks
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth drydock task show -t 0f0e0d0c-0b0a-4908-8706-050400000000")]
pub(crate) struct DrydockTaskShowArgs {
    /// The task
    #[arg(short = 't', long, value_name = "ID")]
    pub(crate) task_id: String,

    /// Wait until the task has ended or waits for a person
    #[arg(short = 'b', long, overrides_with = "no_block")]
    pub(crate) block: bool,

    /// Do not wait, which is the default
    #[arg(long)]
    no_block: bool,
}

/// Let a task go on that waits for a person
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth drydock task resume -t 0f0e0d0c-0b0a-4908-8706-050400000000")]
pub(crate) struct DrydockTaskResumeArgs {
    /// The task
    #[arg(short = 't', long, value_name = "ID")]
    pub(crate) task_id: String,
}

/// Remove tasks that ended long ago
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth drydock task delete --days 30")]
pub(crate) struct DrydockTaskDeleteArgs {
    /// How long ago, in days
    #[arg(short = 'd', long, value_name = "DAYS", default_value_t = 90)]
    pub(crate) days: u32,
}

/// Look at nodes
#[derive(Debug, Args)]
pub(crate) struct DrydockNodeArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: DrydockNode,
}

/// What can be done with nodes.
#[derive(Debug, Subcommand)]
pub(crate) enum DrydockNode {
    List(DrydockNodeListArgs),
}

/// List the declared nodes, and what the cluster shows of them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth drydock node list")]
pub(crate) struct DrydockNodeListArgs {
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Validate a design
#[derive(Debug, Args)]
pub(crate) struct DrydockDesignArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: DrydockDesign,
}

/// What can be done with designs.
#[derive(Debug, Subcommand)]
pub(crate) enum DrydockDesign {
    Validate(DesignValidateArgs),
}

/// Validate the documents of a revision, as Shipyard does at a commit
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  berth drydock design validate
  berth drydock design validate -h /api/v1.0/revisions/3/rendered-documents",
    disable_help_flag = true
)]
pub(crate) struct DesignValidateArgs {
    /// The design; the committed revision unless given
    #[arg(short = 'h', long, value_name = "URL")]
    pub(crate) design_href: Option<String>,

    /// Print help
    #[arg(long, action = clap::ArgAction::HelpLong)]
    help: Option<bool>,
}

/// Promenade's node labels, for scripts that have them
///
/// As far as labels and designs go. `--server` or `BERTH_SERVER` says where Berth is, `--token-file`, `BERTH_TOKEN` or
/// `OS_AUTH_TOKEN` who asks.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth promenade node-labels show node1
  berth promenade node-labels update node1 --label=ceph-osd=enabled --dry-run
  berth promenade validate-design"
)]
pub(crate) struct PromenadeArgs {
    #[command(flatten)]
    pub(crate) server: AirshipServerArgs,

    /// What to do.
    #[command(subcommand)]
    pub(crate) command: PromenadeCommand,
}

/// Promenade's commands.
#[derive(Debug, Subcommand)]
pub(crate) enum PromenadeCommand {
    NodeLabels(PromenadeNodeLabelsArgs),
    ValidateDesign(DesignValidateArgs),
}

/// The labels of one node
#[derive(Debug, Args)]
pub(crate) struct PromenadeNodeLabelsArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: PromenadeNodeLabels,
}

/// What can be done with the labels of a node.
#[derive(Debug, Subcommand)]
pub(crate) enum PromenadeNodeLabels {
    Show(PromenadeShowArgs),
    Update(PromenadeUpdateArgs),
}

/// Print the labels of a node, declared and live
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth promenade node-labels show node1")]
pub(crate) struct PromenadeShowArgs {
    /// The node
    #[arg(value_name = "NODE")]
    pub(crate) node: String,
}

/// Give a node exactly these labels, by the server's strategy
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth promenade node-labels update node1 --label=ceph-osd=enabled --dry-run")]
pub(crate) struct PromenadeUpdateArgs {
    /// The node
    #[arg(value_name = "NODE")]
    pub(crate) node: String,

    /// A label; repeatable
    #[arg(long = "label", value_name = "KEY=VALUE", required = true)]
    pub(crate) labels: Vec<String>,

    /// Only say what would change
    #[arg(long)]
    pub(crate) dry_run: bool,
}
