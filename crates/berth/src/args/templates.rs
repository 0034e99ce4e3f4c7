//! `berth templates`.

use clap::Args;

use super::{Files, FlavourArg, Format};

/// Print the machine configs that templates become
///
/// With `spec.berth` in `ControllerConfig` machine-config-controller the controllers make the base machine configs of every role:
/// 00-ROLE, 01-ROLE-kubelet, 01-ROLE-container-runtime and 99-ROLE-ssh. This command prints the same from documents. `berth render`
/// merges them with the others of a pool.
///
/// A field that is missing or wrong is shown with its place and gives exit code 1; then nothing is made.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth templates -f site/
  berth templates -f site/ --role worker -o yaml
  berth templates -f site/ --pool infra -o name")]
pub(crate) struct TemplatesArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// Only those that this pool selects
    #[arg(long, value_name = "POOL", conflicts_with = "role")]
    pub(crate) pool: Option<String>,

    /// Only those of this role
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = Format::Yaml)]
    pub(crate) format: Format,
}
