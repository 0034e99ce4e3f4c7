//! `berth machineconfig`.

use berth_ignition::SpecVersion;
use clap::Args;

use super::{Files, FlavourArg, Format, boot::BootArgs, boot::written_version};

/// Make the machine configs that carry a pool's boot labels
///
/// Prints what is applied to an OpenShift cluster: the policy that makes these files cost neither drain nor reboot, the
/// MachineConfig with the labels and, for the way `generator`, a second one with the executable. They hold files only: a
/// drop-in of a unit would make OpenShift reboot every machine of the pool.
///
/// They carry what all machines of the pool have in common. Labels of single machines go by `berth ignition --node`, or
/// from the Ignition server.
///
/// Apply it with `oc apply --server-side`, which leaves the policies of others alone. A label that a kubelet may not set
/// is left out with a warning; it has to reach the Node by another route.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth machineconfig -f examples/telco-site --pool worker-rwn
  berth machineconfig -f site/ --pool worker | oc apply --server-side -f -
  berth machineconfig -f site/ --pool worker --way generator
  berth machineconfig -f site/ --pool arbiter --unit kubelet.service
  berth machineconfig -f examples/telco-site --pool worker -o table")]
pub(crate) struct MachineConfigArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// The pool
    #[arg(long, value_name = "POOL")]
    pub(crate) pool: String,

    #[command(flatten)]
    pub(crate) boot: BootArgs,

    /// Leave out the `MachineConfiguration` with the policies; without them OpenShift reboots for these files
    #[arg(long, conflicts_with = "only_policy")]
    pub(crate) no_policy: bool,

    /// Print the `MachineConfiguration` with the policies alone
    #[arg(long = "disruption-policy")]
    pub(crate) only_policy: bool,

    /// Spec version of the Ignition configs inside
    #[arg(long, value_name = "VERSION", default_value = "3.2.0", value_parser = written_version)]
    pub(crate) spec: SpecVersion,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = Format::Yaml)]
    pub(crate) format: Format,
}
