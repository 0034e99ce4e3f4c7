//! The command line of Berth: arguments, input, output and the wiring of the commands.
//!
//! Everything that decides something lives in the pure crates; a command reads, calls one function there, and prints.
//! The crate is a library so that man pages and the reference are generated from the same [`command`] that is parsed.
//!
//! ```text
//! args ──► commands ──► output
//!            │  ▲
//!          input, site, pools, labels
//! ```

mod args;
mod boot;
mod cluster;
mod commands;
mod database;
mod documents;
mod exit;
mod failure;
mod files;
mod findings;
mod input;
mod io;
mod live_image;
mod origin;
mod output;
mod places;
mod provenance;
mod rendering;
mod rollouts;
mod server;
mod site;
mod sources;
mod vital;
mod workflow;

use std::{ffi::OsString, path::Path};

use berth_documents::Lint;
use clap::{
    CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
};

use self::io::UntilClosed;
use self::{args::Cli, failure::Failure, output::Printer};
pub use self::{exit::Exit, io::Io};

/// The whole command line as clap sees it, for generated man pages, the reference and completions.
pub fn command() -> clap::Command {
    args::grouped(Cli::command())
}

/// Every lint of every crate, sorted by code.
pub fn lints() -> Vec<&'static Lint> {
    let mut lints = [berth_documents::LINTS, berth_site::LINTS, berth_ztp::LINTS].concat();
    lints.sort_by_key(|lint| lint.code);
    lints
}

/// Runs one command line. The first argument is the program's name, as the system passes it.
pub fn run<I>(args: I, mut io: Io<'_>) -> Exit
where
    I: IntoIterator<Item = OsString>,
{
    let args: Vec<OsString> = args.into_iter().collect();
    // A reader that has seen enough does not change the verdict.
    let mut stdout = UntilClosed::new(&mut *io.stdout);
    let mut printer = Printer::new(&mut stdout, &mut *io.stderr);
    let result = match parse(&args) {
        Ok(Ok(cli)) => commands::run(cli.command, &args, &mut *io.stdin, &io.clock, &mut printer),
        Ok(Err(failure)) => Err(failure),
        Err(error) => usage(&error, &args, &mut printer),
    };
    let result = result.and_then(|exit| printer.flush().map(|()| exit));
    result.unwrap_or_else(|failure| fail(&failure, &mut printer))
}

/// Reads the arguments. Under the name `kubectl-berth` the program is a plugin of kubectl, and its help says `kubectl berth`.
fn parse(args: &[OsString]) -> Result<Result<Cli, Failure>, clap::Error> {
    let program = args.first().and_then(|first| Path::new(first).file_stem());
    let mut command = command();
    if program.is_some_and(|program| program == KUBECTL_PLUGIN) {
        command = command.name("kubectl-berth").bin_name("kubectl berth");
    }
    let matches = command.try_get_matches_from_mut(args)?;
    if let Err(failure) = args::check_secrets(&command, &matches) {
        return Ok(Err(failure));
    }
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok(Ok(cli))
}

/// The name under which kubectl looks for the command `kubectl berth`.
const KUBECTL_PLUGIN: &str = "kubectl-berth";

/// Prints what clap has to say. Without any argument that is the help, and no mistake.
fn usage(error: &clap::Error, args: &[OsString], printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let text = error.render().ansi().to_string();
    let asked = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => args.len() <= 1,
        _ => false,
    };
    if asked {
        printer.data(&text)?;
        Ok(Exit::Done)
    } else {
        printer.aside(&text)?;
        if let Some(path) = path_without_flag(error, args) {
            printer.hint(&format!("name files and folders with -f: `-f {path}`"))?;
        }
        Ok(Exit::Usage)
    }
}

/// A path where the command takes none, although it takes paths after `-f`.
fn path_without_flag<'a>(error: &'a clap::Error, args: &[OsString]) -> Option<&'a str> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let whole = command();
    let mut command = &whole;
    for word in args.iter().skip(1).map_while(|word| word.to_str()) {
        match command.find_subcommand(word) {
            Some(found) => command = found,
            None => break,
        }
    }
    let takes_files = command.get_arguments().any(|arg| arg.get_short() == Some('f'));
    (takes_files && Path::new(typed).exists()).then_some(typed)
}

fn fail(failure: &Failure, printer: &mut Printer<'_>) -> Exit {
    let exit = failure.exit();
    if exit != Exit::Done {
        // Where standard error is gone too there is nobody left to tell.
        for message in failure.messages() {
            let _ = printer.error(&message);
        }
        if let Some(hint) = failure.hint() {
            let _ = printer.hint(&hint);
        }
        let _ = printer.flush();
    }
    exit
}
