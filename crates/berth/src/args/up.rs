//! `berth up`.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::Args;

use super::ModeName;

/// Try the whole product on simulated machines
///
/// Starts an embedded Kubernetes API, the API of documents on a database, the Ignition server and the controllers in this
/// process, and boots the machines of a site in front of you: each fetches its Ignition with a token of its own, asks for
/// its certificate and registers. On a terminal it draws pools and machines; elsewhere it prints a line for each thing that
/// happens. Simulated time runs faster than real time (see --speed). It is for trying and rehearsing; production uses a real cluster. Ctrl-C ends
/// it.
///
/// Executables for clusters can be built without it (cargo feature `up`).
#[derive(Debug, Args)]
#[command(
    override_usage = "berth up [--filename <PATH>] [OPTIONS]",
    after_help = "\
Examples:
  berth up
  berth up --mode full
  berth up --machines 500 --once
  berth up --without-berth --once
  berth up --scenario bad-morning.txt"
)]
pub(crate) struct UpArgs {
    /// File or folder with the site's documents; repeatable. Without it, the example that is inside the program
    #[arg(short = 'f', long = "filename", visible_alias = "site", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// How many machines boot: fewer than the site has, or more, which get Berths in the pool worker
    #[arg(long, value_name = "N")]
    pub(crate) machines: Option<NonZeroUsize>,

    /// What the controllers do; with `full` the real node daemons run on the machines, with hosts in memory
    #[arg(long, value_name = "MODE", value_enum, default_value_t, conflicts_with = "scenario")]
    pub(crate) mode: ModeName,

    /// Also count what the same machines cost when they are labelled after they joined; a scenario is played without Berth
    #[arg(long)]
    pub(crate) without_berth: bool,

    /// Play a scenario on the site, print its transcript and end
    ///
    /// The site's machines are there and switched off. Exit status 1 says that something which the scenario waits for did
    /// not become true. docs/reference/scenarios.md has the words of scenarios.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["once"])]
    pub(crate) scenario: Option<PathBuf>,

    /// Port of the embedded API on 127.0.0.1; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,

    /// Folder that keeps the cluster's objects; without it they are gone at the end
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data_dir: Option<PathBuf>,

    /// How many seconds pass for the machines in one second
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3_600))]
    pub(crate) speed: u16,

    /// Print lines instead of a picture, also on a terminal
    #[arg(long)]
    pub(crate) plain: bool,

    /// End when all machines are in their places
    #[arg(long)]
    pub(crate) once: bool,
}
