//! `berth ignition`.

use std::path::PathBuf;

use berth_ignition::SpecVersion;
use clap::Args;

use super::{
    Files, FlavourArg,
    boot::{ArtefactFormat, BootArgs, written_version},
};

/// Make the Ignition config for a pool or for one machine
///
/// The config holds what the pool's machines get (its machine configs, merged) and the boot labels: those of the pool, or
/// with `--node` those of that machine, from its name and its documents.
///
/// With `--pointer` it is the small config that only says where the real one is. A URL without a path is completed with
/// `/config/POOL` or `/node/NAME`. For a server that does not know Berth, such as OpenShift's own, `--with-labels` puts
/// the files with the labels into the pointer itself.
///
/// A label that a kubelet may not set is left out with a warning; it has to reach the Node by another route.
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("subject").required(true).args(["pool", "node"]),
    after_help = "\
Examples:
  berth ignition -f examples/telco-site --pool worker
  berth ignition -f examples/telco-site --node smyrgaear01 --spec 3.4.0
  berth ignition -f site/ --node n1 --pointer https://berth.example.com:22623 \\
    --ca ca.crt --token-stdin < token
  berth ignition -f site/ --node n1 --with-labels --ca ca.crt \\
    --pointer https://api-int.example.com:22623/config/worker"
)]
pub(crate) struct IgnitionArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// For every machine of this pool
    #[arg(long, value_name = "POOL")]
    pub(crate) pool: Option<String>,

    /// For this machine
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,

    /// Spec version of the config: 3.1.0 to 3.5.0
    #[arg(long, value_name = "VERSION", default_value = "3.4.0", value_parser = written_version)]
    pub(crate) spec: SpecVersion,

    #[command(flatten)]
    pub(crate) boot: BootArgs,

    /// Only say where the config is: `https://HOST:22623`, or the whole URL
    #[arg(long, value_name = "URL")]
    pub(crate) pointer: Option<String>,

    /// File with the certificates, in PEM, by which the machine knows the server
    #[arg(long, value_name = "FILE", requires = "pointer")]
    pub(crate) ca: Option<PathBuf>,

    /// The token that the machine shows; other users of this computer can see arguments
    #[arg(long, value_name = "TOKEN", requires = "pointer", conflicts_with = "token_stdin")]
    pub(crate) token: Option<String>,

    /// Read the token from standard input
    #[arg(long, requires = "pointer")]
    pub(crate) token_stdin: bool,

    /// Put the files with the labels into the pointer, for a server that does not know Berth
    #[arg(long, requires = "pointer")]
    pub(crate) with_labels: bool,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    /// Output format; Ignition itself reads JSON
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = ArtefactFormat::Json)]
    pub(crate) format: ArtefactFormat,
}
