//! What can be typed: clap structs, one file per command group.
//!
//! Help order is declaration order, and every argument has a help text (a test proves it).

mod apply;
mod boot;
mod change;
mod cloud_init;
mod common;
mod completion;
mod configdocs;
mod controller;
mod daemon;
mod database;
mod diff;
mod drydock;
mod egress;
mod explain;
mod forecast;
mod groups;
mod ignition;
mod ingress;
mod install;
mod iso;
mod kubeadm;
mod labels;
mod limits;
mod lint;
mod machineconfig;
mod node;
mod node_manifest;
mod plan;
mod pointer;
mod pools;
mod rehearse;
mod render;
mod repository;
mod resolve;
mod revisions;
mod rollout;
mod selector;
mod serve;
mod server;
mod shipyard;
mod store;
mod templates;
mod token;
mod unit;
mod up;
mod workflow;
mod ztp;

use clap::{Parser, Subcommand};

pub(crate) use self::{
    apply::ApplyArgs,
    boot::{ArtefactFormat, BootArgs},
    change::ChangeArgs,
    cloud_init::CloudInitArgs,
    common::{Files, FlavourArg, Format, Output},
    completion::CompletionArgs,
    configdocs::{
        ConfigdocsArgs, ConfigdocsCommand, ConfigdocsCommitArgs, ConfigdocsLoadArgs, ConfigdocsShowArgs,
        ConfigdocsStatusArgs, ConfigdocsVersionsArgs,
    },
    controller::{AdmissionName, ClusterArgs, ControllerArgs, ModeName, StatusArgs},
    daemon::{DaemonArgs, DriftName},
    database::{DatabaseArgs, address_in, check_secrets},
    diff::DiffArgs,
    drydock::{
        DesignValidateArgs, DrydockArgs, DrydockCommand, DrydockDesign, DrydockNode, DrydockTask,
        DrydockTaskCreateArgs, DrydockTaskShowArgs, PromenadeArgs, PromenadeCommand, PromenadeNodeLabels,
    },
    egress::{EgressArgs, EgressCommand, EgressPlanArgs, EgressVerifyArgs, Relabel},
    explain::ExplainArgs,
    forecast::ForecastArgs,
    groups::grouped,
    ignition::IgnitionArgs,
    ingress::{IngressArgs, IngressCheckArgs, IngressCommand, IngressRewriteArgs, IngressShardArgs, Places},
    install::{DoctorArgs, FailureName, InstallAdmission, InstallArgs, InstallModeName, UninstallArgs},
    iso::{IsoArgs, IsoCommand, IsoEmbedArgs, IsoRemoveArgs, IsoRestoreArgs, IsoShowArgs, IsoTarget},
    kubeadm::KubeadmArgs,
    labels::{LabelsArgs, LabelsCheckArgs, LabelsCommand},
    limits::LimitArgs,
    lint::LintArgs,
    machineconfig::MachineConfigArgs,
    node::{NodeArgs, NodeCommand, NodeForceArgs, NodeRepairArgs, NodeShowArgs},
    node_manifest::{InstallName, NodeManifestArgs},
    plan::PlanArgs,
    pointer::PointerArgs,
    pools::PoolsArgs,
    rehearse::RehearseArgs,
    render::RenderArgs,
    repository::RepositoryArgs,
    resolve::ResolveArgs,
    revisions::{RevisionsArgs, RollbackArgs, ShowArgs, TagArgs},
    rollout::{RolloutArgs, RolloutCommand, RolloutPlanArgs},
    selector::SelectorArgs,
    serve::{
        DeploymentConfigurationName, IgnitionServerArgs, IgnitionServerOptions, LogFormat, LogLevel, RelabellingArgs,
        ServeArgs,
    },
    server::ServerArgs,
    shipyard::{
        AirshipServerArgs, ShipyardArgs, ShipyardCommand, ShipyardCommit, ShipyardCreate, ShipyardCreateActionArgs,
        ShipyardCreateConfigdocsArgs, ShipyardFormat, ShipyardGet, ShipyardHelpArgs, ShipyardItem,
    },
    store::{StoreArgs, StoreBackupArgs, StoreCheckArgs, StoreCommand, StoreCompactArgs},
    templates::TemplatesArgs,
    token::{RoleArg, TokenArgs, TokenCommand, TokenCreateArgs, TokenListArgs, TokenRevokeArgs},
    unit::{UnitArgs, UnitCommand, UnitFormat, UnitKubeletArgs},
    up::UpArgs,
    workflow::{
        ActionsArgs, ControlArgs, DescribeArgs, PauseArgs, RelabelArgs, ResumeArgs, RetryArgs, SiteActionArgs,
        SiteActionCommand, SiteActionRecordArgs, StopArgs, StrategyName,
    },
    ztp::{BootLabelsName, FormName, ZtpArgs, ZtpCheckArgs, ZtpCommand},
};

/// Gives every Kubernetes node its labels and its pool before it boots.
///
/// Berth reads a folder of documents (pools, machine configs, label rules, racks, host profiles, nodes) and says for every
/// node which machine-config pool and which labels it gets, where each label comes from and how it reaches the node. It
/// renders what each pool's machines run, forecasts what a change costs, and serves machines their first-boot config.
#[derive(Debug, Parser)]
#[command(
    name = "berth",
    version,
    help_expected = true,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth lint -f site/                      every mistake, with file and line
  berth resolve -f site/                   pool and labels of every node
  berth explain -f site/ --node NAME       where one node's labels come from
  berth plan -f site/ --nodes nodes.yaml   what would change on live nodes
  berth render -f site/ --pool worker      what the machines of a pool get
  berth diff old/ new/                     what a change of documents costs
  berth forecast -f site/ --nodes FILE     how long a rollout takes
  berth rehearse -f site/ --nodes FILE     the same with failures
  berth ignition -f site/ --node NAME      what one machine boots from

Exit codes:
  0  done
  1  the answer is no: there are findings, or a node failed
  2  wrong usage, or input that cannot be read
  3  the cluster or the database could not be reached"
)]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Lint(LintArgs),
    Resolve(ResolveArgs),
    Explain(ExplainArgs),
    Pools(PoolsArgs),
    Plan(PlanArgs),
    Render(RenderArgs),
    Templates(TemplatesArgs),
    Diff(DiffArgs),
    Apply(ApplyArgs),
    Revisions(RevisionsArgs),
    Show(ShowArgs),
    Rollback(RollbackArgs),
    Tag(TagArgs),
    Configdocs(ConfigdocsArgs),
    Relabel(RelabelArgs),
    Actions(ActionsArgs),
    Describe(DescribeArgs),
    Stop(StopArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
    Retry(RetryArgs),
    SiteAction(SiteActionArgs),
    Shipyard(ShipyardArgs),
    Drydock(DrydockArgs),
    Promenade(PromenadeArgs),
    Rollout(RolloutArgs),
    Forecast(ForecastArgs),
    Rehearse(RehearseArgs),
    #[command(name = "machineconfig")]
    MachineConfig(MachineConfigArgs),
    Ignition(IgnitionArgs),
    CloudInit(CloudInitArgs),
    Kubeadm(KubeadmArgs),
    Unit(UnitArgs),
    Ingress(IngressArgs),
    Egress(EgressArgs),
    Up(UpArgs),
    Serve(Box<ServeArgs>),
    IgnitionServer(IgnitionServerArgs),
    Token(TokenArgs),
    Pointer(PointerArgs),
    Iso(IsoArgs),
    Ztp(ZtpArgs),
    NodeManifest(NodeManifestArgs),
    Store(StoreArgs),
    Labels(LabelsArgs),
    Selector(SelectorArgs),
    Install(InstallArgs),
    Uninstall(UninstallArgs),
    Doctor(DoctorArgs),
    Controller(ControllerArgs),
    Daemon(DaemonArgs),
    Status(StatusArgs),
    Node(NodeArgs),
    Completion(CompletionArgs),
}
