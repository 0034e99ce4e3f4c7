//! `berth up`: everything in one process, on simulated machines.

mod comparison;
mod world;

use std::{fs, io::Read, path::PathBuf};

use berth_sim::play;

use self::world::World;
use crate::{args::UpArgs, exit::Exit, failure::Failure, input, output::Printer, site::Loaded};

/// Where the example is, from the root of the source.
const EXAMPLE: &str = "examples/telco-site";

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
    let paths = paths(args)?;
    let mut texts = input::read_text(&paths, stdin).map_err(Failure::Input)?;
    let names = world::machine_names(&Loaded::from_texts(texts.clone()), args.machines, &mut texts);
    runtime.block_on(async {
        let world = World::start(args, texts, names).await?;
        world.run(args, printer).await
    })
}

fn paths(args: &UpArgs) -> Result<Vec<PathBuf>, Failure> {
    if !args.paths.is_empty() {
        return Ok(args.paths.clone());
    }
    let example = PathBuf::from(EXAMPLE);
    if example.is_dir() {
        return Ok(vec![example]);
    }
    Err(Failure::Argument {
        message: format!("there is no {EXAMPLE} here"),
        hint: Some("name a site with --filename, or run this in Berth's source folder".to_owned()),
    })
}
