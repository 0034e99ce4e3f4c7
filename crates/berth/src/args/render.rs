//! `berth render`.

use clap::Args;

use super::{Files, FlavourArg, Format};

/// Merge the machine configs of a pool into one rendered config
///
/// Prints the MachineConfig that the pool's machines get: named `rendered-POOL-HASH`, where equal content always has an equal
/// hash. Without `--pool` all pools are rendered: a stream of documents in YAML, an array in JSON. With `-o table` one
/// line per pool says what it was made of and how large it is.
///
/// Errors are shown with their place and give exit code 1; pools that can be rendered are printed all the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth render -f examples/telco-site --pool worker
  berth render -f examples/telco-site -o table
  berth render -f site/ --pool infra -o json | jq .spec.config
  berth render -f site/ --pool infra --os-image-url registry.example/os:9")]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// Only this pool
    #[arg(long, value_name = "POOL")]
    pub(crate) pool: Option<String>,

    /// Image of the operating system, unless a machine config names another
    #[arg(long, value_name = "IMAGE")]
    pub(crate) os_image_url: Option<String>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = Format::Yaml)]
    pub(crate) format: Format,
}
