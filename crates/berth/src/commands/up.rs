//! `berth up`: everything in one process, on simulated machines.

mod comparison;
mod example;
mod run;
mod services;
mod view;
mod world;

use std::{fs, io::Read};

use berth_sim::play;

use self::world::World;
use crate::{args::UpArgs, exit::Exit, failure::Failure, input, output::Printer, site::Loaded};

/// The same scenario gives the same transcript.
const SEED: u64 = 1;

/// Runs the command.
pub(crate) fn run(args: &UpArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    if let Some(file) = &args.scenario {
        let text =
            fs::read_to_string(file).map_err(|error| Failure::Unusable(format!("{}: {error}", file.display())))?;
        let transcript = runtime
            .block_on(play(&text, SEED))
            .map_err(|error| Failure::Unusable(format!("{}: {error}", file.display())))?;
        printer.data(&transcript)?;
        return Ok(Exit::Done);
    }
    let mut texts = if args.paths.is_empty() {
        example::texts()
    } else {
        input::read_text(&args.paths, stdin).map_err(Failure::Input)?
    };
    let names = world::machine_names(&Loaded::from_texts(texts.clone()), args.machines, &mut texts);
    if names.is_empty() {
        return Err(Failure::Argument {
            message: "no machine of the site has a pool, so that none can boot".to_owned(),
            hint: Some("`berth resolve` says why; `--machines N` adds machines of the pool worker".to_owned()),
        });
    }
    runtime.block_on(async {
        let world = World::start(args, texts, names).await?;
        world.run(args, printer).await
    })
}
