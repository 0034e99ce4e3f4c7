//! The commands, one file each: read, ask the pure crates, print.

mod explain;
mod labels_check;
mod lint;
mod plan;
mod pools;
mod resolve;
mod selector;

use std::io::Read;

use crate::{
    args::{Command, LabelsCommand},
    exit::Exit,
    failure::Failure,
    output::Printer,
};

/// Runs the command that was typed.
pub(crate) fn run(command: Command, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    match command {
        Command::Lint(args) => lint::run(&args, stdin, printer),
        Command::Resolve(args) => resolve::run(&args, stdin, printer),
        Command::Explain(args) => explain::run(&args, stdin, printer),
        Command::Pools(args) => pools::run(&args, stdin, printer),
        Command::Plan(args) => plan::run(&args, stdin, printer),
        Command::Labels(args) => match args.command {
            LabelsCommand::Check(args) => labels_check::run(&args, printer),
        },
        Command::Selector(args) => selector::run(&args, stdin, printer),
    }
}
