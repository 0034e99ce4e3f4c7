//! `berth forecast`.

use std::{path::PathBuf, time::Duration};

use berth_pools::parse_duration;
use clap::Args;

use super::{Files, FlavourArg, Output};

/// Forecast a rollout: order, reboots, finish time
///
/// Plays the whole rollout through: live nodes move to the rendered config of the pool that they are in once their labels
/// are applied, in waves of `maxUnavailable`; machines that are declared but not registered join. It says what the same rollout would
/// cost without labels at first boot, where a new machine joins as a worker and has to reboot once more into its pool.
///
/// With `--window` the exit code is 1 when the rollout does not fit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth forecast -f site/ --nodes nodes.yaml
  berth forecast -f site/ --nodes nodes.yaml --window 4h --svg rollout.svg
  berth forecast -f site/ --nodes nodes.yaml --reboot-minutes 25
  kubectl get nodes -o json | berth forecast -f site/ --nodes - -o json")]
pub(crate) struct ForecastArgs {
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

    /// The maintenance window, from the start of the rollout: 4h, 90m, 1h30m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) window: Option<Duration>,

    /// Draw the rollout as a chart over time into this file
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
