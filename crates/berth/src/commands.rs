//! The commands, one file each: read, ask the pure crates, print.

mod actions;
mod apply;
mod cloud_init;
mod completion;
mod configdocs;
mod control;
mod controller;
mod daemon;
mod describe;
mod diff;
mod doctor;
mod drydock;
mod egress_plan;
mod egress_verify;
mod explain;
mod forecast;
mod ignition;
mod ignition_server;
mod ingress_check;
mod ingress_rewrite;
mod ingress_shard;
mod install;
mod iso_embed;
mod iso_remove;
mod iso_restore;
mod iso_show;
mod kubeadm;
mod labels_check;
mod lint;
mod machineconfig;
mod node;
mod node_manifest;
mod plan;
mod pointer;
mod pools;
mod rehearse;
mod relabel;
mod render;
mod resolve;
mod revisions;
mod rollback;
mod rollout_plan;
mod selector;
mod serve;
mod shipyard;
mod show;
mod site_action;
mod status;
mod store;
mod tag;
mod templates;
mod token_create;
mod token_list;
mod token_revoke;
mod unit_kubelet;
#[cfg(feature = "up")]
mod up;
mod ztp;
mod ztp_check;

use std::{ffi::OsString, io::Read};

use berth_clock::Clock;

use self::control::Verb;
use crate::{
    args::{
        Command, ConfigdocsCommand, EgressCommand, IngressCommand, IsoCommand, LabelsCommand, RolloutCommand,
        SiteActionCommand, StoreCommand, TokenCommand, UnitCommand, ZtpCommand,
    },
    exit::Exit,
    failure::Failure,
    origin::Origin,
    output::Printer,
};

/// Runs the command that was typed.
pub(crate) fn run(
    command: Command,
    typed: &[OsString],
    stdin: &mut dyn Read,
    clock: &Clock,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    match command {
        Command::Install(args) => install::install(&args, clock, printer),
        Command::Uninstall(args) => install::uninstall(&args, printer),
        Command::Doctor(args) => doctor::run(&args, clock, printer),
        Command::Controller(args) => controller::run(&args, clock),
        Command::Daemon(args) => daemon::run(&args, clock, printer),
        Command::Status(args) => status::run(&args, clock, printer),
        Command::Node(args) => node::run(&args, clock, printer),
        Command::Completion(args) => completion::run(&args, printer),
        Command::Lint(args) => lint::run(&args, stdin, printer),
        Command::Resolve(args) => resolve::run(&args, stdin, printer),
        Command::Explain(args) => explain::run(&args, stdin, printer),
        Command::Pools(args) => pools::run(&args, stdin, printer),
        Command::Plan(args) => plan::run(&args, stdin, printer),
        Command::Render(args) => render::run(&args, stdin, printer),
        Command::Templates(args) => templates::run(&args, stdin, printer),
        Command::Diff(args) => diff::run(&args, stdin, clock, printer),
        Command::Apply(args) => apply::run(&args, stdin, clock, printer),
        Command::Revisions(args) => revisions::run(&args, clock, printer),
        Command::Show(args) => show::run(&args, clock, printer),
        Command::Rollback(args) => rollback::run(&args, clock, printer),
        Command::Tag(args) => tag::run(&args, clock, printer),
        Command::Configdocs(args) => match args.command {
            ConfigdocsCommand::Load(args) => configdocs::load(&args, stdin, clock, printer),
            ConfigdocsCommand::Status(args) => configdocs::status(&args, clock, printer),
            ConfigdocsCommand::Commit(args) => configdocs::commit(&args, clock, printer),
            ConfigdocsCommand::Show(args) => configdocs::show(&args, clock, printer),
            ConfigdocsCommand::Versions(args) => configdocs::versions(&args, clock, printer),
        },
        Command::Relabel(args) => relabel::run(&args, printer),
        Command::Actions(args) => actions::run(&args, printer),
        Command::Describe(args) => describe::run(&args, printer),
        Command::Stop(args) => control::run(Verb::Stop, &args.control, printer),
        Command::Pause(args) => control::run(Verb::Pause, &args.control, printer),
        Command::Resume(args) => control::run(Verb::Resume, &args.control, printer),
        Command::Retry(args) => control::retry(&args, printer),
        Command::SiteAction(args) => match args.command {
            SiteActionCommand::Record(args) => site_action::record(&args, clock, printer),
        },
        Command::Shipyard(args) => shipyard::run(args, stdin, printer),
        Command::Drydock(args) => drydock::run(args, printer),
        Command::Promenade(args) => drydock::run_promenade(args, printer),
        Command::Rollout(args) => match args.command {
            RolloutCommand::Plan(args) => rollout_plan::run(&args, stdin, printer),
        },
        Command::Forecast(args) => forecast::run(&args, stdin, &Origin::new(typed, clock), printer),
        Command::Rehearse(args) => rehearse::run(&args, stdin, &Origin::new(typed, clock), printer),
        Command::MachineConfig(args) => machineconfig::run(&args, stdin, printer),
        Command::Ignition(args) => ignition::run(&args, stdin, printer),
        Command::CloudInit(args) => cloud_init::run(&args, stdin, printer),
        Command::Kubeadm(args) => kubeadm::run(&args, stdin, printer),
        Command::Unit(args) => match args.command {
            UnitCommand::Kubelet(args) => unit_kubelet::run(&args, stdin, printer),
        },
        #[cfg(feature = "up")]
        Command::Up(args) => up::run(&args, stdin, clock, printer),
        #[cfg(not(feature = "up"))]
        Command::Up(_) => Err(Failure::Argument {
            message: "this executable was built without the feature `up`, as those for clusters are".to_owned(),
            hint: Some("`cargo install --path crates/berth` installs one that has it".to_owned()),
        }),
        Command::Serve(args) => serve::run(&args, clock, printer),
        Command::Ingress(args) => match args.command {
            IngressCommand::Check(args) => ingress_check::run(&args, stdin, printer),
            IngressCommand::Rewrite(args) => ingress_rewrite::run(&args, stdin, printer),
            IngressCommand::Shard(args) => ingress_shard::run(&args, stdin, printer),
        },
        Command::Egress(args) => match args.command {
            EgressCommand::Plan(args) => egress_plan::run(&args, stdin, printer),
            EgressCommand::Verify(args) => egress_verify::run(&args, stdin, printer),
        },
        Command::IgnitionServer(args) => ignition_server::run(&args.options, clock, printer),
        Command::Token(args) => match args.command {
            TokenCommand::Create(args) => token_create::run(&args, clock, printer),
            TokenCommand::List(args) => token_list::run(&args, clock, printer),
            TokenCommand::Revoke(args) => token_revoke::run(&args, clock, printer),
        },
        Command::Pointer(args) => pointer::run(&args, stdin, printer),
        Command::Iso(args) => match args.command {
            IsoCommand::Embed(args) => iso_embed::run(&args, stdin, printer),
            IsoCommand::Show(args) => iso_show::run(&args, printer),
            IsoCommand::Remove(args) => iso_remove::run(&args, printer),
            IsoCommand::Restore(args) => iso_restore::run(&args, printer),
        },
        Command::Ztp(args) => match &args.command {
            None => ztp::run(&args, stdin, printer),
            Some(ZtpCommand::Check(args)) => ztp_check::run(args, stdin, printer),
        },
        Command::NodeManifest(args) => node_manifest::run(&args, stdin, printer),
        Command::Store(args) => match args.command {
            StoreCommand::Check(args) => store::check(&args, printer),
            StoreCommand::Backup(args) => store::backup(&args, printer),
            StoreCommand::Compact(args) => store::compact(&args, printer),
        },
        Command::Labels(args) => match args.command {
            LabelsCommand::Check(args) => labels_check::run(&args, printer),
        },
        Command::Selector(args) => selector::run(&args, stdin, printer),
    }
}
