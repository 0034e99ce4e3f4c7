//! The one place where the generator meets the program that it describes.

use super::LintPage;

/// The command line of `berth`.
pub(super) fn command() -> clap::Command {
    berth::command()
}

/// Every lint that `berth lint` knows.
pub(super) fn lints() -> Vec<LintPage> {
    berth::lints()
        .into_iter()
        .map(|lint| LintPage {
            code: lint.code,
            severity: lint.severity.as_str(),
            summary: lint.summary,
            explanation: lint.explanation,
        })
        .collect()
}
