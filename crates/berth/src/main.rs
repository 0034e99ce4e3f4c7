//! The `berth` command.

use std::process::ExitCode;

use berth::Io;

fn main() -> ExitCode {
    berth::run(std::env::args_os(), Io::process()).into()
}
