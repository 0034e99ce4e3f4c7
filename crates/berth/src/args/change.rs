//! What `berth forecast` and `berth rehearse` are told alike.

use std::{path::PathBuf, time::Duration};

use berth_pools::parse_duration;
use clap::Args;

use super::{Files, FlavourArg, Output};

/// A change of a site, and what it is played on.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: PathBuf,

    /// Minutes that a node is away for one reboot
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(..=10_080))]
    pub(crate) reboot_minutes: u32,

    /// Minutes to drain a node before it reboots
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=10_080))]
    pub(crate) drain_minutes: u32,

    /// The maintenance window, from the start of the change: 4h, 90m, 1h30m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) window: Option<Duration>,

    /// Draw when each node is out as a chart over time into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Image of the operating system, unless a machine config names another
    #[arg(long, value_name = "IMAGE")]
    pub(crate) os_image_url: Option<String>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    #[command(flatten)]
    pub(crate) output: Output,
}
