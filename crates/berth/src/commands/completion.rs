//! `berth completion`.

use crate::{args::CompletionArgs, exit::Exit, failure::Failure, output::Printer};

/// Runs the command.
pub(crate) fn run(args: &CompletionArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let mut command = crate::command();
    let program = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, program, &mut script);
    printer.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
