//! Which server, and how it is spoken to.

use std::path::PathBuf;

use clap::Args;

/// A server, and what it needs to know of us.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Address of a server, such as `https://berth.example.com`
    #[arg(long, env = "BERTH_SERVER", hide_env_values = true, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// Certificates in PEM that the server's must lead to, beside those of the system
    #[arg(long, env = "BERTH_SERVER_CA", hide_env_values = true, value_name = "FILE")]
    pub(crate) server_ca: Option<PathBuf>,

    /// File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token
    #[arg(long, env = "BERTH_TOKEN_FILE", hide_env_values = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// The token itself. Not for typing: other users of the machine would see it.
    #[arg(long = "token", env = "BERTH_TOKEN", hide = true, hide_env_values = true)]
    pub(crate) token: Option<String>,
}
