//! The one place where the generator meets the program that it describes.

use super::LintPage;

/// The command line of `berth`.
pub(super) fn command() -> clap::Command {
    clap::Command::new("berth").about("Gives every Kubernetes node its place before it boots")
}

/// Every lint that `berth lint` knows.
pub(super) fn lints() -> Vec<LintPage> {
    Vec::new()
}
