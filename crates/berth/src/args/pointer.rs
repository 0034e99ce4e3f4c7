//! `berth pointer`.

use std::path::PathBuf;

use berth_ignition::SpecVersion;
use clap::Args;

/// Print the small Ignition config that a machine boots from
///
/// It only says where the real config is, by which certificates the machine knows the server, and which token it shows. Put
/// it into the machine's user data, or into its boot image.
///
/// The token is a secret: prefer `--token-stdin`, because other users of this computer can see arguments.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth pointer --url https://berth.example.com:22623/config/worker --ca ca.crt
  berth token create --node n1 --token-file tokens.json |
    berth pointer --url https://berth.example.com:22623/node/n1 --token-stdin")]
pub(crate) struct PointerArgs {
    /// Where the config is: `https://HOST:22623/node/NAME` or `https://HOST:22623/config/POOL`
    #[arg(long, value_name = "URL")]
    pub(crate) url: String,

    /// File with the certificates, in PEM, by which the machine knows the server
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// The token that the machine shows
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_stdin")]
    pub(crate) token: Option<String>,

    /// Read the token from standard input
    #[arg(long, alias = "token-file-stdin")]
    pub(crate) token_stdin: bool,

    /// Spec version of the config, for machines that need a certain one
    #[arg(long, value_name = "VERSION", value_parser = spec_version)]
    pub(crate) spec: Option<SpecVersion>,
}

fn spec_version(text: &str) -> Result<SpecVersion, String> {
    text.parse().map_err(|error| format!("{error}"))
}
