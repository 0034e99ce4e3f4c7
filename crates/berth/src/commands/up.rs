//! `berth up`: everything in one process, on simulated machines.

mod comparison;
mod daemons;
mod following;
mod run;
mod scenario;
mod services;
mod view;
mod world;

use std::{io::Read, num::NonZeroUsize};

use berth_clock::Clock;
use berth_documents::DocumentSet;
use berth_sim::play;

use self::{scenario::Scenario, world::World};
use crate::{
    args::UpArgs,
    exit::Exit,
    failure::Failure,
    input,
    output::Printer,
    site::Loaded,
    sources::{Example, Reading, Source as _},
};

/// The same scenario gives the same transcript.
const SEED: u64 = 1;

/// Runs the command.
pub(crate) fn run(
    args: &UpArgs,
    stdin: &mut dyn Read,
    clock: &Clock,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    let scenario = match &args.scenario {
        Some(file) => Some(Scenario::read(file)?),
        None => None,
    };
    if let Some(scenario) = scenario.as_ref().filter(|_| args.without_berth) {
        let transcript = runtime.block_on(play(&scenario.text, SEED));
        printer.data(&transcript.map_err(|error| scenario.failure(&error))?)?;
        return Ok(Exit::Done);
    }
    let mut set = if args.paths.is_empty() {
        runtime.block_on(example())?
    } else {
        input::read_documents(&args.paths, stdin)?
    };
    if world::add_pool_if_none(&Loaded::new(set.clone()), &mut set) {
        printer.note("the site describes no pool, so its machines boot in the pool worker")?;
    }
    let loaded = Loaded::new(set.clone());
    let names = world::machine_names(&loaded, args.machines.map(NonZeroUsize::get), &mut set);
    if names.is_empty() && scenario.is_none() {
        let (message, command) = if loaded.site.nodes.is_empty() && loaded.site.berths.is_empty() {
            ("the site describes no machines", "lint")
        } else {
            ("no machine of the site has a pool, so none can boot", "resolve")
        };
        return Err(Failure::Argument {
            message: message.to_owned(),
            hint: Some(format!(
                "`berth {command}` shows what is wrong; `--machines N` adds machines of the pool worker"
            )),
        });
    }
    runtime.block_on(async {
        let world = World::start(args, set, names, clock).await?;
        match &scenario {
            Some(scenario) => scenario.play(world, printer).await,
            None => world.run(args, printer).await,
        }
    })
}

async fn example() -> Result<DocumentSet, Failure> {
    Ok(match Example::default().look().await? {
        Some(Reading::Version { content, .. }) => content.set,
        Some(Reading::Nothing(_)) | None => DocumentSet::default(),
    })
}
