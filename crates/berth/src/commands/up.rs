//! `berth up`: everything in one process, on simulated machines.

mod comparison;
mod example;
mod run;
mod scenario;
mod services;
mod view;
mod world;

use std::{io::Read, num::NonZeroUsize};

use berth_sim::play;

use self::{scenario::Scenario, world::World};
use crate::{args::UpArgs, exit::Exit, failure::Failure, input, output::Printer, site::Loaded};

/// The same scenario gives the same transcript.
const SEED: u64 = 1;

/// Runs the command.
pub(crate) fn run(args: &UpArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
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
    let mut texts = if args.paths.is_empty() {
        example::texts()
    } else {
        input::read_text(&args.paths, stdin).map_err(Failure::Input)?
    };
    let names = world::machine_names(
        &Loaded::from_texts(texts.clone()),
        args.machines.map(NonZeroUsize::get),
        &mut texts,
    );
    if names.is_empty() && scenario.is_none() {
        return Err(Failure::Argument {
            message: "no machine of the site has a pool, so that none can boot".to_owned(),
            hint: Some("`berth resolve` says why; `--machines N` adds machines of the pool worker".to_owned()),
        });
    }
    runtime.block_on(async {
        let world = World::start(args, texts, names).await?;
        match &scenario {
            Some(scenario) => scenario.play(world, printer).await,
            None => world.run(args, printer).await,
        }
    })
}
