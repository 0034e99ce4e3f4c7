//! `berth relabel`, `berth actions`, `berth describe`, `berth stop|pause|resume|retry` and `berth site-action`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum, builder::RangedU64ValueParser};

use super::{Output, RepositoryArgs, ServerArgs};

/// Give nodes the labels that the committed documents declare
///
/// One action of a server for all of the nodes: each gets its labels in one patch, and has its own outcome. A node that
/// fails stops no other; `berth retry` runs again what failed. The exit code with `--wait` is 1 when a node failed.
///
/// The JSON form is the action as `berth describe` shows it, or with `--dry-run` `{committed_rev_id, strategy, nodes:[{name,
/// diff{set{}, changed{}, removed{}}, protected[], message}]}`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("which").required(true).multiple(true).args(["nodes", "filters", "filter_file", "all"]),
    after_help = "\
Examples:
  berth relabel worker-1 worker-2 --dry-run
  berth relabel worker-1 worker-2 --wait
  berth relabel --filter rack=rack1 --filter tag=storage --wait
  berth relabel worker-1 worker-2 --filter label=gpu=yes --wait
  berth relabel --all --strategy mirror --dry-run"
)]
#[expect(clippy::struct_excessive_bools, reason = "they are flags that are typed one by one")]
pub(crate) struct RelabelArgs {
    /// The nodes
    #[arg(value_name = "NODE")]
    pub(crate) nodes: Vec<String>,

    /// Nodes that meet a criterion; repeatable: all of them. Of nodes that are named, too, those that meet it
    ///
    /// One of `name=A,B`, `tag=A,B`, `rack=A,B`, `label=KEY=VALUE` and `rack-label=KEY=VALUE`. Of several names any will
    /// do.
    #[arg(long = "filter", value_name = "CRITERION")]
    pub(crate) filters: Vec<String>,

    /// Nodes that a Drydock node filter selects, in YAML or JSON
    #[arg(long, value_name = "FILE", conflicts_with = "filters")]
    pub(crate) filter_file: Option<PathBuf>,

    /// All nodes of the committed documents
    #[arg(long, conflicts_with_all = ["nodes", "filters", "filter_file"])]
    pub(crate) all: bool,

    /// Only say what would change
    #[arg(long, conflicts_with = "wait")]
    pub(crate) dry_run: bool,

    /// Show every outcome as it comes, and end with the action
    #[arg(long)]
    pub(crate) wait: bool,

    /// What happens to labels that are not declared
    #[arg(long, value_name = "STRATEGY", value_enum, default_value = "owned")]
    pub(crate) strategy: StrategyName,

    /// Let the action take away more than a tenth of all owned labels
    #[arg(long)]
    pub(crate) allow_mass_removal: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// What happens to labels that are not declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyName {
    /// They are removed, except those of protected domains and those that identify a pool
    Mirror,
    /// Those that Berth has set are removed
    Owned,
    /// What Promenade did: as mirror, but every label with kubernetes.io in its key stays
    Promenade,
}

impl StrategyName {
    /// The word for the server.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Owned => "owned",
            Self::Promenade => "promenade",
        }
    }
}

/// List the actions of a server, newest first
///
/// The JSON form is Shipyard's, with `progress` and `strategy` beside it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth actions
  berth actions --limit 500 -o json
  berth actions --lifecycle Processing,Paused")]
pub(crate) struct ActionsArgs {
    /// How many
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: usize,

    /// Only those that stand so; several with commas between them
    #[arg(long, value_name = "WORDS", value_enum, value_delimiter = ',', ignore_case = true)]
    pub(crate) lifecycle: Vec<Lifecycle>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// How an action stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum Lifecycle {
    /// It has not begun
    Pending,
    /// Nodes are relabelled
    Processing,
    /// It waits until somebody lets it go on
    Paused,
    /// All nodes are as declared
    Complete,
    /// Some are not
    Failed,
}

/// Show an action with its steps and the outcome of every node
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth describe action/01BTTMFVDKZFRJM80FGD7J1AKN
  berth describe 01BTTMFVDKZFRJM80FGD7J1AKN -o json")]
pub(crate) struct DescribeArgs {
    #[command(flatten)]
    pub(crate) action: ActionArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// One action of a server.
#[derive(Debug, Args)]
pub(crate) struct ActionArgs {
    /// The action, as `action/ID` or its id alone
    #[arg(value_name = "ACTION")]
    pub(crate) action: String,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// An action that is steered, and how that is told: the JSON form is the action as `berth describe` shows it.
#[derive(Debug, Args)]
pub(crate) struct ControlArgs {
    #[command(flatten)]
    pub(crate) action: ActionArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Stop a running action after the nodes in progress
///
/// Nodes that have begun are finished; the others stay as they are.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth stop action/01BTTMFVDKZFRJM80FGD7J1AKN")]
pub(crate) struct StopArgs {
    #[command(flatten)]
    pub(crate) control: ControlArgs,
}

/// Pause a running action after the nodes in progress
///
/// Nodes that have begun are finished; the others wait.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth pause action/01BTTMFVDKZFRJM80FGD7J1AKN")]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) control: ControlArgs,
}

/// Resume a paused action
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth resume action/01BTTMFVDKZFRJM80FGD7J1AKN")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) control: ControlArgs,
}

/// Run an action again for the nodes that failed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth retry action/01BTTMFVDKZFRJM80FGD7J1AKN --wait")]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    pub(crate) action: ActionArgs,

    /// Show every outcome as it comes, and end with the action
    #[arg(long)]
    pub(crate) wait: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Record what was done to a whole site
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct SiteActionArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: SiteActionCommand,
}

/// What can be done with the record.
#[derive(Debug, Subcommand)]
pub(crate) enum SiteActionCommand {
    Record(SiteActionRecordArgs),
}

/// Say that a site action took place at a revision
///
/// Berth does not deploy sites; this records that somebody did, as Shipyard's `deploy_site` and `update_site` do: with the
/// tag `site-action-success` or `site-action-failure`. A server refuses to relabel nodes of a site before its first
/// site action.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth site-action record
  berth site-action record --revision 12 --failure --name update_site")]
pub(crate) struct SiteActionRecordArgs {
    /// A number, `committed`, or a tag
    #[arg(long, value_name = "REVISION", default_value = "committed")]
    pub(crate) revision: String,

    /// It failed
    #[arg(long)]
    pub(crate) failure: bool,

    /// What was done
    #[arg(long, value_name = "NAME", default_value = "deploy_site")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) repository: RepositoryArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}
