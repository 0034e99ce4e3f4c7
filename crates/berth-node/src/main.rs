//! The part of Berth that runs on a node.
//!
//! ```text
//! /etc/berth/labels ──┐
//! kubelet.service ────┼─► Node ──► generator       one drop-in, at every boot and daemon-reload
//! environment files ──┘     ├────► kubelet-env, default-kubelet   one variable in a file that others use too
//!                           └────► check           what the kubelet would be started with
//! argument list ──────────────────► exec           the kubelet in place of this program
//! ```
//!
//! What decides anything is in `berth-units`; here are the disk, the arguments and the messages.

mod args;
mod check;
mod exec;
mod generator;
mod hooks;
mod log;
mod node;
mod root;
mod unit_tree;

use std::{env, process::ExitCode};

use args::{Call, Command, Usage};
use log::say;

fn main() -> ExitCode {
    let mut arguments = env::args_os();
    let program = arguments.next().unwrap_or_default();
    match args::read(&program, arguments) {
        Ok(call) => run(&call),
        Err(Usage { message, generator }) => {
            if generator {
                log::to_kernel(&[message]);
                return ExitCode::SUCCESS;
            }
            say(&format!("{message}\nhint: `berth-node help` shows the usage"));
            ExitCode::from(2)
        }
    }
}

fn run(call: &Call) -> ExitCode {
    match &call.command {
        Command::Help => log::print(args::HELP),
        Command::Version => log::print(concat!("berth-node ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Generator { directory } => generator::run(&call.root, directory),
        Command::Exec { labels, argv } => exec::run(&call.root, labels.as_deref(), argv),
        Command::KubeletEnv => hooks::run(&call.root, hooks::Hook::KubeletEnv),
        Command::DefaultKubelet { file } => {
            hooks::run(&call.root, hooks::Hook::DefaultKubelet { path: file.as_deref() })
        }
        Command::Check => check::run(&call.root),
    }
}
