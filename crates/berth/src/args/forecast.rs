//! `berth forecast`.

use clap::Args;

use super::ChangeArgs;

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
    pub(crate) change: ChangeArgs,
}
