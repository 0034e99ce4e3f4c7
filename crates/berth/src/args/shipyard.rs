//! `berth shipyard`: the words of Shipyard's own command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::ServerArgs;

/// Shipyard's own command line, for scripts that have it
///
/// The commands, options and items are those of `shipyard`. Its options for Keystone are taken and not needed:
/// `--server` or `BERTH_SERVER` says where Berth is, `--token-file`, `BERTH_TOKEN` or `OS_AUTH_TOKEN` who asks.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  berth shipyard create action update_labels --param=target_nodes=a,b
  berth shipyard get actions
  berth shipyard describe action/01BTTMFVDKZFRJM80FGD7J1AKN
  berth shipyard create configdocs site --filename=site.yaml --replace
  berth shipyard commit configdocs"
)]
pub(crate) struct ShipyardArgs {
    #[command(flatten)]
    pub(crate) server: AirshipServerArgs,

    /// A UUID that goes with the request into the server's log and the action
    #[arg(long, global = true, value_name = "UUID")]
    pub(crate) context_marker: Option<String>,

    /// Form of the output
    #[arg(long, global = true, value_name = "FORM", value_enum, default_value_t)]
    pub(crate) output_format: ShipyardFormat,

    /// How many notes are shown, from 0 to 5
    #[arg(long, global = true, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=5))]
    pub(crate) verbosity: u8,

    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ShipyardCommand,
}

/// The server that has Airship's services, and who asks, as their command lines are told.
#[derive(Debug, Args)]
#[command(
    mut_arg("server", |arg| arg.global(true)),
    mut_arg("server_ca", |arg| arg.global(true)),
    mut_arg("token_file", |arg| arg.global(true)),
    mut_arg("token", |arg| arg.global(true))
)]
pub(crate) struct AirshipServerArgs {
    #[command(flatten)]
    server: ServerArgs,

    #[command(flatten)]
    keystone: KeystoneArgs,
}

impl AirshipServerArgs {
    /// The same as for other commands.
    pub(crate) fn credentials(self) -> ServerArgs {
        ServerArgs {
            token: self.server.token.or(self.keystone.os_auth_token),
            ..self.server
        }
    }
}

/// Options for Keystone: taken, so that scripts need not be changed.
#[derive(Debug, Args)]
struct KeystoneArgs {
    /// A token that tells the server who asks
    // Refused when it is typed: other users of the machine would see it.
    #[arg(long, global = true, env = "OS_AUTH_TOKEN", hide_env_values = true, hide = true)]
    os_auth_token: Option<String>,

    /// Not needed
    #[arg(long, global = true, hide = true)]
    os_auth_url: Option<String>,

    /// Not needed
    #[arg(long, global = true, hide = true)]
    os_username: Option<String>,

    /// Not needed
    #[arg(long, global = true, hide = true)]
    os_password: Option<String>,

    /// Not needed
    #[arg(long, global = true, hide = true)]
    os_project_name: Option<String>,

    /// Not needed
    #[arg(long, global = true, hide = true)]
    os_project_domain_name: Option<String>,

    /// Not needed
    #[arg(long, global = true, hide = true)]
    os_user_domain_name: Option<String>,

    /// Not needed
    #[arg(long, global = true, hide = true, overrides_with = "no_debug")]
    debug: bool,

    /// Not needed
    #[arg(long, global = true, hide = true)]
    no_debug: bool,
}

/// The forms of Shipyard's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShipyardFormat {
    /// Tables
    #[default]
    Cli,
    /// The answer as the server sent it
    Raw,
    /// The answer, indented
    Format,
}

/// Shipyard's commands.
#[derive(Debug, Subcommand)]
pub(crate) enum ShipyardCommand {
    Create(ShipyardCreateArgs),
    Commit(ShipyardCommitArgs),
    Get(ShipyardGetArgs),
    Describe(ShipyardDescribeArgs),
    Logs(ShipyardLogsArgs),
    Stop(ShipyardStopArgs),
    Pause(ShipyardPauseArgs),
    Unpause(ShipyardUnpauseArgs),
    Help(ShipyardHelpArgs),
}

/// Start an action, or load documents
#[derive(Debug, Args)]
pub(crate) struct ShipyardCreateArgs {
    /// What to create.
    #[command(subcommand)]
    pub(crate) command: ShipyardCreate,
}

/// What can be created.
#[derive(Debug, Subcommand)]
pub(crate) enum ShipyardCreate {
    Action(ShipyardCreateActionArgs),
    Configdocs(ShipyardCreateConfigdocsArgs),
}

/// Start an action
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard create action update_labels --param=target_nodes=a,b")]
pub(crate) struct ShipyardCreateActionArgs {
    /// `update_labels`, or `relabel_nodes`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// A parameter of the action; repeatable
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub(crate) parameters: Vec<String>,

    /// Also when revisions were committed and not used by a site action
    #[arg(long)]
    pub(crate) allow_intermediate_commits: bool,
}

/// Load documents into a collection of the buffer
#[derive(Debug, Args)]
#[command(
    override_usage = "berth shipyard create configdocs [OPTIONS] <COLLECTION>
                  <--filename <FILE>|--directory <FOLDER>|--empty-collection>",
    group = ArgGroup::new("source").required(true).multiple(true).args(["filenames", "directories", "empty_collection"]),
    after_help = "\
Examples:
  berth shipyard create configdocs site --filename=site.yaml
  berth shipyard create configdocs site --directory=site --recurse --replace"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the flags of another command line"
)]
pub(crate) struct ShipyardCreateConfigdocsArgs {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    pub(crate) collection: String,

    /// Keep the other collections of the buffer
    #[arg(long, conflicts_with = "replace")]
    pub(crate) append: bool,

    /// Empty the buffer first
    #[arg(long)]
    pub(crate) replace: bool,

    /// Take all documents of the collection away
    #[arg(long, conflicts_with_all = ["filenames", "directories"])]
    pub(crate) empty_collection: bool,

    /// File with documents; repeatable
    #[arg(long = "filename", value_name = "FILE")]
    pub(crate) filenames: Vec<PathBuf>,

    /// Folder with documents; repeatable
    #[arg(long = "directory", value_name = "FOLDER")]
    pub(crate) directories: Vec<PathBuf>,

    /// Folders in the folders, too
    #[arg(long, requires = "directories")]
    pub(crate) recurse: bool,
}

/// Validate and commit the buffer
#[derive(Debug, Args)]
pub(crate) struct ShipyardCommitArgs {
    /// What to commit.
    #[command(subcommand)]
    pub(crate) command: ShipyardCommit,
}

/// What can be committed.
#[derive(Debug, Subcommand)]
pub(crate) enum ShipyardCommit {
    Configdocs(ShipyardCommitConfigdocsArgs),
}

/// Validate and commit the buffer
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard commit configdocs --dryrun
  berth shipyard commit configdocs")]
pub(crate) struct ShipyardCommitConfigdocsArgs {
    /// Commit also what has errors
    #[arg(long)]
    pub(crate) force: bool,

    /// Only validate
    #[arg(long)]
    pub(crate) dryrun: bool,
}

/// Show actions, documents, workflows or statuses
#[derive(Debug, Args)]
pub(crate) struct ShipyardGetArgs {
    /// What to show.
    #[command(subcommand)]
    pub(crate) command: ShipyardGet,
}

/// What can be shown.
#[derive(Debug, Subcommand)]
pub(crate) enum ShipyardGet {
    Actions(ShipyardGetActionsArgs),
    Configdocs(ShipyardGetConfigdocsArgs),
    Renderedconfigdocs(ShipyardGetRenderedArgs),
    Workflows(ShipyardGetWorkflowsArgs),
    SiteStatuses(ShipyardGetSiteStatusesArgs),
}

/// List the actions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard get actions")]
pub(crate) struct ShipyardGetActionsArgs {}

/// Show how collections stand, or the documents of one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard get configdocs
  berth shipyard get configdocs --collection=site --committed")]
pub(crate) struct ShipyardGetConfigdocsArgs {
    /// The documents of this collection
    #[arg(long, value_name = "COLLECTION")]
    pub(crate) collection: Option<String>,

    #[command(flatten)]
    pub(crate) version: ShipyardVersion,
}

/// Show the documents after layering and substitution
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard get renderedconfigdocs --committed")]
pub(crate) struct ShipyardGetRenderedArgs {
    #[command(flatten)]
    pub(crate) version: ShipyardVersion,
}

/// A version of the site; the buffer unless another is named.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("version").args(["buffer", "committed", "last_site_action", "successful_site_action"]))]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the flags of another command line"
)]
pub(crate) struct ShipyardVersion {
    /// The buffer
    #[arg(long)]
    buffer: bool,

    /// What is committed
    #[arg(long)]
    committed: bool,

    /// What the last site action had
    #[arg(long)]
    last_site_action: bool,

    /// What the last successful site action had
    #[arg(long)]
    successful_site_action: bool,

    /// Show secrets as they are
    #[arg(long)]
    pub(crate) cleartext_secrets: bool,
}

impl ShipyardVersion {
    /// The version's name.
    pub(crate) const fn name(&self) -> &'static str {
        match (self.committed, self.last_site_action, self.successful_site_action) {
            (true, _, _) => "committed",
            (_, true, _) => "last_site_action",
            (_, _, true) => "successful_site_action",
            _ => "buffer",
        }
    }
}

/// List the runs of actions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard get workflows")]
pub(crate) struct ShipyardGetWorkflowsArgs {
    /// Only those that began after this moment
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
}

/// Show how the site's machines stand
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard get site-statuses --status-type=nodes-provision-status")]
pub(crate) struct ShipyardGetSiteStatusesArgs {
    /// `nodes-provision-status` or `machines-power-state`; repeatable
    #[arg(long = "status-type", value_name = "TYPE")]
    pub(crate) types: Vec<String>,
}

/// Show an action, a step, a validation, a workflow or a note
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard describe action/01BTTMFVDKZFRJM80FGD7J1AKN
  berth shipyard describe step/01BTTMFVDKZFRJM80FGD7J1AKN/relabel_nodes
  berth shipyard describe step relabel_nodes \\
    --action=01BTTMFVDKZFRJM80FGD7J1AKN")]
pub(crate) struct ShipyardDescribeArgs {
    #[command(flatten)]
    pub(crate) item: ShipyardItem,
}

/// Show what a step has written
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard logs step/01BTTMFVDKZFRJM80FGD7J1AKN/relabel_nodes")]
pub(crate) struct ShipyardLogsArgs {
    #[command(flatten)]
    pub(crate) item: ShipyardItem,

    /// Which try
    #[arg(long = "try", value_name = "NUMBER")]
    pub(crate) attempt: Option<u32>,
}

/// End a running action
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard stop action/01BTTMFVDKZFRJM80FGD7J1AKN")]
pub(crate) struct ShipyardStopArgs {
    #[command(flatten)]
    pub(crate) item: ShipyardItem,
}

/// Hold a running action
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard pause action/01BTTMFVDKZFRJM80FGD7J1AKN")]
pub(crate) struct ShipyardPauseArgs {
    #[command(flatten)]
    pub(crate) item: ShipyardItem,
}

/// Let a paused action go on
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard unpause action/01BTTMFVDKZFRJM80FGD7J1AKN")]
pub(crate) struct ShipyardUnpauseArgs {
    #[command(flatten)]
    pub(crate) item: ShipyardItem,
}

/// `action/ID`, `step/ID/STEP`, `action ID`, `step STEP --action=ID` and the like.
#[derive(Debug, Args)]
pub(crate) struct ShipyardItem {
    /// The item, as `KIND/NAME` or `KIND NAME`
    #[arg(value_name = "ITEM", required = true, num_args = 1..=2)]
    pub(crate) words: Vec<String>,

    /// The action of a step or a validation that is named alone
    #[arg(long, value_name = "ID")]
    pub(crate) action: Option<String>,
}

/// Say what can be done
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth shipyard help
  berth shipyard help actions")]
pub(crate) struct ShipyardHelpArgs {
    /// actions or configdocs
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
}
