//! The chores of the workspace; `cargo xtask help` lists them.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main()
}
